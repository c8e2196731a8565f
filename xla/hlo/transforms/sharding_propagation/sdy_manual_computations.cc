#include "xla/hlo/transforms/sharding_propagation/sdy_manual_computations.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"
#include "xla/hlo/utils/order_of_annotations.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kEnter = sdy::kGlobalToLocalShapeCallTargetName;
constexpr absl::string_view kLeave = sdy::kLocalToGlobalShapeCallTargetName;

// Names of axes.
using Axes = std::set<std::string>;

absl::Status At(const HloInstruction& inst, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("instruction ", inst.name(), ": ", message));
}

absl::StatusOr<std::string> Attribute(const HloInstruction& inst,
                                      absl::string_view key) {
  const std::optional<std::string> value =
      inst.get_frontend_attribute(std::string(key));
  if (!value.has_value()) {
    return At(inst, absl::StrCat(inst.custom_call_target(),
                                 " lacks frontend attribute ", key));
  }
  return *value;
}

// #sdy<manual_axes{"a", "b"}>
absl::StatusOr<Axes> ManualAxes(const HloInstruction& inst) {
  static const LazyRE2 kAxis = {R"(\s*(?:\\?"|\\22)([^"\\]+)(?:\\?"|\\22),?)"};
  ASSIGN_OR_RETURN(const std::string text, Attribute(inst, sdy::kManualAxes));
  absl::string_view rest = text;
  Axes axes;
  std::string axis;
  bool good = absl::ConsumePrefix(&rest, "#sdy<manual_axes{");
  while (good && RE2::Consume(&rest, *kAxis, &axis)) axes.insert(axis);
  if (!good || rest != "}>") {
    return At(inst, absl::StrCat("expected #sdy<manual_axes{\"axis\", ...}>, "
                                 "found ",
                                 text));
  }
  return axes;
}

std::vector<AxisRef> RefsOf(const Mesh& mesh, const Axes& axes) {
  std::vector<AxisRef> refs;
  for (int64_t i = 0; i < mesh.num_axes(); ++i) {
    if (axes.count(mesh.axis_name(i)) > 0) refs.push_back(AxisRef(i));
  }
  return refs;
}

// The sharding along the axes that are not manual, for values of a body.
HloSharding MakeManual(const HloSharding& sharding, const Axes& manual) {
  if (!sharding.UseNamedShardingLeaf() ||
      sharding.named_sharding().IsMaximal()) {
    return HloSharding::Manual();
  }
  const NamedSharding& named = sharding.named_sharding();
  const std::vector<AxisRef> refs = RefsOf(named.mesh(), manual);
  if (static_cast<int64_t>(refs.size()) == named.mesh().num_axes()) {
    return HloSharding::Manual();
  }
  const auto is_manual = [&](const AxisRef& ref) {
    return manual.count(named.mesh().axis_name(ref.mesh_axis_index())) > 0;
  };
  std::vector<NamedSharding::DimensionSharding> dims;
  for (const NamedSharding::DimensionSharding& dim : named.dim_shardings()) {
    std::vector<AxisRef> axes(dim.axes().begin(), dim.axes().end());
    axes.erase(std::remove_if(axes.begin(), axes.end(), is_manual), axes.end());
    dims.push_back(
        NamedSharding::DimensionSharding(std::move(axes), dim.is_closed()));
  }
  return HloSharding(NamedSharding(named.mesh(), dims, {}, {}, refs));
}

// The sharding of a whole value at the border of a region: manual axes cut it
// as it says, and nothing else.
HloSharding AtBorder(const HloSharding& sharding, const Axes& manual) {
  if (!sharding.UseNamedShardingLeaf() ||
      sharding.named_sharding().IsMaximal()) {
    return sharding;
  }
  const NamedSharding& named = sharding.named_sharding();
  Axes unnamed = manual;
  for (const NamedSharding::DimensionSharding& dim : named.dim_shardings()) {
    for (const AxisRef& ref : dim.axes()) {
      unnamed.erase(named.mesh().axis_name(ref.mesh_axis_index()));
    }
  }
  return HloSharding(NamedSharding(named.mesh(), named.dim_shardings(),
                                   RefsOf(named.mesh(), unnamed)));
}

class ManualImporter {
 public:
  ManualImporter(HloModule* module, const SdyMeshes& meshes)
      : module_(module), meshes_(meshes) {}

