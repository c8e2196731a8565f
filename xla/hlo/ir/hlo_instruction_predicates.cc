// Predicates that passes use on instructions: effects, elementwise, reuse,
// categories.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// How an instruction reads the elements of one operand, from harmless to not.
enum class OperandUse {
  kNone,
  kInPlace,   // element i for result element i
  kPermuted,  // each element at most once
  kReused,
};

OperandUse UseOfOperand(const HloInstruction& inst, int64_t operand_number);

// The worst use of a fused parameter on the way to the root. Each instruction
// of the fusion is looked at once per operand position.
OperandUse UseOfFusedParameter(const HloInstruction* parameter) {
  const HloInstruction* root = parameter->parent()->root_instruction();
  // The use of a value by all that leads from it to the root.
  absl::flat_hash_map<const HloInstruction*, OperandUse> uses;
  std::vector<HloInstruction*> order =
      parameter->parent()->MakeInstructionPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction* value = *it;
    OperandUse worst = value == root ? OperandUse::kInPlace : OperandUse::kNone;
    int64_t read_by = 0;
    for (const HloInstruction* user : value->users()) {
      for (int64_t i : user->OperandIndices(value)) {
        OperandUse use = UseOfOperand(*user, i);
        auto known = uses.find(user);
        if (use == OperandUse::kNone || known == uses.end() ||
            known->second == OperandUse::kNone) {
          continue;
        }
        use = std::max(use, known->second);
        ++read_by;
        // Two readers that take elements in different orders read twice.
        if (read_by > 1 &&
            (use == OperandUse::kPermuted || worst == OperandUse::kPermuted)) {
          use = OperandUse::kReused;
        }
        worst = std::max(worst, use);
      }
    }
    uses[value] = worst;
    if (value == parameter) return worst;
  }
  return OperandUse::kNone;
}

// A dot reads an operand again for every element that the other operand has in
// dimensions of its own.
OperandUse UseOfDotOperand(const HloInstruction& dot, int64_t operand_number) {
  if (operand_number > 1) return OperandUse::kReused;
  const DotDimensionNumbers& dnums = dot.dot_dimension_numbers();
  const bool other_is_rhs = operand_number == 0;
  const Shape& other = dot.operand(1 - operand_number)->shape();
  const auto& contracting = other_is_rhs ? dnums.rhs_contracting_dimensions()
                                         : dnums.lhs_contracting_dimensions();
  const auto& batch = other_is_rhs ? dnums.rhs_batch_dimensions()
                                   : dnums.lhs_batch_dimensions();
  for (int64_t d = 0; d < static_cast<int64_t>(other.dimensions().size());
       ++d) {
    if (other.dimensions(d) != 1 && !absl::c_linear_search(contracting, d) &&
        !absl::c_linear_search(batch, d)) {
      return OperandUse::kReused;
    }
  }
  return OperandUse::kPermuted;
}

OperandUse UseOfOperand(const HloInstruction& inst, int64_t operand_number) {
  switch (inst.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return OperandUse::kPermuted;
    case HloOpcode::kPad:
    case HloOpcode::kDynamicSlice:
      return operand_number == 0 ? OperandUse::kPermuted : OperandUse::kReused;
    case HloOpcode::kDynamicUpdateSlice:
      return operand_number <= 1 ? OperandUse::kPermuted : OperandUse::kReused;
    case HloOpcode::kGather:
      // Rows may be taken twice, but each element is read once per result.
      return OperandUse::kPermuted;
    case HloOpcode::kReduce:
      return operand_number < inst.operand_count() / 2 ? OperandUse::kPermuted
                                                       : OperandUse::kReused;
    case HloOpcode::kDot:
      return UseOfDotOperand(inst, operand_number);
    case HloOpcode::kFusion:
      return UseOfFusedParameter(inst.fused_parameter(operand_number));
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
      return OperandUse::kInPlace;
    default:  // Elementwise, or elements are read more than once.
      break;
  }
  if (!inst.IsElementwise()) return OperandUse::kReused;
  // Scalars spread implicitly (operands of clamp and select).
  return ShapeUtil::SameDimensions(inst.shape(),
                                   inst.operand(operand_number)->shape())
             ? OperandUse::kInPlace
             : OperandUse::kReused;
}

}  // namespace

bool HloInstruction::ReusesOperandElements(int64_t i) const {
  return UseOfOperand(*this, i) == OperandUse::kReused;
}

