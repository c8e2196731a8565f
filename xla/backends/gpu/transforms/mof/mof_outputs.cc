#include "xla/backends/gpu/transforms/mof/mof_outputs.h"

#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/dead_fusion_outputs.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Values =
    absl::flat_hash_map<const HloInstruction*, const HloInstruction*>;

// Maps each instruction to the first one that computes the same.
Values NumberValues(const HloComputation& body) {
  Values first_of;
  absl::flat_hash_map<size_t, std::vector<const HloInstruction*>> by_hash;
  const auto same_operands = [&](const HloInstruction* a,
                                 const HloInstruction* b) {
    return first_of.at(a) == first_of.at(b);
  };
  const auto same_computations = [](const HloComputation* a,
                                    const HloComputation* b) {
    return a == b || *a == *b;
  };
  for (const HloInstruction* instruction : body.MakeInstructionPostOrder()) {
    const HloInstruction* first = instruction;
    if (instruction->opcode() != HloOpcode::kParameter &&
        !instruction->HasSideEffect()) {
      std::vector<const HloInstruction*>& alike =
          by_hash[absl::HashOf(*instruction)];
      for (const HloInstruction* candidate : alike) {
        if (!instruction->Identical(*candidate, same_operands,
                                    same_computations)) {
          continue;
        }
        first = candidate;
        break;
      }
      if (first == instruction) alike.push_back(instruction);
    }
    first_of[instruction] = first;
  }
  return first_of;
}

}  // namespace

absl::StatusOr<int64_t> RemoveDuplicateOutputs(HloInstruction* fusion) {
  if (!fusion->IsMultiOutputFusion() || fusion->IsRoot() ||
      !absl::c_all_of(fusion->users(), [](const HloInstruction* user) {
        return user->opcode() == HloOpcode::kGetTupleElement &&
               !user->HasControlDependencies();
      })) {
    return 0;
  }
  HloComputation* body = fusion->fused_instructions_computation();
  const HloInstruction* root = body->root_instruction();
  const Values first_of = NumberValues(*body);
  std::vector<HloInstruction*> readers(root->operand_count(), nullptr);
  for (HloInstruction* user : fusion->users()) {
    HloInstruction*& reader = readers[user->tuple_index()];
    if (reader == nullptr) reader = user;
  }

  absl::flat_hash_map<const HloInstruction*, HloInstruction*> reader_of;
  int64_t removed = 0;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    if (readers[i] == nullptr) continue;
    const HloInstruction* value = first_of.at(root->operand(i));
    HloInstruction* instead = nullptr;
    if (value->opcode() == HloOpcode::kParameter) {
      instead = fusion->mutable_operand(value->parameter_number());
    } else {
      HloInstruction*& first = reader_of[value];
      if (first == nullptr) first = readers[i];
      if (first != readers[i]) instead = first;
    }
    if (instead == nullptr || instead->shape() != readers[i]->shape()) continue;
    const std::vector<HloInstruction*> users(fusion->users().begin(),
                                             fusion->users().end());
    for (HloInstruction* user : users) {
      if (user->tuple_index() != i) continue;
      TF_RETURN_IF_ERROR(user->ReplaceAllUsesWith(instead));
      TF_RETURN_IF_ERROR(fusion->parent()->RemoveInstruction(user));
    }
    ++removed;
  }
  if (removed > 0) {
    TF_RETURN_IF_ERROR(RemoveDeadFusionOutputs(body).status());
    TF_RETURN_IF_ERROR(HloDCE::RunOnComputation(body).status());
  }
  return removed;
}

}  // namespace xla::gpu
