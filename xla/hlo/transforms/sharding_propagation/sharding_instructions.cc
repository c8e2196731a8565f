#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/order_of_annotations.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// `Sharding` custom calls, and single steps of propagation.

namespace xla {
namespace {

// Whether the flags let this entry parameter change; single flags speak of all.
bool ParameterMayChange(const HloInstruction& parameter,
                        absl::Span<const bool> flags) {
  if (flags.empty()) return false;
  const size_t n = parameter.parameter_number();
  return flags.size() == 1 ? flags[0] : n < flags.size() && flags[n];
}

bool IsEntryParameter(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kParameter &&
         inst.parent() == inst.GetModule()->entry_computation();
}

absl::Status CheckShardingCall(const HloInstruction& inst) {
  auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(
        absl::StrCat("instruction ", inst.name(), ": ", message));
  };
  if (inst.operand_count() != 1) {
    return error("a Sharding call has one operand");
  }
  if (!inst.has_sharding()) return error("a Sharding call without a sharding");
  const absl::string_view text =
      Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (!absl::StartsWith(text, "unspecified_dims")) return absl::OkStatus();
  const std::vector<int64_t> dims = UnspecifiedDims(inst);
  if (dims.empty() || !inst.shape().IsArray()) {
    return error(absl::StrCat("bad ", text));
  }
  for (int64_t dim : dims) {
    if (dim >= static_cast<int64_t>(inst.shape().dimensions().size())) {
      return error(absl::StrCat("bad ", text));
    }
  }
  return absl::OkStatus();
}

void SaveBoundary(
    const HloModule& module, std::vector<HloSharding>* saved_root_shardings,
    absl::flat_hash_map<int64_t, HloSharding>* saved_parameter_shardings) {
  const HloComputation* entry = module.entry_computation();
  const HloInstruction* root = entry->root_instruction();
  saved_root_shardings->clear();
  if (root->has_sharding()) {
    if (root->shape().IsTuple()) {
      for (int64_t i = 0;
           i < static_cast<int64_t>(root->shape().tuple_shapes().size()); ++i) {
        saved_root_shardings->push_back(
            root->sharding().IsTuple()
                ? root->sharding().GetSubSharding(root->shape(), {i})
                : root->sharding());
      }
    } else {
      saved_root_shardings->push_back(root->sharding());
    }
  }
  saved_parameter_shardings->clear();
  for (const HloInstruction* parameter : entry->parameter_instructions()) {
    if (parameter->has_sharding()) {
      saved_parameter_shardings->insert(
          {parameter->parameter_number(), parameter->sharding()});
    }
  }
}

// Leaf shardings that improve what the instruction has.
bool TakeLeaves(HloInstruction* inst,
                const std::vector<sharding_edges::LeafSharding>& found,
                bool merge) {
  bool changed = false;
  const std::vector<const Shape*> shapes =
      ShapeUtil::FlattenTupleShape(inst->shape());
  for (const sharding_edges::LeafSharding& leaf : found) {
    if (!sharding_edges::Fits(leaf.sharding, *shapes[leaf.leaf])) continue;
    std::optional<HloSharding> improved =
        hlo_sharding_util::ReturnImprovedShardingImpl(
            leaf.sharding, sharding_edges::ReadInstruction(inst, leaf.leaf),
            *shapes[leaf.leaf], merge,
            /*allow_aggressive_resharding=*/
            HloPredicateIsNotOp<HloOpcode::kDot, HloOpcode::kConvolution>(
                inst) &&
                ComputeNonRootUsers(inst) == 1);
    if (!improved) continue;
    changed = true;
    if (!inst->shape().IsTuple()) {
      inst->set_sharding(*std::move(improved));
      continue;
    }
    std::vector<HloSharding> parts;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const HloSharding* own = sharding_edges::ReadInstruction(inst, i);
      parts.push_back(own == nullptr ? HloSharding::Replicate() : *own);
    }
    parts[leaf.leaf] = *std::move(improved);
    inst->set_sharding(HloSharding::Tuple(inst->shape(), parts));
  }
  return changed;
}

bool InferFromOperands(HloInstruction* inst, bool merge, bool is_spmd) {
  sharding_edges::Context context;
  context.level = 3;
  context.is_spmd = is_spmd;
  return TakeLeaves(inst,
                    sharding_edges::FromOperands(
                        *inst, context, sharding_edges::ReadInstruction),
                    merge);
}

}  // namespace

