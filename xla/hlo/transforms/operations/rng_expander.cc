#include "xla/hlo/transforms/operations/rng_expander.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The instructions for one rng. Arrays have the shape of the result, but for
// their type.
class Expansion {
 public:
  explicit Expansion(HloInstruction* rng)
      : rng_(rng), type_(rng->shape().element_type()) {}

  HloInstruction* Run() {
    if (!primitive_util::IsFloatingPointType(type_)) return Integers();
    return rng_->random_distribution() == RNG_NORMAL ? Normals() : Uniforms();
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> inst) {
    return rng_->AddInstruction(std::move(inst));
  }
  HloInstruction* Unary(HloOpcode opcode, HloInstruction* x) {
    return Add(HloInstruction::CreateUnary(x->shape(), opcode, x));
  }
  HloInstruction* Binary(HloOpcode opcode, HloInstruction* x,
                         HloInstruction* y) {
    return Add(HloInstruction::CreateBinary(x->shape(), opcode, x, y));
  }
  HloInstruction* Select(HloInstruction* pred, HloInstruction* x,
                         HloInstruction* y) {
    return Add(HloInstruction::CreateTernary(x->shape(), HloOpcode::kSelect,
                                             pred, x, y));
  }
  HloInstruction* Equal(HloInstruction* x, HloInstruction* y) {
    return Add(HloInstruction::CreateCompare(
        ShapeUtil::ChangeElementType(x->shape(), PRED), x, y,
        ComparisonDirection::kEq));
  }
  HloInstruction* Convert(HloInstruction* x, PrimitiveType type) {
    if (x->shape().element_type() == type) return x;
    return Add(HloInstruction::CreateConvert(
        ShapeUtil::ChangeElementType(x->shape(), type), x));
  }
  HloInstruction* Reinterpret(HloInstruction* x, PrimitiveType type) {
    if (x->shape().element_type() == type) return x;
    return Add(HloInstruction::CreateBitcastConvert(
        ShapeUtil::ChangeElementType(x->shape(), type), x));
  }
  // A scalar for all elements.
  HloInstruction* All(HloInstruction* scalar) {
    const Shape shape = ShapeUtil::ChangeElementType(
        rng_->shape(), scalar->shape().element_type());
    if (ShapeUtil::IsScalar(shape)) return scalar;
    return Add(HloInstruction::CreateBroadcast(shape, scalar, {}));
  }
  template <typename T>
  HloInstruction* Constant(T value, PrimitiveType type) {
    return All(Add(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0(type, value))));
  }
  // A parameter of the distribution.
  HloInstruction* Parameter(int64_t number, PrimitiveType type) {
    return All(Convert(rng_->mutable_operand(number), type));
  }

  HloInstruction* Bits(PrimitiveType type);
  HloInstruction* Unit(PrimitiveType type);
  HloInstruction* Uniforms();
  HloInstruction* Normals();
  HloInstruction* Word(int64_t number);
  HloInstruction* Integers();

  HloInstruction* rng_;
  const PrimitiveType type_;
};

// Random bits, from blocks that no other instruction gets.
//
// Philox (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011)
// turns a key and a counter into a block of 128 bits. The module's seed is the
// key; the counter is advanced past the blocks that the array takes, so that
// the next draw begins with a fresh one.
HloInstruction* Expansion::Bits(PrimitiveType type) {
  constexpr int64_t kBlockBytes = 16;
  const Shape shape = ShapeUtil::ChangeElementType(rng_->shape(), type);
  const int64_t blocks = CeilOfRatio(
      ShapeUtil::ElementsIn(shape) * primitive_util::ByteWidth(type),
      kBlockBytes);
  HloInstruction* counter = Add(HloInstruction::CreateRngGetAndUpdateState(
      ShapeUtil::MakeShape(U64, {2}), std::max<int64_t>(blocks, 1)));
  HloInstruction* key = Add(HloInstruction::CreateConstant(
      LiteralUtil::CreateR1<uint64_t>({rng_->GetModule()->config().seed()})));
  const Shape state_shape = ShapeUtil::MakeShape(U64, {3});
  HloInstruction* state =
      Add(HloInstruction::CreateConcatenate(state_shape, {key, counter}, 0));
  HloInstruction* generated = Add(HloInstruction::CreateRngBitGenerator(
      ShapeUtil::MakeTupleShape({state_shape, shape}), state, RNG_PHILOX));
  return Add(HloInstruction::CreateGetTupleElement(shape, generated, 1));
}

