// Fusing producers into fusions.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

HloInstruction* HloFusionInstruction::FuseInstruction(
    HloInstruction* instruction_to_fuse) {
  return AppendInstructionIntoCalledComputation(instruction_to_fuse);
}

HloInstruction* HloFusionInstruction::FuseInstructionIntoMultiOutput(
    HloInstruction* instruction_to_fuse) {
  return AppendInstructionIntoCalledComputation(instruction_to_fuse,
                                                /*add_output=*/true);
}

HloInstruction*
HloFusionInstruction::CloneAndAppendInstructionIntoCalledComputation(
    HloInstruction* instruction_to_append, bool add_output) {
  CHECK(instruction_to_append->IsFusible())
      << instruction_to_append->name() << " cannot be fused";
  return HloCallableInstruction::CloneAndAppendInstructionIntoCalledComputation(
      instruction_to_append, add_output);
}

std::vector<HloInstruction*> HloFusionInstruction::CloneBodyOf(
    const HloFusionInstruction* producer) {
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  for (int64_t i = 0; i < producer->operand_count(); ++i) {
    HloInstruction* operand = producer->operands()[i];
    clones[producer->fused_parameter(i)] = ParameterFor(operand);
  }
  const HloInstruction* root = producer->fused_expression_root();
  const bool multi_output = root->opcode() == HloOpcode::kTuple;
  HloComputation* computation = fused_instructions_computation();
  for (const HloInstruction* inner :
       producer->fused_instructions_computation()->MakeInstructionPostOrder()) {
    if (inner->opcode() == HloOpcode::kParameter) continue;
    // The tuple is taken apart, unless something inside reads it.
    if (multi_output && inner == root && root->user_count() == 0) continue;
    InstructionVector operands;
    for (HloInstruction* operand : inner->operands()) {
      operands.push_back(clones.at(operand));
    }
    HloInstruction* clone = computation->AddInstruction(
        inner->CloneWithNewOperands(inner->shape(), operands));
    for (const HloInstruction* predecessor : inner->control_predecessors()) {
      if (auto it = clones.find(predecessor); it != clones.end()) {
        CHECK_OK(it->second->AddControlDependencyTo(clone));
        continue;
      }
      // The tuple, for which its elements stand.
      for (const HloInstruction* element : predecessor->operands()) {
        CHECK_OK(clones.at(element)->AddControlDependencyTo(clone));
      }
      for (const HloInstruction* before : predecessor->control_predecessors()) {
        CHECK_OK(clones.at(before)->AddControlDependencyTo(clone));
      }
    }
    clones[inner] = clone;
  }
  if (!multi_output) return {clones.at(root)};
  std::vector<HloInstruction*> outputs;
  for (const HloInstruction* element : root->operands()) {
    outputs.push_back(clones.at(element));
  }
  return outputs;
}

void HloFusionInstruction::MergeFusionInstruction(
    HloFusionInstruction* instruction_to_merge, bool remove_computation) {
  // The body is cloned straight into this computation: there is nothing to
  // remove, whatever `remove_computation` says.
  CHECK(IsUserOf(instruction_to_merge))
      << instruction_to_merge->name() << " is not an operand of " << name();
  std::vector<HloInstruction*> outputs = CloneBodyOf(instruction_to_merge);
  HloInstruction* value = outputs[0];
  if (instruction_to_merge->IsMultiOutputFusion()) {
    value =
        fused_instructions_computation()->AddInstruction(CreateTuple(outputs));
  }
  ReplaceOperandByInner(instruction_to_merge, value);
}

namespace {

// Outputs of the producer that are parameters are what its operands are.
void ReadParametersDirectly(HloInstruction* producer) {
  const HloInstruction* root = producer->fused_expression_root();
  for (HloInstruction* user : producer->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) continue;
    const HloInstruction* output = root->operand(user->tuple_index());
    if (output->opcode() != HloOpcode::kParameter) continue;
    CHECK_OK(user->ReplaceAllUsesWithDifferentShape(
        producer->mutable_operand(output->parameter_number())));
  }
}