// --- Side effects
// -------------------------------------------------------------

bool HloInstruction::HasSideEffectNoRecurse() const {
  if (HloOpcodeAlwaysHasSideEffect(opcode_)) return true;
  switch (opcode_) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kReduceScatter:
      if (Cast<HloCollectiveInstruction>(this)->constrain_layout()) return true;
      [[fallthrough]];
    case HloOpcode::kCollectivePermute: {
      // Across modules, the other side waits; within one SPMD module all
      // devices drop the instruction together.
      if (!channel_id().has_value()) return false;
      const HloModule* module = GetModule();
      return module == nullptr || !module->config().use_spmd_partitioning();
    }
    case HloOpcode::kCustomCall:
      return Cast<HloCustomCallInstruction>(this)
          ->custom_call_has_side_effect();
    default:  // Decided by the trait above.
      return false;
  }
}

bool HloInstruction::HasSideEffect() const {
  if (HasSideEffectNoRecurse()) return true;
  if (const auto* async = DynCast<HloAsyncInstruction>(this)) {
    return async->HasSideEffect();
  }
  return absl::c_any_of(called_computations(),
                        [](const HloComputation* computation) {
                          return computation->HasSideEffect();
                        });
}

// --- Elementwise
// --------------------------------------------------------------

bool HloInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  if (!HloOpcodeIsElementwise(opcode_)) return false;
  // Types of other widths add or drop a dimension.
  return opcode_ != HloOpcode::kBitcastConvert ||
         ShapeUtil::SameDimensions(shape_, operand(0)->shape());
}

bool HloInstruction::IsElementwiseOnOperand(int64_t operand_idx) const {
  CHECK_LT(operand_idx, operand_count());
  return IsElementwiseImpl(operand_idx);
}

bool HloInstruction::IsElementwise() const {
  return IsElementwiseImpl(std::nullopt);
}

bool HloInstruction::IsElementwiseBinary() const {
  return IsElementwise() && operand_count() == 2;
}

// --- Kinds of instructions
// ----------------------------------------------------

bool HloInstruction::IsFusible() const {
  switch (opcode_) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kDomain:
    case HloOpcode::kParameter:
    case HloOpcode::kWhile:
      return false;
    // Their computations cannot have side effects.
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      return true;
    case HloOpcode::kRng:
      return user_count() <= 1;
    default:  // Decided by side effects.
      return !HasSideEffect();
  }
}

bool HloInstruction::IsFused() const {
  return parent_ != nullptr && parent_->IsFusionComputation();
}

bool HloInstruction::IsLoopFusion() const {
  return opcode_ == HloOpcode::kFusion && fusion_kind() == FusionKind::kLoop;
}

bool HloInstruction::IsInputFusion() const {
  return opcode_ == HloOpcode::kFusion && fusion_kind() == FusionKind::kInput;
}

bool HloInstruction::IsOutputFusion() const {
  return opcode_ == HloOpcode::kFusion && fusion_kind() == FusionKind::kOutput;
}

bool HloInstruction::IsCustomFusion() const {
  return opcode_ == HloOpcode::kFusion && fusion_kind() == FusionKind::kCustom;
}

bool HloInstruction::IsCustomCall(absl::string_view target) const {
  return opcode_ == HloOpcode::kCustomCall && custom_call_target() == target;
}

bool HloInstruction::IsCustomCall(
    absl::Span<const absl::string_view> targets) const {
  return opcode_ == HloOpcode::kCustomCall &&
         absl::c_linear_search(targets, custom_call_target());
}

bool HloInstruction::IsAllowedAsyncIntermediaryCustomCall() const {
  return IsCustomCall({"Pin", "Unpin", "CreateBuffer"});
}

bool HloInstruction::IsAllowedAsyncIntermediary() const {
  return HloOpcodeIsOneOf<HloOpcode::kBitcast, HloOpcode::kGetTupleElement,
                          HloOpcode::kOptimizationBarrier,
                          HloOpcode::kParameter, HloOpcode::kTuple,
                          HloOpcode::kWhile>(opcode_) ||
         IsAllowedAsyncIntermediaryCustomCall();
}

bool HloInstruction::IsCrossModuleAllReduce() const {
  if (opcode_ == HloOpcode::kAllReduce ||
      opcode_ == HloOpcode::kAllReduceStart) {
    return channel_id().has_value();
  }
  return opcode_ == HloOpcode::kAllReduceDone &&
         operand(0)->IsCrossModuleAllReduce();
}

