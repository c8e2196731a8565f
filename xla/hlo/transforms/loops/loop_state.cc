#include "xla/hlo/transforms/loops/loop_state.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/literal_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

bool OnlyElementsAreRead(const HloInstruction* state) {
  return std::all_of(state->users().begin(), state->users().end(),
                     [](const HloInstruction* user) {
                       return user->opcode() == HloOpcode::kGetTupleElement;
                     });
}

// Whether it is a loop of its own computations, the states of which are flat
// tuples.
bool HasEditableBody(const HloInstruction* loop) {
  if (loop->opcode() != HloOpcode::kWhile) return false;
  const HloComputation* body = loop->while_body();
  const HloComputation* condition = loop->while_condition();
  return body->root_instruction()->opcode() == HloOpcode::kTuple &&
         body->caller_instructions().size() == 1 &&
         condition->caller_instructions().size() == 1 &&
         OnlyElementsAreRead(body->parameter_instruction(0)) &&
         OnlyElementsAreRead(condition->parameter_instruction(0));
}

// A tuple of the elements of `value`, of the same shape.
HloInstruction* TupleOfElements(HloInstruction* value) {
  HloComputation* computation = value->parent();
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < value->shape().tuple_shapes_size(); ++i) {
    elements.push_back(computation->AddInstruction(
        HloInstruction::CreateGetTupleElement(value, i)));
  }
  HloInstruction* tuple =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  if (value->has_sharding()) tuple->copy_sharding(value);
  CopyOriginalValue(value, tuple);
  return tuple;
}

// Shardings name one element each; those of changed tuples would be wrong.
void DropSharding(HloInstruction* inst) {
  if (inst->has_sharding()) inst->clear_sharding();
}

// Gives `to` the original values of the elements of `from`, which may be the
// same, except for `changed`.
void KeepOriginalValues(const HloInstruction* from, HloInstruction* to,
                        int64_t changed) {
  if (from->original_value() == nullptr) return;
  absl::flat_hash_map<int64_t, int64_t> kept;
  for (int64_t i = 0; i < to->shape().tuple_shapes_size(); ++i) {
    if (i != changed) kept[i] = i;
  }
  CopyOriginalValue(from, to, kept);
}

}  // namespace

// Only loops whose tuples are built and read element by element can be edited:
// then an element can be added, replaced or blanked by changing the tuples and
// the shapes of the states, and nothing else depends on the whole tuple.
std::optional<LoopState> LoopState::Match(HloInstruction* loop) {
  std::optional<LoopState> state = MatchClosed(loop);
  if (!state.has_value() || loop->IsRoot() || !OnlyElementsAreRead(loop) ||
      state->init()->opcode() != HloOpcode::kTuple) {
    return std::nullopt;
  }
  return state;
}

std::optional<LoopState> LoopState::MatchInside(HloInstruction* loop) {
  if (!HasEditableBody(loop) ||
      loop->operand(0)->opcode() != HloOpcode::kTuple) {
    return std::nullopt;
  }
  return LoopState(loop);
}

std::optional<LoopState> LoopState::MatchClosed(HloInstruction* loop) {
  if (!HasEditableBody(loop) || loop->HasControlDependencies() ||
      loop->operand(0)->HasControlDependencies() ||
      loop->while_body()->root_instruction()->HasControlDependencies() ||
      !loop->while_body()->root_instruction()->users().empty()) {
    return std::nullopt;
  }
  return LoopState(loop);
}

std::optional<int64_t> LoopState::ElementOf(const HloInstruction* inst,
                                            const HloInstruction* state) {
  if (inst->opcode() != HloOpcode::kGetTupleElement ||
      inst->operand(0) != state) {
    return std::nullopt;
  }
  return inst->tuple_index();
}

bool LoopState::IsInvariant(int64_t element) const {
  return ElementOf(body_root()->operand(element), body_state()) == element;
}

bool LoopState::IsShared(int64_t element) const {
  const HloInstruction* root = body_root();
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    if (i == element) continue;
    if (root->operand(i) == root->operand(element) ||
        ElementOf(root->operand(i), body_state()) == element) {
      return true;
    }
  }
  return false;
}

std::vector<HloInstruction*> LoopState::BodyReaders(int64_t element) const {
  std::vector<HloInstruction*> readers;
  for (HloInstruction* read : body_state()->users()) {
    if (read->tuple_index() != element) continue;
    for (HloInstruction* user : read->users()) {
      if (user != body_root()) readers.push_back(user);
    }
  }
  return readers;
}

bool LoopState::ConditionReads(int64_t element) const {
  const HloInstruction* state =
      loop_->while_condition()->parameter_instruction(0);
  for (const HloInstruction* read : state->users()) {
    if (read->tuple_index() == element) return true;
  }
  return false;
}

std::vector<HloInstruction*> LoopState::ResultReaders(int64_t element) const {
  std::vector<HloInstruction*> readers;
  for (HloInstruction* read : loop_->users()) {
    if (read->tuple_index() != element) continue;
    if (read->IsRoot()) readers.push_back(read);
    readers.insert(readers.end(), read->users().begin(), read->users().end());
  }
  return readers;
}

