#include "xla/hlo/analysis/value_range.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "xla/comparison_util.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

// Interval arithmetic. Bounds are computed exactly, in integers twice as wide
// as the widest type, and only then compared with the type: a result that does
// not fit may wrap around, which no interval describes, and is unknown. Sources
// come before what is computed from them, on a stack of its own: chains in
// unrolled loops are long. An instruction whose sources lead back to it counts
// as unknown at that point, which ends the search in a loop's state.

namespace xla {
namespace {

using Known = absl::flat_hash_map<const HloInstruction*, Range>;

// A range in integers that hold sums and products of 64 bits.
struct Interval {
  absl::int128 min;
  std::optional<absl::int128> max;  // unknown: none
  std::optional<absl::int128> step;
  bool is_linear = false;

  bool IsSingle() const { return max == min; }
};

absl::int128 Wide(const ConstantValue& value) {
  return value.IsSigned() ? absl::int128(value.GetSignedValue())
                          : absl::int128(value.GetUnsignedValue());
}

std::optional<Interval> ToInterval(const Range& range) {
  if (range.IsEmpty()) return std::nullopt;
  Interval result;
  result.min = Wide(range.min());
  if (range.IsBounded()) result.max = Wide(*range.max());
  if (range.IsStepKnown()) result.step = Wide(*range.step());
  result.is_linear = range.IsLinear();
  return result;
}

bool HasRange(const Shape& shape) {
  if (!shape.IsArray() || !ShapeUtil::IsEffectiveScalar(shape)) return false;
  const PrimitiveType type = shape.element_type();
  return type == PRED || (primitive_util::IsIntegralType(type) &&
                          primitive_util::BitWidth(type) <= 64);
}

// The range in the type; empty if it does not hold it all.
Range ToRange(const std::optional<Interval>& interval, PrimitiveType type) {
  if (!interval.has_value()) return Range();
  const uint8_t width = primitive_util::BitWidth(type);
  const bool is_signed = primitive_util::IsSignedIntegralType(type);
  const absl::int128 one = 1;
  const absl::int128 lowest = is_signed ? -(one << (width - 1)) : 0;
  const absl::int128 highest = (one << (is_signed ? width - 1 : width)) - 1;
  const auto fits = [&](absl::int128 value) {
    return lowest <= value && value <= highest;
  };
  if (!fits(interval->min) || !fits(interval->max.value_or(interval->min))) {
    return Range();
  }
  const auto narrow = [&](absl::int128 value) {
    return is_signed
               ? ConstantValue::GetSigned(static_cast<int64_t>(value), width)
               : ConstantValue::GetUnsigned(static_cast<uint64_t>(value),
                                            width);
  };
  std::optional<ConstantValue> max, step;
  if (interval->max.has_value()) max = narrow(*interval->max);
  if (interval->step.has_value() && fits(*interval->step)) {
    step = narrow(*interval->step);
  }
  return Range(narrow(interval->min), max, step, interval->is_linear);
}

std::optional<Interval> Bounds(absl::int128 min,
                               std::optional<absl::int128> max) {
  return Interval{min, max, std::nullopt, /*is_linear=*/false};
}

std::optional<Interval> Single(absl::int128 value) {
  return Interval{value, value, std::nullopt, /*is_linear=*/true};
}

// Gives a result the step and linearity of the operand that varies, `scale`
// times, if the other one is a single value.
void KeepSteps(const Interval& a, const Interval& b, absl::int128 scale,
               Interval& result) {
  if (!a.IsSingle() && !b.IsSingle()) return;
  const Interval& varying = a.IsSingle() ? b : a;
  result.is_linear = varying.is_linear;
  if (varying.step.has_value()) result.step = *varying.step * scale;
}

std::optional<Interval> Sum(const Interval& a, const Interval& b) {
  Interval result{a.min + b.min, std::nullopt, std::nullopt, false};
  if (a.max && b.max) result.max = *a.max + *b.max;
  KeepSteps(a, b, 1, result);
  return result;
}

std::optional<Interval> Difference(const Interval& a, const Interval& b) {
  if (!b.max.has_value()) return std::nullopt;
  Interval result{a.min - *b.max, std::nullopt, std::nullopt, false};
  if (a.max.has_value()) result.max = *a.max - b.min;
  KeepSteps(a, b, 1, result);
  return result;
}

// Products of 64-bit values fit into 128 bits, but for two of 2^64 - 1: none
// of them passes the type's limits anyway, so that they are cut off before.
std::optional<Interval> Product(const Interval& a, const Interval& b) {
  const absl::int128 limit = absl::int128(1) << 63;
  if (!a.max || !b.max) {
    const Interval& bounded = a.max ? a : b;
    const Interval& open = a.max ? b : a;
    if (!bounded.IsSingle() || bounded.min < 0) return std::nullopt;
    if (bounded.min >= limit || open.min >= limit) return std::nullopt;
    Interval result{open.min * bounded.min, std::nullopt, std::nullopt, false};
    if (bounded.min == 0) return Single(0);
    KeepSteps(a, b, bounded.min, result);
    return result;
  }
  if (*a.max >= limit || *b.max >= limit) return std::nullopt;
  const auto [min, max] = std::minmax(
      {a.min * b.min, a.min * *b.max, *a.max * b.min, *a.max * *b.max});
  Interval result{min, max, std::nullopt, false};
  const absl::int128 factor = a.IsSingle() ? a.min : b.min;
  KeepSteps(a, b, factor < 0 ? -factor : factor, result);
  return result;
}

// Division by a positive number rounds towards 0, and so keeps the order.
std::optional<Interval> Quotient(const Interval& a, const Interval& b) {
  if (!b.IsSingle() || b.min <= 0) return std::nullopt;
  Interval result{a.min / b.min, std::nullopt, std::nullopt, false};
  if (a.max.has_value()) result.max = *a.max / b.min;
  if (a.step && *a.step % b.min == 0) KeepSteps(a, b, 1, result);
  if (result.step.has_value()) result.step = *a.step / b.min;
  return result;
}

// The remainder has the sign of the dividend and is less than the divisor in
// magnitude. Dividends below the divisor are their own remainders and keep
// their step.
std::optional<Interval> Remainder(const Interval& a, const Interval& b) {
  if (!b.IsSingle() || b.min <= 0) return std::nullopt;
  if (a.min >= 0 && a.max && *a.max < b.min) return a;
  if (a.min >= 0) return Bounds(0, b.min - 1);
  return Bounds(1 - b.min, a.max && *a.max <= 0 ? 0 : b.min - 1);
}

std::optional<Interval> Shifted(const Interval& a, const Interval& b,
                                bool left) {
  if (!b.IsSingle() || b.min < 0 || b.min > 62) return std::nullopt;
  const Interval factor = *Single(absl::int128(1) << static_cast<int>(b.min));
  if (left) return Product(a, factor);
  // A logical shift of a negative number gives another number.
  return a.min < 0 ? std::nullopt : Quotient(a, factor);
}

std::optional<Interval> Least(const Interval& a, const Interval& b) {
  std::optional<absl::int128> max = a.max ? a.max : b.max;
  if (a.max && b.max) max = std::min(*a.max, *b.max);
  if (a.max && *a.max <= b.min) return a;
  if (b.max && *b.max <= a.min) return b;
  return Bounds(std::min(a.min, b.min), max);
}

std::optional<Interval> Greatest(const Interval& a, const Interval& b) {
  if (b.max && *b.max <= a.min) return a;
  if (a.max && *a.max <= b.min) return b;
  std::optional<absl::int128> max;
  if (a.max && b.max) max = std::max(*a.max, *b.max);
  return Bounds(std::max(a.min, b.min), max);
}

// Bitwise, on numbers that are not negative: no more bits than those.
std::optional<Interval> Bitwise(HloOpcode opcode, const Interval& a,
                                const Interval& b) {
  if (a.min < 0 || b.min < 0) return std::nullopt;
  if (a.IsSingle() && b.IsSingle()) {
    return Single(opcode == HloOpcode::kAnd  ? a.min & b.min
                  : opcode == HloOpcode::kOr ? a.min | b.min
                                             : a.min ^ b.min);
  }
  if (opcode == HloOpcode::kAnd) {
    std::optional<absl::int128> max = a.max ? a.max : b.max;
    if (a.max && b.max) max = std::min(*a.max, *b.max);
    return Bounds(0, max);
  }
  if (!a.max || !b.max) return std::nullopt;
  absl::int128 mask = 1;
  while (mask <= std::max(*a.max, *b.max)) mask <<= 1;
  return Bounds(opcode == HloOpcode::kOr ? std::max(a.min, b.min) : 0,
                mask - 1);
}

// 1, 0, or both.
Interval Truth(bool always, bool never) {
  if (always || never) return *Single(always ? 1 : 0);
  return *Bounds(0, 1);
}

Interval Compared(ComparisonDirection direction, const Interval& a,
                  const Interval& b) {
  const bool less = a.max && *a.max < b.min;
  const bool not_greater = a.max && *a.max <= b.min;
  const bool greater = b.max && *b.max < a.min;
  const bool not_less = b.max && *b.max <= a.min;
  const bool same = a.IsSingle() && b.IsSingle() && a.min == b.min;
  switch (direction) {
    case ComparisonDirection::kLt:
      return Truth(less, not_less);
    case ComparisonDirection::kLe:
      return Truth(not_greater, greater);
    case ComparisonDirection::kGt:
      return Truth(greater, not_greater);
    case ComparisonDirection::kGe:
      return Truth(not_less, less);
    case ComparisonDirection::kEq:
      return Truth(same, less || greater);
    case ComparisonDirection::kNe:
      return Truth(less || greater, same);
  }
  return *Bounds(0, 1);
}

std::optional<Interval> Either(const std::optional<Interval>& a,
                               const std::optional<Interval>& b) {
  if (!a || !b) return std::nullopt;
  if (a->IsSingle() && b->IsSingle() && a->min == b->min) return a;
  std::optional<absl::int128> max;
  if (a->max && b->max) max = std::max(*a->max, *b->max);
  return Bounds(std::min(a->min, b->min), max);
}

std::optional<Interval> OfConstant(const HloInstruction* constant) {
  const Literal& literal = constant->literal();
  if (literal.is_elided()) return std::nullopt;
  if (literal.shape().element_type() == U64) {
    return Single(literal.GetFirstElement<uint64_t>());
  }
  const std::vector<int64_t> zeros(literal.shape().dimensions().size(), 0);
  std::optional<int64_t> value = literal.GetIntegralAsS64(zeros);
  return value.has_value() ? Single(*value) : std::nullopt;
}

std::optional<Interval> OfBinary(const HloInstruction* instr, const Interval& a,
                                 const Interval& b) {
  switch (instr->opcode()) {
    case HloOpcode::kAdd:
      return Sum(a, b);
    case HloOpcode::kSubtract:
      return Difference(a, b);
    case HloOpcode::kMultiply:
      return Product(a, b);
    case HloOpcode::kDivide:
      return Quotient(a, b);
    case HloOpcode::kRemainder:
      return Remainder(a, b);
    case HloOpcode::kMinimum:
      return Least(a, b);
    case HloOpcode::kMaximum:
      return Greatest(a, b);
    case HloOpcode::kShiftRightArithmetic:
      // The highest bit is the sign, of numbers without one, too.
      if (!primitive_util::IsSignedIntegralType(
              instr->shape().element_type())) {
        return std::nullopt;
      }
      return Shifted(a, b, /*left=*/false);
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightLogical:
      return Shifted(a, b, instr->opcode() == HloOpcode::kShiftLeft);
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return Bitwise(instr->opcode(), a, b);
    case HloOpcode::kCompare:
      return Compared(instr->comparison_direction(), a, b);
    default:  // Unknown.
      return std::nullopt;
  }
}

// Finds ranges of instructions from those of others, which come first.
class RangeFinder {
 public:
  RangeFinder(Known& known, const HloDataflowAnalysis* dataflow)
      : known_(known), dataflow_(dataflow) {}

