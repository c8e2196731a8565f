#include "xla/hlo/transforms/sharding_propagation/shardy_import.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_attributes.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_manual_computations.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_sharding_rule.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/hlo/utils/order_of_annotations.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::Status At(const HloInstruction& inst, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("instruction ", inst.name(), ": ", message));
}

std::optional<std::string> Attribute(const HloInstruction& inst,
                                     absl::string_view key) {
  if (!inst.has_frontend_attributes()) return std::nullopt;
  const auto& map = inst.frontend_attributes().map();
  const auto it = map.find(std::string(key));
  if (it == map.end()) return std::nullopt;
  return it->second;
}

// The dimensions in `unspecified_dims=[0,2]`; nothing for other texts.
absl::StatusOr<std::vector<int64_t>> DimsToOpen(const HloInstruction& inst) {
  std::vector<int64_t> dims;
  absl::string_view text = Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (!absl::ConsumePrefix(&text, "unspecified_dims=[")) return dims;
  if (!absl::ConsumeSuffix(&text, "]")) {
    return At(inst, "unspecified_dims lacks its ']'");
  }
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(item, &dim) || dim < 0 || !inst.shape().IsArray() ||
        dim >= static_cast<int64_t>(inst.shape().dimensions().size())) {
      return At(inst, absl::StrCat("unspecified_dims holds '", item,
                                   "', no dimension of ",
                                   ShapeUtil::HumanString(inst.shape())));
    }
    dims.push_back(dim);
  }
  return dims;
}

HloSharding WithOpenDims(const HloSharding& sharding,
                         absl::Span<const int64_t> dims) {
  if (dims.empty() || !sharding.UseNamedShardingLeaf()) return sharding;
  const NamedSharding& named = sharding.named_sharding();
  std::vector<NamedSharding::DimensionSharding> opened;
  for (int64_t d = 0; d < named.num_dimensions(); ++d) {
    const NamedSharding::DimensionSharding& dim = named.dim_sharding(d);
    opened.push_back(NamedSharding::DimensionSharding(
        std::vector<AxisRef>(dim.axes().begin(), dim.axes().end()),
        dim.is_closed() && !absl::c_linear_search(dims, d)));
  }
  return HloSharding(
      NamedSharding(named.mesh(), opened, named.replicated_axes(),
                    named.unreduced_axes(), {}, {}, named.reduction_op()));
}

// An integer with its type: `3 : i64`.
absl::StatusOr<int64_t> IntegerAttribute(const HloInstruction& inst,
                                         absl::string_view key) {
  const std::optional<std::string> text = Attribute(inst, key);
  if (!text) return At(inst, absl::StrCat("lacks ", key));
  const absl::string_view number =
      std::pair<absl::string_view, absl::string_view>(
          absl::StrSplit(*text, absl::MaxSplits(':', 1)))
          .first;
  int64_t value = 0;
  if (!absl::SimpleAtoi(number, &value) || value < 0) {
    return At(inst, absl::StrCat(key, " is '", *text, "', no number"));
  }
  return value;
}

class Importer {
 public:
  explicit Importer(HloModule* module) : module_(module) {}