bool LoopState::IsResultRoot(int64_t element) const {
  for (const HloInstruction* read : loop_->users()) {
    if (read->tuple_index() == element && read->IsRoot()) return true;
  }
  return false;
}

HloInstruction* LoopState::BodyElement(int64_t element) {
  for (HloInstruction* read : body_state()->users()) {
    if (read->tuple_index() == element) return read;
  }
  return body()->AddInstruction(
      HloInstruction::CreateGetTupleElement(body_state(), element));
}

// Sets an operand of the initial tuple, or adds one, and all shapes with it.
absl::Status LoopState::SetElement(int64_t element, HloInstruction* value) {
  HloInstruction* old = init();
  std::vector<HloInstruction*> operands(old->operands().begin(),
                                        old->operands().end());
  if (element == size()) {
    operands.push_back(value);
  } else {
    operands[element] = value;
  }
  HloInstruction* tuple =
      loop_->parent()->AddInstruction(HloInstruction::CreateTuple(operands));
  tuple->SetAndSanitizeName(old->name());
  tuple->UniquifyName(loop_->GetModule());
  TF_RETURN_IF_ERROR(loop_->ReplaceOperandWithDifferentShape(0, tuple));
  if (old->users().empty() && !old->IsRoot()) {
    TF_RETURN_IF_ERROR(loop_->parent()->RemoveInstruction(old));
  }
  for (HloInstruction* state :
       {loop_, body_state(),
        loop_->while_condition()->parameter_instruction(0)}) {
    *state->mutable_shape() = tuple->shape();
    KeepOriginalValues(state, state, element);
    DropSharding(state);
  }
  return absl::OkStatus();
}

absl::Status LoopState::SetBodyResult(int64_t element, HloInstruction* value) {
  HloInstruction* old = body_root();
  if (element < old->operand_count() && old->operand(element) == value) {
    return absl::OkStatus();
  }
  std::vector<HloInstruction*> operands(old->operands().begin(),
                                        old->operands().end());
  if (element == old->operand_count()) {
    operands.push_back(value);
  } else {
    operands[element] = value;
  }
  HloInstruction* root =
      body()->AddInstruction(HloInstruction::CreateTuple(operands));
  body()->set_root_instruction(root, /*accept_different_shape=*/true);
  return body()->RemoveInstruction(old);
}

absl::Status LoopState::Open() {
  if (init()->opcode() != HloOpcode::kTuple) {
    TF_RETURN_IF_ERROR(loop_->ReplaceOperandWith(0, TupleOfElements(init())));
  }
  if (!loop_->IsRoot() && OnlyElementsAreRead(loop_)) return absl::OkStatus();
  std::vector<HloInstruction*> readers;
  for (HloInstruction* user : loop_->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) readers.push_back(user);
  }
  HloInstruction* whole = TupleOfElements(loop_);
  for (HloInstruction* reader : readers) {
    TF_RETURN_IF_ERROR(loop_->ReplaceUseWith(reader, whole));
  }
  if (loop_->IsRoot()) loop_->parent()->set_root_instruction(whole);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LoopState::Append(HloInstruction* value) {
  for (int64_t i = 0; i < size(); ++i) {
    if (init()->operand(i) == value && IsInvariant(i)) return i;
  }
  const int64_t element = size();
  TF_RETURN_IF_ERROR(SetElement(element, value));
  TF_RETURN_IF_ERROR(PassOn(element));
  return element;
}

// The element keeps its number, but becomes a scalar zero: removing it would
// renumber all elements behind it, in this loop and in what callers have
// recorded.
absl::Status LoopState::Blank(int64_t element) {
  if (!BodyReaders(element).empty() || ConditionReads(element) ||
      !ResultReaders(element).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("element ", element, " of ", loop_->name(), " is read"));
  }
  // Unread get-tuple-elements still have the old shape.
  for (HloInstruction* read : std::vector<HloInstruction*>(
           loop_->users().begin(), loop_->users().end())) {
    if (read->tuple_index() != element) continue;
    TF_RETURN_IF_ERROR(read->SafelyDropAllControlDependencies());
    TF_RETURN_IF_ERROR(loop_->parent()->RemoveInstruction(read));
  }
  HloInstruction* zero = loop_->parent()->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(0)));
  TF_RETURN_IF_ERROR(SetElement(element, zero));
  HloInstruction* read = body()->AddInstruction(
      HloInstruction::CreateGetTupleElement(body_state(), element));
  TF_RETURN_IF_ERROR(SetBodyResult(element, read));
  for (HloInstruction* old : std::vector<HloInstruction*>(
           body_state()->users().begin(), body_state()->users().end())) {
    if (old->tuple_index() != element || old == read) continue;
    TF_RETURN_IF_ERROR(old->SafelyDropAllControlDependencies());
    TF_RETURN_IF_ERROR(body()->RemoveInstruction(old));
  }
  return absl::OkStatus();
}

}  // namespace xla::remat_plan
