#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/sharding_propagation/callee_shardings.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_spread.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Propagates shardings from annotated instructions to all others. Annotations
// and entry parameters that may not change are fixed and serve as sources only;
// everything else is improved until nothing changes, at four levels of
// increasing aggressiveness. After that the boundary of the entry is restored
// where it must not change, and annotations are removed.

namespace xla {
namespace {

constexpr int64_t kLastLevel = 3;
constexpr char kCsePrevention[] = "_sharding_propagation_cse_prevention";

using Threads = absl::flat_hash_set<absl::string_view>;
using Groups = absl::flat_hash_map<int64_t, std::vector<HloInstruction*>>;

template <typename Flags>
bool Any(const Flags& flags) {
  return absl::c_linear_search(flags, true);
}

absl::Status CheckShardings(const HloModule& module, const Threads& threads) {
  for (const HloComputation* computation : module.computations(threads)) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding()) continue;
      switch (inst->opcode()) {
        // Outfeeds count their token, sends their operand.
        case HloOpcode::kOutfeed:
        case HloOpcode::kSend:
        case HloOpcode::kRecv:
          continue;
        default:  // Has a sharding for its shape.
          break;
      }
      const absl::Status fits = inst->sharding().Validate(inst->shape());
      if (!fits.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("instruction ", inst->name(), ": ", fits.message()));
      }
    }
  }
  return absl::OkStatus();
}

// One flag per leaf: whether it may change.
absl::StatusOr<std::vector<bool>> LeafFlags(const Shape& shape,
                                            absl::Span<const bool> flags,
                                            absl::string_view what) {
  const size_t elements =
      shape.IsTuple() ? shape.tuple_shapes().size() : size_t{1};
  if (flags.size() != 1 && flags.size() != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding-propagation: ", flags.size(), " flags for ",
                     elements, " ", what));
  }
  std::vector<bool> leaves;
  for (size_t i = 0; i < elements; ++i) {
    const Shape& element = shape.IsTuple() ? shape.tuple_shapes(i) : shape;
    leaves.insert(leaves.end(), sharding_edges::NumLeaves(element),
                  flags.size() == 1 ? flags[0] : flags[i]);
  }
  return leaves;
}

// The flags of each entry parameter's leaves.
absl::StatusOr<std::vector<std::vector<bool>>> ParameterFlags(
    const HloModule& module, absl::Span<const bool> flags) {
  const auto& parameters = module.entry_computation()->parameter_instructions();
  std::vector<std::vector<bool>> result;
  if (parameters.size() == 1 && parameters[0]->shape().IsTuple()) {
    ASSIGN_OR_RETURN(std::vector<bool> leaves,
                     LeafFlags(parameters[0]->shape(), flags,
                               "elements of the only parameter"));
    result.push_back(std::move(leaves));
    return result;
  }
  if (flags.size() != 1 && flags.size() != parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding-propagation: ", flags.size(), " flags for ",
                     parameters.size(), " parameters"));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    result.emplace_back(sharding_edges::NumLeaves(parameters[i]->shape()),
                        flags.size() == 1 ? flags[0] : flags[i]);
  }
  return result;
}

// The result of the entry keeps what it has, or nothing. Where it is tied to
// what happens in a loop or branch, its elements are put together anew.
void SeparateRoot(HloComputation* entry) {
  HloInstruction* root = entry->root_instruction();
  if (HloPredicateIsNotOp<HloOpcode::kWhile, HloOpcode::kConditional,
                          HloOpcode::kCall>(root)) {
    return;
  }
  if (root->has_sharding()) return;
  HloInstruction* result = nullptr;
  if (root->shape().IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (size_t i = 0; i < root->shape().tuple_shapes().size(); ++i) {
      elements.push_back(entry->AddInstruction(
          HloInstruction::CreateGetTupleElement(root, i)));
    }
    result = entry->AddInstruction(HloInstruction::CreateTuple(elements));
  } else {
    result = entry->AddInstruction(
        HloInstruction::CreateUnary(root->shape(), HloOpcode::kCopy, root));
  }
  entry->set_root_instruction(result);
}

