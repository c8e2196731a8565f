#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/hlo/utils/order_of_annotations.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// A leaf of the sharding that is manual, wholly or along some axes.
std::optional<HloSharding> ManualLeaf(const HloInstruction& inst) {
  if (!inst.has_sharding()) return std::nullopt;
  const HloSharding& sharding = inst.sharding();
  const auto is_manual = [](const HloSharding& leaf) {
    return leaf.IsManualLeaf() || leaf.IsManualSubgroup();
  };
  if (!sharding.IsTuple()) {
    if (!is_manual(sharding)) return std::nullopt;
    return sharding;
  }
  for (const HloSharding& leaf : sharding.tuple_elements()) {
    if (is_manual(leaf)) return leaf;
  }
  return std::nullopt;
}

// Meshes have no other devices.
bool IsNumberedFromZero(const HloSharding& sharding) {
  if (sharding.UseNamedShardingLeaf()) return true;
  const TileAssignment& devices = sharding.tile_assignment();
  bool result = true;
  devices.Each([&](absl::Span<const int64_t>, int64_t device) {
    result = result && device < devices.num_elements();
  });
  return result;
}

bool MakeManual(HloInstruction* inst, const HloSharding& leaf) {
  if (inst->has_sharding()) return false;
  // An outfeed's sharding is that of what is fed.
  const Shape& sharded = inst->opcode() == HloOpcode::kOutfeed
                             ? inst->operand(0)->shape()
                             : inst->shape();
  std::vector<HloSharding> leaves;
  for (const Shape* shape : ShapeUtil::FlattenTupleShape(sharded)) {
    leaves.push_back(OpenInManualRegion(
        leaf, shape->IsArray() ? shape->dimensions().size() : 0));
  }
  if (leaves.empty()) leaves.push_back(OpenInManualRegion(leaf, 0));
  inst->set_sharding(sharded.IsTuple() ? HloSharding::Tuple(sharded, leaves)
                                       : leaves[0]);
  return true;
}

// A leaf of the manual region that reads the number of a device, also through
// instructions without shardings; only there such a number has a meaning.
std::optional<HloSharding> ManualRegionThatReads(const HloInstruction& inst) {
  std::vector<const HloInstruction*> readers = {&inst};
  absl::flat_hash_set<const HloInstruction*> seen(readers.begin(),
                                                  readers.end());
  for (size_t i = 0; i < readers.size(); ++i) {
    for (const HloInstruction* user : readers[i]->users()) {
      if (EntersManualRegion(*user) || !seen.insert(user).second) continue;
      if (const auto leaf = ManualLeaf(*user)) return leaf;
      if (!user->has_sharding()) readers.push_back(user);
    }
  }
  return std::nullopt;
}

// A leaf of the manual region in which the instruction stands, by its
// neighbors.
std::optional<HloSharding> ManualRegionOf(const HloInstruction& inst) {
  if (inst.has_sharding() || IsManualBorder(inst)) return std::nullopt;
  std::optional<HloSharding> leaf;
  for (const HloInstruction* operand : inst.operands()) {
    leaf = ManualLeaf(*operand);
    if (leaf.has_value()) return leaf;
  }
  if (inst.operand_count() > 0 || inst.opcode() == HloOpcode::kParameter) {
    return std::nullopt;
  }
  if (inst.opcode() == HloOpcode::kPartitionId) {
    return ManualRegionThatReads(inst);
  }
  // Constants that only the region reads.
  for (const HloInstruction* user : inst.users()) {
    leaf = ManualLeaf(*user);
    if (!leaf.has_value() || EntersManualRegion(*user)) return std::nullopt;
  }
  return leaf;
}

bool SpreadToCallees(const HloInstruction& inst) {
  bool changed = false;
  if (HloPredicateIsNotOp<HloOpcode::kWhile, HloOpcode::kCall,
                          HloOpcode::kConditional>(&inst)) {
    return false;
  }
  const std::optional<HloSharding> leaf = ManualLeaf(inst);
  if (!leaf.has_value()) return false;
  for (HloComputation* callee : inst.called_computations()) {
    for (HloInstruction* callee_inst : callee->instructions()) {
      changed |= MakeManual(callee_inst, *leaf);
    }
  }
  return changed;
}

