#include "xla/hlo/transforms/simplifiers/hlo_module_dce.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/hlo_liveness_analysis.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/kept_elements.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Threads = absl::flat_hash_set<absl::string_view>;

bool MayChange(const HloInstruction& loop) {
  const HloComputation* body = loop.while_body();
  const HloComputation* condition = loop.while_condition();
  return loop.shape().IsTuple() && body != condition &&
         body->caller_instructions().size() == 1 &&
         condition->caller_instructions().size() == 1 &&
         body->root_instruction()->opcode() == HloOpcode::kTuple &&
         body->root_instruction()->user_count() == 0 &&
         loop.get_frontend_attribute("xla_disable_while_loop_dce") != "true";
}

// Inner loops before outer ones, and loops that read before those they read.
std::vector<HloInstruction*> Loops(HloModule* module, const Threads& threads) {
  std::vector<HloInstruction*> loops;
  for (HloComputation* computation :
       module->MakeComputationPostOrder(threads)) {
    std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    absl::c_reverse(order);
    for (HloInstruction* inst : order) {
      if (inst->opcode() == HloOpcode::kWhile && MayChange(*inst)) {
        loops.push_back(inst);
      }
    }
  }
  return loops;
}

// A loop that runs although nothing reads its result, as where a branch returns
// it beside what is read: liveness then says nothing of what ends the loop.
bool IsLiveSomewhere(const HloInstruction& loop,
                     const HloLivenessAnalysis& liveness) {
  for (int64_t i = 0; i < loop.shape().tuple_shapes_size(); ++i) {
    if (liveness.IsLive(&loop, {i})) return true;
  }
  return false;
}

bool HandsThrough(const HloInstruction& next, const HloInstruction* parameter,
                  int64_t element) {
  return next.opcode() == HloOpcode::kGetTupleElement &&
         next.operand(0) == parameter && next.tuple_index() == element;
}

// Whether a control dependency keeps a link of an asynchronous operation, of
// which these are the places of its state. Unlike AsyncStateConsumers, looks at
// dones with opcodes of their own, too.
bool Stays(absl::Span<const AsyncStatePlace> places) {
  return absl::c_any_of(places, [](const AsyncStatePlace& place) {
    if (!place.inst->IsRoot() && place.inst->HasControlDependencies()) {
      return true;
    }
    return place.index.empty() &&
           absl::c_any_of(place.inst->users(), [](const HloInstruction* user) {
             return (user->IsAsyncDone() || user->IsAsyncConsumer()) &&
                    user->HasControlDependencies();
           });
  });
}

// What holds the state of an asynchronous operation that the body starts, and
// that a control dependency keeps: between iterations, it has to stay whole.
absl::flat_hash_set<const HloInstruction*> StatesThatStay(
    const HloComputation& body) {
  absl::flat_hash_set<const HloInstruction*> states;
  for (const HloInstruction* inst : body.instructions()) {
    if (!inst->IsAsyncStart() && !inst->IsAsyncProducer()) continue;
    const std::vector<AsyncStatePlace> places = AsyncStatePlaces(inst);
    if (!Stays(places)) continue;
    for (const AsyncStatePlace& place : places) states.insert(place.inst);
  }
  return states;
}

// Lets the body return dead elements as they come in.
absl::StatusOr<bool> HandDeadElementsThrough(HloModule* module,
                                             const Threads& threads) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloLivenessAnalysis> liveness,
                      HloLivenessAnalysis::Run(*module));
  bool changed = false;
  for (HloInstruction* loop : Loops(module, threads)) {
    if (!IsLiveSomewhere(*loop, *liveness)) continue;
    HloComputation* body = loop->while_body();
    HloInstruction* root = body->root_instruction();
    HloInstruction* parameter = body->parameter_instruction(0);
    const absl::flat_hash_set<const HloInstruction*> states =
        StatesThatStay(*body);
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      if (liveness->IsLive(loop, {i}) ||
          HandsThrough(*root->operand(i), parameter, i) ||
          states.contains(root->operand(i))) {
        continue;
      }
      HloInstruction* element = body->AddInstruction(
          HloInstruction::CreateGetTupleElement(parameter, i));
      TF_RETURN_IF_ERROR(root->ReplaceOperandWithDifferentShape(i, element));
      changed = true;
    }
  }
  return changed;
}

// Whether a tuple is only taken apart, and each of the given elements is read
// by nothing but `reader` (null: nothing).
bool OnlyElementsAreRead(const HloInstruction& tuple,
                         const std::vector<bool>& dead,
                         const HloInstruction* reader) {
  if (tuple.IsRoot()) return false;
  return absl::c_all_of(tuple.users(), [&](const HloInstruction* user) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return false;
    if (!dead[user->tuple_index()]) return true;
    return reader != nullptr && !user->IsRoot() &&
           !user->HasControlDependencies() &&
           absl::c_all_of(user->users(), [&](const HloInstruction* next) {
             return next == reader &&
                    reader->OperandIndices(user).size() == 1 &&
                    reader->operand_index(user) == user->tuple_index();
           });
  });
}

// Removes elements from tuple shapes, and from shardings and users with them.
class ElementRemover {
 public:
  explicit ElementRemover(const std::vector<bool>& dead)
      : new_index_(dead.size(), -1) {
    for (size_t i = 0; i < dead.size(); ++i) {
      if (dead[i]) continue;
      new_index_[i] = static_cast<int64_t>(kept_.size());
      kept_.push_back(static_cast<int64_t>(i));
    }
  }