  // Callers first, as regions nest: the axes that are manual around a body must
  // be known before the axes of regions inside it are added. All regions are
  // found before any border is replaced, since a region is recognized by the
  // calls at its borders.
  absl::Status Run() {
    std::vector<HloComputation*> callers_first =
        module_->MakeComputationPostOrder();
    absl::c_reverse(callers_first);
    for (HloComputation* computation : callers_first) {
      RETURN_IF_ERROR(FindRegions(computation));
    }
    for (HloComputation* computation : callers_first) {
      const Axes outer = OuterAxes(computation);
      if (!outer.empty()) AddManualAxes(computation, outer);
      for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
        if (inst->IsCustomCall(kEnter)) {
          RETURN_IF_ERROR(Replace(inst, outer, /*enters=*/true));
        } else if (inst->IsCustomCall(kLeave)) {
          RETURN_IF_ERROR(Replace(inst, outer, /*enters=*/false));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  // The axes that are manual in a whole computation.
  Axes OuterAxes(const HloComputation* computation) const {
    const auto it = manual_.find(computation);
    return it == manual_.end() ? Axes() : it->second;
  }

  // Notes the axes of the bodies that the computation calls, and of what runs
  // inside a region.
  absl::Status FindRegions(HloComputation* computation) {
    const Axes outer = OuterAxes(computation);
    for (const HloInstruction* inst : computation->instructions()) {
      if (HloPredicateIsNotOp<HloOpcode::kWhile, HloOpcode::kConditional,
                              HloOpcode::kCall>(inst)) {
        continue;
      }
      Axes axes = outer;
      if (inst->opcode() == HloOpcode::kCall &&
          absl::StrContains(inst->to_apply()->name(),
                            "xla.sdy.manual_computation_body")) {
        ASSIGN_OR_RETURN(const Axes own, AxesOfCall(*inst));
        axes.insert(own.begin(), own.end());
      }
      if (axes.empty()) continue;
      for (const HloComputation* callee : inst->called_computations()) {
        manual_[callee].insert(axes.begin(), axes.end());
      }
    }
    return absl::OkStatus();
  }

  // From where its operands come from, or its results go to.
  static absl::StatusOr<Axes> AxesOfCall(const HloInstruction& call) {
    for (const HloInstruction* operand : call.operands()) {
      if (operand->opcode() == HloOpcode::kGetTupleElement) {
        operand = operand->operand(0);
      }
      if (operand->IsCustomCall(kEnter)) return ManualAxes(*operand);
    }
    for (const HloInstruction* user : call.users()) {
      if (user->IsCustomCall(kLeave)) return ManualAxes(*user);
      for (const HloInstruction* next : user->users()) {
        if (next->IsCustomCall(kLeave)) return ManualAxes(*next);
      }
    }
    return At(call, absl::StrCat("neither ", kEnter, " nor ", kLeave,
                                 " surrounds this manual computation"));
  }

  // Shardings that are there become manual along `axes`, too.
  static void AddManualAxes(HloComputation* computation, const Axes& axes) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding()) continue;
      const HloSharding& sharding = inst->sharding();
      if (!sharding.IsTuple()) {
        inst->set_sharding(MakeManual(HloSharding(sharding), axes));
        continue;
      }
      std::vector<HloSharding> leaves;
      for (const HloSharding& leaf : sharding.tuple_elements()) {
        leaves.push_back(MakeManual(leaf, axes));
      }
      inst->set_sharding(HloSharding::Tuple(inst->shape(), leaves));
    }
  }

  // The shardings of `key`, one per operand.
  absl::StatusOr<std::vector<HloSharding>> Shardings(const HloInstruction& inst,
                                                     absl::string_view key,
                                                     const Axes& manual) const {
    ASSIGN_OR_RETURN(const std::string text, Attribute(inst, key));
    absl::StatusOr<std::vector<SdySharding>> parsed =
        ParseSdyShardingPerValue(text, meshes_);
    if (!parsed.ok()) return At(inst, parsed.status().message());
    if (static_cast<int64_t>(parsed->size()) != inst.operand_count()) {
      return At(inst, absl::StrCat(parsed->size(), " shardings in ", key,
                                   " for ", inst.operand_count(), " values"));
    }
    std::vector<HloSharding> shardings;
    for (const SdySharding& value : *parsed) {
      shardings.push_back(
          AtBorder(value.sharding.value_or(HloSharding::Replicate()), manual));
    }
    return shardings;
  }

