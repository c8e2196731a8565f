#include "xla/hlo/transforms/control_flow/conditional_simplifier.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/control_flow/inlined_calls.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool OwnsBranches(const HloInstruction& conditional) {
  return absl::c_all_of(
      conditional.branch_computations(), [](const HloComputation* branch) {
        const HloComputation::CountByComputation callers =
            branch->caller_computations();
        return callers.size() == 1 && callers.begin()->second == 1 &&
               !Communicates(*branch);
      });
}

// Computes a branch where the conditional stands.
absl::Status Choose(HloInstruction* conditional, int64_t branch) {
  return InlineInPlaceOf(conditional, conditional->branch_computation(branch),
                         conditional->mutable_operand(branch + 1));
}

// The branch that is always taken.
std::optional<int64_t> OnlyBranch(const HloInstruction& conditional) {
  if (conditional.branch_count() == 1) return 0;
  const HloInstruction* selector = conditional.operand(0);
  if (selector->opcode() == HloOpcode::kConstant &&
      !selector->literal().is_elided()) {
    if (selector->shape().element_type() == PRED) {
      return selector->literal().Get<bool>({}) ? 0 : 1;
    }
    const int64_t last = conditional.branch_count() - 1;
    const int64_t index =
        selector->literal().GetIntegralAsS64({}).value_or(last);
    return index < 0 || index > last ? last : index;
  }
  for (int64_t i = 1; i < conditional.branch_count(); ++i) {
    if (conditional.operand(i + 1) != conditional.operand(1) ||
        *conditional.branch_computation(i) !=
            *conditional.branch_computation(0)) {
      return std::nullopt;
    }
  }
  return 0;
}

// What costs no kernel of its own.
bool IsCheap(const HloInstruction& inst) {
  if (inst.HasSideEffect() || inst.HasControlDependencies()) return false;
  return HloPredicateIsOp<HloOpcode::kParameter, HloOpcode::kConstant,
                          HloOpcode::kTuple, HloOpcode::kGetTupleElement,
                          HloOpcode::kBroadcast, HloOpcode::kReshape,
                          HloOpcode::kBitcast, HloOpcode::kSlice,
                          HloOpcode::kIota>(&inst) ||
         // A copy of a tuple may be of the state of something asynchronous,
         // which stays whole.
         (inst.IsElementwise() && inst.shape().IsArray() &&
          !inst.has_called_computations());
}

bool HoldsArraysOnly(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() && shape.is_static();
  return absl::c_all_of(shape.tuple_shapes(), HoldsArraysOnly);
}

int64_t BytesOfArrays(const Shape& shape) {
  int64_t bytes = 0;
  ShapeUtil::ForEachSubshape(shape, [&](const Shape& part, const ShapeIndex&) {
    if (part.IsArray()) bytes += ShapeUtil::ByteSizeOf(part);
  });
  return bytes;
}

// Whether branches read little more together than one of them does: at most
// twice as much, or a page.
bool ShareOperands(const HloInstruction& conditional) {
  constexpr int64_t kPage = 4096;
  absl::flat_hash_set<const HloInstruction*> read;
  int64_t largest = 0;
  for (int64_t i = 1; i < conditional.operand_count(); ++i) {
    const HloInstruction* operand = conditional.operand(i);
    largest = std::max(largest, BytesOfArrays(operand->shape()));
    if (operand->opcode() == HloOpcode::kTuple) {
      read.insert(operand->operands().begin(), operand->operands().end());
    } else {
      read.insert(operand);
    }
  }
  int64_t bytes = 0;
  for (const HloInstruction* operand : read) {
    bytes += BytesOfArrays(operand->shape());
  }
  return bytes <= std::max(2 * largest, kPage);
}

// All branches will always run, so they may hold only instructions that fuse
// into their readers, and few of them.
bool MayBecomeSelect(const HloInstruction& conditional,
                     int64_t max_instructions) {
  if (conditional.HasControlDependencies() ||
      !HoldsArraysOnly(conditional.shape()) || !ShareOperands(conditional)) {
    return false;
  }
  int64_t instructions = 0;
  for (const HloComputation* branch : conditional.branch_computations()) {
    instructions += branch->instruction_count();
    if (branch->instruction_count() > max_instructions ||
        !absl::c_all_of(branch->instructions(), [](const HloInstruction* inst) {
          return IsCheap(*inst);
        })) {
      return false;
    }
  }
  return instructions <= 2 * max_instructions;
}

