#include "xla/hlo/transforms/indexing/select_and_scatter_expander.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

bool CanExpand(const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& source = inst.operand(1)->shape();
  return operand.is_static() && source.is_static() &&
         operand.dimensions_size() > 0 &&
         !ShapeUtil::IsZeroElementArray(operand) &&
         !ShapeUtil::IsZeroElementArray(source) &&
         absl::c_all_of(operand.dimensions(),
                        [](int64_t size) {
                          return size <= std::numeric_limits<int32_t>::max();
                        }) &&
         !inst.has_sharding() && !inst.HasControlDependencies() &&
         absl::c_all_of(inst.select()->instructions(),
                        [](const HloInstruction* step) {
                          return !step->has_called_computations() &&
                                 !step->HasControlDependencies();
                        });
}

// The pieces of one select-and-scatter.
class Expansion {
 public:
  explicit Expansion(HloInstruction* inst)
      : inst_(inst),
        computation_(inst->parent()),
        operand_(inst->mutable_operand(0)),
        source_(inst->mutable_operand(1)),
        init_(inst->mutable_operand(2)),
        rank_(operand_->shape().dimensions_size()) {}

  // What stands for it.
  HloInstruction* Run() {
    HloInstruction* indices = Indices(SelectedPositions());
    ScatterDimensionNumbers numbers;
    for (int64_t d = 0; d < rank_; ++d) {
      numbers.add_inserted_window_dims(d);
      numbers.add_scatter_dims_to_operand_dims(d);
    }
    numbers.set_index_vector_dim(rank_);
    HloInstruction* base =
        Add(HloInstruction::CreateBroadcast(inst_->shape(), init_, {}));
    return Add(HloInstruction::CreateScatter(
        inst_->shape(), base, indices, source_, inst_->scatter(), numbers,
        /*indices_are_sorted=*/false, /*unique_indices=*/false));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    return computation_->AddInstruction(std::move(instruction),
                                        &inst_->metadata());
  }

  // A tuple: what each window selects, and its position in each dimension.
  HloInstruction* SelectedPositions() {
    HloInstruction* none =
        Add(HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(-1)));
    std::vector<HloInstruction*> operands = {operand_};
    std::vector<HloInstruction*> inits = {init_};
    const Shape windows = ShapeUtil::ChangeElementType(
        source_->shape(), operand_->shape().element_type());
    std::vector<Shape> results = {windows};
    for (int64_t d = 0; d < rank_; ++d) {
      operands.push_back(Add(HloInstruction::CreateIota(
          ShapeUtil::ChangeElementType(operand_->shape(), S32), d)));
      inits.push_back(none);
      results.push_back(ShapeUtil::ChangeElementType(windows, S32));
    }
    return Add(HloInstruction::CreateReduceWindow(
        ShapeUtil::MakeTupleShape(results), operands, inits, inst_->window(),
        Pick()));
  }

  // The positions as index vectors, in a last dimension.
  HloInstruction* Indices(HloInstruction* selected) {
    std::vector<int64_t> dims(source_->shape().dimensions().begin(),
                              source_->shape().dimensions().end());
    dims.push_back(1);
    const Shape column = ShapeUtil::MakeShape(S32, dims);
    std::vector<HloInstruction*> columns;
    for (int64_t d = 0; d < rank_; ++d) {
      HloInstruction* positions = Add(HloInstruction::CreateGetTupleElement(
          selected->shape().tuple_shapes(d + 1), selected, d + 1));
      columns.push_back(Add(HloInstruction::CreateReshape(column, positions)));
    }
    if (rank_ == 1) return columns[0];
    dims.back() = rank_;
    return Add(HloInstruction::CreateConcatenate(
        ShapeUtil::MakeShape(S32, dims), columns, rank_));
  }

  // The computation that keeps one of two elements and its position.
  //
  // The reduction runs over pairs of an element and its position. Padding and
  // the init value have position -1 and must never win, whatever `select` says
  // of them: for a maximum over negative numbers padded with 0 it would prefer
  // the padding. So an absent candidate always loses against the other one; a
  // window with nothing but padding keeps -1, which the scatter drops as out of
  // bounds.
  HloComputation* Pick() {
    HloComputation::Builder builder(
        absl::StrCat(inst_->select()->name(), "_position"));
    const Shape number =
        ShapeUtil::MakeShape(operand_->shape().element_type(), {});
    const Shape position = ShapeUtil::MakeShape(S32, {});
    const Shape flag = ShapeUtil::MakeShape(PRED, {});
    auto add = [&](std::unique_ptr<HloInstruction> instruction) {
      return builder.AddInstruction(std::move(instruction));
    };
    auto parameters = [&](int64_t first, absl::string_view side) {
      std::vector<HloInstruction*> result;
      for (int64_t i = 0; i <= rank_; ++i) {
        result.push_back(add(HloInstruction::CreateParameter(
            first + i, i == 0 ? number : position, absl::StrCat(side, i))));
      }
      return result;
    };
    const std::vector<HloInstruction*> kept = parameters(0, "kept");
    const std::vector<HloInstruction*> next = parameters(rank_ + 1, "next");
    HloInstruction* none =
        add(HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(-1)));
    HloInstruction* stays = AddSelect(kept[0], next[0], &builder);
    HloInstruction* is_there = add(HloInstruction::CreateCompare(
        flag, kept[1], none, ComparisonDirection::kNe));
    HloInstruction* is_alone = add(HloInstruction::CreateCompare(
        flag, next[1], none, ComparisonDirection::kEq));
    stays = add(
        HloInstruction::CreateBinary(flag, HloOpcode::kAnd, is_there, stays));
    stays = add(
        HloInstruction::CreateBinary(flag, HloOpcode::kOr, is_alone, stays));
    std::vector<HloInstruction*> picked;
    for (int64_t i = 0; i <= rank_; ++i) {
      picked.push_back(add(HloInstruction::CreateTernary(
          kept[i]->shape(), HloOpcode::kSelect, stays, kept[i], next[i])));
    }
    HloInstruction* root = add(HloInstruction::CreateTuple(picked));
    HloComputation* pick =
        computation_->parent()->AddEmbeddedComputation(builder.Build(root));
    pick->SetExecutionThread(computation_->execution_thread());
    return pick;
  }

  // What `select` says of two elements.
  HloInstruction* AddSelect(HloInstruction* kept, HloInstruction* next,
                            HloComputation::Builder* builder) {
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> values;
    for (HloInstruction* step : inst_->select()->MakeInstructionPostOrder()) {
      if (step->opcode() == HloOpcode::kParameter) {
        values[step] = step->parameter_number() == 0 ? kept : next;
        continue;
      }
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : step->operands()) {
        operands.push_back(values.at(operand));
      }
      values[step] = builder->AddInstruction(
          step->CloneWithNewOperands(step->shape(), operands));
    }
    return values.at(inst_->select()->root_instruction());
  }

  HloInstruction* const inst_;
  HloComputation* const computation_;
  HloInstruction* const operand_;
  HloInstruction* const source_;
  HloInstruction* const init_;
  const int64_t rank_;
};

}  // namespace

absl::StatusOr<bool> SelectAndScatterExpander::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    std::vector<HloInstruction*> found;
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->opcode() == HloOpcode::kSelectAndScatter && CanExpand(*inst)) {
        found.push_back(inst);
      }
    }
    for (HloInstruction* inst : found) {
      HloInstruction* scatter = Expansion(inst).Run();
      TF_RETURN_IF_ERROR(computation->ReplaceInstruction(inst, scatter));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
