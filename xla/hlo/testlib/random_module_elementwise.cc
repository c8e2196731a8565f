// Recipes for element-wise opcodes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

using primitive_util::IsComplexType;
using primitive_util::IsFloatingPointType;
using primitive_util::IsIntegralType;
using primitive_util::IsSignedIntegralType;

// The domain and range of a unary opcode.
struct UnaryRule {
  // Where it is defined and does not explode.
  Range domain;
  // The result's range; computed from the ends where absent.
  std::optional<Range> result;
  double (*function)(double) = nullptr;
  // Small changes of the operand may become jumps.
  bool jumps = false;
};

std::optional<UnaryRule> RuleFor(HloOpcode opcode) {
  constexpr double kBig = 1e5;
  switch (opcode) {
    case HloOpcode::kAcos:
      return UnaryRule{{-0.875, 0.875}, Range{0, 3.2}};
    case HloOpcode::kAcosh:
      return UnaryRule{{1.25, 64}, Range{0, 8}};
    case HloOpcode::kAsin:
      return UnaryRule{{-0.875, 0.875}, Range{-1.6, 1.6}};
    case HloOpcode::kAsinh:
      return UnaryRule{{-64, 64}, Range{-8, 8}};
    case HloOpcode::kAtanh:
      return UnaryRule{{-0.875, 0.875}, Range{-2, 2}};
    case HloOpcode::kCbrt:
      return UnaryRule{{-kBig, kBig}, std::nullopt, std::cbrt};
    case HloOpcode::kCeil:
      return UnaryRule{{-kBig, kBig}, std::nullopt, std::ceil, true};
    case HloOpcode::kCos:
    case HloOpcode::kSin:
      return UnaryRule{{-16, 16}, Range{-1, 1}};
    case HloOpcode::kCosh:
      return UnaryRule{{-2, 2}, Range{1, 4}};
    case HloOpcode::kErf:
    case HloOpcode::kTanh:
      return UnaryRule{{-kBig, kBig}, Range{-1, 1}};
    case HloOpcode::kExp:
      return UnaryRule{{-4, 2}, std::nullopt, std::exp};
    case HloOpcode::kExpm1:
      return UnaryRule{{-4, 2}, std::nullopt, std::expm1};
    case HloOpcode::kFloor:
      return UnaryRule{{-kBig, kBig}, std::nullopt, std::floor, true};
    case HloOpcode::kLog:
      return UnaryRule{{0.125, kBig}, std::nullopt, std::log};
    case HloOpcode::kLog1p:
      return UnaryRule{{-0.75, kBig}, std::nullopt, std::log1p};
    case HloOpcode::kLogistic:
      return UnaryRule{{-kBig, kBig}, Range{0, 1}};
    case HloOpcode::kRoundNearestAfz:
      return UnaryRule{{-kBig, kBig}, std::nullopt, std::round, true};
    case HloOpcode::kRoundNearestEven:
      return UnaryRule{{-kBig, kBig}, std::nullopt, std::nearbyint, true};
    case HloOpcode::kRsqrt:
      return UnaryRule{{0.125, kBig}, Range{0, 3}};
    case HloOpcode::kSinh:
      return UnaryRule{{-2, 2}, std::nullopt, std::sinh};
    case HloOpcode::kSqrt:
      return UnaryRule{{0.0625, kBig}, std::nullopt, std::sqrt};
    case HloOpcode::kTan:
      return UnaryRule{{-1.25, 1.25}, Range{-4, 4}};
    default:  // Not drawn.
      return std::nullopt;
  }
}

// Float-only opcodes that complex numbers have too, here only where the domain
// is all of the plane near 0.
bool TakesComplex(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kCos, HloOpcode::kExp, HloOpcode::kExpm1,
                          HloOpcode::kSin>(opcode);
}

Range ArithmeticRange(HloOpcode opcode, const Range& a, const Range& b) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return {a.lo + b.lo, a.hi + b.hi};
    case HloOpcode::kSubtract:
      return {a.lo - b.hi, a.hi - b.lo};
    case HloOpcode::kMultiply: {
      const double p[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
      return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
    }
    case HloOpcode::kMaximum:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case HloOpcode::kMinimum:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    default:  // Not arithmetic.
      return {0, 0};
  }
}

}  // namespace

