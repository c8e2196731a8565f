#include "xla/hlo/transforms/control_flow/while_loop_simplifier.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/control_flow/inlined_calls.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::LoopState;

// Trips that are tried one by one where arithmetic gives no count: more make no
// difference to what is done here.
constexpr int64_t kTrips = 2;

// A loop that runs never or once goes away. Whether it did.
absl::StatusOr<bool> RemoveLoop(HloInstruction* loop) {
  if (loop->while_condition()->HasSideEffect() ||
      Communicates(*loop->while_body())) {
    return false;
  }
  const std::optional<int64_t> trips = ComputeWhileLoopTripCount(loop, kTrips);
  if (trips == 1) {
    TF_RETURN_IF_ERROR(
        InlineInPlaceOf(loop, loop->while_body(), loop->mutable_operand(0)));
    return true;
  }
  if (trips != 0) return false;
  std::vector<HloComputation*> callees = CalleesOf(*loop);
  TF_ASSIGN_OR_RETURN(bool removed, loop->parent()->ReplaceInstruction(
                                        loop, loop->mutable_operand(0),
                                        /*preserve_sharding=*/false));
  if (removed) TF_RETURN_IF_ERROR(RemoveIfUncalled(std::move(callees)));
  return removed;
}

// Readers of elements that the loop hands through read them before the loop.
absl::StatusOr<bool> ForwardInvariants(HloInstruction* loop) {
  const HloComputation* body = loop->while_body();
  const HloInstruction* root = body->root_instruction();
  if (root->opcode() != HloOpcode::kTuple) return false;
  HloComputation* computation = loop->parent();
  HloInstruction* init = loop->mutable_operand(0);
  bool changed = false;
  const std::vector<HloInstruction*> users(loop->users().begin(),
                                           loop->users().end());
  for (HloInstruction* user : users) {
    if (user->opcode() != HloOpcode::kGetTupleElement ||
        user->HasControlDependencies() ||
        // The loop still takes what it hands through.
        hlo_query::HoldsBuffer(user->shape()) ||
        LoopState::ElementOf(root->operand(user->tuple_index()),
                             body->parameter_instruction(0)) !=
            user->tuple_index() ||
        (user->users().empty() && !user->IsRoot())) {
      continue;
    }
    HloInstruction* value =
        init->opcode() == HloOpcode::kTuple
            ? init->mutable_operand(user->tuple_index())
            : computation->AddInstruction(HloInstruction::CreateGetTupleElement(
                  init, user->tuple_index()));
    // The loop stays even if nothing else reads it: it may have side effects.
    TF_ASSIGN_OR_RETURN(bool replaced,
                        computation->ReplaceInstruction(
                            user, value, /*preserve_sharding=*/false,
                            /*relay_control_dependency=*/false,
                            /*remove_unused_operands=*/false));
    changed |= replaced;
  }
  return changed;
}

// Whether elements i and j, equal at the start of a trip, are so at its end.
//
// The inductive step of a proof: with equal initial values, the two elements
// are equal in every trip.
bool StayEqual(const LoopState& state, int64_t i, int64_t j) {
  if (state.IsInvariant(i) && state.IsInvariant(j)) return true;
  const HloInstruction* a = state.body_root()->operand(i);
  const HloInstruction* b = state.body_root()->operand(j);
  if (a == b) return true;
  if (a->operand_count() == 0 || a->opcode() == HloOpcode::kGetTupleElement ||
      a->HasSideEffect()) {
    return false;
  }
  auto same_operand = [&](const HloInstruction* x, const HloInstruction* y) {
    return x == y ||
           (x->opcode() == HloOpcode::kConstant &&
            y->opcode() == HloOpcode::kConstant && x->Identical(*y)) ||
           (LoopState::ElementOf(x, state.body_state()) == i &&
            LoopState::ElementOf(y, state.body_state()) == j);
  };
  return a->Identical(*b, same_operand);
}

// Lets those who read element `from` of `tuple` read element `to`, but for
// `root`.
absl::StatusOr<bool> ReadOther(HloInstruction* tuple, int64_t from, int64_t to,
                               const HloInstruction* root) {
  bool changed = false;
  HloInstruction* other = nullptr;
  const std::vector<HloInstruction*> reads(tuple->users().begin(),
                                           tuple->users().end());
  for (HloInstruction* read : reads) {
    if (read->tuple_index() != from || read->HasControlDependencies()) continue;
    if (read->IsRoot()) continue;
    const std::vector<HloInstruction*> users(read->users().begin(),
                                             read->users().end());
    for (HloInstruction* user : users) {
      if (user == root) continue;
      if (other == nullptr) {
        other = tuple->parent()->AddInstruction(
            HloInstruction::CreateGetTupleElement(tuple, to));
      }
      TF_RETURN_IF_ERROR(read->ReplaceUseWith(user, other));
      changed = true;
    }
  }
  return changed;
}

// The step of element `from` alone may go on reading it: it computes what no
// one else reads.
absl::StatusOr<bool> MergeElements(LoopState& state, int64_t from, int64_t to) {
  HloInstruction* step = state.body_root()->mutable_operand(from);
  const HloInstruction* reader =
      step != state.body_root()->operand(to) &&
              step->opcode() != HloOpcode::kGetTupleElement &&
              step->user_count() == 1
          ? step
          : state.body_root();
  TF_ASSIGN_OR_RETURN(bool in_body,
                      ReadOther(state.body_state(), from, to, reader));
  TF_ASSIGN_OR_RETURN(
      bool in_condition,
      ReadOther(state.loop()->while_condition()->parameter_instruction(0), from,
                to, nullptr));
  TF_ASSIGN_OR_RETURN(bool outside, ReadOther(state.loop(), from, to, nullptr));
  return in_body || in_condition || outside;
}

absl::StatusOr<bool> MergeEqualElements(HloInstruction* loop) {
  std::optional<LoopState> state = LoopState::Match(loop);
  if (!state.has_value()) return false;
  bool changed = false;
  for (int64_t j = 1; j < state->size(); ++j) {
    const HloInstruction* start = state->init()->operand(j);
    if (!start->shape().IsArray()) continue;
    for (int64_t i = 0; i < j; ++i) {
      const HloInstruction* other = state->init()->operand(i);
      if (start != other && (start->opcode() != HloOpcode::kConstant ||
                             !start->Identical(*other))) {
        continue;
      }
      if (!StayEqual(*state, i, j)) continue;
      TF_ASSIGN_OR_RETURN(bool merged, MergeElements(*state, j, i));
      changed |= merged;
      break;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> WhileLoopSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Inner loops first: those of a body that is inlined are simple by then.
  for (HloComputation* computation :
       MakeCalledPostOrder(module, execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsFusionComputation() ||
        (computation->IsAsyncComputation() && computation->IsMainThread())) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kWhile) continue;
      TF_ASSIGN_OR_RETURN(bool removed, RemoveLoop(inst));
      changed |= removed;
      if (removed) continue;
      TF_ASSIGN_OR_RETURN(bool forwarded, ForwardInvariants(inst));
      TF_ASSIGN_OR_RETURN(bool merged, MergeEqualElements(inst));
      changed |= forwarded || merged;
    }
  }
  if (changed) {
    TF_RETURN_IF_ERROR(UpdateScheduleIfAny(module, execution_threads));
  }
  return changed;
}

}  // namespace xla