  Range Find(const HloInstruction* wanted) {
    std::vector<const HloInstruction*> stack = {wanted};
    // Those on the stack whose sources are above them.
    absl::flat_hash_set<const HloInstruction*> waiting;
    while (!stack.empty()) {
      const HloInstruction* instr = stack.back();
      if (!known_.contains(instr) && waiting.insert(instr).second) {
        for (const HloInstruction* source : Sources(instr)) {
          if (!known_.contains(source) && !waiting.contains(source)) {
            stack.push_back(source);
          }
        }
        if (stack.back() != instr) continue;
      }
      stack.pop_back();
      if (!known_.contains(instr)) known_.emplace(instr, Compute(instr));
    }
    return known_.at(wanted);
  }

 private:
  // The instruction that this one passes a value on from, or null.
  const HloInstruction* Origin(const HloInstruction* instr) const {
    switch (instr->opcode()) {
      case HloOpcode::kCopy:
      case HloOpcode::kBitcast:
      case HloOpcode::kReshape:
      case HloOpcode::kTranspose:
      case HloOpcode::kBroadcast:
      case HloOpcode::kConvert:
        return instr->operand(0);
      case HloOpcode::kGetTupleElement:
        if (instr->operand(0)->opcode() == HloOpcode::kTuple) {
          return instr->operand(0)->operand(instr->tuple_index());
        }
        break;
      default:  // Dataflow may know.
        break;
    }
    if (dataflow_ == nullptr) return nullptr;
    const HloValueSet& values = dataflow_->GetValueSet(instr);
    if (values.values().size() != 1) return nullptr;
    const HloValue& value = values.GetUniqueValue();
    return value.defining_instruction() == instr || !value.index().empty()
               ? nullptr
               : value.defining_instruction();
  }