  static absl::Status CheckShards(const HloInstruction& inst,
                                  const Shape& global, const Shape& local,
                                  const HloSharding& sharding,
                                  const Axes& manual) {
    if (!global.IsArray()) return absl::OkStatus();
    Shape expected = global;
    if (sharding.UseNamedShardingLeaf() &&
        !sharding.named_sharding().IsMaximal()) {
      const NamedSharding& named = sharding.named_sharding();
      if (named.num_dimensions() !=
          static_cast<int64_t>(global.dimensions().size())) {
        return At(inst, absl::StrCat("a sharding of ", named.num_dimensions(),
                                     " dimensions for ",
                                     ShapeUtil::HumanString(global)));
      }
      for (int64_t d = 0; d < named.num_dimensions(); ++d) {
        int64_t tiles = 1;
        for (const AxisRef& ref : named.dim_sharding(d).axes()) {
          if (manual.count(named.mesh().axis_name(ref.mesh_axis_index())) > 0) {
            tiles *= ref.size(named.mesh());
          }
        }
        expected.set_dimensions(d, (global.dimensions(d) + tiles - 1) / tiles);
      }
      for (const std::string& axis : manual) {
        if (named.mesh().FindAxis(axis).has_value()) continue;
        return At(inst, absl::StrCat("no manual axis \"", axis, "\" in ",
                                     sharding.ToString()));
      }
    }
    const absl::Status fits =
        ValidateInModule(sharding, global, *inst.GetModule());
    if (!fits.ok()) return At(inst, fits.message());
    if (ShapeUtil::Compatible(expected, local)) return absl::OkStatus();
    return At(inst,
              absl::StrCat("expected shards ", ShapeUtil::HumanString(expected),
                           " of ", ShapeUtil::HumanString(global), " under ",
                           sharding.ToString(), ", found ",
                           ShapeUtil::HumanString(local)));
  }

  // `value` under `sharding`, then the call that renames it.
  static HloInstruction* Rename(HloInstruction* inst, HloInstruction* value,
                                const Shape& shape, absl::string_view target,
                                const HloSharding& before,
                                const HloSharding& after) {
    HloComputation* computation = inst->parent();
    HloInstruction* constraint = computation->AddInstruction(
        HloInstruction::CreateCustomCall(value->shape(), {value}, "Sharding"));
    constraint->set_sharding(before);
    constraint->set_metadata(inst->metadata());
    HloInstruction* renamed = computation->AddInstruction(
        HloInstruction::CreateCustomCall(shape, {constraint}, target));
    renamed->set_sharding(after);
    renamed->set_metadata(inst->metadata());
    return renamed;
  }

  // The call at one end of a region.
  absl::Status Replace(HloInstruction* inst, const Axes& outer,
                       bool enters) const {
    const absl::string_view key =
        enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings";
    ASSIGN_OR_RETURN(const Axes own, ManualAxes(*inst));
    Axes all = own;
    all.insert(outer.begin(), outer.end());
    ASSIGN_OR_RETURN(const std::vector<HloSharding> shardings,
                     Shardings(*inst, key, own));
    const bool is_tuple = inst->shape().IsTuple();
    if ((is_tuple ? static_cast<int64_t>(inst->shape().tuple_shapes().size())
                  : 1) != inst->operand_count()) {
      return At(*inst, "as many operands as results were expected");
    }
    std::vector<HloInstruction*> results;
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      HloInstruction* value = inst->mutable_operand(i);
      const Shape& shape =
          is_tuple ? inst->shape().tuple_shapes(i) : inst->shape();
      if (!shape.IsArray()) {
        results.push_back(value);
        continue;
      }
      RETURN_IF_ERROR(CheckShards(*inst, enters ? value->shape() : shape,
                                  enters ? shape : value->shape(), shardings[i],
                                  own));
      // Regions inside of others are manual along the outer axes on both sides.
      const HloSharding global =
          outer.empty() ? shardings[i] : MakeManual(shardings[i], outer);
      const HloSharding local = MakeManual(shardings[i], all);
      results.push_back(enters ? Rename(inst, value, shape,
                                        "SPMDFullToShardShape", global, local)
                               : Rename(inst, value, shape,
                                        "SPMDShardToFullShape", local, global));
    }
    RETURN_IF_ERROR(PassOrderOn(inst));
    if (!is_tuple) {
      RETURN_IF_ERROR(inst->ReplaceAllUsesWith(results[0]));
    } else {
      RETURN_IF_ERROR(inst->ReplaceAllUsesWith(inst->parent()->AddInstruction(
          HloInstruction::CreateTuple(results))));
    }
    Cast<HloCustomCallInstruction>(inst)->set_custom_call_has_side_effect(
        false);
    return inst->parent()->RemoveInstruction(inst);
  }

  HloModule* module_;
  const SdyMeshes& meshes_;
  absl::flat_hash_map<const HloComputation*, Axes> manual_;
};

}  // namespace

absl::Status ImportManualComputations(HloModule* module,
                                      const SdyMeshes& meshes) {
  return ManualImporter(module, meshes).Run();
}

}  // namespace xla