absl::StatusOr<bool> ProcessShardingInstruction(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    bool replace_sharding_with_copy,
    absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>>*
        unspecified_dims,
    std::vector<HloSharding>* saved_root_shardings,
    absl::flat_hash_map<int64_t, HloSharding>* saved_parameter_shardings,
    absl::flat_hash_map<HloInstruction*, int64_t>*
        instruction_to_shard_group_id,
    absl::flat_hash_map<int64_t, std::vector<HloInstruction*>>*
        shard_group_id_to_shard_as_group,
    absl::flat_hash_map<int64_t, std::vector<HloInstruction*>>*
        shard_group_id_to_shard_like_group,
    absl::Span<const bool> allow_spmd_sharding_propagation_to_parameters_vector,
    bool remove_unknown_shardings) {
  SaveBoundary(*module, saved_root_shardings, saved_parameter_shardings);
  bool changed = false;
  auto join = [&](HloInstruction* inst, const HloSharding::ShardGroup& group) {
    const int64_t id = group.shard_group_id;
    if (instruction_to_shard_group_id != nullptr) {
      (*instruction_to_shard_group_id)[inst] = id;
    }
    auto* members = group.shard_as ? shard_group_id_to_shard_as_group
                                   : shard_group_id_to_shard_like_group;
    if (members != nullptr) (*members)[id].push_back(inst);
  };
  for (HloComputation* computation : module->computations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!inst->IsCustomCall("Sharding")) {
        if (!inst->has_sharding()) continue;
        if (inst->sharding().IsShardGroup() && !inst->sharding().IsTuple()) {
          HloSharding sharding = inst->sharding();
          join(inst, sharding.GetShardGroup());
          inst->set_sharding(std::move(sharding.ClearShardGroup()));
          changed = true;
        }
        if (remove_unknown_shardings && inst->sharding().IsUnknown()) {
          inst->clear_sharding();
          changed = true;
        }
        continue;
      }
      RETURN_IF_ERROR(CheckShardingCall(*inst));
      changed = true;
      HloInstruction* operand = inst->mutable_operand(0);
      HloSharding sharding = inst->sharding();
      const HloSharding::ShardGroup group = sharding.GetShardGroup();
      const bool grouped = !sharding.IsTuple() && sharding.IsShardGroup();
      if (grouped) sharding.ClearShardGroup();
      // A call disappears if its operand has its sharding, or has none yet and
      // is free to take one. Otherwise a copy keeps both shardings apart, as it
      // does where dimensions are open, which the operand could not express.
      const std::vector<int64_t> open = UnspecifiedDims(*inst);
      const bool operand_may_take =
          open.empty() && !operand->has_sharding() && !sharding.IsUnknown() &&
          (!IsEntryParameter(*operand) ||
           ParameterMayChange(
               *operand, allow_spmd_sharding_propagation_to_parameters_vector));
      if (!replace_sharding_with_copy &&
          (operand_may_take ||
           (operand->has_sharding() && operand->sharding() == sharding))) {
        operand->set_sharding(sharding);
        if (grouped) join(operand, group);
        RETURN_IF_ERROR(PassOrderOn(inst));
        RETURN_IF_ERROR(inst->ReplaceAllUsesWith(operand));
        RETURN_IF_ERROR(computation->RemoveInstruction(inst));
        continue;
      }
      if (operand_may_take) operand->set_sharding(sharding);
      std::unique_ptr<HloInstruction> copy =
          HloInstruction::CreateUnary(inst->shape(), HloOpcode::kCopy, operand);
      copy->set_metadata(inst->metadata());
      copy->set_frontend_attributes(inst->frontend_attributes());
      HloInstruction* added = computation->AddInstruction(std::move(copy));
      if (!(sharding.IsUnknown() && remove_unknown_shardings)) {
        added->set_sharding(std::move(sharding));
      }
      if (!open.empty()) (*unspecified_dims)[added] = open;
      if (grouped) join(added, group);
      RETURN_IF_ERROR(
          computation
              ->ReplaceInstruction(inst, added, /*preserve_sharding=*/false,
                                   /*relay_control_dependency=*/true)
              .status());
    }
  }
  return changed;
}

int64_t ComputeNonRootUsers(const HloInstruction* instr) {
  return absl::c_count_if(instr->users(), [](const HloInstruction* user) {
    return !user->IsRoot();
  });
}

