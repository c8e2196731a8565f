#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/axis_mesh.h"
#include "xla/hlo/transforms/sharding_propagation/callee_shardings.h"
#include "xla/hlo/transforms/sharding_propagation/factor_solver.h"
#include "xla/hlo/transforms/sharding_propagation/propagation_graph.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_sharding_rule.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsSharding(const HloInstruction& inst) {
  return inst.IsCustomCall("Sharding");
}

// Translates annotations to axes of a common mesh, solves, and writes shardings
// back. Dimensions with a priority are held back at first: they count as
// replicated over their axes, and are restored priority by priority with a new
// solve after each, so that earlier priorities cannot be overruled.
class Propagation {
 public:
  Propagation(HloModule* module, const FactorPropagationOptions& options)
      : module_(module), options_(options), graph_(module) {}

  absl::StatusOr<bool> Run(std::vector<ShardingConflict>* conflicts) {
    ASSIGN_OR_RETURN(const bool manual_changed, SpreadManualShardings(module_));
    ASSIGN_OR_RETURN(const std::vector<HloSharding> annotations,
                     CollectAnnotations());
    if (annotations.empty()) {
      ASSIGN_OR_RETURN(const bool barriers, RemoveShardBarriers(module_));
      return barriers || manual_changed;
    }
    mesh_ = AxisMesh::Build(annotations);
    RETURN_IF_ERROR(Initialize());
    FactorSolver solver(graph_, mesh_, &states_);
    solver.Solve();
    for (const auto& [priority, dims] : deferred_) {
      for (const DeferredDim& dim : dims) Restore(dim);
      solver.Solve();
    }
    for (const FactorSolver::Divergence& divergence : solver.Divergences()) {
      AddConflict(divergence, conflicts);
    }
    AlignBorders();
    DropIndivisible();
    const bool changed = WriteBack();
    ASSIGN_OR_RETURN(const bool barriers, RemoveShardBarriers(module_));
    return changed || barriers || manual_changed;
  }

 private:
  // The leaf of an instruction's sharding that tensor `index` has.
  static HloSharding LeafSharding(const HloInstruction& inst, int64_t index) {
    const HloSharding& sharding = inst.sharding();
    if (!sharding.IsTuple()) return sharding;
    return sharding.tuple_elements()[index];
  }

  // All annotated leaves; errors for those that do not fit their shapes.
  absl::StatusOr<std::vector<HloSharding>> CollectAnnotations() {
    std::vector<HloSharding> result;
    int64_t devices = 0;
    std::map<int64_t, const HloInstruction*> groups;
    for (HloInstruction* inst : graph_.instructions()) {
      RETURN_IF_ERROR(GivenShardingRule(*inst).status());
      if (!inst->has_sharding()) continue;
      RETURN_IF_ERROR(CheckAnnotation(*inst, &devices));
      if (!inst->sharding().IsTuple() && inst->sharding().IsShardGroup()) {
        const int64_t id = inst->sharding().GetShardGroup().shard_group_id;
        const HloInstruction* first = groups.insert({id, inst}).first->second;
        if (!inst->shape().IsArray()) {
          return absl::InvalidArgumentError(
              absl::StrCat("instruction ", inst->name(), " of sharding group ",
                           id, " is not an array"));
        }
        if (!ShapeUtil::SameDimensions(first->shape(), inst->shape())) {
          return absl::InvalidArgumentError(absl::StrCat(
              "instructions ", first->name(), " and ", inst->name(),
              " of sharding group ", id, " have different shapes"));
        }
      }
      if (!inst->sharding().IsTuple()) {
        result.push_back(inst->sharding());
        continue;
      }
      const std::vector<HloSharding>& leaves =
          inst->sharding().tuple_elements();
      result.insert(result.end(), leaves.begin(), leaves.end());
    }
    return result;
  }