HloInstruction* Element(HloInstruction* value, int64_t index) {
  if (value->opcode() == HloOpcode::kTuple) {
    return value->mutable_operand(index);
  }
  return value->AddInstruction(
      HloInstruction::CreateGetTupleElement(value, index));
}

// select(p, a, b), leaf by leaf.
HloInstruction* Select(HloInstruction* p, HloInstruction* a,
                       HloInstruction* b) {
  if (a == b) return a;
  HloComputation* computation = p->parent();
  const Shape& shape = a->shape();
  if (shape.IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (int64_t i = 0; i < shape.tuple_shapes_size(); ++i) {
      elements.push_back(Select(p, Element(a, i), Element(b, i)));
    }
    return computation->AddInstruction(HloInstruction::CreateTuple(elements));
  }
  if (!ShapeUtil::IsScalar(shape)) {
    p = computation->AddInstruction(HloInstruction::CreateBroadcast(
        ShapeUtil::ChangeElementType(shape, PRED), p, {}));
  }
  return computation->AddInstruction(
      HloInstruction::CreateTernary(shape, HloOpcode::kSelect, p, a, b));
}

// The value of a cheap branch, beside the conditional.
HloInstruction* CopyOfBranch(HloInstruction* conditional, int64_t branch) {
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> copies;
  const HloComputation* body = conditional->branch_computation(branch);
  for (HloInstruction* inst : body->MakeInstructionPostOrder()) {
    if (inst->opcode() == HloOpcode::kParameter) {
      copies[inst] = conditional->mutable_operand(branch + 1);
      continue;
    }
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : inst->operands()) {
      operands.push_back(copies.at(operand));
    }
    copies[inst] =
        inst->opcode() == HloOpcode::kGetTupleElement
            ? Element(operands[0], inst->tuple_index())
            : conditional->parent()->AddInstruction(
                  inst->CloneWithNewOperands(inst->shape(), operands));
  }
  return copies.at(body->root_instruction());
}

// Whether `selector` takes branch `branch`; a predicate takes 0 where it is
// true.
HloInstruction* Takes(HloInstruction* selector, int64_t branch) {
  if (selector->shape().element_type() == PRED) return selector;
  HloComputation* computation = selector->parent();
  HloInstruction* number =
      computation->AddInstruction(HloInstruction::CreateConstant(
          LiteralUtil::CreateR0<int32_t>(static_cast<int32_t>(branch))));
  return computation->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::ChangeElementType(selector->shape(), PRED), selector, number,
      ComparisonDirection::kEq));
}

// The last branch is what no comparison takes, indices out of range included.
absl::Status BecomeSelect(HloInstruction* conditional) {
  const int64_t last = conditional->branch_count() - 1;
  HloInstruction* value = CopyOfBranch(conditional, last);
  for (int64_t i = last - 1; i >= 0; --i) {
    HloInstruction* other = CopyOfBranch(conditional, i);
    value = Select(Takes(conditional->mutable_operand(0), i), other, value);
  }
  std::vector<HloComputation*> branches = CalleesOf(*conditional);
  TF_RETURN_IF_ERROR(
      conditional->parent()->ReplaceInstruction(conditional, value));
  return RemoveIfUncalled(std::move(branches));
}

// Numbers of the elements of a tuple that are read, or nullopt if it is used as
// a whole.
std::optional<std::vector<bool>> ElementsRead(const HloInstruction& tuple) {
  if (!tuple.shape().IsTuple() || tuple.IsRoot()) return std::nullopt;
  std::vector<bool> read(tuple.shape().tuple_shapes_size(), false);
  for (const HloInstruction* user : tuple.users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return std::nullopt;
    read[user->tuple_index()] = true;
  }
  return read;
}

// The elements of a tuple that `kept` names, as a tuple.
HloInstruction* Kept(HloInstruction* tuple, const std::vector<bool>& kept) {
  std::vector<HloInstruction*> elements;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) elements.push_back(Element(tuple, static_cast<int64_t>(i)));
  }
  return tuple->parent()->AddInstruction(HloInstruction::CreateTuple(elements));
}

