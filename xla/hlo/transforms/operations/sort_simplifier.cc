#include "xla/hlo/transforms/operations/sort_simplifier.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// By operand of the sort. The comparison decides on one permutation, and all
// operands follow it: one that neither the comparison nor any user reads has no
// influence on the others.
std::vector<bool> OperandsRead(const HloSortInstruction& sort) {
  std::vector<bool> read(sort.operand_count(), false);
  for (const HloInstruction* user : sort.users()) {
    if (!user->users().empty() || user->IsRoot()) {
      read[user->tuple_index()] = true;
    }
  }
  const HloComputation* compare = sort.to_apply();
  for (int64_t i = 0; i < compare->num_parameters(); ++i) {
    const HloInstruction* parameter = compare->parameter_instruction(i);
    if (!parameter->users().empty() || parameter->IsRoot()) read[i / 2] = true;
  }
  return read;
}

// The comparison without the parameters of operands that go.
HloComputation* Narrowed(const HloSortInstruction& sort,
                         const std::vector<bool>& kept) {
  HloComputation* compare = sort.to_apply();
  HloComputation::ReplacementMap replacements;
  int64_t next = 0;
  for (int64_t i = 0; i < compare->num_parameters(); ++i) {
    const HloInstruction* parameter = compare->parameter_instruction(i);
    replacements[parameter] =
        kept[i / 2] ? HloInstruction::CreateParameter(
                          next++, parameter->shape(), parameter->name())
                    : nullptr;
  }
  return compare->parent()->AddEmbeddedComputation(
      compare->CloneWithReplacements(&replacements));
}

absl::Status Narrow(HloSortInstruction* sort, const std::vector<bool>& kept) {
  HloComputation* computation = sort->parent();
  std::vector<HloInstruction*> operands;
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < sort->operand_count(); ++i) {
    if (!kept[i]) continue;
    operands.push_back(sort->mutable_operand(i));
    shapes.push_back(sort->shape().tuple_shapes(i));
  }
  HloInstruction* narrow =
      computation->AddInstruction(HloInstruction::CreateSort(
          shapes.size() == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes),
          sort->sort_dimension(), operands, Narrowed(*sort, kept),
          sort->is_stable()));
  narrow->set_metadata(sort->metadata());
  std::vector<HloInstruction*> elements;
  int64_t next = 0;
  for (int64_t i = 0; i < sort->operand_count(); ++i) {
    if (!kept[i]) {
      // Not read.
      elements.push_back(sort->mutable_operand(i));
    } else if (shapes.size() == 1) {
      elements.push_back(narrow);
    } else {
      elements.push_back(computation->AddInstruction(
          HloInstruction::CreateGetTupleElement(narrow, next++)));
    }
  }
  const std::vector<HloInstruction*> users(sort->users().begin(),
                                           sort->users().end());
  for (HloInstruction* user : users) {
    TF_RETURN_IF_ERROR(
        computation->ReplaceInstruction(user, elements[user->tuple_index()]));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Simplify(HloSortInstruction* sort) {
  HloComputation* computation = sort->parent();
  if (sort->HasControlDependencies()) return false;
  if (sort->operand(0)->shape().dimensions(sort->sort_dimension()) == 1 &&
      sort->shape().IsArray()) {
    TF_RETURN_IF_ERROR(
        computation->ReplaceInstruction(sort, sort->mutable_operand(0)));
    return true;
  }
  if (!sort->shape().IsTuple() || sort->IsRoot() ||
      !absl::c_all_of(sort->users(), [](const HloInstruction* user) {
        return user->opcode() == HloOpcode::kGetTupleElement &&
               !user->HasControlDependencies();
      })) {
    return false;
  }
  const std::vector<bool> read = OperandsRead(*sort);
  const int64_t kept = absl::c_count(read, true);
  if (kept == 0 || kept == sort->operand_count()) return false;
  TF_RETURN_IF_ERROR(Narrow(sort, read));
  return true;
}

}  // namespace

absl::StatusOr<bool> SortSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      auto* sort = DynCast<HloSortInstruction>(inst);
      if (sort == nullptr) continue;
      TF_ASSIGN_OR_RETURN(bool simplified, Simplify(sort));
      changed |= simplified;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