  // The state of each tensor before solving. Parameters and results of the
  // entry are closed unless the options allow propagation to them; shardings
  // that the mesh cannot express block their tensors.
  absl::Status Initialize() {
    const auto& tensors = graph_.tensors();
    states_.resize(tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) {
      const auto& tensor = tensors[t];
      FactorSolver::TensorState& state = states_[t];
      state.origin.assign(mesh_.num_axes(), -1);
      const int64_t rank =
          tensor.shape->IsArray() ? tensor.shape->dimensions().size() : 0;
      const int64_t index = t - graph_.FirstTensor(tensor.inst);
      state.sharding.dims.resize(rank);
      state.sharding.open.assign(rank, !IsFixedBoundary(*tensor.inst));
      if (!tensor.inst->has_sharding()) continue;
      const HloSharding sharding = LeafSharding(*tensor.inst, index);
      if (sharding.IsUnknown()) continue;
      std::optional<TensorSharding> axes = mesh_.Translate(sharding, rank);
      if (!axes) {
        state.blocked = true;
        continue;
      }
      state.sharding = *std::move(axes);
    }
    for (HloInstruction* inst : graph_.instructions()) OpenDims(*inst);
    for (HloInstruction* inst : graph_.instructions()) {
      RETURN_IF_ERROR(Defer(*inst));
    }
    for (HloInstruction* inst : graph_.instructions()) Adopt(*inst);
    return absl::OkStatus();
  }

  // A dimension whose priority comes later. Until then it is treated as whole
  // and closed, and its axes as taken, so that nothing else on the tensor can
  // claim them.
  struct DeferredDim {
    int tensor;
    int dim;
    bool open;
    AxisList axes;
  };