  std::vector<const HloInstruction*> Sources(
      const HloInstruction* instr) const {
    if (!HasRange(instr->shape())) return {};
    if (const HloInstruction* origin = Origin(instr)) {
      if (HasRange(origin->shape())) return {origin};
      return {};
    }
    std::vector<const HloInstruction*> sources;
    if (!instr->IsElementwise()) return sources;
    for (const HloInstruction* operand : instr->operands()) {
      if (HasRange(operand->shape())) sources.push_back(operand);
    }
    return sources;
  }

  std::optional<Interval> At(const HloInstruction* instr) const {
    const auto found = known_.find(instr);
    return found == known_.end() ? std::nullopt : ToInterval(found->second);
  }

  // That of the loop, for the element of a body's parameter that counts.
  static Range OfLoopElement(const HloInstruction* instr) {
    const HloInstruction* state = instr->operand(0);
    if (state->opcode() != HloOpcode::kParameter) return Range();
    std::optional<HloInstruction*> loop =
        instr->parent()->GetUniqueCaller(HloOpcode::kWhile);
    if (!loop.has_value() || (*loop)->while_body() != instr->parent()) {
      return Range();
    }
    return MatchLoopRangeWithKnownValues(*loop, instr->tuple_index(), {})
        .value_or(Range());
  }

