// Moving instructions into computations of their own: fusions, calls, async
// pairs; and deep copies.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

void HloComputation::AppendInstructionsIntoCalledComputation(
    absl::Span<HloInstruction* const> instructions_to_append,
    HloInstruction* caller) {
  HloInstruction* root = instructions_to_append.front();
  // Edges between the instructions disappear with them; edges to others are
  // those of the caller from now on.
  absl::Status status = RelayControlDependencies(root, caller);
  CHECK(status.ok()) << status;
  status = root->ReplaceAllUsesWith(caller);
  CHECK(status.ok()) << status;
  if (root == root_instruction_) set_root_instruction(caller);
  status = RemoveInstruction(root);
  CHECK(status.ok()) << status;
  for (HloInstruction* instruction : instructions_to_append.subspan(1)) {
    caller->AppendInstructionIntoCalledComputation(instruction);
    if (instruction->IsDead()) {
      status = RelayControlDependencies(instruction, caller);
      CHECK(status.ok()) << status;
      status = RemoveInstruction(instruction);
      CHECK(status.ok()) << status;
    }
  }
}

HloInstruction* HloComputation::CreateFusionInstruction(
    absl::Span<HloInstruction* const> instructions_to_fuse,
    HloInstruction::FusionKind fusion_kind) {
  CHECK(!instructions_to_fuse.empty());
  HloInstruction* root = instructions_to_fuse.front();
  HloInstruction* fusion = AddInstruction(
      HloInstruction::CreateFusion(root->shape(), fusion_kind, root));
  AppendInstructionsIntoCalledComputation(instructions_to_fuse, fusion);
  return fusion;
}

HloInstruction* HloComputation::CreateCallInstruction(
    absl::Span<HloInstruction* const> instructions_to_call) {
  CHECK(!instructions_to_call.empty());
  HloInstruction* root = instructions_to_call.front();
  HloInstruction* call = AddInstruction(
      HloInstruction::CreateCall(root->shape(), root), root->name());
  AppendInstructionsIntoCalledComputation(instructions_to_call, call);
  return call;
}

HloInstruction* HloComputation::CreateCompositeCallInstruction(
    absl::Span<HloInstruction* const> instructions_to_call,
    const std::string& name, const std::string& attributes, int64_t version) {
  CHECK(!instructions_to_call.empty());
  HloInstruction* root = instructions_to_call.front();
  HloInstruction* call =
      AddInstruction(HloInstruction::CreateCompositeCall(
                         root->shape(), root, name, attributes, version),
                     root->name());
  AppendInstructionsIntoCalledComputation(instructions_to_call, call);
  return call;
}

// Wraps the instruction into a computation of its own and replaces it by a
// start and a done. Control dependencies are split: predecessors precede the
// start, successors follow the done.
absl::StatusOr<HloInstruction*> HloComputation::CreateAsyncInstructions(
    HloInstruction* instruction, absl::Span<const Shape> context_shapes,
    absl::string_view async_execution_thread, bool replace,
    bool override_names) {
  TF_RET_CHECK(instruction->parent() == this)
      << instruction->name() << " is not in " << name_;
  const std::string name(instruction->name());
  HloInstruction* start;
  HloInstruction* done;
  if (instruction->opcode() == HloOpcode::kCopy) {
    // Copies have asynchronous opcodes of their own, whose state is
    // (destination, source, context...).
    std::vector<Shape> state = {instruction->shape(),
                                instruction->operand(0)->shape()};
    state.insert(state.end(), context_shapes.begin(), context_shapes.end());
    start = AddInstruction(
        HloInstruction::CreateCopyStart(ShapeUtil::MakeTupleShape(state),
                                        instruction->mutable_operand(0)),
        absl::StrCat(name, ".call-start"));
    done =
        AddInstruction(HloInstruction::CreateUnary(instruction->shape(),
                                                   HloOpcode::kCopyDone, start),
                       absl::StrCat(name, ".call-done"));
  } else {
    TF_RET_CHECK(parent_ != nullptr) << name_ << " is in no module";
    Builder builder(override_names ? absl::StrCat(name, "_computation")
                                   : "async_computation");
    std::vector<HloInstruction*> parameters;
    std::vector<Shape> operand_shapes;
    parameters.reserve(instruction->operand_count());
    operand_shapes.reserve(instruction->operand_count());
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      const HloInstruction* operand = instruction->operand(i);
      operand_shapes.push_back(operand->shape());
      TF_ASSIGN_OR_RETURN(
          HloInstruction * parameter,
          builder.AddParameter(HloInstruction::CreateParameter(
              i, operand->shape(),
              override_names ? absl::StrCat(operand->name(), ".param")
                             : absl::StrCat("param_", i))));
      parameters.push_back(parameter);
    }
    HloInstruction* root =
        builder.AddInstruction(instruction->CloneWithNewOperands(
            instruction->shape(), parameters, override_names ? "cloned" : ""));
    HloComputation* computation =
        parent_->AddEmbeddedComputation(builder.Build(root));
    computation->SetExecutionThread(async_execution_thread);
    std::vector<Shape> state = {ShapeUtil::MakeTupleShape(operand_shapes),
                                root->shape()};
    state.insert(state.end(), context_shapes.begin(), context_shapes.end());
    start = AddInstruction(
        HloInstruction::CreateAsyncStart(ShapeUtil::MakeTupleShape(state),
                                         instruction->operands(), computation,
                                         async_execution_thread),
        override_names ? absl::StrCat(name, "-start") : "");
    done = AddInstruction(HloInstruction::CreateAsyncDone(root->shape(), start),
                          override_names ? absl::StrCat(name, "-done") : "");
  }
  for (HloInstruction* added : {start, done}) {
    added->set_metadata_ptr(instruction->metadata_ptr());
    added->CopyBackendConfigFrom(instruction);
  }
  for (HloInstruction* predecessor : instruction->control_predecessors()) {
    TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(start));
  }
  for (HloInstruction* successor : instruction->control_successors()) {
    TF_RETURN_IF_ERROR(done->AddControlDependencyTo(successor));
  }
  if (replace) {
    TF_RETURN_IF_ERROR(instruction->DropAllControlDeps());
    TF_RETURN_IF_ERROR(ReplaceInstruction(instruction, done));
  }
  return done;
}

