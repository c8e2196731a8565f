#include <algorithm>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

bool IsIntegral(const HloInstruction* inst) {
  return primitive_util::IsIntegralType(inst->shape().element_type()) ||
         inst->shape().element_type() == PRED;
}

bool IsConstantLike(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kBroadcast) inst = inst->operand(0);
  return inst->opcode() == HloOpcode::kConstant;
}

// op(x, neutral) → x, if it keeps the shape.
HloInstruction* LeftIfRightIs(HloInstruction* inst, int8_t neutral) {
  HloInstruction* x = inst->mutable_operand(0);
  return hlo_query::IsAllConstant(inst->operand(1), neutral) &&
                 HasShapeOf(inst, x)
             ? x
             : nullptr;
}

// op(x, x) → x
HloInstruction* LeftIfSame(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return inst->operand(1) == x && HasShapeOf(inst, x) ? x : nullptr;
}

// op(op(x)) → x
HloInstruction* UndoSelfInverse(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != inst->opcode()) return nullptr;
  HloInstruction* x = inner->mutable_operand(0);
  return HasShapeOf(inst, x) ? x : nullptr;
}

// op(op(x)) → op(x)
HloInstruction* DropRepeated(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  return inner->opcode() == inst->opcode() && HasShapeOf(inst, inner) ? inner
                                                                      : nullptr;
}

// Of commutative opcodes. The rules below then need to look at the right
// operand only. Two constants stay where they are, or they would change sides
// forever.
HloInstruction* ConstantToTheRight(HloInstruction* inst) {
  if (!IsConstantLike(inst->operand(0)) || IsConstantLike(inst->operand(1))) {
    return nullptr;
  }
  return inst->AddInstruction(inst->CloneWithNewOperands(
      inst->shape(), {inst->mutable_operand(1), inst->mutable_operand(0)}));
}

HloInstruction* AddZero(HloInstruction* inst) {
  return IsIntegral(inst) ? LeftIfRightIs(inst, 0) : nullptr;
}

// Not of complex numbers: (inf + 1i) · (1 + 0i) has inf · 0 in its imaginary
// part.
HloInstruction* MultiplyByOne(HloInstruction* inst) {
  return primitive_util::IsComplexType(inst->shape().element_type())
             ? nullptr
             : LeftIfRightIs(inst, 1);
}

HloInstruction* MultiplyByZero(HloInstruction* inst) {
  HloInstruction* zero = inst->mutable_operand(1);
  return IsIntegral(inst) && hlo_query::IsAllConstant(zero, 0) &&
                 HasShapeOf(inst, zero)
             ? zero
             : nullptr;
}

// Whether all elements are the least value of their type, -inf of floats, or
// the greatest. Not of floats of 8 bits and fewer, some of which have neither
// infinities nor NaN.
bool IsAllExtreme(const HloInstruction* inst, bool least) {
  while (inst->opcode() == HloOpcode::kBroadcast ||
         inst->opcode() == HloOpcode::kReshape) {
    inst = inst->operand(0);
  }
  if (inst->opcode() != HloOpcode::kConstant ||
      !ShapeUtil::IsScalar(inst->shape()) || inst->literal().is_elided()) {
    return false;
  }
  const PrimitiveType type = inst->shape().element_type();
  if (!primitive_util::IsIntegralType(type) &&
      (!primitive_util::IsFloatingPointType(type) ||
       primitive_util::BitWidth(type) < 16)) {
    return false;
  }
  return inst->literal() ==
         (least ? LiteralUtil::MinValue(type) : LiteralUtil::MaxValue(type));
}

HloInstruction* MaximumWithLeast(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return IsAllExtreme(inst->operand(1), true) && HasShapeOf(inst, x) ? x
                                                                     : nullptr;
}

HloInstruction* MinimumWithGreatest(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return IsAllExtreme(inst->operand(1), false) && HasShapeOf(inst, x) ? x
                                                                      : nullptr;
}

HloInstruction* AndMask(HloInstruction* inst) {
  if (HloInstruction* x = LeftIfSame(inst)) return x;
  // All bits: true for pred, -1 for integers.
  const bool is_pred = inst->shape().element_type() == PRED;
  if (HloInstruction* x = LeftIfRightIs(inst, is_pred ? 1 : -1)) return x;
  HloInstruction* zero = inst->mutable_operand(1);
  return hlo_query::IsAllConstant(zero, 0) && HasShapeOf(inst, zero) ? zero
                                                                     : nullptr;
}

HloInstruction* OrMask(HloInstruction* inst) {
  if (HloInstruction* x = LeftIfSame(inst)) return x;
  if (HloInstruction* x = LeftIfRightIs(inst, 0)) return x;
  HloInstruction* ones = inst->mutable_operand(1);
  const bool is_pred = inst->shape().element_type() == PRED;
  return hlo_query::IsAllConstant(ones, is_pred ? 1 : -1) &&
                 HasShapeOf(inst, ones)
             ? ones
             : nullptr;
}

HloInstruction* ZeroOnTheRight(HloInstruction* inst) {
  return LeftIfRightIs(inst, 0);
}

