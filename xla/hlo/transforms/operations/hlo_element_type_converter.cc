#include "xla/hlo/transforms/operations/hlo_element_type_converter.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What the header says stays as it is; what calls computations is not here.
bool IsLeftAlone(const HloInstruction& inst) {
  if (!inst.called_computations().empty() || inst.IsAsynchronous()) return true;
  // The tuple may be the state of what is asynchronous.
  if (inst.opcode() == HloOpcode::kCopy && inst.shape().IsTuple()) return true;
  return HloPredicateIsOp<
      HloOpcode::kAddDependency, HloOpcode::kAllGatherDone,
      HloOpcode::kAllGatherStart, HloOpcode::kAllReduceDone,
      HloOpcode::kBitcast, HloOpcode::kBitcastConvert,
      HloOpcode::kCollectivePermuteDone, HloOpcode::kCollectivePermuteStart,
      HloOpcode::kConstant, HloOpcode::kConvert, HloOpcode::kCopyDone,
      HloOpcode::kCopyStart, HloOpcode::kCustomCall, HloOpcode::kDomain,
      HloOpcode::kGetTupleElement, HloOpcode::kInfeed,
      HloOpcode::kOptimizationBarrier, HloOpcode::kOutfeed,
      HloOpcode::kParameter, HloOpcode::kRecv, HloOpcode::kRecvDone,
      HloOpcode::kRngBitGenerator, HloOpcode::kSend, HloOpcode::kSendDone,
      HloOpcode::kTuple>(&inst);
}

// Whether the bits of the type show in the result, and not the numbers alone.
bool ReadsBits(const HloInstruction& inst, PrimitiveType from,
               PrimitiveType to) {
  switch (inst.opcode()) {
    case HloOpcode::kClz:
    case HloOpcode::kMulhi:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
    // The random operand must be as wide.
    case HloOpcode::kStochasticConvert:
      return true;
    case HloOpcode::kReducePrecision:
      // Types of other exponents have other subnormal numbers.
      return !primitive_util::IsFloatingPointType(from) ||
             !primitive_util::IsFloatingPointType(to) ||
             primitive_util::ExponentWidth(from) !=
                 primitive_util::ExponentWidth(to);
    default:  // The numbers say it all.
      return false;
  }
}

// Whether one of its types follows from another, or is always the same.
bool HasTiedTypes(const HloInstruction& inst, PrimitiveType from) {
  switch (inst.opcode()) {
    // Complex numbers are made of, or taken apart into, real ones.
    case HloOpcode::kComplex:
    case HloOpcode::kFft:
    case HloOpcode::kImag:
    case HloOpcode::kReal:
      return true;
    case HloOpcode::kAbs:
      return primitive_util::IsComplexType(
          inst.operand(0)->shape().element_type());
    // Numbers of devices, and the state of random numbers.
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
    case HloOpcode::kRngGetAndUpdateState:
      return true;
    // Sizes and positions.
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kTopK:
      return from == S32;
    default:  // What it computes in is up to its operands.
      return false;
  }
}

bool HasType(const Shape& shape, PrimitiveType type) {
  return ShapeUtil::HasPrimitiveType(shape, type);
}

Shape WithType(Shape shape, PrimitiveType from, PrimitiveType to) {
  ShapeUtil::ForEachMutableLeafShape(
      &shape, [&](Shape* leaf, const ShapeIndex&) {
        if (leaf->IsArray() && leaf->element_type() == from) {
          *leaf = ShapeUtil::ChangeElementType(*leaf, to);
        }
      });
  return shape;
}

// The value with the element types of `shape`.
HloInstruction* ConvertedTo(HloInstruction* value, const Shape& shape) {
  if (ShapeUtil::Compatible(value->shape(), shape)) return value;
  if (!shape.IsTuple()) {
    return value->AddInstruction(HloInstruction::CreateConvert(shape, value));
  }
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < shape.tuple_shapes_size(); ++i) {
    elements.push_back(ConvertedTo(
        value->AddInstruction(HloInstruction::CreateGetTupleElement(value, i)),
        shape.tuple_shapes(i)));
  }
  return value->AddInstruction(HloInstruction::CreateTuple(elements));
}

absl::StatusOr<PrimitiveType> ArrayType(const std::string& name) {
  absl::StatusOr<PrimitiveType> type =
      primitive_util::StringToPrimitiveType(name);
  // Nothing else can be what selects and branches read.
  if (type.ok() && primitive_util::IsArrayType(*type) && *type != PRED) {
    return *type;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "element-type-converter: '", name, "' is not a numeric type"));
}

// What some instructions do is for numbers of one kind only: indices are
// integers, and so is what is shifted.
bool AreOfOneKind(PrimitiveType a, PrimitiveType b) {
  return primitive_util::IsIntegralType(a) ==
             primitive_util::IsIntegralType(b) &&
         primitive_util::IsComplexType(a) == primitive_util::IsComplexType(b);
}

}  // namespace

absl::Status ComputeInType(PrimitiveType to, PrimitiveType from,
                           HloInstruction* inst) {
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : inst->operands()) {
    operands.push_back(
        ConvertedTo(operand, WithType(operand->shape(), from, to)));
  }
  const Shape shape = WithType(inst->shape(), from, to);
  std::unique_ptr<HloInstruction> made;
  if (inst->opcode() == HloOpcode::kCompare &&
      Cast<HloCompareInstruction>(inst)->type() ==
          Comparison::DefaultComparisonType(from)) {
    made = HloInstruction::CreateCompare(shape, operands[0], operands[1],
                                         inst->comparison_direction());
    inst->SetupDerivedInstruction(made.get());
  } else {
    made = inst->CloneWithNewOperands(shape, operands);
  }
  HloInstruction* wide = inst->AddInstruction(std::move(made));
  TF_RETURN_IF_ERROR(wide->CopyAllControlDepsFrom(inst));
  TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
  return inst->parent()->ReplaceInstruction(inst,
                                            ConvertedTo(wide, inst->shape()));
}

HloElementTypeConverter::HloElementTypeConverter(
    PrimitiveType eliminate_type, PrimitiveType replace_with_type) {
  options_.eliminate =
      primitive_util::LowercasePrimitiveTypeName(eliminate_type);
  options_.replace_with =
      primitive_util::LowercasePrimitiveTypeName(replace_with_type);
}

absl::StatusOr<bool> HloElementTypeConverter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const PrimitiveType from, ArrayType(options_.eliminate));
  TF_ASSIGN_OR_RETURN(const PrimitiveType to, ArrayType(options_.replace_with));
  if (from == to) return false;
  if (!AreOfOneKind(from, to)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "element-type-converter: '", options_.eliminate, "' and '",
        options_.replace_with, "' are different kinds of numbers"));
  }
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread has to stay one operation.
    if (computation->IsAsyncComputation() && computation->IsMainThread()) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      const bool reads =
          absl::c_any_of(inst->operands(), [&](const HloInstruction* operand) {
            return HasType(operand->shape(), from);
          });
      if (IsLeftAlone(*inst) || ReadsBits(*inst, from, to) ||
          HasTiedTypes(*inst, from) ||
          (!reads && !HasType(inst->shape(), from))) {
        continue;
      }
      TF_RETURN_IF_ERROR(ComputeInType(to, from, inst));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