// Uniform in [0, 1), of as many bits as the type holds.
//
// Only as many bits as a significand holds are kept: the conversion is then
// exact, while one of all 32 bits could round up to 2^32, and the result would
// be 1.
HloInstruction* Expansion::Unit(PrimitiveType type) {
  const PrimitiveType bits_type = type == F64 ? U64 : U32;
  const int kept = type == F64 ? 53 : 24;
  HloInstruction* unused =
      Constant<int64_t>(primitive_util::BitWidth(bits_type) - kept, bits_type);
  HloInstruction* bits =
      Binary(HloOpcode::kShiftRightLogical, Bits(bits_type), unused);
  HloInstruction* step =
      Constant<double>(1.0 / static_cast<double>(int64_t{1} << kept), type);
  return Binary(HloOpcode::kMultiply, Convert(bits, type), step);
}

// Rounding may take the sum outside of [low, high], and the conversion to a
// shorter type may take it up to `high`, which the half-open range excludes;
// such values become `low`.
HloInstruction* Expansion::Uniforms() {
  const PrimitiveType type = type_ == F64 ? F64 : F32;
  HloInstruction* low = Parameter(0, type);
  HloInstruction* high = Parameter(1, type);
  HloInstruction* unit = Unit(type);
  HloInstruction* rest =
      Binary(HloOpcode::kSubtract, Constant<double>(1, type), unit);
  // Not low + (high - low) * unit, where the difference may be infinite.
  HloInstruction* sum =
      Binary(HloOpcode::kAdd, Binary(HloOpcode::kMultiply, low, rest),
             Binary(HloOpcode::kMultiply, high, unit));
  HloInstruction* within = Add(HloInstruction::CreateTernary(
      sum->shape(), HloOpcode::kClamp, low, sum, high));
  HloInstruction* value = Convert(within, type_);
  return Select(Equal(value, Convert(high, type_)), Convert(low, type_), value);
}

// Box and Muller (A Note on the Generation of Random Normal Deviates, 1958), of
// whose two results only the cosine's is used. The logarithm is of 1 - u with u
// in [0, 1), so that it never is of 0.
HloInstruction* Expansion::Normals() {
  const PrimitiveType type = type_ == F64 ? F64 : F32;
  HloInstruction* rest =
      Binary(HloOpcode::kSubtract, Constant<double>(1, type), Unit(type));
  HloInstruction* radius = Unary(
      HloOpcode::kSqrt, Binary(HloOpcode::kMultiply, Constant<double>(-2, type),
                               Unary(HloOpcode::kLog, rest)));
  constexpr double kTwoPi = 6.283185307179586;
  HloInstruction* angle =
      Binary(HloOpcode::kMultiply, Constant<double>(kTwoPi, type), Unit(type));
  HloInstruction* standard =
      Binary(HloOpcode::kMultiply, radius, Unary(HloOpcode::kCos, angle));
  HloInstruction* spread =
      Binary(HloOpcode::kMultiply, Parameter(1, type), standard);
  return Convert(Binary(HloOpcode::kAdd, Parameter(0, type), spread), type_);
}

// An integer parameter in 64 bits, where sums wrap around as they should.
HloInstruction* Expansion::Word(int64_t number) {
  if (!primitive_util::IsSignedIntegralType(type_)) {
    return Parameter(number, U64);
  }
  return Reinterpret(Parameter(number, S64), U64);
}

// The difference of the bounds is right modulo 2^64 even where it overflows the
// type, as that of s64's lowest and highest number does; the sum wraps back.
// The remainder of 64 random bits favors small numbers by a factor of at most 1
// + range / 2^64. An empty range, which has no right answer, yields its lower
// bound rather than a division by 0.
HloInstruction* Expansion::Integers() {
  HloInstruction* low = Word(0);
  HloInstruction* range = Binary(HloOpcode::kSubtract, Word(1), low);
  HloInstruction* is_empty = Equal(range, Constant<int64_t>(0, U64));
  HloInstruction* divisor = Select(is_empty, Constant<int64_t>(1, U64), range);
  HloInstruction* sum = Binary(
      HloOpcode::kAdd, low, Binary(HloOpcode::kRemainder, Bits(U64), divisor));
  if (primitive_util::IsSignedIntegralType(type_)) sum = Reinterpret(sum, S64);
  return Convert(sum, type_);
}

}  // namespace

bool RngExpander::InstructionMatchesPattern(HloInstruction* instruction) {
  if (instruction->opcode() != HloOpcode::kRng || instruction->has_sharding() ||
      !instruction->shape().is_static()) {
    return false;
  }
  const PrimitiveType type = instruction->shape().element_type();
  if (primitive_util::IsFloatingPointType(type)) return true;
  return instruction->random_distribution() == RNG_UNIFORM &&
         (type == PRED || primitive_util::IsIntegralType(type));
}

absl::StatusOr<HloInstruction*> RngExpander::ExpandInstruction(
    HloInstruction* rng) {
  return Expansion(rng).Run();
}

}  // namespace xla