  absl::Status Defer(const HloInstruction& inst) {
    ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> priorities,
                     ShardingPriorities(inst));
    for (size_t i = 0; i < priorities.size(); ++i) {
      const int tensor = graph_.FirstTensor(&inst) + static_cast<int>(i);
      if (!states_[tensor].blocked) Defer(tensor, priorities[i]);
    }
    return absl::OkStatus();
  }
  void Defer(int tensor, absl::Span<const int64_t> priorities) {
    TensorSharding& sharding = states_[tensor].sharding;
    for (size_t d = 0; d < priorities.size(); ++d) {
      if (priorities[d] == 0) continue;
      DeferredDim deferred = {tensor, static_cast<int>(d), sharding.open[d],
                              sharding.dims[d]};
      for (int axis : deferred.axes) {
        sharding.replicated |= AxisMask{1} << axis;
      }
      sharding.dims[d].clear();
      sharding.open[d] = false;
      deferred_[priorities[d]].push_back(std::move(deferred));
    }
  }

  void Restore(const DeferredDim& deferred) {
    TensorSharding& sharding = states_[deferred.tensor].sharding;
    sharding.dims[deferred.dim] = deferred.axes;
    sharding.open[deferred.dim] = deferred.open;
    for (int axis : deferred.axes) {
      sharding.replicated &= ~(AxisMask{1} << axis);
    }
  }

  bool IsDeferred(int tensor) const {
    for (const auto& [priority, dims] : deferred_) {
      for (const DeferredDim& dim : dims) {
        if (dim.tensor == tensor) return true;
      }
    }
    return false;
  }

  bool IsFixedBoundary(const HloInstruction& inst) const {
    if (inst.parent() != module_->entry_computation()) return false;
    if (inst.opcode() == HloOpcode::kParameter) return !options_.to_parameters;
    return &inst == module_->entry_computation()->root_instruction() &&
           !options_.to_output;
  }

  // Callers read the root of what they call in the sharding that is given.
  bool IsReadByCaller(const HloInstruction& inst) const {
    return LeavesManualRegion(inst) && inst.IsRoot() &&
           inst.parent() != module_->entry_computation();
  }

  // unspecified_dims of `Sharding` calls, and of borders of manual regions.
  void OpenDims(const HloInstruction& inst) {
    if (!inst.shape().IsArray() || IsReadByCaller(inst) ||
        absl::c_any_of(inst.users(), [&](const HloInstruction* user) {
          return IsReadByCaller(*user);
        })) {
      return;
    }
    FactorSolver::TensorState& state = states_[graph_.FirstTensor(&inst)];
    for (int64_t d : UnspecifiedDims(inst)) {
      if (d < static_cast<int64_t>(state.sharding.open.size())) {
        state.sharding.open[d] = true;
      }
    }
  }

  // A value without annotation takes that of its `Sharding` calls if they are
  // closed and agree.
  void Adopt(const HloInstruction& inst) {
    if (!IsSharding(inst) || inst.operand_count() != 1) return;
    const HloInstruction* operand = inst.operand(0);
    if (operand->has_sharding() || IsSharding(*operand) ||
        !inst.shape().IsArray() || IsFixedBoundary(*operand)) {
      return;
    }
    const int constraint = graph_.FirstTensor(&inst);
    const int value = graph_.FirstTensor(operand);
    const FactorSolver::TensorState& state = states_[constraint];
    if (state.blocked || absl::c_linear_search(state.sharding.open, true) ||
        !inst.has_sharding() || inst.sharding().IsUnknown() ||
        IsDeferred(constraint)) {
      return;
    }
    for (const HloInstruction* user : operand->users()) {
      if (IsSharding(*user) && user->has_sharding() &&
          user->sharding() != inst.sharding()) {
        return;
      }
    }
    states_[value].sharding = state.sharding;
    states_[value].origin.assign(mesh_.num_axes(), constraint);
  }

  std::string TensorName(const RuleInstance& rule, int position) const {
    if (position >= rule.rule.num_operands) return "result";
    return absl::StrCat("operand ", position);
  }

  void AddConflict(const FactorSolver::Divergence& divergence,
                   std::vector<ShardingConflict>* conflicts) {
    const RuleInstance& rule = graph_.rules()[divergence.rule];
    auto describe = [&](int position, std::string* name, std::string* sharding,
                        std::string* source) {
      const int tensor = rule.tensors[position];
      *name = TensorName(rule, position);
      *sharding = mesh_.ToHloSharding(states_[tensor].sharding).ToString();
      std::vector<std::string> sources;
      for (const AxisList& axes : states_[tensor].sharding.dims) {
        for (int axis : axes) {
          const int origin = states_[tensor].origin[axis];
          const std::string text(
              graph_.tensors()[origin < 0 ? tensor : origin].inst->name());
          if (!absl::c_linear_search(sources, text)) sources.push_back(text);
        }
      }
      *source = absl::StrJoin(sources, ", ");
    };
    ShardingConflict conflict;
    conflict.instruction = std::string(rule.inst->name());
    describe(divergence.first, &conflict.first, &conflict.first_sharding,
             &conflict.first_source);
    describe(divergence.second, &conflict.second, &conflict.second_sharding,
             &conflict.second_source);
    if (options_.mark_conflicts) {
      const_cast<HloInstruction*>(rule.inst)->set_frontend_attribute(
          "sharding_conflict", conflict.ToString());
    }
    conflicts->push_back(std::move(conflict));
  }

  // A value at the border of a manual region is cut by manual axes first, then
  // as inside of the region: along open dimensions the inside decides.
  void AlignBorders() {
    for (const HloInstruction* inst : graph_.instructions()) {
      if (!IsManualBorder(*inst) || inst->operand_count() != 1 ||
          !inst->shape().IsArray()) {
        continue;
      }
      const bool enters = EntersManualRegion(*inst);
      const HloInstruction* outside = enters ? inst->operand(0) : inst;
      if (enters && (!IsSharding(*outside) || outside->user_count() != 1)) {
        continue;
      }
      FactorSolver::TensorState& whole = states_[graph_.FirstTensor(outside)];
      const FactorSolver::TensorState& shard =
          states_[graph_.FirstTensor(enters ? inst : inst->operand(0))];
      if (whole.blocked || shard.blocked) continue;
      for (size_t d = 0; d < whole.sharding.dims.size(); ++d) {
        if (!whole.sharding.open[d]) continue;
        AxisList axes;
        for (int axis : whole.sharding.dims[d]) {
          if ((shard.sharding.manual >> axis) & 1) axes.push_back(axis);
        }
        axes.insert(axes.end(), shard.sharding.dims[d].begin(),
                    shard.sharding.dims[d].end());
        whole.sharding.dims[d] = std::move(axes);
      }
    }
  }

  // Entry parameters and results are shards that the caller sees: what was
  // found for them has to divide them. What is given stays.
  void DropIndivisible() {
    const HloComputation* entry = module_->entry_computation();
    for (const HloInstruction* parameter : entry->parameter_instructions()) {
      DropIndivisible(*parameter);
    }
    DropIndivisible(*entry->root_instruction());
  }
  void DropIndivisible(const HloInstruction& inst) {
    if (inst.has_sharding()) return;
    const int first = graph_.FirstTensor(&inst);
    const int64_t leaves = ShapeUtil::FlattenTupleShape(inst.shape()).size();
    for (int64_t i = 0; i < leaves; ++i) {
      TensorSharding& sharding = states_[first + i].sharding;
      const Shape& shape = *graph_.tensors()[first + i].shape;
      for (size_t d = 0; d < sharding.dims.size(); ++d) {
        while (shape.dimensions(d) % mesh_.Extent(sharding.dims[d]) != 0) {
          sharding.dims[d].pop_back();
        }
      }
    }
  }

  HloSharding LeafResult(int tensor, const HloInstruction& inst,
                         int64_t index) const {
    if (states_[tensor].blocked) {
      return HloSharding::V3ToV2Sharding(LeafSharding(inst, index));
    }
    return mesh_.ToHloSharding(states_[tensor].sharding);
  }

  bool WriteBack() {
    bool changed = false;
    for (HloInstruction* inst : graph_.instructions()) {
      inst->erase_frontend_attribute(kShardingPriorities);
      inst->erase_frontend_attribute(sdy::kShardingRuleRoundTripAttr);
      const int first = graph_.FirstTensor(inst);
      const auto leaves = ShapeUtil::FlattenTupleShape(inst->shape());
      HloSharding result = HloSharding::Replicate();
      if (!inst->shape().IsTuple()) {
        result = LeafResult(first, *inst, 0);
        // The sharding of the values fed, not of the token.
        if (inst->opcode() == HloOpcode::kOutfeed) {
          result = HloSharding::Single(inst->operand(0)->shape(),
                                       HloSharding::Replicate());
        }
      } else {
        std::vector<HloSharding> parts;
        for (size_t i = 0; i < leaves.size(); ++i) {
          parts.push_back(LeafResult(first + static_cast<int>(i), *inst, i));
        }
        if (parts.empty()) parts.push_back(HloSharding::Replicate());
        result = HloSharding::Tuple(inst->shape(), parts);
      }
      if (KeepsSharding(*inst)) continue;
      if (!inst->has_sharding() || inst->sharding() != result) {
        inst->set_sharding(std::move(result));
        changed = true;
      }
    }
    changed |= UnifyCalleeShardings(module_, /*give_to_all=*/false);
    return ReplaceShardingCalls() || changed;
  }

  // Instructions whose shardings say more than where a value lies, or that have
  // more leaves than values.
  static bool KeepsSharding(const HloInstruction& inst) {
    return inst.has_sharding() &&
           HloPredicateIsOp<HloOpcode::kInfeed, HloOpcode::kOutfeed,
                            HloOpcode::kSend, HloOpcode::kSendDone,
                            HloOpcode::kRecv, HloOpcode::kRecvDone>(&inst);
  }

  bool ReplaceShardingCalls() {
    bool changed = false;
    for (HloInstruction* inst : graph_.instructions()) {
      if (!IsSharding(*inst) || inst->operand_count() != 1 ||
          !ShapeUtil::Compatible(inst->shape(), inst->operand(0)->shape())) {
        continue;
      }
      std::unique_ptr<HloInstruction> copy = HloInstruction::CreateUnary(
          inst->shape(), HloOpcode::kCopy, inst->mutable_operand(0));
      copy->set_sharding(inst->sharding());
      copy->set_metadata(inst->metadata());
      copy->set_frontend_attributes(inst->frontend_attributes());
      CHECK_OK(inst->parent()->ReplaceWithNewInstruction(
          inst, std::move(copy), /*preserve_sharding=*/false,
          /*relay_control_dependency=*/true));
      changed = true;
    }
    return changed;
  }

  HloModule* module_;
  const FactorPropagationOptions& options_;
  PropagationGraph graph_;
  AxisMesh mesh_;
  std::vector<FactorSolver::TensorState> states_;
  // By priority.
  std::map<int64_t, std::vector<DeferredDim>> deferred_;
};

}  // namespace

std::string ShardingConflict::ToString() const {
  return absl::StrCat(instruction, ": ", first, " is ", first_sharding,
                      " because of ", first_source, ", ", second, " is ",
                      second_sharding, " because of ", second_source);
}

absl::StatusOr<bool> FactorPropagation::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  conflicts_.clear();
  bool tied = UnifyCalleeShardings(module, /*give_to_all=*/true);
  tied |= AnnotateElementsAtBorders(module);
  ASSIGN_OR_RETURN(const bool changed,
                   Propagation(module, options_).Run(&conflicts_));
  SetKVMetric(module, "conflicts", conflicts_.size());
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update());
  }
  return tied || changed;
}

}  // namespace xla