HloInstruction* AddCopy(HloInstruction* value) {
  return value->parent()->AddInstruction(
      HloInstruction::CreateUnary(value->shape(), HloOpcode::kCopy, value));
}

// Shardings of what the caller sees may change: uneven ones become replicated,
// other readers cut further. Those of borders of manual regions may not: they
// say what is inside. So the caller sees copies. `parameters`, by number: those
// that may change.
absl::StatusOr<bool> SeparateBorders(
    HloComputation* entry, bool result,
    absl::FunctionRef<bool(int64_t)> parameters) {
  using hlo_sharding_util::EvenlyPartitions;
  bool separated = false;
  HloInstruction* root = entry->root_instruction();
  if (result && LeavesManualRegion(*root) && root->has_sharding() &&
      (!EvenlyPartitions(root->shape(), root->sharding()) ||
       root->user_count() > 0)) {
    HloInstruction* copy = AddCopy(root);
    copy->copy_sharding(root);
    entry->set_root_instruction(copy);
    separated = true;
  }
  for (HloInstruction* parameter : entry->parameter_instructions()) {
    if (!parameters(parameter->parameter_number()) ||
        !parameter->has_sharding() || !parameter->shape().IsArray() ||
        (EvenlyPartitions(parameter->shape(), parameter->sharding()) &&
         parameter->user_count() == 1)) {
      continue;
    }
    const std::vector<HloInstruction*> users(parameter->users().begin(),
                                             parameter->users().end());
    for (HloInstruction* user : users) {
      if (!EntersManualRegion(*user)) continue;
      HloInstruction* copy = AddCopy(parameter);
      copy->set_sharding(parameter->sharding());
      RETURN_IF_ERROR(parameter->ReplaceUseWith(user, copy));
      separated = true;
    }
  }
  return separated;
}

// Whether all leaves of a sharding say where they come from (or none do).
bool AllHaveMetadata(const HloSharding& sharding, bool have) {
  if (!sharding.IsTuple()) return sharding.metadata().empty() != have;
  return absl::c_all_of(
      sharding.tuple_elements(),
      [&](const HloSharding& leaf) { return leaf.metadata().empty() != have; });
}

// Shardings say where they come from, or nothing says so.
bool SetMetadata(HloModule* module, const Threads& threads, bool propagate) {
  bool changed = false;
  for (HloComputation* computation : module->computations(threads)) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding() ||
          AllHaveMetadata(inst->sharding(), propagate)) {
        continue;
      }
      changed = true;
      inst->set_sharding(
          propagate ? inst->sharding().WithMetadata({inst->metadata()},
                                                    /*overwrite=*/false)
                    : inst->sharding().WithoutMetadata());
    }
  }
  return changed;
}

bool ClearCsePrevention(HloModule* module, const Threads& threads) {
  bool changed = false;
  for (HloComputation* computation : module->computations(threads)) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding() || inst->sharding().IsTuple()) continue;
      for (const OpMetadata& metadata : inst->sharding().metadata()) {
        if (metadata.op_name() != kCsePrevention) continue;
        inst->clear_sharding();
        changed = true;
        break;
      }
    }
  }
  return changed;
}

class PropagationRun {
 public:
  PropagationRun(HloModule* module, const Threads& threads,
                 const sharding_edges::Context& context)
      : module_(module), threads_(threads), context_(context) {}

  absl::Status Boundary(absl::Span<const bool> to_output,
                        absl::Span<const bool> to_parameters) {
    to_output_ = to_output;
    to_parameters_ = to_parameters;
    any_output_ = Any(to_output);
    ASSIGN_OR_RETURN(root_flags_,
                     LeafFlags(Entry()->root_instruction()->shape(), to_output,
                               "elements of the result"));
    ASSIGN_OR_RETURN(parameter_flags_, ParameterFlags(*module_, to_parameters));
    any_parameter_ = absl::c_any_of(parameter_flags_, Any<std::vector<bool>>);
    return absl::OkStatus();
  }