// What reads each of the values in `outputs` that are needed from `fusion`:
// values that it has as outputs already are not added again, others once.
// `add` adds outputs and returns what reads them.
std::vector<HloInstruction*> ReadersOf(
    HloInstruction* fusion, absl::Span<HloInstruction* const> outputs,
    const std::vector<bool>& needed,
    absl::FunctionRef<
        std::vector<HloInstruction*>(absl::Span<HloInstruction* const>)>
        add) {
  const HloInstruction* root = fusion->fused_expression_root();
  absl::flat_hash_map<const HloInstruction*, int64_t> index;
  if (root->opcode() == HloOpcode::kTuple) {
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      index.try_emplace(root->operand(i), i);
    }
  } else {
    index[root] = 0;
  }
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> readers;
  std::vector<HloInstruction*> added;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!needed[i] || index.contains(outputs[i])) continue;
    if (readers.try_emplace(outputs[i], nullptr).second) {
      added.push_back(outputs[i]);
    }
  }
  const std::vector<HloInstruction*> new_readers = add(added);
  for (size_t i = 0; i < added.size(); ++i) readers[added[i]] = new_readers[i];

  std::vector<HloInstruction*> result(outputs.size(), nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!needed[i]) continue;
    HloInstruction*& reader = readers[outputs[i]];
    if (reader == nullptr) {
      reader = fusion->IsMultiOutputFusion()
                   ? fusion->parent()->AddInstruction(
                         HloInstruction::CreateGetTupleElement(
                             outputs[i]->shape(), fusion, index.at(outputs[i])))
                   : fusion;
    }
    result[i] = reader;
  }
  return result;
}

}  // namespace

// Three steps: clone the producer's body into this one; let operands that were
// read from the producer refer to the clones; and make those outputs of the
// producer that others read outputs of this fusion, redirecting the readers.
// The producer is then removed with its get-tuple-elements.
void HloFusionInstruction::MergeFusionInstructionIntoMultiOutput(
    HloFusionInstruction* producer, bool remove_computation) {
  CHECK(producer->parent() == parent());
  const bool multi_output = producer->IsMultiOutputFusion();
  if (multi_output) ReadParametersDirectly(producer);
  const std::vector<HloInstruction*> outputs = CloneBodyOf(producer);

  // The values that this fusion read from the producer are inside of it now.
  if (!multi_output && IsUserOf(producer)) {
    ReplaceOperandByInner(producer, outputs[0]);
  }
  std::vector<HloInstruction*> elements;
  bool tuple_is_used = !multi_output && producer->user_count() > 0;
  for (HloInstruction* user : producer->users()) {
    if (!multi_output) break;
    if (user->opcode() == HloOpcode::kGetTupleElement) {
      elements.push_back(user);
    } else {
      tuple_is_used = true;
    }
  }
  tuple_is_used |= producer->IsRoot();
  for (HloInstruction* element : elements) {
    if (IsUserOf(element)) {
      ReplaceOperandByInner(element, outputs[element->tuple_index()]);
    }
  }

  // Outputs that are read elsewhere, each once, in the order of the producer's.
  std::vector<bool> needed(outputs.size(), tuple_is_used);
  for (const HloInstruction* element : elements) {
    if (!element->IsDead()) needed[element->tuple_index()] = true;
  }
  const std::vector<HloInstruction*> reader_of =
      ReadersOf(this, outputs, needed, [&](auto added) {
        std::vector<HloInstruction*> readers = AddOutputs(added);
        for (HloInstruction* reader : readers) {
          reader->set_metadata_ptr(producer->metadata_ptr());
        }
        return readers;
      });

  // Other users read them from here.
  for (HloInstruction* element : elements) {
    if (!element->IsDead()) {
      HloInstruction* reader = reader_of[element->tuple_index()];
      if (element->has_sharding() && reader != this) {
        reader->copy_sharding(element);
      }
      CHECK_OK(element->ReplaceAllUsesWithDifferentShape(reader));
    }
    CHECK_OK(element->SafelyDropAllControlDependencies());
    CHECK_OK(parent()->RemoveInstruction(element));
  }
  if (tuple_is_used) {
    HloInstruction* value = reader_of[0];
    if (multi_output) value = parent()->AddInstruction(CreateTuple(reader_of));
    if (producer->has_sharding()) value->copy_sharding(producer);
    CHECK_OK(producer->ReplaceAllUsesWithDifferentShape(value));
  }

  // An edge between the two is an edge inside.
  if (absl::c_linear_search(producer->control_successors(), this)) {
    CHECK_OK(producer->RemoveControlDependencyTo(this));
  }
  CHECK_OK(producer->CopyAllControlDepsTo(this, this));
  CHECK_OK(producer->DropAllControlDeps());
  HloComputation* body = producer->fused_instructions_computation();
  HloModule* module = GetModule();
  CHECK_OK(parent()->RemoveInstruction(producer));
  if (remove_computation) CHECK_OK(module->RemoveEmbeddedComputation(body));
}

}  // namespace xla
