#include "xla/hlo/transforms/loops/fusion_splitting.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

using Results = std::vector<int64_t>;  // numbers of a fusion's results

// Whether the value is a part of the computation's result: it may take the
// memory of an argument or of a loop's state, which other parts read.
bool LeavesComputation(const HloInstruction& inst) {
  absl::flat_hash_set<const HloInstruction*> seen = {&inst};
  std::vector<const HloInstruction*> stack = {&inst};
  while (!stack.empty()) {
    const HloInstruction* part = stack.back();
    stack.pop_back();
    if (part->IsRoot()) return true;
    for (const HloInstruction* user : part->users()) {
      if (IsRenaming(*user) && seen.insert(user).second) stack.push_back(user);
    }
  }
  return false;
}

// Whether nothing but the results tells that the fusion is one kernel.
bool MaySplit(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kFusion ||
      !(inst.IsLoopFusion() || inst.IsInputFusion()) || inst.IsRoot() ||
      !IsRecomputable(inst) || !inst.output_operand_aliasing().empty() ||
      !AliasInfo().GetInPlaceInputOutputPairs(&inst).empty()) {
    return false;
  }
  const HloInstruction* root = inst.fused_expression_root();
  const bool all_arrays =
      root->opcode() == HloOpcode::kTuple &&
      absl::c_all_of(root->operands(), [](const HloInstruction* result) {
        return result->shape().IsArray() &&
               result->opcode() != HloOpcode::kParameter;
      });
  return all_arrays && absl::c_all_of(inst.users(), [](const auto* user) {
           return user->opcode() == HloOpcode::kGetTupleElement &&
                  !user->HasControlDependencies() && !LeavesComputation(*user);
         });
}

// Which results are computed together: large ones alone, after the others, so
// that operands end where large results start. Those that nobody reads are left
// out.
std::vector<Results> PartsOf(const HloInstruction& fusion, int64_t min_bytes) {
  std::vector<bool> read(fusion.shape().tuple_shapes_size(), false);
  for (const HloInstruction* user : fusion.users()) {
    read[user->tuple_index()] = true;
  }
  std::vector<Results> parts;
  Results small;
  for (size_t k = 0; k < read.size(); ++k) {
    if (!read[k]) continue;
    const int64_t result = static_cast<int64_t>(k);
    if (ShapeUtil::ByteSizeOfElements(fusion.shape().tuple_shapes(
            static_cast<int>(result))) < min_bytes) {
      small.push_back(result);
    } else {
      parts.push_back({result});
    }
  }
  if (!small.empty()) parts.insert(parts.begin(), std::move(small));
  return parts;
}

// A fusion that computes some of the results, with the operands that takes.
absl::StatusOr<HloInstruction*> AddPart(HloInstruction* fusion,
                                        absl::Span<const int64_t> results) {
  HloModule* module = fusion->GetModule();
  HloComputation* body = module->AddEmbeddedComputation(
      fusion->fused_instructions_computation()->Clone("split"));
  HloInstruction* all = body->root_instruction();
  HloInstruction* root = all->mutable_operand(results.front());
  if (results.size() > 1) {
    std::vector<HloInstruction*> kept;
    for (int64_t k : results) kept.push_back(all->mutable_operand(k));
    root = body->AddInstruction(HloInstruction::CreateTuple(kept));
  }
  body->set_root_instruction(root, /*accept_different_shape=*/true);
  TF_RETURN_IF_ERROR(body->RemoveInstructionAndUnusedOperands(
      all, /*cleanup=*/std::nullopt, /*ignore_control_dependencies=*/true));
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < body->num_parameters(); ++i) {
    if (!body->parameter_instruction(i)->IsDead()) {
      operands.push_back(fusion->mutable_operand(i));
    }
  }
  TF_RETURN_IF_ERROR(body->RemoveUnusedParametersFromAnyComputation());
  std::unique_ptr<HloInstruction> part = HloInstruction::CreateFusion(
      root->shape(), fusion->fusion_kind(), operands, body);
  fusion->SetupDerivedInstruction(part.get());
  part->CopyBackendConfigFrom(fusion);
  part->SetAndSanitizeName(absl::StrCat(fusion->name(), ".split"));
  return fusion->parent()->AddInstruction(std::move(part));
}

// What stands in the schedule instead of each instruction.
using Replacements =
    std::map<const HloInstruction*, std::vector<HloInstruction*>>;

// Replaces the fusion by its parts, and who picks its results by them.
absl::Status Split(HloInstruction* fusion, absl::Span<const Results> parts,
                   Replacements* replacements) {
  HloComputation* computation = fusion->parent();
  std::vector<HloInstruction*> added;
  std::map<int64_t, HloInstruction*> results;
  for (const Results& part : parts) {
    TF_ASSIGN_OR_RETURN(HloInstruction * computed, AddPart(fusion, part));
    added.push_back(computed);
    for (size_t i = 0; i < part.size(); ++i) {
      if (part.size() > 1) {
        added.push_back(
            computation->AddInstruction(HloInstruction::CreateGetTupleElement(
                computed, static_cast<int64_t>(i))));
      }
      results[part[i]] = added.back();
    }
  }
  (*replacements)[fusion] = std::move(added);
  const std::vector<HloInstruction*> users(fusion->users().begin(),
                                           fusion->users().end());
  for (HloInstruction* user : users) {
    (*replacements)[user] = {};
    TF_RETURN_IF_ERROR(
        user->ReplaceAllUsesWith(results.at(user->tuple_index())));
    TF_RETURN_IF_ERROR(computation->ForceRemoveInstruction(user));
  }
  return computation->ForceRemoveInstruction(fusion);
}

absl::Status SplitIn(HloComputation* computation, int64_t min_bytes,
                     int64_t max_fusions, HloSchedule* schedule,
                     std::vector<std::string>* changed) {
  const std::vector<HloInstruction*> before =
      schedule->sequence(computation).instructions();
  Replacements replacements;
  for (HloInstruction* inst : before) {
    if (static_cast<int64_t>(changed->size()) == max_fusions) break;
    if (replacements.count(inst) > 0 || !MaySplit(*inst)) continue;
    const std::vector<Results> parts = PartsOf(*inst, min_bytes);
    if (parts.size() < 2) continue;
    changed->push_back(std::string(inst->name()));
    TF_RETURN_IF_ERROR(Split(inst, parts, &replacements));
  }
  if (replacements.empty()) return absl::OkStatus();
  std::vector<HloInstruction*> sequence;
  for (HloInstruction* inst : before) {
    auto it = replacements.find(inst);
    if (it == replacements.end()) {
      sequence.push_back(inst);
    } else {
      sequence.insert(sequence.end(), it->second.begin(), it->second.end());
    }
  }
  schedule->set_sequence(computation, sequence);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitFusions(int64_t min_bytes,
                                                      int64_t max_fusions,
                                                      HloModule* module) {
  std::vector<std::string> changed;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    if (!module->schedule().is_computation_scheduled(computation)) continue;
    TF_RETURN_IF_ERROR(SplitIn(computation, min_bytes, max_fusions,
                               &module->schedule(), &changed));
  }
  if (changed.empty()) return changed;
  TF_RETURN_IF_ERROR(module->RemoveUnusedComputations());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return changed;
}

}  // namespace xla::remat_plan