  // True if it changed shardings or the root.
  // The order is fixed: manual shardings first, then fixed leaves and groups,
  // the levels from 0 to 3, the common shardings of shard-as groups (followed
  // by one more round of the last level), and finally writing the result to the
  // module. Maps are traversed by key, so equal modules give equal results.
  absl::StatusOr<bool> Propagate(
      const absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>>&
          open,
      const Groups& as_groups, const Groups& like_groups) {
    HloInstruction* old_root = Entry()->root_instruction();
    if (!any_output_) SeparateRoot(Entry());
    ASSIGN_OR_RETURN(const bool borders,
                     SeparateBorders(Entry(), any_output_, [&](int64_t i) {
                       return Any(parameter_flags_[i]);
                     }));
    separated_ = borders || Entry()->root_instruction() != old_root;
    Remember();
    RETURN_IF_ERROR(SpreadManualShardings(module_).status());
    // Values in manual regions may be sharded along the other axes.
    for (HloComputation* computation : module_->computations(threads_)) {
      for (HloInstruction* inst : computation->instructions()) {
        if (inst->has_sharding() && !given_.contains(inst)) {
          inst->set_sharding(HloSharding::V3ToV2Sharding(inst->sharding()));
        }
      }
    }
    const std::vector<HloInstruction*> open_borders = FindBorders(open);
    ShardingSpread spread(module_, threads_, context_);
    for (HloComputation* computation : module_->computations(threads_)) {
      for (HloInstruction* inst : computation->instructions()) {
        FixGiven(inst, &spread);
      }
    }
    for (const auto& [inst, dims] : open) {
      // At a border, the other side has the sharding that is given there.
      if (absl::c_any_of(inst->users(), [&](const HloInstruction* user) {
            return IsManualBorder(*user) && !context_.borders.contains(user);
          })) {
        continue;
      }
      spread.Open(inst, dims);
    }
    for (const HloInstruction* border : open_borders) {
      spread.Open(border, UnspecifiedDims(*border));
    }
    // Maps in the order of their keys, so that runs are alike.
    for (const Groups* groups : {&as_groups, &like_groups}) {
      const std::map<int64_t, std::vector<HloInstruction*>> ordered(
          groups->begin(), groups->end());
      for (const auto& [id, members] : ordered) spread.AddGroup(members);
    }
    spread.Tie();
    for (int64_t level = 0; level <= kLastLevel; ++level) {
      spread.RunLevel(level);
    }
    if (!as_groups.empty()) {
      const std::map<int64_t, std::vector<HloInstruction*>> ordered(
          as_groups.begin(), as_groups.end());
      for (const auto& [id, members] : ordered) spread.MakeCommon(members);
      spread.RunLevel(kLastLevel);
    }
    spread.Write();
    for (HloInstruction* border : open_borders) AlignBorder(border);
    RestoreBoundary();
    hlo_sharding_util::ReplicateBoundaryShardingsIfIndivisible(
        module_, to_output_, to_parameters_);
    return Differs() || separated_;
  }

  // Whether the entry has a new root.
  bool separated() const { return separated_; }

  // Takes away what propagation found, except on broadcasts of scalars.
  bool KeepScalarBroadcasts() {
    for (HloComputation* computation : module_->computations(threads_)) {
      for (HloInstruction* inst : computation->instructions()) {
        if (!inst->has_sharding()) continue;
        const auto given = given_.find(inst);
        if (given != given_.end()) {
          inst->set_sharding(given->second);
        } else if (inst->opcode() != HloOpcode::kBroadcast ||
                   !ShapeUtil::IsScalar(inst->operand(0)->shape())) {
          inst->clear_sharding();
        } else {
          OpMetadata metadata;
          metadata.set_op_name(kCsePrevention);
          inst->set_sharding(
              inst->sharding().WithMetadata({metadata}, /*overwrite=*/true));
        }
      }
    }
    return Differs();
  }

 private:
  HloComputation* Entry() const { return module_->entry_computation(); }

