#include "xla/hlo/transforms/loops/loop_sinking.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/body_writer.h"
#include "xla/hlo/transforms/loops/cheap_recipe.h"
#include "xla/hlo/transforms/loops/counted_loop.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/transforms/loops/remat_device.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/status_macros.h"

// Moves the computation of a large loop invariant into the loop, where it is
// recomputed in each trip from small operands, so that the large value need not
// live during the whole loop. If the body reads only a slice of the value in
// each trip, only this slice is computed: the slice is pushed through
// transposes, reshapes, broadcasts and element-wise instructions towards the
// operands. A dot that the loop alone reads, slice by slice, is made so, too:
// gradients of what a recurrent network hands to its last layer, for example.

namespace xla::remat_plan {
namespace {

// Whether a body reader takes one place of the first dimension.
bool IsSlice(const HloInstruction* reader, const HloInstruction* state,
             int64_t element) {
  if (reader->opcode() != HloOpcode::kDynamicSlice ||
      reader->HasControlDependencies() ||
      LoopState::ElementOf(reader->operand(0), state) != element) {
    return false;
  }
  return TakesOnePlace(reader, reader->operand(0)->shape(), reader->shape());
}

// Whether a body reader is a loop fusion that takes nothing but dynamic slices
// of the element.
bool SlicesInside(const HloInstruction* reader, const HloInstruction* state,
                  int64_t element) {
  if (!reader->IsLoopFusion() || reader->HasControlDependencies()) return false;
  for (int64_t i = 0; i < reader->operand_count(); ++i) {
    if (LoopState::ElementOf(reader->operand(i), state) != element) continue;
    const HloInstruction* parameter = reader->fused_parameter(i);
    if (parameter->users().empty()) return false;
    for (const HloInstruction* user : parameter->users()) {
      if (user->opcode() != HloOpcode::kDynamicSlice ||
          user->operand(0) != parameter) {
        return false;
      }
    }
  }
  return true;
}

// The part of an element that the slices taken inside of a reader have.
double PartInside(const HloInstruction* reader, const HloInstruction* state,
                  int64_t element) {
  double part = 0;
  for (int64_t i = 0; i < reader->operand_count(); ++i) {
    if (LoopState::ElementOf(reader->operand(i), state) != element) continue;
    const HloInstruction* parameter = reader->fused_parameter(i);
    for (const HloInstruction* slice : parameter->users()) {
      part += static_cast<double>(BytesOf(slice)) /
              static_cast<double>(std::max<int64_t>(BytesOf(parameter), 1));
    }
  }
  return part;
}

// The cost of the body's new instructions in one trip: all of what is made, or,
// where it is read by slices, a slice of what has the dimension.
//
// An estimate: along the first operands, each instruction counts with the
// fraction of its result that the slice needs.
double CostOfTrip(const LoopState& loop, int64_t element,
                  const CheapRecipe& recipe,
                  absl::FunctionRef<double(const HloInstruction&)> seconds) {
  double whole = 0;
  for (const HloInstruction* inst : recipe.order) whole += seconds(*inst);
  bool slices = false;
  double inside = 0;
  for (const HloInstruction* reader : loop.BodyReaders(element)) {
    if (IsSlice(reader, loop.body_state(), element)) {
      slices = true;
    } else if (SlicesInside(reader, loop.body_state(), element)) {
      inside += whole * PartInside(reader, loop.body_state(), element);
    } else {
      return whole;
    }
  }
  if (!slices) return inside;
  const HloInstruction* value = loop.init()->operand(element);
  double part = 0;
  // Follows the dimension down; beside it everything counts whole.
  int64_t dim = 0;
  const HloInstruction* inst = value;
  while (recipe.made.contains(inst)) {
    const double places = static_cast<double>(
        std::max<int64_t>(inst->shape().dimensions(dim), 1));
    std::optional<int64_t> below = BodyWriter::DimensionBelow(*inst, dim);
    if (!below.has_value()) return whole + inside;
    part += seconds(*inst) / places;
    if (*below < 0 || inst->operand_count() == 0) break;
    dim = *below;
    inst = inst->operand(0);
    if (inst->shape().dimensions().empty()) break;
  }
  return part + inside;
}

// How the body can make an element that it only carries: from little, by what
// costs next to nothing; or, place by place, by a dot that only this loop reads
// and whose operands are small. That dot then runs in parts.
std::optional<CheapRecipe> RecipeOf(const LoopState& loop, int64_t element) {
  const HloInstruction* value = loop.init()->operand(element);
  if (value->opcode() != HloOpcode::kDot) return FindCheapRecipe(value);
  if (!IsRecomputable(*value) || value->operand_count() != 2 ||
      value->user_count() != 1 ||
      absl::c_count(loop.init()->operands(), value) != 1 ||
      !absl::c_all_of(loop.BodyReaders(element),
                      [&](const HloInstruction* reader) {
                        return IsSlice(reader, loop.body_state(), element);
                      })) {
    return std::nullopt;
  }
  CheapRecipe recipe;
  recipe.made = {value};
  recipe.order = {value};
  int64_t carried_bytes = 0;
  for (const HloInstruction* operand : value->operands()) {
    recipe.carried.insert(operand);
    if (!IsParameterRead(operand)) carried_bytes += BytesOf(operand);
  }
  if (CheapRecipeOptions().carried_part * static_cast<double>(carried_bytes) >
      static_cast<double>(BytesOf(value))) {
    return std::nullopt;
  }
  return recipe;
}

// Computes a value inside of a fusion that reads it; `made`: what it is made by
// in the body, readers first. What nothing else reads is dead then.
void ComputeInside(absl::Span<HloInstruction* const> made,
                   HloInstruction* fusion) {
  for (HloInstruction* inst : made) {
    if (!fusion->IsUserOf(inst)) continue;
    if (inst->opcode() == HloOpcode::kFusion) {
      fusion->MergeFusionInstruction(inst);
    } else {
      fusion->FuseInstruction(inst);
    }
  }
}

}  // namespace

std::vector<LoopInvariant> FindLoopInvariants(
    const HloModule& module, int64_t min_bytes,
    absl::FunctionRef<double(const HloInstruction&)> seconds) {
  std::vector<LoopInvariant> found;
  for (const HloComputation* computation : ComputationsThatRun(module)) {
    if (!module.schedule().is_computation_scheduled(computation)) continue;
    for (HloInstruction* inst :
         module.schedule().sequence(computation).instructions()) {
      std::optional<LoopState> loop = LoopState::Match(inst);
      if (!loop.has_value()) continue;
      const double trips =
          static_cast<double>(ComputeWhileLoopTripCount(inst).value_or(1));
      for (int64_t k = 0; k < loop->size(); ++k) {
        const HloInstruction* value = loop->init()->operand(k);
        if (BytesOf(value) < min_bytes || !loop->IsInvariant(k) ||
            loop->ConditionReads(k) || IsParameterRead(value) ||
            loop->BodyReaders(k).empty() || loop->IsShared(k) ||
            loop->IsResultRoot(k)) {
          continue;
        }
        std::optional<CheapRecipe> recipe = RecipeOf(*loop, k);
        if (!recipe.has_value()) continue;
        found.push_back({inst, k, BytesOf(value),
                         trips * CostOfTrip(*loop, k, *recipe, seconds)});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const LoopInvariant& a, const LoopInvariant& b) {
                     return a.seconds * static_cast<double>(b.bytes) <
                            b.seconds * static_cast<double>(a.bytes);
                   });
  return found;
}

absl::StatusOr<std::vector<LoopInvariant>> FindLoopInvariants(
    const HloModule& module, int64_t min_bytes,
    const HloCostAnalysis::Options& device) {
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<HloCostAnalysis> cost,
                      CostOfModule(module, device));
  return FindLoopInvariants(module, min_bytes, [&](const HloInstruction& inst) {
    return cost->optimal_seconds(inst);
  });
}

absl::Status SinkLoopInvariants(absl::Span<const LoopInvariant> invariants,
                                HloModule* module) {
  for (const LoopInvariant& invariant : invariants) {
    std::optional<LoopState> loop = LoopState::Match(invariant.loop);
    TF_RET_CHECK(loop.has_value());
    const int64_t element = invariant.element;
    HloInstruction* value = loop->init()->mutable_operand(element);
    std::optional<CheapRecipe> recipe = RecipeOf(*loop, element);
    TF_RET_CHECK(recipe.has_value());
    BodyWriter writer(*loop, recipe->made);
    for (HloInstruction* reader : loop->BodyReaders(element)) {
      // Readers may be listed twice.
      bool reads = false;
      for (int64_t i = 0; i < reader->operand_count(); ++i) {
        reads |= LoopState::ElementOf(reader->operand(i), loop->body_state()) ==
                 element;
      }
      if (!reads) continue;
      if (IsSlice(reader, loop->body_state(), element)) {
        TF_ASSIGN_OR_RETURN(HloInstruction * slice,
                            writer.Slice(value, 0, reader->mutable_operand(1)));
        TF_RETURN_IF_ERROR(reader->ReplaceAllUsesWithDifferentShape(slice));
        TF_RETURN_IF_ERROR(loop->body()->RemoveInstruction(reader));
        continue;
      }
      const bool slices_inside =
          SlicesInside(reader, loop->body_state(), element);
      TF_ASSIGN_OR_RETURN(HloInstruction * whole, writer.Whole(value));
      for (int64_t i = 0; i < reader->operand_count(); ++i) {
        if (LoopState::ElementOf(reader->operand(i), loop->body_state()) ==
            element) {
          TF_RETURN_IF_ERROR(
              reader->ReplaceOperandWithDifferentShape(i, whole));
        }
      }
      if (slices_inside) ComputeInside(writer.Made(recipe->order), reader);
    }
    // Outside the loop, the value itself can be used.
    for (HloInstruction* read : std::vector<HloInstruction*>(
             loop->loop()->users().begin(), loop->loop()->users().end())) {
      if (read->tuple_index() != element) continue;
      TF_RETURN_IF_ERROR(read->ReplaceAllUsesWithDifferentShape(value));
    }
    TF_RETURN_IF_ERROR(loop->Blank(element));
  }
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  return module->schedule().Update();
}

}  // namespace xla::remat_plan