// The axes of a tiled sharding that is manual along some of them, as a mesh of
// two: first those, then all others.
NamedSharding ManualAndOther(
    const HloSharding& leaf,
    absl::Span<const NamedSharding::DimensionSharding> dims) {
  const int64_t manual_dim = leaf.SubgroupManualDim();
  const TileAssignment& tiles = leaf.tile_assignment();
  std::vector<int> perm = {static_cast<int>(manual_dim)};
  for (int64_t d = 0; d < tiles.num_dimensions(); ++d) {
    if (d != manual_dim) perm.push_back(static_cast<int>(d));
  }
  const int64_t manual = tiles.dim(manual_dim);
  const TileAssignment devices =
      tiles.Transpose(perm).Reshape({manual, tiles.num_elements() / manual});
  const absl::string_view names[] = {"manual", "other"};
  return NamedSharding(Mesh(devices, names), dims, {}, {}, {AxisRef(0)});
}

}  // namespace

bool IsShardBarrier(const HloInstruction& inst) {
  return inst.IsCustomCall({"ShardBarrierFrom", "ShardBarrierTo"});
}

absl::Status ValidateInModule(const HloSharding& sharding, const Shape& shape,
                              const HloModule& module) {
  const int64_t partitions = module.config().num_partitions();
  return sharding.Validate(
      shape, partitions > 1 ? std::make_optional(partitions) : std::nullopt);
}

absl::StatusOr<bool> RemoveShardBarriers(HloModule* module) {
  bool changed = false;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!IsShardBarrier(*inst)) continue;
      if (inst->operand_count() != 1 ||
          !ShapeUtil::Compatible(inst->shape(), inst->operand(0)->shape())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "instruction ", inst->name(), ": ", inst->custom_call_target(),
            " needs one operand of its own shape"));
      }
      RETURN_IF_ERROR(PassOrderOn(inst));
      RETURN_IF_ERROR(inst->ReplaceAllUsesWith(inst->mutable_operand(0)));
      RETURN_IF_ERROR(computation->ForceRemoveInstruction(inst));
      changed = true;
    }
  }
  return changed;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> ShardingPriorities(
    const HloInstruction& inst) {
  std::vector<std::vector<int64_t>> priorities;
  if (!inst.has_frontend_attributes()) return priorities;
  const std::optional<std::string> text =
      inst.get_frontend_attribute(std::string(kShardingPriorities));
  if (!text.has_value()) return priorities;
  const std::vector<absl::string_view> lists = absl::StrSplit(*text, ';');
  const std::vector<const Shape*> leaves =
      ShapeUtil::FlattenTupleShape(inst.shape());
  bool good = lists.size() == leaves.size();
  for (size_t i = 0; good && i < leaves.size(); ++i) {
    std::vector<int64_t>& list = priorities.emplace_back();
    for (absl::string_view item :
         absl::StrSplit(lists[i], ',', absl::SkipEmpty())) {
      int64_t priority = 0;
      good = good && absl::SimpleAtoi(item, &priority) && priority >= 0;
      list.push_back(priority);
    }
    const size_t rank =
        leaves[i]->IsArray() ? leaves[i]->dimensions().size() : 0;
    good = good && list.size() == rank;
  }
  if (!good) {
    return absl::InvalidArgumentError(absl::StrCat(
        "instruction ", inst.name(), ": ", kShardingPriorities, "=\"", *text,
        "\" of shape ", ShapeUtil::HumanString(inst.shape())));
  }
  return priorities;
}

std::vector<int64_t> UnspecifiedDims(const HloInstruction& inst) {
  std::vector<int64_t> dims;
  if (!inst.IsCustomCall("Sharding") && !IsManualBorder(inst)) return dims;
  absl::string_view text = Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (!absl::ConsumePrefix(&text, "unspecified_dims=[") ||
      !absl::ConsumeSuffix(&text, "]")) {
    return dims;
  }
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(item, &dim) || dim < 0) return {};
    dims.push_back(dim);
  }
  return dims;
}