  // Borders of manual regions that leave dimensions open, between values that
  // may change and are read by nothing else. Callers read what roots give.
  std::vector<HloInstruction*> FindBorders(
      const absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>>&
          open) {
    std::vector<HloInstruction*> borders;
    for (HloComputation* computation : module_->computations(threads_)) {
      for (HloInstruction* inst : computation->instructions()) {
        std::optional<sharding_edges::OpenBorder> border =
            sharding_edges::OpenBorder::Of(*inst);
        if (!border.has_value() || !given_.contains(inst)) continue;
        const HloInstruction* operand = inst->operand(0);
        const bool result_may_change =
            !inst->IsRoot() || (computation == Entry() && any_output_);
        if (!open.contains(operand) || operand->user_count() > 1 ||
            operand->IsRoot() || !result_may_change) {
          continue;
        }
        borders.push_back(inst);
        context_.borders.emplace(inst, *std::move(border));
      }
    }
    return borders;
  }

  // The outside has to be cut as the inside is. What cannot be stays as it was
  // given.
  void AlignBorder(HloInstruction* border) {
    HloInstruction* operand = border->mutable_operand(0);
    const bool enters = EntersManualRegion(*border);
    HloInstruction* inner = enters ? border : operand;
    HloInstruction* outer = enters ? operand : border;
    if (auto outside = context_.Across(*border, &inner->sharding(), enters)) {
      outer->set_sharding(*std::move(outside));
      return;
    }
    inner->set_sharding(given_.at(inner));
    outer->set_sharding(given_.at(outer));
  }

  void FixGiven(HloInstruction* inst, ShardingSpread* spread) const {
    if (inst->parent() == Entry()) {
      if (inst->opcode() == HloOpcode::kParameter) {
        const std::vector<bool>& flags =
            parameter_flags_[inst->parameter_number()];
        // Where some may change, the others are sources of what users ask.
        for (size_t i = 0; i < flags.size(); ++i) {
          if (!any_parameter_ ||
              (!flags[i] && sharding_edges::ReadInstruction(inst, i))) {
            spread->Fix(inst, i);
          }
        }
        return;
      }
      if (inst->IsRoot()) {
        for (size_t i = 0; i < root_flags_.size(); ++i) {
          if (!root_flags_[i]) spread->Fix(inst, i);
        }
        return;
      }
    }
    if (given_.contains(inst)) spread->FixGiven(inst);
  }

  // Whether any sharding is not what it was.
  bool Differs() const {
    for (const HloComputation* computation : module_->computations(threads_)) {
      for (const HloInstruction* inst : computation->instructions()) {
        const auto given = given_.find(inst);
        if (inst->has_sharding() != (given != given_.end()) ||
            (inst->has_sharding() && inst->sharding() != given->second)) {
          return true;
        }
      }
    }
    return false;
  }

  void Remember() {
    for (const HloComputation* computation : module_->computations(threads_)) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (inst->has_sharding()) given_.insert({inst, inst->sharding()});
      }
    }
  }

  // Parameters that may not change served as sources only.
  void RestoreBoundary() {
    for (HloInstruction* parameter : Entry()->parameter_instructions()) {
      Restore(parameter, parameter_flags_[parameter->parameter_number()]);
    }
    if (any_output_) {
      Restore(Entry()->root_instruction(), root_flags_);
    } else {
      Restore(Entry()->root_instruction(),
              std::vector<bool>(root_flags_.size(), false));
    }
  }

  void Restore(HloInstruction* inst, const std::vector<bool>& flags) {
    if (!inst->has_sharding() || flags.empty()) return;
    const auto given = given_.find(inst);
    if (given == given_.end()) {
      if (!Any(flags)) return inst->clear_sharding();
    } else if (HloPredicateIsOp<HloOpcode::kOutfeed, HloOpcode::kSend,
                                HloOpcode::kRecv>(inst)) {
      return;  // It has the leaves of what is sent, and nothing changed it.
    }
    std::vector<HloSharding> parts;
    for (size_t i = 0; i < flags.size(); ++i) {
      HloSharding part = HloSharding::Replicate();
      if (flags[i]) {
        part = *sharding_edges::ReadInstruction(inst, i);
      } else if (given != given_.end()) {
        const HloSharding& whole = given->second;
        const HloSharding& leaf =
            whole.IsTuple() ? whole.tuple_elements()[i] : whole;
        if (!leaf.IsUnknownLeaf()) part = leaf;
      }
      parts.push_back(std::move(part));
    }
    inst->set_sharding(inst->shape().IsTuple()
                           ? HloSharding::Tuple(inst->shape(), parts)
                           : parts[0]);
  }

  HloModule* module_;
  const Threads& threads_;
  sharding_edges::Context context_;
  absl::Span<const bool> to_output_;
  absl::Span<const bool> to_parameters_;
  bool any_output_ = false;
  bool any_parameter_ = false;
  bool separated_ = false;
  std::vector<bool> root_flags_;
  std::vector<std::vector<bool>> parameter_flags_;
  absl::flat_hash_map<const HloInstruction*, HloSharding> given_;
};

}  // namespace