HloInstruction* SelectKnown(HloInstruction* inst) {
  HloInstruction* on_true = inst->mutable_operand(1);
  HloInstruction* on_false = inst->mutable_operand(2);
  if (on_true == on_false && HasShapeOf(inst, on_true)) return on_true;
  if (hlo_query::IsAllConstant(inst->operand(0), 1) &&
      HasShapeOf(inst, on_true)) {
    return on_true;
  }
  if (hlo_query::IsAllConstant(inst->operand(0), 0) &&
      HasShapeOf(inst, on_false)) {
    return on_false;
  }
  return nullptr;
}

HloInstruction* SelectOfNot(HloInstruction* inst) {
  HloInstruction* predicate = inst->mutable_operand(0);
  if (predicate->opcode() != HloOpcode::kNot) return nullptr;
  return inst->AddInstruction(inst->CloneWithNewOperands(
      inst->shape(), {predicate->mutable_operand(0), inst->mutable_operand(2),
                      inst->mutable_operand(1)}));
}

HloInstruction* CompareConstantToTheRight(HloInstruction* inst) {
  if (!IsConstantLike(inst->operand(0)) || IsConstantLike(inst->operand(1))) {
    return nullptr;
  }
  auto* compare = Cast<HloCompareInstruction>(inst);
  return inst->AddInstruction(HloInstruction::CreateCompare(
      inst->shape(), inst->mutable_operand(1), inst->mutable_operand(0),
      Comparison(compare->direction(), compare->type())
          .Converse()
          .GetDirection(),
      compare->type()));
}

HloInstruction* ElementOfTuple(HloInstruction* inst) {
  HloInstruction* tuple = inst->mutable_operand(0);
  if (tuple->opcode() != HloOpcode::kTuple) return nullptr;
  HloInstruction* element = tuple->mutable_operand(inst->tuple_index());
  return HasShapeOf(inst, element) ? element : nullptr;
}

constexpr CanonicalizerRule kIdentityRules[] = {
    {"constant-right", "c + x → x + c", HloOpcode::kAdd, ConstantToTheRight},
    {"constant-right", "c · x → x · c", HloOpcode::kMultiply,
     ConstantToTheRight},
    {"constant-right", "max(c, x) → max(x, c)", HloOpcode::kMaximum,
     ConstantToTheRight},
    {"constant-right", "min(c, x) → min(x, c)", HloOpcode::kMinimum,
     ConstantToTheRight},
    {"constant-right", "c & x → x & c", HloOpcode::kAnd, ConstantToTheRight},
    {"constant-right", "c | x → x | c", HloOpcode::kOr, ConstantToTheRight},
    {"constant-right", "c ^ x → x ^ c", HloOpcode::kXor, ConstantToTheRight},
    {"constant-right", "c < x → x > c", HloOpcode::kCompare,
     CompareConstantToTheRight},

    {"add-zero", "integer x + 0 → x", HloOpcode::kAdd, AddZero},
    {"subtract-zero", "integer x - 0 → x", HloOpcode::kSubtract, AddZero},
    {"multiply-one", "real x · 1 → x", HloOpcode::kMultiply, MultiplyByOne},
    {"multiply-zero", "integer x · 0 → 0", HloOpcode::kMultiply,
     MultiplyByZero},
    {"divide-one", "real x / 1 → x", HloOpcode::kDivide, MultiplyByOne},
    {"and-mask", "x & x, x & ~0 → x; x & 0 → 0", HloOpcode::kAnd, AndMask},
    {"or-mask", "x | x, x | 0 → x; x | ~0 → ~0", HloOpcode::kOr, OrMask},
    {"xor-zero", "x ^ 0 → x", HloOpcode::kXor, ZeroOnTheRight},
    {"shift-zero", "x << 0 → x", HloOpcode::kShiftLeft, ZeroOnTheRight},
    {"shift-zero", "x >> 0 → x", HloOpcode::kShiftRightArithmetic,
     ZeroOnTheRight},
    {"shift-zero", "x >>> 0 → x", HloOpcode::kShiftRightLogical,
     ZeroOnTheRight},
    {"same-operands", "max(x, x) → x", HloOpcode::kMaximum, LeftIfSame},
    {"same-operands", "min(x, x) → x", HloOpcode::kMinimum, LeftIfSame},
    {"max-least", "max(x, -inf) → x", HloOpcode::kMaximum, MaximumWithLeast},
    {"min-greatest", "min(x, inf) → x", HloOpcode::kMinimum,
     MinimumWithGreatest},
    {"self-inverse", "-(-x) → x", HloOpcode::kNegate, UndoSelfInverse},
    {"self-inverse", "!(!x) → x", HloOpcode::kNot, UndoSelfInverse},
    {"repeated", "abs(abs(x)) → abs(x)", HloOpcode::kAbs, DropRepeated},
    {"repeated", "floor(floor(x)) → floor(x)", HloOpcode::kFloor, DropRepeated},
    {"repeated", "ceil(ceil(x)) → ceil(x)", HloOpcode::kCeil, DropRepeated},
    {"select-known", "select(true, x, y), select(p, x, x) → x",
     HloOpcode::kSelect, SelectKnown},
    {"select-not", "select(!p, x, y) → select(p, y, x)", HloOpcode::kSelect,
     SelectOfNot},
    {"element-of-tuple", "get-tuple-element(tuple(x, y), 1) → y",
     HloOpcode::kGetTupleElement, ElementOfTuple},
};

}  // namespace

absl::Span<const CanonicalizerRule> IdentityRules() { return kIdentityRules; }

}  // namespace xla
