#include "xla/backends/gpu/transforms/mof/mof_outputs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Drops the outputs that are not in `kept`; nothing may read them.
absl::Status DropOutputs(HloInstruction* fusion,
                         const std::vector<bool>& kept) {
  HloComputation* body = fusion->fused_instructions_computation();
  HloInstruction* root = body->root_instruction();
  std::vector<HloInstruction*> outputs;
  std::vector<int64_t> new_index(kept.size(), -1);
  absl::flat_hash_map<int64_t, int64_t> kept_index;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    kept_index[i] = new_index[i] = static_cast<int64_t>(outputs.size());
    outputs.push_back(root->mutable_operand(static_cast<int64_t>(i)));
  }
  // A single output needs no tuple.
  const bool is_tuple = outputs.size() > 1;
  HloInstruction* new_root =
      is_tuple ? body->AddInstruction(HloInstruction::CreateTuple(outputs))
               : outputs[0];
  body->set_root_instruction(new_root, /*accept_different_shape=*/true);
  const std::vector<HloInstruction*> reads(fusion->users().begin(),
                                           fusion->users().end());
  if (!is_tuple && fusion->original_value() != nullptr) {
    fusion->set_original_value(OriginalValue::CreateFromInstruction(reads[0]));
  }
  *fusion->mutable_shape() = new_root->shape();
  if (is_tuple) CopyOriginalValue(fusion, fusion, kept_index);
  for (HloInstruction* read : reads) {
    if (is_tuple) {
      read->set_tuple_index(new_index[read->tuple_index()]);
      continue;
    }
    TF_RETURN_IF_ERROR(read->ReplaceAllUsesWithDifferentShape(fusion));
    TF_RETURN_IF_ERROR(fusion->parent()->RemoveInstruction(read));
  }
  return body->RemoveInstructionAndUnusedOperands(
      root, /*cleanup=*/std::nullopt, /*ignore_control_dependencies=*/true);
}

}  // namespace

// O(size), for what has other operands has another hash.
ValueNumbers::ValueNumbers(const std::vector<HloInstruction*>& order) {
  size_t ids = 0;
  for (const HloInstruction* instruction : order) {
    ids = std::max(ids, static_cast<size_t>(instruction->local_id()) + 1);
  }
  first_.resize(ids, nullptr);
  const auto same_operands = [&](const HloInstruction* a,
                                 const HloInstruction* b) {
    return at(a) == at(b);
  };
  const auto same_computations = [](const HloComputation* a,
                                    const HloComputation* b) {
    return a == b || *a == *b;
  };
  // By hash, the last one of those that are like none before; by local id, the
  // one before it.
  absl::flat_hash_map<size_t, HloInstruction*> last_of;
  last_of.reserve(order.size());
  std::vector<HloInstruction*> before(ids, nullptr);
  for (HloInstruction* instruction : order) {
    HloInstruction* first = instruction;
    if (instruction->opcode() != HloOpcode::kParameter &&
        !instruction->HasSideEffect()) {
      // Operands of some opcodes may be swapped: the sum knows no order.
      size_t operands = 0;
      for (const HloInstruction* operand : instruction->operands()) {
        operands += absl::HashOf(at(operand)->local_id());
      }
      // Many slices may read one value; of elementwise ones with the same
      // operands there are few.
      const size_t hash =
          instruction->operand_count() > 0 && instruction->IsElementwise()
              ? absl::HashOf(instruction->opcode(), operands)
              : absl::HashOf(*instruction, operands);
      HloInstruction*& last = last_of[hash];
      for (HloInstruction* candidate = last; candidate != nullptr;
           candidate = before[candidate->local_id()]) {
        // The first one is like all that are like it.
        if (instruction->Identical(*candidate, same_operands,
                                   same_computations)) {
          first = candidate;
          break;
        }
      }
      if (first == instruction) {
        before[instruction->local_id()] = last;
        last = instruction;
      }
    }
    first_[instruction->local_id()] = first;
  }
}

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
  const ValueNumbers first_of(body->MakeInstructionPostOrder());
  std::vector<HloInstruction*> readers(root->operand_count(), nullptr);
  for (HloInstruction* user : fusion->users()) {
    HloInstruction*& reader = readers[user->tuple_index()];
    if (reader == nullptr) reader = user;
  }

  absl::flat_hash_map<const HloInstruction*, HloInstruction*> reader_of;
  int64_t removed = 0;
  std::vector<bool> kept(readers.size(), true);
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
    kept[i] = false;
    ++removed;
  }
  // A fusion that nothing reads any more stays as it is.
  if (removed > 0 && fusion->user_count() > 0 && !root->has_sharding() &&
      fusion->output_operand_aliasing().empty()) {
    TF_RETURN_IF_ERROR(DropOutputs(fusion, kept));
  }
  return removed;
}

}  // namespace xla::gpu