namespace {

// Copies the value at `index`. Depth is that of the shape's tuple nesting.
HloInstruction* DeepCopyAt(
    HloComputation* computation, HloInstruction* instruction, ShapeIndex* index,
    absl::FunctionRef<HloInstruction*(HloInstruction*, const ShapeIndex&,
                                      HloComputation*)>
        copy_leaf) {
  if (!instruction->shape().IsTuple()) {
    return copy_leaf(instruction, *index, computation);
  }
  std::vector<HloInstruction*> elements;
  const int64_t count = ShapeUtil::TupleElementCount(instruction->shape());
  elements.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    HloInstruction* element =
        computation->AddInstruction(HloInstruction::CreateGetTupleElement(
            ShapeUtil::GetTupleElementShape(instruction->shape(), i),
            instruction, i));
    index->push_back(i);
    elements.push_back(DeepCopyAt(computation, element, index, copy_leaf));
    index->pop_back();
  }
  return computation->AddInstruction(HloInstruction::CreateTuple(elements));
}

}  // namespace

absl::StatusOr<HloInstruction*> HloComputation::DeepCopyInstruction(
    HloInstruction* instruction, const ShapeTree<bool>* indices_to_copy,
    ShapeTree<HloInstruction*>* copies_added) {
  if (indices_to_copy != nullptr &&
      !ShapeUtil::Compatible(instruction->shape(), indices_to_copy->shape())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot deep copy ", instruction->name(), " of shape ",
        ShapeUtil::HumanString(instruction->shape()), " by indices of shape ",
        ShapeUtil::HumanString(indices_to_copy->shape())));
  }
  return DeepCopyInstructionWithCustomCopier(
      instruction,
      [&](HloInstruction* leaf, const ShapeIndex& index,
          HloComputation* computation) -> HloInstruction* {
        // Tokens are no data.
        if (leaf->shape().IsToken() ||
            (indices_to_copy != nullptr && !indices_to_copy->element(index))) {
          return leaf;
        }
        HloInstruction* copy = computation->AddInstruction(
            HloInstruction::CreateUnary(leaf->shape(), HloOpcode::kCopy, leaf));
        if (copies_added != nullptr) {
          *copies_added->mutable_element(index) = copy;
        }
        return copy;
      });
}

absl::StatusOr<HloInstruction*>
HloComputation::DeepCopyInstructionWithCustomCopier(
    HloInstruction* instruction,
    absl::FunctionRef<HloInstruction*(HloInstruction* leaf,
                                      const ShapeIndex& leaf_index,
                                      HloComputation* computation)>
        copy_leaf) {
  if (instruction->parent() != this) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot deep copy ", instruction->name(), ": it is not in ", name_));
  }
  ShapeIndex index;
  return DeepCopyAt(this, instruction, &index, copy_leaf);
}

}  // namespace xla