absl::Status CheckAnnotation(const HloInstruction& inst, int64_t* devices) {
  const HloSharding& sharding = inst.sharding();
  auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(
        "instruction ", inst.name(), ": sharding ", sharding.ToString(),
        " of shape ", ShapeUtil::HumanString(inst.shape()), ": ", message));
  };
  // Outfeeds count their token, sends their operand.
  if (HloPredicateIsOp<HloOpcode::kOutfeed, HloOpcode::kSend, HloOpcode::kRecv>(
          &inst)) {
    return absl::OkStatus();
  }
  const absl::Status fits = sharding.Validate(inst.shape());
  if (!fits.ok()) return error(fits.message());
  std::vector<HloSharding> leaves = {sharding};
  if (sharding.IsTuple()) leaves = sharding.tuple_elements();
  for (const HloSharding& leaf : leaves) {
    if (!HloSharding::V3ToV2Sharding(leaf).IsTiled()) continue;
    if (*devices == 0) *devices = leaf.num_devices();
    if (leaf.num_devices() != *devices) {
      return error(absl::StrCat("over ", leaf.num_devices(),
                                " devices, others are over ", *devices));
    }
  }
  const bool is_call = inst.IsCustomCall("Sharding");
  if (!is_call && !IsManualBorder(inst)) return absl::OkStatus();
  if (is_call &&
      (inst.operand_count() != 1 ||
       !ShapeUtil::Compatible(inst.shape(), inst.operand(0)->shape()))) {
    return error("Sharding needs one operand of its own shape");
  }
  const absl::string_view text =
      Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (absl::StartsWith(text, "unspecified_dims")) {
    const std::vector<int64_t> dims = UnspecifiedDims(inst);
    const int64_t rank =
        inst.shape().IsArray() ? inst.shape().dimensions().size() : 0;
    bool good = !dims.empty();
    for (int64_t dim : dims) good = good && dim < rank;
    if (!good) return error(absl::StrCat("bad ", text));
  }
  return absl::OkStatus();
}

HloSharding OpenInManualRegion(const HloSharding& leaf, int64_t rank) {
  if (leaf.IsManualLeaf()) return HloSharding::Manual();
  const std::vector<NamedSharding::DimensionSharding> dims(
      rank, NamedSharding::DimensionSharding({}, /*is_closed=*/false));
  if (!leaf.UseNamedShardingLeaf()) {
    return HloSharding(ManualAndOther(leaf, dims));
  }
  const NamedSharding& named = leaf.named_sharding();
  return HloSharding(
      NamedSharding(named.mesh(), dims, {}, {}, named.manual_axes()));
}

// Rounds until nothing changes. Each change gives a sharding to an instruction
// that had none, so there are no more rounds than instructions; a post-order
// carries a region from operands to readers within one.
absl::StatusOr<bool> SpreadManualShardings(HloModule* module) {
  bool any = false;
  for (const HloComputation* computation : module->computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const std::optional<HloSharding> leaf = ManualLeaf(*inst);
      if (!leaf.has_value()) continue;
      any = true;
      if (leaf->IsManualSubgroup() && !IsNumberedFromZero(*leaf)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "instruction ", inst->name(), ": sharding ", leaf->ToString(),
            ": devices of a manual region are numbered from 0"));
      }
    }
  }
  if (!any) return false;
  bool changed = false;
  bool again = true;
  while (again) {
    again = false;
    for (HloComputation* computation : module->computations()) {
      for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
        if (const auto leaf = ManualRegionOf(*inst)) {
          again |= MakeManual(inst, *leaf);
        }
        again |= SpreadToCallees(*inst);
      }
    }
    changed |= again;
  }
  return changed;
}

bool AnnotateElementsAtBorders(HloModule* module) {
  bool changed = false;
  // By tuple: a large one is read at many borders.
  absl::flat_hash_map<const HloInstruction*,
                      std::optional<ShapeTree<HloSharding>>>
      trees;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!EntersManualRegion(*inst) || inst->operand_count() != 1) continue;
      HloInstruction* element = inst->mutable_operand(0);
      const HloInstruction* tuple = element;
      ShapeIndex index;
      while (tuple->opcode() == HloOpcode::kGetTupleElement &&
             !tuple->has_sharding()) {
        index.push_front(tuple->tuple_index());
        tuple = tuple->operand(0);
      }
      if (tuple == element || element->shape().IsTuple() ||
          !tuple->has_sharding() || !tuple->sharding().IsTuple()) {
        continue;
      }
      const auto [it, is_new] = trees.try_emplace(tuple);
      // What does not fit is reported later, or has other leaves than values.
      if (is_new && tuple->sharding().Validate(tuple->shape()).ok()) {
        it->second = tuple->sharding().GetAsShapeTree(tuple->shape());
      }
      if (!it->second.has_value()) continue;
      const HloSharding& sharding = it->second->element(index);
      if (sharding.IsUnknownLeaf()) continue;
      element->set_sharding(sharding);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xla