bool HloInstruction::IsCrossReplicaAllReduce() const {
  if (opcode_ == HloOpcode::kAllReduce ||
      opcode_ == HloOpcode::kAllReduceStart) {
    return !channel_id().has_value();
  }
  return opcode_ == HloOpcode::kAllReduceDone &&
         operand(0)->IsCrossReplicaAllReduce();
}

std::string HloInstruction::ToCategory() const {
  if (HloOpcodeIsOneOf<HloOpcode::kCopy, HloOpcode::kDynamicReshape,
                       HloOpcode::kReshape, HloOpcode::kTranspose>(opcode_)) {
    return "data formatting";
  }
  return IsElementwise() ? "non-fusion elementwise"
                         : std::string(HloOpcodeString(opcode_));
}

// --- Dimensions and layouts
// ---------------------------------------------------

std::optional<int64_t> HloInstruction::MapUnaryOutputDimToOperandDim(
    int64_t output_dim_idx) const {
  switch (opcode_) {
    case HloOpcode::kBroadcast: {
      const absl::Span<const int64_t> output_dims = dimensions();
      auto it = absl::c_find(output_dims, output_dim_idx);
      if (it == output_dims.end()) return std::nullopt;
      return it - output_dims.begin();
    }
    case HloOpcode::kTranspose:
      return dimensions(output_dim_idx);
    case HloOpcode::kReshape:
      for (const auto& [input_dim, output_dim] :
           ShapeUtil::DimensionsUnmodifiedByReshape(operand(0)->shape(),
                                                    shape_)) {
        if (output_dim == output_dim_idx) return input_dim;
      }
      return std::nullopt;
    case HloOpcode::kPad:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
      return output_dim_idx;
    default:  // Elementwise opcodes alone.
      if (operand_count() == 1 && IsElementwise()) return output_dim_idx;
      return std::nullopt;
  }
}

std::optional<ShapeUtil::ShapeEqualityDescriptor>
HloInstruction::ReshapeMerelyInsertsOrDeletes1SizedDimensions() const {
  if (opcode_ != HloOpcode::kReshape) return std::nullopt;
  return ShapeUtil::InsertedOrDeleted1SizedDimensions(operand(0)->shape(),
                                                      shape_);
}

bool HloInstruction::IsEffectiveBitcast() const {
  if (opcode_ == HloOpcode::kBitcast) return true;
  if (opcode_ != HloOpcode::kTranspose && opcode_ != HloOpcode::kReshape) {
    return false;
  }
  const Shape& input = operand(0)->shape();
  if (!input.IsArray() || !input.has_layout() || !shape_.has_layout()) {
    return false;
  }
  return opcode_ == HloOpcode::kTranspose
             ? ShapeUtil::TransposeIsBitcast(input, shape_, dimensions())
             : ShapeUtil::ReshapeIsBitcast(input, shape_);
}

bool HloInstruction::IsEffectiveBitcast(HloOpcode opcode) const {
  return opcode_ == opcode && IsEffectiveBitcast();
}

std::pair<const HloInstruction*, ShapeIndex>
HloInstruction::LatestNonGteAncestorAndIndex() const {
  const HloInstruction* inst = this;
  std::vector<int64_t> reversed;
  while (inst->opcode_ == HloOpcode::kGetTupleElement) {
    reversed.push_back(inst->tuple_index());
    inst = inst->operand(0);
  }
  ShapeIndex index;
  for (auto it = reversed.rbegin(); it != reversed.rend(); ++it) {
    index.push_back(*it);
  }
  return {inst, index};
}

std::pair<HloInstruction*, ShapeIndex>
HloInstruction::LatestNonGteAncestorAndIndex() {
  auto [inst, index] =
      const_cast<const HloInstruction*>(this)->LatestNonGteAncestorAndIndex();
  return {const_cast<HloInstruction*>(inst), index};
}

const HloInstruction* HloInstruction::LatestNonGteAncestor() const {
  const HloInstruction* inst = this;
  while (inst->opcode_ == HloOpcode::kGetTupleElement) inst = inst->operand(0);
  return inst;
}

HloInstruction* HloInstruction::LatestNonGteAncestor() {
  return const_cast<HloInstruction*>(
      const_cast<const HloInstruction*>(this)->LatestNonGteAncestor());
}

}  // namespace xla