// `tuple` has had its shape changed to the elements that `kept` names.
void RenumberReads(HloInstruction* tuple, const std::vector<bool>& kept) {
  std::vector<int64_t> numbers;
  int64_t next = 0;
  for (bool keep : kept) numbers.push_back(keep ? next++ : -1);
  for (HloInstruction* user : tuple->users()) {
    user->set_tuple_index(numbers[user->tuple_index()]);
  }
}

void SetShape(HloInstruction* inst, const Shape& shape) {
  if (inst->has_sharding()) inst->clear_sharding();
  inst->set_original_value(nullptr);
  *inst->mutable_shape() = shape;
}

absl::StatusOr<bool> DropUnreadResults(HloInstruction* conditional) {
  const std::optional<std::vector<bool>> read = ElementsRead(*conditional);
  if (!read.has_value() || !absl::c_linear_search(*read, false)) return false;
  Shape shape;
  for (HloComputation* branch : conditional->branch_computations()) {
    HloInstruction* root = branch->root_instruction();
    HloInstruction* kept = Kept(root, *read);
    branch->set_root_instruction(kept, /*accept_different_shape=*/true);
    if (root->IsDead() && branch->IsSafelyRemovable(root) &&
        !root->HasSideEffect()) {
      TF_RETURN_IF_ERROR(branch->RemoveInstructionAndUnusedOperands(root));
    }
    shape = kept->shape();
  }
  SetShape(conditional, shape);
  RenumberReads(conditional, *read);
  return true;
}

absl::StatusOr<bool> DropUnreadOperands(HloInstruction* conditional) {
  bool changed = false;
  for (int64_t i = 0; i < conditional->branch_count(); ++i) {
    HloInstruction* parameter =
        conditional->branch_computation(i)->parameter_instruction(0);
    const std::optional<std::vector<bool>> read = ElementsRead(*parameter);
    if (!read.has_value() || !absl::c_linear_search(*read, false)) continue;
    HloInstruction* operand = conditional->mutable_operand(i + 1);
    HloInstruction* kept = Kept(operand, *read);
    TF_RETURN_IF_ERROR(
        conditional->ReplaceOperandWithDifferentShape(i + 1, kept));
    if (operand->IsDead() && !operand->HasSideEffect() &&
        conditional->parent()->IsSafelyRemovable(operand)) {
      TF_RETURN_IF_ERROR(
          conditional->parent()->RemoveInstructionAndUnusedOperands(operand));
    }
    SetShape(parameter, kept->shape());
    RenumberReads(parameter, *read);
    changed = true;
  }
  return changed;
}

// Tries the strongest rewrite first: a branch that is always taken is inlined;
// cheap branches are all computed and joined by selects, which lets them
// fuse with their surroundings; a conditional that remains loses its unread
// results and operands. All of them need branch computations without other
// callers, since these are edited in place.
absl::StatusOr<bool> Simplify(const ConditionalSimplifierOptions& options,
                              HloInstruction* conditional) {
  if (!OwnsBranches(*conditional)) return false;
  const std::optional<int64_t> branch = OnlyBranch(*conditional);
  if (branch.has_value()) {
    TF_RETURN_IF_ERROR(Choose(conditional, *branch));
    return true;
  }
  if (MayBecomeSelect(*conditional, options.max_select_instructions)) {
    TF_RETURN_IF_ERROR(BecomeSelect(conditional));
    return true;
  }
  TF_ASSIGN_OR_RETURN(bool results, DropUnreadResults(conditional));
  TF_ASSIGN_OR_RETURN(bool operands, DropUnreadOperands(conditional));
  return results || operands;
}

}  // namespace

absl::StatusOr<bool> ConditionalSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Inner ones first: a branch that is inlined takes simple ones along.
  for (HloComputation* computation :
       MakeCalledPostOrder(module, execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsFusionComputation() ||
        (computation->IsAsyncComputation() && computation->IsMainThread())) {
      continue;
    }
    std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    // Those that read others first: what they do not need goes there, too.
    absl::c_reverse(order);
    for (HloInstruction* inst : order) {
      if (inst->opcode() != HloOpcode::kConditional ||
          computation->IsMarkedAsDead(inst)) {
        continue;
      }
      TF_ASSIGN_OR_RETURN(bool simplified, Simplify(options_, inst));
      changed |= simplified;
    }
  }
  if (changed) {
    TF_RETURN_IF_ERROR(UpdateScheduleIfAny(module, execution_threads));
  }
  return changed;
}

}  // namespace xla