  absl::Status Run(HloInstruction* loop) {
    HloComputation* body = loop->while_body();
    HloInstruction* root = body->root_instruction();
    TF_ASSIGN_OR_RETURN(HloInstruction * new_root, Shrunk(root));
    body->set_root_instruction(new_root, /*accept_different_shape=*/true);
    TF_RETURN_IF_ERROR(root->DropAllControlDeps());
    TF_RETURN_IF_ERROR(body->RemoveInstruction(root));

    HloInstruction* init = loop->mutable_operand(0);
    TF_ASSIGN_OR_RETURN(HloInstruction * new_init, Shrunk(init));
    TF_RETURN_IF_ERROR(loop->ReplaceOperandWithDifferentShape(0, new_init));
    if (init->IsDead() && loop->parent()->IsSafelyRemovable(init)) {
      // Another loop may have been read by nothing else.
      TF_RETURN_IF_ERROR(
          loop->parent()->RemoveInstructionAndUnusedOperands(init));
    }

    for (HloInstruction* state :
         {body->parameter_instruction(0),
          loop->while_condition()->parameter_instruction(0), loop}) {
      TF_RETURN_IF_ERROR(ShrinkInPlace(state));
    }
    return absl::OkStatus();
  }

 private:
  // A tuple of the elements that stay.
  absl::StatusOr<HloInstruction*> Shrunk(HloInstruction* tuple) {
    std::vector<HloInstruction*> elements;
    for (int64_t i : kept_) {
      elements.push_back(
          tuple->opcode() == HloOpcode::kTuple
              ? tuple->mutable_operand(i)
              : tuple->parent()->AddInstruction(
                    HloInstruction::CreateGetTupleElement(tuple, i)));
    }
    HloInstruction* result = tuple->parent()->AddInstruction(
        HloInstruction::CreateTuple(elements), tuple->name());
    result->set_metadata(tuple->metadata());
    if (tuple->has_sharding()) {
      result->set_sharding(
          ShardingOfElements(tuple->sharding(), tuple->shape(), kept_));
    }
    return result;
  }

  absl::Status ShrinkInPlace(HloInstruction* state) {
    std::vector<HloInstruction*> users(state->users().begin(),
                                       state->users().end());
    for (HloInstruction* user : users) {
      const int64_t index = new_index_[user->tuple_index()];
      if (index < 0) {
        // Not read any more: in the body, only the root did.
        TF_RETURN_IF_ERROR(state->parent()->RemoveInstruction(user));
      } else {
        user->set_tuple_index(index);
      }
    }
    if (state->has_sharding()) {
      state->set_sharding(
          ShardingOfElements(state->sharding(), state->shape(), kept_));
    }
    state->set_original_value(nullptr);
    *state->mutable_shape() = ShapeOfElements(state->shape(), kept_);
    return absl::OkStatus();
  }

  // By old index; -1 for elements that go.
  std::vector<int64_t> new_index_;
  std::vector<int64_t> kept_;
};

absl::StatusOr<bool> RemoveDeadElements(HloModule* module,
                                        const Threads& threads) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloLivenessAnalysis> liveness,
                      HloLivenessAnalysis::Run(*module));
  bool changed = false;
  for (HloInstruction* loop : Loops(module, threads)) {
    // It may have gone with the loop that read it.
    if (loop->parent() == nullptr) continue;
    // Such configs hold the number of the induction variable.
    if (loop->has_backend_config() &&
        absl::StrContains(loop->raw_backend_config_string(), "tuple_index")) {
      continue;
    }
    std::vector<bool> dead;
    for (int64_t i = 0; i < loop->shape().tuple_shapes_size(); ++i) {
      dead.push_back(!liveness->IsLive(loop, {i}));
    }
    if (!absl::c_linear_search(dead, true) ||
        !OnlyElementsAreRead(*loop, dead, nullptr) ||
        !OnlyElementsAreRead(*loop->while_condition()->parameter_instruction(0),
                             dead, nullptr) ||
        !OnlyElementsAreRead(*loop->while_body()->parameter_instruction(0),
                             dead, loop->while_body()->root_instruction())) {
      continue;
    }
    TF_RETURN_IF_ERROR(ElementRemover(dead).Run(loop));
    changed = true;
  }
  return changed;
}

}  // namespace

// Loop-carried elements that nothing reads keep themselves alive in the body,
// where each iteration computes the next value from the last. Liveness analysis
// across computations finds them. In a first step the body returns them
// unchanged, which kills their computation while the loop keeps its shape; in
// an optional second step they are removed from the tuple shapes of the loop.
absl::StatusOr<bool> HloModuleDCE::RunImpl(HloModule* module,
                                           const Threads& execution_threads) {
  TF_ASSIGN_OR_RETURN(bool changed,
                      HandDeadElementsThrough(module, execution_threads));
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  // Readers of dead elements are removed first.
  TF_ASSIGN_OR_RETURN(bool cleaned, HloDCE().Run(module, execution_threads));
  changed |= cleaned;
  if (options_.remove_elements) {
    TF_ASSIGN_OR_RETURN(bool removed,
                        RemoveDeadElements(module, execution_threads));
    changed |= removed;
    if (removed && module->has_schedule()) {
      TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
    }
  }
  TF_ASSIGN_OR_RETURN(bool simplified,
                      TupleSimplifier().Run(module, execution_threads));
  TF_ASSIGN_OR_RETURN(cleaned, HloDCE().Run(module, execution_threads));
  return changed || simplified || cleaned;
}

}  // namespace xla
