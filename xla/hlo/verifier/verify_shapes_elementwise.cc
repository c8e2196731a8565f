#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {
namespace {

// Unary opcodes that take floats and give the same floats.
bool KeepsFloats(HloOpcode opcode) {
  return !HloOpcodeIsOneOf<HloOpcode::kClz, HloOpcode::kIsFinite,
                           HloOpcode::kNot, HloOpcode::kPopulationCount>(
      opcode);
}

// Binary opcodes that take two floats and give the same floats.
bool CombinesFloats(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAdd, HloOpcode::kAtan2, HloOpcode::kDivide,
      HloOpcode::kMaximum, HloOpcode::kMinimum, HloOpcode::kMultiply,
      HloOpcode::kPower, HloOpcode::kRemainder, HloOpcode::kSubtract>(opcode);
}

// The same for integers.
bool CombinesIntegers(HloOpcode opcode) {
  return opcode != HloOpcode::kAtan2 && opcode != HloOpcode::kComplex;
}

// Inference takes any element type here.
bool ShiftsBits(HloOpcode opcode) {
  return opcode == HloOpcode::kShiftLeft ||
         opcode == HloOpcode::kShiftRightArithmetic ||
         opcode == HloOpcode::kShiftRightLogical;
}

// Whether values of the type are compared in this way.
bool CanCompareAs(PrimitiveType type, Comparison::Type kind) {
  switch (kind) {
    case Comparison::Type::kFloat:
      return primitive_util::IsFloatingPointType(type) ||
             primitive_util::IsComplexType(type);
    case Comparison::Type::kFloatTotalOrder:
      return primitive_util::IsFloatingPointType(type);
    case Comparison::Type::kSigned:
      return primitive_util::IsSignedIntegralType(type);
    case Comparison::Type::kUnsigned:
      return type == PRED || primitive_util::IsUnsignedIntegralType(type);
  }
  return false;
}

// Sizes that may be equal.
bool SizesAgree(const Shape& a, const Shape& b) {
  if (!a.IsArray() || !b.IsArray() || RankOf(a) != RankOf(b)) return false;
  for (int64_t i = 0; i < RankOf(a); ++i) {
    if (a.dimensions(i) != b.dimensions(i) && !IsUnbounded(a.dimensions(i)) &&
        !IsUnbounded(b.dimensions(i))) {
      return false;
    }
  }
  return true;
}

// Inference allows what clients may write, and stretches dimensions of size 1.
absl::Status CheckNoBroadcast(const Context& context,
                              const HloInstruction& inst) {
  for (const HloInstruction* operand : inst.operands()) {
    if (operand->shape().IsArray() &&
        !SizesAgree(operand->shape(), inst.shape())) {
      return Broken(Invariant::V52, inst,
                    absl::StrCat("expected operands of the dimensions of ",
                                 context.Str(inst.shape()), ", found ",
                                 context.Str(operand->shape()), " as %",
                                 operand->name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUnary(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  if (SameArrays(operand, result) &&
      primitive_util::IsFloatingPointType(result.element_type()) &&
      KeepsFloats(inst.opcode())) {
    return absl::OkStatus();
  }
  return context.Expect(
      Invariant::V50, inst,
      ShapeInference::InferUnaryOpShape(inst.opcode(), operand));
}

absl::Status CheckCopy(const Context& context, const HloInstruction& inst) {
  return context.Expect(Invariant::V50, inst, inst.operand(0)->shape(),
                        Match::kLoose);
}

absl::Status CheckBinary(const Context& context, const HloInstruction& inst) {
  const Shape& lhs = inst.operand(0)->shape();
  const Shape& rhs = inst.operand(1)->shape();
  const Shape& result = inst.shape();
  if (SameArrays(lhs, rhs) && SameArrays(lhs, result)) {
    const PrimitiveType type = lhs.element_type();
    if (primitive_util::IsFloatingPointType(type)
            ? CombinesFloats(inst.opcode())
            : primitive_util::IsIntegralType(type) &&
                  CombinesIntegers(inst.opcode())) {
      return absl::OkStatus();
    }
  }
  if (ShiftsBits(inst.opcode()) && lhs.IsArray() &&
      !primitive_util::IsIntegralType(lhs.element_type())) {
    return Broken(Invariant::V51, inst,
                  absl::StrCat("expected integers, found ", context.Str(lhs)));
  }
  absl::Status status = CheckNoBroadcast(context, inst);
  if (!status.ok()) return status;
  return context.Expect(
      Invariant::V51, inst,
      ShapeInference::InferBinaryOpShape(inst.opcode(), lhs, rhs, {}));
}

absl::Status CheckCompare(const Context& context, const HloInstruction& inst) {
  const Shape& lhs = inst.operand(0)->shape();
  const Shape& rhs = inst.operand(1)->shape();
  const Shape& result = inst.shape();
  const Comparison::Type kind = Cast<HloCompareInstruction>(&inst)->type();
  if (lhs.IsArray() && !CanCompareAs(lhs.element_type(), kind)) {
    return Broken(Invariant::V61, inst,
                  absl::StrCat("found ", ComparisonTypeToString(kind), " of ",
                               context.Str(lhs)));
  }
  if (SameArrays(lhs, rhs) && SameSizes(lhs, result) &&
      result.element_type() == PRED) {
    return absl::OkStatus();
  }
  absl::Status status = CheckNoBroadcast(context, inst);
  if (!status.ok()) return status;
  return context.Expect(
      Invariant::V51, inst,
      ShapeInference::InferBinaryOpShape(HloOpcode::kCompare, lhs, rhs, {}));
}

absl::Status CheckSelect(const Context& context, const HloInstruction& inst) {
  const Shape& pred = inst.operand(0)->shape();
  const Shape& on_true = inst.operand(1)->shape();
  const Shape& on_false = inst.operand(2)->shape();
  if (SameArrays(on_true, on_false) && SameArrays(on_true, inst.shape()) &&
      IsPlainArray(pred) && pred.element_type() == PRED &&
      (pred.dimensions().empty() ||
       pred.dimensions() == on_true.dimensions())) {
    return absl::OkStatus();
  }
  return context.Expect(Invariant::V53, inst,
                        ShapeInference::InferTernaryOpShape(
                            HloOpcode::kSelect, pred, on_true, on_false));
}

absl::Status CheckClamp(const Context& context, const HloInstruction& inst) {
  return context.Expect(
      Invariant::V53, inst,
      ShapeInference::InferTernaryOpShape(
          HloOpcode::kClamp, inst.operand(0)->shape(), inst.operand(1)->shape(),
          inst.operand(2)->shape()));
}

absl::Status CheckConvert(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  if (SameSizes(operand, result) &&
      !primitive_util::IsComplexType(operand.element_type())) {
    return absl::OkStatus();
  }
  if (!result.IsArray()) {
    return Broken(Invariant::V54, inst, "the result is not an array");
  }
  return context.Expect(
      Invariant::V54, inst,
      ShapeInference::InferConvertShape(operand, result.element_type()));
}

absl::Status CheckBitcastConvert(const Context& context,
                                 const HloInstruction& inst) {
  if (!inst.shape().IsArray()) {
    return Broken(Invariant::V55, inst, "the result is not an array");
  }
  return context.Expect(
      Invariant::V55, inst,
      ShapeInference::InferBitcastConvertShape(inst.operand(0)->shape(),
                                               inst.shape().element_type()));
}

absl::Status CheckStochasticConvert(const Context& context,
                                    const HloInstruction& inst) {
  if (!inst.shape().IsArray()) {
    return Broken(Invariant::V54, inst, "the result is not an array");
  }
  return context.Expect(Invariant::V54, inst,
                        ShapeInference::InferStochasticConvertShape(
                            inst.operand(0)->shape(), inst.operand(1)->shape(),
                            inst.shape().element_type()));
}

absl::Status CheckReducePrecision(const Context& context,
                                  const HloInstruction& inst) {
  return context.Expect(Invariant::V54, inst,
                        ShapeInference::InferReducePrecisionShape(
                            inst.operand(0)->shape(), inst.exponent_bits(),
                            inst.mantissa_bits()));
}

absl::Status CheckMap(const Context& context, const HloInstruction& inst) {
  const ShapePtrs operands = OperandShapes(inst);
  const HloComputation& callee = *inst.called_computations()[0];
  for (const Shape* operand : operands) {
    if (!operand->IsArray()) {
      return Broken(Invariant::V59, inst, "an operand is not an array");
    }
  }
  absl::Status status =
      CheckAppliedTypes(context, Invariant::V59, inst, inst.operand_count());
  if (!status.ok()) return status;
  return context.Expect(Invariant::V59, inst,
                        ShapeInference::InferMapShape(
                            operands, SignatureOf(callee), inst.dimensions()));
}

}  // namespace xla::verifier
