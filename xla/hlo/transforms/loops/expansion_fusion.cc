#include "xla/hlo/transforms/loops/expansion_fusion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/cheap_recipe.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Equal operands are recognized this many instructions deep.
constexpr int kEqualDepth = 4;

// Whether the instruction can read values that are computed inside of it.
bool CanTakeIn(const HloInstruction& reader) {
  if (reader.HasControlDependencies() || reader.operand_count() == 0 ||
      reader.IsDead()) {
    return false;
  }
  switch (reader.opcode()) {
    case HloOpcode::kFusion:
      return reader.IsLoopFusion();
    case HloOpcode::kReduce:
      return reader.shape().IsArray();
    // Rearrangements of a value are computed by their own readers.
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
    case HloOpcode::kCopy:
      return false;
    default:  // Elementwise opcodes alone.
      return reader.shape().IsArray() && reader.IsElementwise() &&
             reader.IsFusible() && IsRecomputable(reader);
  }
}

// The recipes of the operands that are worth taking in.
std::vector<CheapRecipe> RecipesOf(const HloInstruction& reader,
                                   int64_t min_bytes,
                                   const CheapRecipeOptions& options) {
  std::vector<CheapRecipe> recipes;
  for (const HloInstruction* operand : reader.unique_operands()) {
    if (!operand->shape().IsArray() ||
        ShapeUtil::ByteSizeOf(operand->shape(), 8) < min_bytes ||
        IsParameterRead(operand)) {
      continue;
    }
    std::optional<CheapRecipe> recipe = FindCheapRecipe(operand, options);
    if (!recipe.has_value() ||
        !std::all_of(
            recipe->order.begin(), recipe->order.end(),
            [](const HloInstruction* inst) { return inst->IsFusible(); })) {
      continue;
    }
    recipes.push_back(*std::move(recipe));
  }
  return recipes;
}

// Inside a fusion a copy that keeps the layout has no purpose, and compilers
// that see one let no result take the memory of what is copied.
absl::Status DropPlainCopy(HloInstruction* fused) {
  if (fused->opcode() != HloOpcode::kCopy || fused->IsRoot() ||
      !ShapeUtil::Equal(fused->shape(), fused->operand(0)->shape())) {
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(fused->ReplaceAllUsesWith(fused->mutable_operand(0)));
  return fused->parent()->RemoveInstruction(fused);
}

// Whether both compute the same from the same operands. Recipes end at small
// values, which are a few instructions away from constants and iotas.
bool AreEqual(const HloInstruction* a, const HloInstruction* b, int depth) {
  if (a == b) return true;
  if (depth == 0 || a->opcode() != b->opcode() || !IsRecomputable(*a) ||
      !IsRecomputable(*b)) {
    return false;
  }
  return a->Identical(
      *b, [depth](const HloInstruction* x, const HloInstruction* y) {
        return AreEqual(x, y, depth - 1);
      });
}

// A compiler that merges equal instructions would leave a fusion that reads one
// twice, which XLA:CPU's own fusion does not survive. Needs no more memory: all
// operands are there when the fusion runs.
absl::Status MergeEqualOperands(HloInstruction* fusion) {
  for (int64_t i = 1; i < fusion->operand_count(); ++i) {
    for (int64_t k = 0; k < i; ++k) {
      if (fusion->operand(i) == fusion->operand(k) ||
          !AreEqual(fusion->operand(i), fusion->operand(k), kEqualDepth)) {
        continue;
      }
      TF_RETURN_IF_ERROR(
          fusion->ReplaceOperandWith(i, fusion->mutable_operand(k)));
      break;
    }
  }
  return Cast<HloFusionInstruction>(fusion)->DeduplicateFusionOperands();
}

// Turns the reader into a fusion (if it is none) and fuses the recipes into it,
// consumers before producers, so that each instruction finds its only remaining
// reader inside.
absl::StatusOr<HloInstruction*> TakeIn(
    HloInstruction* reader, const std::vector<CheapRecipe>& recipes) {
  HloInstruction* fusion = reader;
  if (reader->opcode() != HloOpcode::kFusion) {
    fusion = reader->parent()->CreateFusionInstruction(
        {reader}, reader->opcode() == HloOpcode::kReduce
                      ? HloInstruction::FusionKind::kInput
                      : HloInstruction::FusionKind::kLoop);
  }
  for (const CheapRecipe& recipe : recipes) {
    for (const HloInstruction* inst : recipe.order) {
      // Another recipe may have brought it in.
      if (!fusion->IsUserOf(inst)) continue;
      TF_RETURN_IF_ERROR(DropPlainCopy(
          fusion->FuseInstruction(const_cast<HloInstruction*>(inst))));
    }
  }
  TF_RETURN_IF_ERROR(MergeEqualOperands(fusion));
  return fusion;
}

std::string Describe(const HloInstruction& reader,
                     const std::vector<CheapRecipe>& recipes) {
  return absl::StrCat(
      reader.name(), ": ",
      absl::StrJoin(recipes, ", ", [](std::string* out, const CheapRecipe& r) {
        absl::StrAppend(out, r.order.front()->name());
      }));
}

}  // namespace

// Duplicates cheap producers into every reader, so that the large value itself
// is never materialized; the originals die and are removed at the end.
absl::StatusOr<std::vector<std::string>> FuseExpansions(int64_t min_bytes,
                                                        double carried_part,
                                                        int64_t max_fusions,
                                                        HloModule* module) {
  CheapRecipeOptions options;
  options.carried_part = carried_part;
  options.fusions = false;
  std::vector<std::string> fusions;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    if (!module->schedule().is_computation_scheduled(computation)) continue;
    std::vector<HloInstruction*> sequence =
        module->schedule().sequence(computation).instructions();
    // Last readers first: what reads a reader looks through it.
    for (auto it = sequence.rbegin(); it != sequence.rend(); ++it) {
      if (static_cast<int64_t>(fusions.size()) == max_fusions) break;
      if (!CanTakeIn(**it)) continue;
      const std::vector<CheapRecipe> recipes =
          RecipesOf(**it, min_bytes, options);
      if (recipes.empty()) continue;
      fusions.push_back(Describe(**it, recipes));
      TF_ASSIGN_OR_RETURN(*it, TakeIn(*it, recipes));
    }
    module->schedule().set_sequence(computation, sequence);
  }
  if (fusions.empty()) return fusions;
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return fusions;
}

}  // namespace xla::remat_plan