bool RandomComputation::Unary(HloOpcode opcode) {
  const std::optional<UnaryRule> rule = RuleFor(opcode);
  Value x = PickOfType([&](PrimitiveType type) {
    if (rule.has_value()) {
      return IsFloatingPointType(type) ||
             (IsComplexType(type) && TakesComplex(opcode));
    }
    switch (opcode) {
      case HloOpcode::kNot:
        return type == PRED || IsIntegralType(type);
      case HloOpcode::kClz:
      case HloOpcode::kPopulationCount:
        return IsIntegralType(type);
      case HloOpcode::kIsFinite:
        return IsFloatingPointType(type);
      case HloOpcode::kAbs:
        return IsFloatingPointType(type) || IsSignedIntegralType(type);
      case HloOpcode::kSign:
        return IsFloatingPointType(type) || IsSignedIntegralType(type);
      default:  // negate
        return type != PRED;
    }
  });
  if (x.instruction == nullptr) return false;
  const PrimitiveType type = x.type();
  bool stable = false;
  Range range = state_.Limit(type);
  if (rule.has_value()) {
    if (rule->jumps && !MayDecide(x)) return false;
    Range domain = rule->domain;
    if (IsComplexType(type)) domain = {-2, 2};
    if (!state_.options.undefined_numerics) {
      const Range limit = state_.Limit(type);
      domain = {std::max(domain.lo, limit.lo), std::min(domain.hi, limit.hi)};
      if (domain.lo > domain.hi) return false;
      x = Bounded(x, domain);
    }
    range = rule->result.has_value() ? *rule->result
                                     : MapEnds(x.range, rule->function);
    if (IsComplexType(type)) range = {-32, 32};
    stable = rule->jumps;
    if (!Fits(type, range)) return false;
  } else if (opcode == HloOpcode::kAbs) {
    range = {x.range.lo <= 0 && x.range.hi >= 0
                 ? 0
                 : std::min(std::abs(x.range.lo), std::abs(x.range.hi)),
             x.range.magnitude()};
    stable = x.stable;
  } else if (opcode == HloOpcode::kNegate) {
    range = {-x.range.hi, -x.range.lo};
    stable = x.stable;
  } else if (opcode == HloOpcode::kSign) {
    if (!MayDecide(x)) return false;
    range = {-1, 1};
    stable = true;
  } else if (opcode == HloOpcode::kClz ||
             opcode == HloOpcode::kPopulationCount) {
    range = {0, static_cast<double>(primitive_util::BitWidth(type))};
  }
  absl::StatusOr<Shape> shape =
      ShapeInference::InferUnaryOpShape(opcode, x.shape());
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateUnary(*shape, opcode, x.instruction), range,
          stable);
  return true;
}

bool RandomComputation::Convert(HloOpcode opcode) {
  const PrimitiveType to = state_.RandomType();
  const bool bitcast = opcode == HloOpcode::kBitcastConvert;
  Value x = PickArray([&](const Value& value) {
    return IsComplexType(value.type()) == IsComplexType(to) ||
           (!bitcast && IsComplexType(to));
  });
  if (x.instruction == nullptr) return false;
  const PrimitiveType from = x.type();
  const bool from_float = IsFloatingPointType(from) || IsComplexType(from);
  const bool to_float = IsFloatingPointType(to) || IsComplexType(to);
  if (bitcast) {
    // Bits of unknown values as floats may be NaN or infinite.
    if ((to_float && !state_.options.undefined_numerics) || !MayDecide(x) ||
        from == PRED || to == PRED) {
      return false;
    }
    absl::StatusOr<Shape> shape =
        ShapeInference::InferBitcastConvertShape(x.shape(), to);
    if (!shape.ok()) return false;
    Publish(HloInstruction::CreateBitcastConvert(*shape, x.instruction),
            state_.Limit(to), x.stable);
    return true;
  }
  if (from_float && !to_float && !MayDecide(x)) return false;
  const Range limit = state_.Limit(to);
  if (to_float && !state_.options.undefined_numerics) x = Bounded(x, limit);
  const Range range = to == PRED ? Range{0, 1} : x.range;
  // Narrower floats round one last bit to a whole step.
  const bool stable = x.stable || !from_float;
  if (from_float && to_float && !stable &&
      primitive_util::HigherPrecisionType(from, to) == from && from != to &&
      state_.options.stable_decisions && !state_.OneIn(4)) {
    return false;
  }
  Publish(HloInstruction::CreateConvert(
              ShapeUtil::ChangeElementType(x.shape(), to), x.instruction),
          range, stable);
  return true;
}