  absl::StatusOr<bool> Run() {
    const std::optional<std::string> meshes =
        module_->get_frontend_attribute(std::string(kSdyMeshes));
    if (!meshes && !HasAttributes()) return false;
    keeps_shardings_ =
        module_->get_frontend_attribute(std::string(sdy::kImportMhloShardings))
            .has_value();
    if (meshes) {
      absl::StatusOr<SdyMeshes> parsed = ParseSdyMeshes(*meshes);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "module ", module_->name(), ": ", parsed.status().message()));
      }
      meshes_ = *std::move(parsed);
    }
    for (HloComputation* computation : module_->computations()) {
      for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
        RETURN_IF_ERROR(Import(inst));
      }
    }
    RETURN_IF_ERROR(ImportEntry());
    RETURN_IF_ERROR(ImportManualComputations(module_, meshes_));
    FrontendAttributes attributes = module_->frontend_attributes();
    for (absl::string_view key :
         {kSdyMeshes, sdy::kUseTupleArgs, sdy::kInTupleShardings,
          sdy::kOutTupleShardings, sdy::kImportMhloShardings}) {
      attributes.mutable_map()->erase(std::string(key));
    }
    module_->set_frontend_attributes(std::move(attributes));
    return true;
  }

 private:
  bool HasAttributes() const {
    for (absl::string_view key :
         {sdy::kInTupleShardings, sdy::kOutTupleShardings}) {
      if (module_->get_frontend_attribute(std::string(key))) return true;
    }
    for (const HloComputation* computation : module_->computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (Attribute(*inst, kSdySharding)) return true;
      }
    }
    return false;
  }

  // The list under `key`, with a sharding for each leaf of `values`.
  absl::StatusOr<std::vector<SdySharding>> EntryList(
      absl::string_view key, absl::Span<HloInstruction* const> values) {
    const std::optional<std::string> text =
        module_->get_frontend_attribute(std::string(key));
    if (!text.has_value()) return std::vector<SdySharding>();
    absl::StatusOr<std::vector<SdySharding>> list =
        ParseSdyShardingPerValue(*text, meshes_);
    size_t leaves = 0;
    for (const HloInstruction* value : values) {
      leaves += ShapeUtil::FlattenTupleShape(value->shape()).size();
    }
    if (list.ok() && list->size() == leaves) return list;
    return absl::InvalidArgumentError(
        absl::StrCat("module ", module_->name(), ": ", key, ": ",
                     list.ok() ? absl::StrCat(list->size(), " shardings for ",
                                              leaves, " values: ", *text)
                               : std::string(list.status().message())));
  }

  // What the module says of entry parameters and root.
  absl::Status ImportEntry() {
    HloComputation* entry = module_->entry_computation();
    const auto annotate = [&](absl::Span<const SdySharding> list,
                              HloInstruction* value) -> absl::Status {
      priorities_.clear();
      ASSIGN_OR_RETURN(const std::optional<HloSharding> sharding,
                       Combine(*value, list));
      value->erase_frontend_attribute(kShardingPriorities);
      if (sharding) {
        value->set_sharding(*sharding);
      } else {
        value->clear_sharding();
      }
      SetPriorities(value);
      return absl::OkStatus();
    };
    ASSIGN_OR_RETURN(
        const std::vector<SdySharding> arguments,
        EntryList(sdy::kInTupleShardings, entry->parameter_instructions()));
    absl::Span<const SdySharding> left = arguments;
    for (HloInstruction* parameter : entry->parameter_instructions()) {
      if (arguments.empty()) break;
      const size_t leaves =
          ShapeUtil::FlattenTupleShape(parameter->shape()).size();
      RETURN_IF_ERROR(annotate(left.first(leaves), parameter));
      left.remove_prefix(leaves);
    }
    HloInstruction* root = entry->root_instruction();
    ASSIGN_OR_RETURN(const std::vector<SdySharding> results,
                     EntryList(sdy::kOutTupleShardings, {root}));
    if (results.empty()) return absl::OkStatus();
    // A parameter keeps its own sharding beside that of the result.
    if (root->opcode() == HloOpcode::kParameter) {
      root = entry->AddInstruction(
          HloInstruction::CreateUnary(root->shape(), HloOpcode::kCopy, root));
      entry->set_root_instruction(root);
    }
    return annotate(results, root);
  }

  void SetPriorities(HloInstruction* inst) {
    const bool any = absl::c_any_of(priorities_, [](const std::string& list) {
      return list.find_first_not_of("0,") != std::string::npos;
    });
    if (!any) return;
    inst->set_frontend_attribute(std::string(kShardingPriorities),
                                 absl::StrJoin(priorities_, ";"));
  }

  absl::Status Import(HloInstruction* inst) {
    if (inst->IsCustomCall(sdy::kShardingGroupCustomCallTargetName))
      return ReplaceGroup(inst);
    if (inst->IsCustomCall(sdy::kPropagationBarrierCustomCallTargetName))
      return ReplaceBarrier(inst);
    const std::optional<std::string> text = Attribute(*inst, kSdySharding);
    if (HloPredicateIsNotOp<HloOpcode::kInfeed, HloOpcode::kOutfeed,
                            HloOpcode::kSend, HloOpcode::kSendDone,
                            HloOpcode::kRecv, HloOpcode::kRecvDone>(inst) &&
        (!keeps_shardings_ || text)) {
      if (IsManualBorder(*inst) && inst->has_sharding() && !text) {
        return At(*inst,
                  absl::StrCat(inst->custom_call_target(),
                               " has a meaning by its sharding= only, which "
                               "counts for nothing beside Shardy's texts; ",
                               sdy::kImportMhloShardings, " keeps it"));
      }
      inst->clear_sharding();
    }
    RETURN_IF_ERROR(GivenShardingRule(*inst).status());
    if (!text) return absl::OkStatus();
    inst->erase_frontend_attribute(kSdySharding);
    priorities_.clear();
    ASSIGN_OR_RETURN(std::optional<HloSharding> sharding,
                     ShardingOf(*inst, *text));
    SetPriorities(inst);
    if (inst->IsCustomCall(sdy::kFuncResultShardingTargetName)) {
      return ReplaceByConstraint(inst, std::move(sharding));
    }
    if (sharding) inst->set_sharding(*std::move(sharding));
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<HloSharding>> ShardingOf(
      const HloInstruction& inst, const std::string& text) {
    std::vector<SdySharding> values;
    const bool parameter = inst.opcode() == HloOpcode::kParameter;
    if (!parameter && inst.opcode() != HloOpcode::kCustomCall &&
        inst.opcode() != HloOpcode::kSend &&
        inst.opcode() != HloOpcode::kRecv &&
        inst.opcode() != HloOpcode::kAfterAll) {
      return std::optional<HloSharding>();
    }
    if (parameter) {
      absl::StatusOr<SdySharding> parsed = ParseSdySharding(text, meshes_);
      if (!parsed.ok()) return At(inst, parsed.status().message());
      values.push_back(*std::move(parsed));
    } else {
      absl::StatusOr<std::vector<SdySharding>> parsed =
          ParseSdyShardingPerValue(text, meshes_);
      if (!parsed.ok()) return At(inst, parsed.status().message());
      values = *std::move(parsed);
    }
    return Combine(inst, values);
  }

  absl::StatusOr<std::optional<HloSharding>> Combine(
      const HloInstruction& inst, absl::Span<const SdySharding> values) {
    const std::vector<const Shape*> leaves =
        ShapeUtil::FlattenTupleShape(inst.shape());
    if (leaves.size() != values.size()) {
      return At(inst, absl::StrCat(values.size(), " shardings for ",
                                   leaves.size(), " values of ",
                                   ShapeUtil::HumanString(inst.shape())));
    }
    std::vector<int64_t> unspecified;
    if (inst.IsCustomCall("Sharding")) {
      ASSIGN_OR_RETURN(unspecified, DimsToOpen(inst));
    }
    bool any = false;
    std::vector<HloSharding> shardings;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSIGN_OR_RETURN(std::optional<HloSharding> leaf,
                       Leaf(inst, *leaves[i], values[i]));
      any = any || leaf.has_value();
      shardings.push_back(leaf ? WithOpenDims(*leaf, unspecified)
                               : HloSharding::Unknown());
    }
    if (!any) return std::optional<HloSharding>();
    if (!inst.shape().IsTuple()) return std::make_optional(shardings[0]);
    return std::make_optional(HloSharding::Tuple(inst.shape(), shardings));
  }

  absl::StatusOr<std::optional<HloSharding>> Leaf(const HloInstruction& inst,
                                                  const Shape& shape,
                                                  const SdySharding& value) {
    // Placeholders have an entry, too, so that the others keep their places.
    const int64_t rank = shape.IsArray() ? shape.dimensions().size() : 0;
    priorities_.push_back(
        rank == value.rank ? absl::StrJoin(value.priorities, ",")
                           : absl::StrJoin(std::vector<int64_t>(rank, 0), ","));
    if (!value.sharding) return std::optional<HloSharding>();
    if (value.sharding->UseNamedShardingLeaf() && rank != value.rank) {
      return At(inst,
                absl::StrCat("a sharding of ", value.rank, " dimensions for ",
                             ShapeUtil::HumanString(shape), ": ", value.text));
    }
    const absl::Status fits =
        ValidateInModule(*value.sharding, shape, *module_);
    if (!fits.ok()) {
      return At(inst, absl::StrCat(fits.message(), ": ", value.text));
    }
    return value.sharding;
  }

  absl::Status ReplaceByConstraint(HloInstruction* inst,
                                   std::optional<HloSharding> sharding) {
    if (inst->operand_count() != 1 ||
        !ShapeUtil::Compatible(inst->operand(0)->shape(), inst->shape())) {
      return At(*inst, absl::StrCat(sdy::kFuncResultShardingTargetName,
                                    " needs one operand of its own shape"));
    }
    std::unique_ptr<HloInstruction> constraint =
        HloInstruction::CreateCustomCall(
            inst->shape(), {inst->mutable_operand(0)}, "Sharding");
    if (sharding) constraint->set_sharding(*std::move(sharding));
    SetPriorities(constraint.get());
    constraint->set_metadata(inst->metadata());
    Cast<HloCustomCallInstruction>(inst)->set_custom_call_has_side_effect(
        false);
    return inst->parent()->ReplaceWithNewInstruction(
        inst, std::move(constraint), /*preserve_sharding=*/false,
        /*relay_control_dependency=*/true);
  }

  // Whoever reads the member reads a constraint that belongs to the group.
  absl::Status ReplaceGroup(HloInstruction* inst) {
    if (inst->operand_count() != 1 || inst->user_count() != 0 ||
        inst->IsRoot() || !inst->operand(0)->shape().IsArray()) {
      return At(*inst, absl::StrCat(sdy::kShardingGroupCustomCallTargetName,
                                    " needs one array, and has no users"));
    }
    ASSIGN_OR_RETURN(const int64_t id,
                     IntegerAttribute(*inst, "xla.sdy.sharding_group_id"));
    HloComputation* computation = inst->parent();
    HloInstruction* member = inst->mutable_operand(0);
    const auto [first, added] = groups_.insert({id, member});
    if (!ShapeUtil::SameDimensions(first->second->shape(), member->shape())) {
      return At(*inst, absl::StrCat("sharding group ", id, " has members ",
                                    first->second->name(), " and ",
                                    member->name(), " of different shapes"));
    }
    RETURN_IF_ERROR(PassOrderOn(inst));
    RETURN_IF_ERROR(computation->ForceRemoveInstruction(inst));
    HloInstruction* constraint =
        computation->AddInstruction(HloInstruction::CreateCustomCall(
            member->shape(), {member}, "Sharding"));
    HloSharding sharding = HloSharding::Unknown();
    sharding.SetShardGroup(HloSharding::ShardAs(id));
    constraint->set_sharding(std::move(sharding));
    const std::vector<HloInstruction*> users = member->users();
    for (HloInstruction* user : users) {
      if (user == constraint) continue;
      RETURN_IF_ERROR(member->ReplaceUseWith(user, constraint));
    }
    if (member->IsRoot()) computation->set_root_instruction(constraint);
    return absl::OkStatus();
  }

  // Shardy names the direction that is allowed, the custom calls name the one
  // that they stop: ShardBarrierFrom stops what goes from operand to result,
  // ShardBarrierTo what goes back. A barrier for both directions becomes both
  // calls.
  absl::Status ReplaceBarrier(HloInstruction* inst) {
    if (inst->operand_count() != 1 ||
        !ShapeUtil::Compatible(inst->operand(0)->shape(), inst->shape())) {
      return At(*inst,
                absl::StrCat(sdy::kPropagationBarrierCustomCallTargetName,
                             " needs one operand of its own shape"));
    }
    ASSIGN_OR_RETURN(const int64_t allowed,
                     IntegerAttribute(*inst, "xla.sdy.allowed_direction"));
    enum { kNone = 0, kForward = 1, kBackward = 2 };
    if (allowed > kBackward) {
      return At(*inst, absl::StrCat("direction ", allowed, " of a barrier"));
    }
    HloComputation* computation = inst->parent();
    HloInstruction* value = inst->mutable_operand(0);
    auto add = [&](absl::string_view target) {
      value = computation->AddInstruction(
          HloInstruction::CreateCustomCall(inst->shape(), {value}, target));
      value->set_metadata(inst->metadata());
    };
    if (allowed != kForward) add("ShardBarrierFrom");
    if (allowed != kBackward) add("ShardBarrierTo");
    return computation
        ->ReplaceInstruction(inst, value,
                             /*preserve_sharding=*/false,
                             /*relay_control_dependency=*/true)
        .status();
  }

  HloModule* module_;
  SdyMeshes meshes_;
  // The first member of each sharding group.
  absl::flat_hash_map<int64_t, const HloInstruction*> groups_;
  // The current instruction's priorities, a list per leaf.
  std::vector<std::string> priorities_;
  // Whether instructions without a Shardy string keep their shardings.
  bool keeps_shardings_ = false;
};

}  // namespace

absl::StatusOr<bool> ShardyImport::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  ASSIGN_OR_RETURN(const bool changed, Importer(module).Run());
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update());
  }
  return changed;
}

}  // namespace xla
