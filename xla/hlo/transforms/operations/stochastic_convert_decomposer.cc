#include "xla/hlo/transforms/operations/stochastic_convert_decomposer.h"

#include <cmath>
#include <memory>
#include <utility>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The instructions for one stochastic-convert, all of its dimensions.
class Decomposition {
 public:
  explicit Decomposition(HloInstruction* convert)
      : convert_(convert),
        type_(convert->operand(0)->shape().element_type() == F64 ? F64 : F32) {}

  // The random bits are as wide as the operand, so a fraction below 1 has fewer
  // significant bits than they are: ceil(fraction * 2^width) fits in their
  // type. For integers, bits < ceil(u) and bits < u are the same.
  HloInstruction* Run() {
    HloInstruction* x = Convert(convert_->mutable_operand(0), type_);
    HloInstruction* bits = convert_->mutable_operand(1);
    const PrimitiveType bits_type = bits->shape().element_type();
    HloInstruction* magnitude = Unary(HloOpcode::kAbs, x);
    HloInstruction* whole = Unary(HloOpcode::kFloor, magnitude);
    HloInstruction* fraction = Binary(HloOpcode::kSubtract, magnitude, whole);
    HloInstruction* ups =
        Binary(HloOpcode::kMultiply, fraction,
               Constant(std::ldexp(1.0, primitive_util::BitWidth(bits_type))));
    HloInstruction* up =
        Compare(bits, Convert(Unary(HloOpcode::kCeil, ups), bits_type));
    HloInstruction* rounded =
        Binary(HloOpcode::kAdd, whole, Convert(up, type_));
    HloInstruction* value = Add(HloInstruction::CreateTernary(
        x->shape(), HloOpcode::kSelect, Compare(x, Constant(0)),
        Unary(HloOpcode::kNegate, rounded), rounded));
    return Add(HloInstruction::CreateConvert(convert_->shape(), value));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> inst) {
    return convert_->AddInstruction(std::move(inst));
  }
  HloInstruction* Unary(HloOpcode opcode, HloInstruction* x) {
    return Add(HloInstruction::CreateUnary(x->shape(), opcode, x));
  }
  HloInstruction* Binary(HloOpcode opcode, HloInstruction* x,
                         HloInstruction* y) {
    return Add(HloInstruction::CreateBinary(x->shape(), opcode, x, y));
  }
  // x < y
  HloInstruction* Compare(HloInstruction* x, HloInstruction* y) {
    return Add(HloInstruction::CreateCompare(
        ShapeUtil::ChangeElementType(convert_->shape(), PRED), x, y,
        ComparisonDirection::kLt));
  }
  HloInstruction* Convert(HloInstruction* x, PrimitiveType type) {
    const Shape shape = ShapeUtil::ChangeElementType(convert_->shape(), type);
    if (ShapeUtil::Equal(x->shape(), shape)) return x;
    return Add(HloInstruction::CreateConvert(shape, x));
  }
  HloInstruction* Constant(double value) {
    HloInstruction* scalar = Add(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0(type_, value)));
    const Shape shape = ShapeUtil::ChangeElementType(convert_->shape(), type_);
    if (ShapeUtil::IsScalar(shape)) return scalar;
    return Add(HloInstruction::CreateBroadcast(shape, scalar, {}));
  }

  HloInstruction* convert_;
  // What the arithmetic is done in.
  const PrimitiveType type_;
};

}  // namespace

bool StochasticConvertDecomposer::InstructionMatchesPattern(
    HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kStochasticConvert &&
         primitive_util::IsIntegralType(instruction->shape().element_type()) &&
         instruction->shape().is_static();
}

absl::StatusOr<HloInstruction*> StochasticConvertDecomposer::ExpandInstruction(
    HloInstruction* convert) {
  return Decomposition(convert).Run();
}

}  // namespace xla