bool RandomComputation::Complex(HloOpcode opcode) {
  Value re =
      PickOfType([](PrimitiveType type) { return type == F32 || type == F64; });
  if (re.instruction == nullptr) return false;
  Value im = PickLike(re);
  const PrimitiveType type = primitive_util::ComplexType(re.type());
  if (im.type() != re.type()) return false;
  Publish(HloInstruction::CreateBinary(
              ShapeUtil::ChangeElementType(re.shape(), type), opcode,
              re.instruction, im.instruction),
          Union(re.range, im.range), re.stable && im.stable);
  return true;
}

bool RandomComputation::Parts(HloOpcode opcode) {
  Value x = PickOfType([&](PrimitiveType type) { return IsComplexType(type); });
  if (x.instruction == nullptr) return false;
  const PrimitiveType type = primitive_util::ComplexComponentType(x.type());
  Publish(
      HloInstruction::CreateUnary(ShapeUtil::ChangeElementType(x.shape(), type),
                                  opcode, x.instruction),
      Union(x.range, {0, 0}), x.stable);
  return true;
}

bool RandomComputation::Arithmetic(HloOpcode opcode) {
  const bool undefined = state_.options.undefined_numerics;
  Value x = PickOfType([&](PrimitiveType type) {
    if (type == PRED) {
      return opcode == HloOpcode::kMaximum || opcode == HloOpcode::kMinimum;
    }
    switch (opcode) {
      case HloOpcode::kAtan2:
        return IsFloatingPointType(type);
      case HloOpcode::kMaximum:
      case HloOpcode::kMinimum:
      case HloOpcode::kRemainder:
        return !IsComplexType(type);
      case HloOpcode::kPower:
        return IsFloatingPointType(type) || IsIntegralType(type);
      case HloOpcode::kDivide:
        return !IsComplexType(type) || undefined;
      default:  // Defined for all types.
        return true;
    }
  });
  if (x.instruction == nullptr) return false;
  Value y = PickLike(x);
  if (y.instruction == nullptr || y.type() != x.type()) return false;
  const PrimitiveType type = x.type();
  Range range = state_.Limit(type);
  bool stable = false;
  if (!IsIntegralType(type) && type != PRED && !undefined) {
    switch (opcode) {
      case HloOpcode::kDivide: {
        const Range positive = {0.5, std::min(64.0, range.hi)};
        if (!Fits(type, positive)) return false;
        y = Bounded(y, positive);
        const double top = x.range.magnitude() / y.range.lo;
        range = {-top, top};
        break;
      }
      case HloOpcode::kRemainder: {
        // Jumps where x / y is an integer.
        if (!MayDecide(x) || !MayDecide(y)) return false;
        y = Bounded(y, {0.5, std::min(64.0, range.hi)});
        range = {-y.range.hi, y.range.hi};
        stable = true;
        break;
      }
      case HloOpcode::kPower:
        x = Bounded(x, {0.25, 4});
        y = Bounded(y, {-2, 2});
        range = {0, 16};
        break;
      case HloOpcode::kAtan2:
        // Away from the cut.
        y = Bounded(y, {0.25, std::min(64.0, range.hi)});
        range = {-1.6, 1.6};
        break;
      default: {  // Defined for all values.
        range = ArithmeticRange(opcode, x.range, y.range);
        if (IsComplexType(type) && opcode == HloOpcode::kMultiply) {
          const double top = 2 * x.range.magnitude() * y.range.magnitude();
          range = {-top, top};
        }
        stable = x.stable && y.stable &&
                 (opcode == HloOpcode::kMaximum ||
                  opcode == HloOpcode::kMinimum || state_.options.exact);
      }
    }
    if (!Fits(type, range)) return false;
  } else if (IsIntegralType(type)) {
    if (opcode == HloOpcode::kPower) y = Bounded(y, {0, 5});
    if (opcode == HloOpcode::kAdd || opcode == HloOpcode::kSubtract ||
        opcode == HloOpcode::kMultiply || opcode == HloOpcode::kMaximum ||
        opcode == HloOpcode::kMinimum) {
      range = ArithmeticRange(opcode, x.range, y.range);
    }
  }
  Publish(HloInstruction::CreateBinary(x.shape(), opcode, x.instruction,
                                       y.instruction),
          range, stable);
  return true;
}

bool RandomComputation::Bitwise(HloOpcode opcode) {
  const bool shift = opcode == HloOpcode::kShiftLeft ||
                     opcode == HloOpcode::kShiftRightArithmetic ||
                     opcode == HloOpcode::kShiftRightLogical;
  Value x = PickOfType([&](PrimitiveType type) {
    return IsIntegralType(type) || (type == PRED && !shift);
  });
  if (x.instruction == nullptr) return false;
  Value y = PickLike(x);
  if (y.type() != x.type()) return false;
  // Mostly shifts that leave something.
  if (shift && !state_.OneIn(4)) {
    y = Bounded(y, {0, primitive_util::BitWidth(x.type()) - 1.0});
  }
  Publish(HloInstruction::CreateBinary(x.shape(), opcode, x.instruction,
                                       y.instruction),
          state_.Limit(x.type()), true);
  return true;
}

