#include "xla/hlo/evaluator/program.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

// A plan is a computation prepared for repeated execution: live instructions in
// post order, operands as slot numbers, and for each operand whether this is
// its last use, so that values are freed (or reused in place) as early as
// possible. Plans are built on first use and cached per computation.

namespace xla {
namespace evaluator {
namespace {

using GivenFn = absl::FunctionRef<bool(const HloInstruction*)>;

// Live instructions of a computation in post order: those the root depends on,
// and those with side effects.
std::vector<const HloInstruction*> LiveInstructions(
    const HloComputation* computation) {
  const std::vector<HloInstruction*> order =
      computation->MakeInstructionPostOrder();
  absl::flat_hash_set<const HloInstruction*> live;
  std::vector<const HloInstruction*> backwards;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction* inst = *it;
    const bool is_live = inst == computation->root_instruction() ||
                         live.contains(inst) || inst->HasSideEffect();
    if (!is_live) continue;
    live.insert(inst->operands().begin(), inst->operands().end());
    backwards.push_back(inst);
  }
  return {backwards.rbegin(), backwards.rend()};
}

// The dependencies of `root`, in post order; does not look behind given
// instructions. Iterative, since chains may be long.
std::vector<const HloInstruction*> Dependencies(const HloInstruction* root,
                                                GivenFn is_given) {
  std::vector<const HloInstruction*> order;
  absl::flat_hash_set<const HloInstruction*> seen;
  // Instructions, and whether their operands have been seen to.
  std::vector<std::pair<const HloInstruction*, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    const auto [inst, expanded] = stack.back();
    if (expanded) {
      stack.pop_back();
      order.push_back(inst);
      continue;
    }
    if (!seen.insert(inst).second) {
      stack.pop_back();
      continue;
    }
    stack.back().second = true;
    if (is_given(inst)) continue;
    for (const HloInstruction* operand : inst->operands()) {
      if (!seen.contains(operand)) stack.push_back({operand, false});
    }
  }
  return order;
}

// Finds the get-tuple-elements that may move their element out of the tuple
// instead of sharing it: the tuple is read by get-tuple-elements only, and this
// one is the last to read the element. Sharing would force a copy at the next
// in-place update.
void MarkTakers(ComputationPlan& plan) {
  const int32_t n = static_cast<int32_t>(plan.steps.size());
  std::vector<bool> only_elements(n, true);
  if (plan.root >= 0) only_elements[plan.root] = false;
  for (const ComputationPlan::Step& step : plan.steps) {
    if (step.instruction->opcode() == HloOpcode::kGetTupleElement) continue;
    for (const ComputationPlan::Operand& operand : step.operands) {
      only_elements[operand.slot] = false;
    }
  }
  absl::flat_hash_set<std::pair<int32_t, int64_t>> read_later;
  for (int32_t i = n - 1; i >= 0; --i) {
    ComputationPlan::Step& step = plan.steps[i];
    if (step.instruction->opcode() != HloOpcode::kGetTupleElement ||
        step.operands.empty()) {
      continue;
    }
    const int32_t tuple = step.operands[0].slot;
    step.takes_element =
        read_later.insert({tuple, step.instruction->tuple_index()}).second &&
        only_elements[tuple];
  }
}

// One forward pass assigns slots, one backward pass finds last uses and dead
// steps.
std::unique_ptr<ComputationPlan> MakePlan(
    const HloComputation* computation, const HloInstruction* root,
    absl::Span<const HloInstruction* const> order, GivenFn is_given) {
  auto plan = std::make_unique<ComputationPlan>();
  plan->computation = computation;
  absl::flat_hash_map<const HloInstruction*, int32_t> slots;
  slots.reserve(order.size());
  for (const HloInstruction* inst : order) {
    ComputationPlan::Step step;
    step.instruction = inst;
    if (!is_given(inst)) {
      for (const HloInstruction* operand : inst->operands()) {
        step.operands.push_back({slots.at(operand), false});
      }
    }
    slots.emplace(inst, static_cast<int32_t>(plan->steps.size()));
    plan->steps.push_back(std::move(step));
  }
  plan->root = slots.at(root);
  std::vector<bool> used(plan->steps.size(), false);
  used[plan->root] = true;
  for (int32_t i = static_cast<int32_t>(plan->steps.size()) - 1; i >= 0; --i) {
    ComputationPlan::Step& step = plan->steps[i];
    step.dead = !used[i];
    for (auto it = step.operands.rbegin(); it != step.operands.rend(); ++it) {
      it->last_use = !used[it->slot];
      used[it->slot] = true;
    }
  }
  MarkTakers(*plan);
  return plan;
}

}  // namespace

const ComputationPlan& Program::PlanFor(const HloComputation* computation) {
  std::unique_ptr<ComputationPlan>& plan = plans_[computation];
  if (plan == nullptr) {
    plan = MakePlan(computation, computation->root_instruction(),
                    LiveInstructions(computation),
                    [](const HloInstruction*) { return false; });
  }
  return *plan;
}

const LaneProgram* Program::LanesFor(const HloComputation* computation) {
  const auto it = lanes_.find(computation);
  if (it != lanes_.end()) return it->second.get();
  return lanes_.emplace(computation, LaneProgram::Compile(computation))
      .first->second.get();
}

const LaneProgram* Program::LoopFor(const HloComputation* computation) {
  const auto it = loops_.find(computation);
  if (it != loops_.end()) return it->second.get();
  return loops_.emplace(computation, LaneProgram::CompileLoop(computation))
      .first->second.get();
}

absl::StatusOr<const LaneProgram*> Program::LanesFor(
    const HloInstruction* instruction) {
  std::unique_ptr<LaneProgram>& lanes = instruction_lanes_[instruction];
  if (lanes == nullptr) {
    TF_ASSIGN_OR_RETURN(LaneProgram program,
                        LaneProgram::CompileInstruction(instruction));
    lanes = std::make_unique<LaneProgram>(std::move(program));
  }
  return lanes.get();
}

std::unique_ptr<ComputationPlan> MakePlanFrom(const HloInstruction* root,
                                              GivenFn is_given) {
  return MakePlan(root->parent(), root, Dependencies(root, is_given), is_given);
}

}  // namespace evaluator
}  // namespace xla