bool InferDotShardingFromOperands(
    HloInstruction* instruction, const CallGraph& call_graph,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dnums,
    bool may_combine_partial_sharding, bool is_spmd) {
  return InferFromOperands(instruction, may_combine_partial_sharding, is_spmd);
}

bool InferConvolutionShardingFromOperands(HloInstruction* instruction,
                                          const CallGraph& call_graph,
                                          bool may_combine_partial_sharding,
                                          bool is_spmd) {
  return InferFromOperands(instruction, may_combine_partial_sharding, is_spmd);
}

bool InferReduceShardingFromOperand(HloInstruction* instruction,
                                    bool may_combine_partial_sharding,
                                    bool is_spmd) {
  return InferFromOperands(instruction, may_combine_partial_sharding, is_spmd);
}

std::optional<HloSharding> InferBroadcastOperandSharding(
    const HloInstruction& instruction, bool is_spmd) {
  if (!instruction.has_sharding() ||
      instruction.sharding().IsSingleDeviceLeaf()) {
    return std::nullopt;
  }
  sharding_edges::Context context;
  context.level = 3;
  context.is_spmd = is_spmd;
  const std::vector<sharding_edges::LeafSharding> found =
      sharding_edges::FromUser(*instruction.operand(0), instruction, context,
                               sharding_edges::ReadInstruction);
  if (found.empty()) return std::nullopt;
  return found[0].sharding;
}

absl::Status ShardingPropagation::NormalizeDomain(
    const DomainMetadata::Domain& domain, const DomainMetadata* metadata) {
  if (metadata == nullptr) {
    return ShardingMetadata::NormalizeShardingDomain(domain, metadata);
  }
  ASSIGN_OR_RETURN(const ShardingMetadata* of_domain,
                   ShardingMetadata::ToShardingMetadata(metadata));
  const HloSharding* sharding = of_domain->sharding();
  const bool tiled =
      sharding != nullptr &&
      (sharding->IsTuple() ? absl::c_any_of(sharding->tuple_elements(),
                                            [](const HloSharding& leaf) {
                                              return leaf.IsTiled();
                                            })
                           : sharding->IsTiled());
  if (!tiled) {
    return ShardingMetadata::NormalizeShardingDomain(domain, metadata);
  }
  for (HloInstruction* exit : domain.exit_domains) {
    HloInstruction* operand = exit->mutable_operand(0);
    if (sharding->IsTuple() || !operand->shape().IsTuple()) {
      RETURN_IF_ERROR(sharding->Validate(operand->shape()));
      operand->set_sharding(*sharding);
    } else {
      operand->set_sharding(
          HloSharding::SingleTuple(operand->shape(), *sharding));
    }
  }
  return absl::OkStatus();
}

std::optional<HloSharding> ShardingPropagation::GetShardingFromUser(
    const HloInstruction& instruction, const HloInstruction& user,
    int64_t aggressiveness, bool is_spmd, const CallGraph& call_graph,
    const CustomCallShardingHelper* sharding_helper) {
  sharding_edges::Context context;
  context.level = aggressiveness;
  context.is_spmd = is_spmd;
  context.helper = sharding_helper;
  const bool merge = is_spmd && aggressiveness >= 1;
  const int64_t num_leaves = sharding_edges::NumLeaves(instruction.shape());
  std::vector<std::optional<HloSharding>> leaves(num_leaves);
  bool any = false;
  for (const sharding_edges::LeafSharding& found : sharding_edges::FromUser(
           instruction, user, context, sharding_edges::ReadInstruction)) {
    any = true;
    std::optional<HloSharding>& leaf = leaves[found.leaf];
    if (!leaf) {
      leaf = found.sharding;
    } else if (std::optional<HloSharding> better =
                   hlo_sharding_util::BetterSharding(found.sharding, *leaf,
                                                     merge)) {
      leaf = std::move(better);
    }
  }
  if (!any) return std::nullopt;
  if (!instruction.shape().IsTuple()) return leaves[0];
  std::vector<HloSharding> parts;
  for (int64_t i = 0; i < num_leaves; ++i) {
    // Dimensions that the user does not mention keep their sharding.
    const HloSharding* own = sharding_edges::ReadInstruction(&instruction, i);
    parts.push_back(leaves[i] ? *leaves[i]
                    : own     ? *own
                              : HloSharding::Replicate());
  }
  return HloSharding::Tuple(instruction.shape(), parts);
}

}  // namespace xla