bool RandomComputation::Compare(HloOpcode opcode) {
  Value x = PickArray([&](const Value& value) { return MayDecide(value); });
  if (x.instruction == nullptr) return false;
  Value y = PickLike(x);
  if (y.type() != x.type() || !MayDecide(y)) return false;
  const bool equality_only = IsComplexType(x.type());
  const Comparison::Direction directions[] = {
      Comparison::Direction::kEq, Comparison::Direction::kNe,
      Comparison::Direction::kLt, Comparison::Direction::kLe,
      Comparison::Direction::kGt, Comparison::Direction::kGe};
  Publish(HloInstruction::CreateCompare(
              ShapeUtil::ChangeElementType(x.shape(), PRED), x.instruction,
              y.instruction, directions[state_.Below(equality_only ? 2 : 6)]),
          {0, 1}, true);
  return true;
}

bool RandomComputation::Select(HloOpcode opcode) {
  Value x = PickArray([](const Value&) { return true; });
  if (x.instruction == nullptr) return false;
  Value y = PickLike(x);
  Value condition =
      Make(state_.OneIn(4) ? ShapeUtil::MakeShape(PRED, {})
                           : ShapeUtil::ChangeElementType(x.shape(), PRED),
           {0, 1});
  Publish(
      HloInstruction::CreateTernary(x.shape(), opcode, condition.instruction,
                                    x.instruction, y.instruction),
      Union(x.range, y.range), x.stable && y.stable);
  return true;
}

bool RandomComputation::Clamp(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return !IsComplexType(value.type()) && value.type() != PRED;
  });
  if (x.instruction == nullptr) return false;
  const bool scalar_bounds = state_.OneIn(2);
  const Shape bound =
      scalar_bounds ? ShapeUtil::MakeShape(x.type(), {}) : x.shape();
  const Range limit = state_.Limit(x.type());
  Value lo = Make(bound, limit);
  Value hi = Make(bound, limit);
  // min(max(x, lo), hi): between the lower of the low ends and the highest.
  const Range range = {
      std::min(std::max(x.range.lo, lo.range.lo), hi.range.lo),
      std::min(std::max(x.range.hi, lo.range.hi), hi.range.hi)};
  Publish(HloInstruction::CreateTernary(x.shape(), opcode, lo.instruction,
                                        x.instruction, hi.instruction),
          range, x.stable && lo.stable && hi.stable);
  return true;
}

bool RandomComputation::ReducePrecision(HloOpcode opcode) {
  Value x =
      PickOfType([](PrimitiveType type) { return IsFloatingPointType(type); });
  if (x.instruction == nullptr || !MayDecide(x)) return false;
  const int exponent_bits = static_cast<int>(state_.Between(5, 8));
  const int mantissa_bits = static_cast<int>(state_.Between(2, 10));
  // Nothing that five exponent bits do not hold.
  if (!state_.options.undefined_numerics) {
    const double top = std::min(state_.Limit(x.type()).hi, 1024.0);
    x = Bounded(x, {-top, top});
  }
  const Range range = {x.range.lo * 1.25, x.range.hi * 1.25};
  Publish(HloInstruction::CreateReducePrecision(x.shape(), x.instruction,
                                                exponent_bits, mantissa_bits),
          Union(range, x.range), x.stable);
  return true;
}

bool RandomComputation::StochasticConvert(HloOpcode opcode) {
  Value x = PickOfType([](PrimitiveType type) {
    return type == F32 || type == F64 || type == F16 || type == BF16;
  });
  if (x.instruction == nullptr || !MayDecide(x)) return false;
  const PrimitiveType bits = primitive_util::UnsignedIntegralTypeForBitWidth(
      primitive_util::BitWidth(x.type()));
  const PrimitiveType to = state_.OneIn(2) ? S32 : S8;
  x = Bounded(x, {-100, 100});
  Value random =
      Make(ShapeUtil::ChangeElementType(x.shape(), bits), state_.Limit(bits));
  absl::StatusOr<Shape> shape = ShapeInference::InferStochasticConvertShape(
      x.shape(), random.shape(), to);
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateStochasticConvert(*shape, x.instruction,
                                                  random.instruction),
          {x.range.lo - 1, x.range.hi + 1}, true);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