ShardingPropagation::ShardingPropagation(
    bool is_spmd, bool propagate_metadata,
    absl::Span<const bool> allow_spmd_sharding_propagation_to_output,
    absl::Span<const bool> allow_spmd_sharding_propagation_to_parameters,
    bool cse_prevention_only,
    std::unique_ptr<CustomCallShardingHelper> sharding_helper)
    : is_spmd_(is_spmd),
      propagate_metadata_(propagate_metadata),
      to_output_(allow_spmd_sharding_propagation_to_output.begin(),
                 allow_spmd_sharding_propagation_to_output.end()),
      to_parameters_(allow_spmd_sharding_propagation_to_parameters.begin(),
                     allow_spmd_sharding_propagation_to_parameters.end()),
      cse_prevention_only_(cse_prevention_only),
      helper_(std::move(sharding_helper)) {}

absl::StatusOr<bool> ShardingPropagation::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  RETURN_IF_ERROR(CheckShardings(*module, execution_threads));
  sharding_edges::Context context;
  context.is_spmd = is_spmd_;
  context.helper = helper_.get();
  PropagationRun run(module, execution_threads, context);
  RETURN_IF_ERROR(run.Boundary(to_output_, to_parameters_));
  bool changed = UnifyCalleeShardings(module, /*give_to_all=*/true);
  changed |= ClearCsePrevention(module, execution_threads);
  if (cse_prevention_only_) {
    RETURN_IF_ERROR(run.Propagate({}, {}, {}).status());
    const bool kept = run.KeepScalarBroadcasts();
    if (module->has_schedule()) {
      RETURN_IF_ERROR(module->schedule().Update());
    }
    return changed || kept || run.separated();
  }
  changed |= AnnotateElementsAtBorders(module);
  absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>> open;
  std::vector<HloSharding> root_shardings;
  absl::flat_hash_map<int64_t, HloSharding> parameter_shardings;
  Groups as_groups;
  Groups like_groups;
  ASSIGN_OR_RETURN(
      const bool processed,
      ProcessShardingInstruction(module, execution_threads,
                                 /*replace_sharding_with_copy=*/true, &open,
                                 &root_shardings, &parameter_shardings,
                                 /*instruction_to_shard_group_id=*/nullptr,
                                 &as_groups, &like_groups, to_parameters_));
  changed |= SetMetadata(module, execution_threads, propagate_metadata_);
  ASSIGN_OR_RETURN(const bool spread,
                   run.Propagate(open, as_groups, like_groups));
  changed |= processed || spread;
  changed |= UnifyCalleeShardings(module, /*give_to_all=*/false);
  ASSIGN_OR_RETURN(const bool removed, RemoveShardBarriers(module));
  RETURN_IF_ERROR(hlo_sharding_util::CanonicalizeLayoutAfterShardingPropagation(
      module, to_output_, to_parameters_));
  if ((changed || removed) && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update());
  }
  return changed || removed;
}

}  // namespace xla