  Range Compute(const HloInstruction* instr) const {
    if (!HasRange(instr->shape())) return Range();
    if (instr->IsConstant()) {
      return ToRange(OfConstant(instr), instr->shape().element_type());
    }
    if (const HloInstruction* origin = Origin(instr)) {
      return ToRange(At(origin), instr->shape().element_type());
    }
    if (instr->opcode() == HloOpcode::kGetTupleElement) {
      return OfLoopElement(instr);
    }
    return ToRange(OfOperands(instr), instr->shape().element_type());
  }

  std::optional<Interval> OfOperands(const HloInstruction* instr) const {
    if (!instr->IsElementwise()) return std::nullopt;
    std::vector<std::optional<Interval>> operands;
    for (const HloInstruction* operand : instr->operands()) {
      operands.push_back(At(operand));
    }
    if (instr->opcode() == HloOpcode::kSelect) {
      if (!operands[0] || !operands[0]->IsSingle()) {
        return Either(operands[1], operands[2]);
      }
      return operands[operands[0]->min != 0 ? 1 : 2];
    }
    for (const std::optional<Interval>& operand : operands) {
      if (!operand.has_value()) return std::nullopt;
    }
    if (instr->opcode() == HloOpcode::kClamp) {
      const std::optional<Interval> low = Greatest(*operands[0], *operands[1]);
      return low ? Least(*low, *operands[2]) : std::nullopt;
    }
    if (instr->opcode() == HloOpcode::kNegate) {
      return Difference(*Single(0), *operands[0]);
    }
    if (instr->opcode() == HloOpcode::kNot &&
        instr->shape().element_type() == PRED) {
      return Difference(*Single(1), *operands[0]);
    }
    if (operands.size() != 2) return std::nullopt;
    return OfBinary(instr, *operands[0], *operands[1]);
  }

  Known& known_;
  const HloDataflowAnalysis* dataflow_;
};

}  // namespace

Range RecursivelyIdentifyRange(const HloInstruction* instr, Known& known_ranges,
                               const HloDataflowAnalysis* dataflow_analysis) {
  return RangeFinder(known_ranges, dataflow_analysis).Find(instr);
}

}  // namespace xla
