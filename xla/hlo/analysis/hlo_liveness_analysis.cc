#include "xla/hlo/analysis/hlo_liveness_analysis.h"

#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_opcode.h"

// Backward propagation with a work list over (instruction, shape index). Two
// events are distinguished: an instruction becomes live at all, which makes its
// control inputs live (PropagateExecution), and one index of its result becomes
// live, which makes the corresponding index of its sources live
// (PropagateIndex). Tuples, loops, calls and conditionals propagate index by
// index; everything else needs all of its operands. Each index enters the list
// once, so the analysis is linear.

namespace xla {
namespace {

ShapeIndex WithoutFront(const ShapeIndex& index) {
  return ShapeIndex(index.begin() + 1, index.end());
}

ShapeIndex WithFront(int64_t front, const ShapeIndex& index) {
  ShapeIndex result = {front};
  result.insert(result.end(), index.begin(), index.end());
  return result;
}

}  // namespace

// Roots of the propagation: the result of the module and all side effects, with
// everything that calls them.
absl::StatusOr<std::unique_ptr<HloLivenessAnalysis>> HloLivenessAnalysis::Run(
    const HloModule& module) {
  std::unique_ptr<HloLivenessAnalysis> analysis(
      new HloLivenessAnalysis(module));
  analysis->whole_loop_states_ =
      module.config().debug_options().xla_disable_while_loop_dce();
  analysis->FindArguments(module);
  analysis->MarkAll(module.entry_computation()->root_instruction());
  analysis->Finish();
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (!inst->HasSideEffectNoRecurse()) continue;
      analysis->MarkAll(inst);
      analysis->MarkCallers(computation);
      analysis->Finish();
    }
  }
  return analysis;
}

void HloLivenessAnalysis::FindArguments(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (inst->opcode() != HloOpcode::kConditional) continue;
      for (int64_t i = 0; i < inst->branch_count(); ++i) {
        arguments_[inst->branch_computation(i)].push_back(inst->operand(i + 1));
      }
    }
  }
}

bool HloLivenessAnalysis::IsLive(const HloInstruction* instruction,
                                 const ShapeIndex& shape_index) const {
  const int32_t slot = slots_.Find(instruction);
  if (slot < 0 || !is_live_[slot]) return false;
  if (shape_index.empty()) return true;
  auto it = live_parts_.find(instruction);
  CHECK(it != live_parts_.end())
      << instruction->name() << " has no part " << shape_index.ToString();
  return it->second->element(shape_index);
}

void HloLivenessAnalysis::Mark(const HloInstruction* inst,
                               const ShapeIndex& index) {
  const int32_t slot = slots_[inst];
  if (!is_live_[slot]) {
    is_live_[slot] = true;
    __builtin_prefetch(inst->operands().data());
    if (inst->shape().IsTuple()) {
      auto parts = std::make_unique<ShapeTree<bool>>(&inst->shape(), false);
      *parts->mutable_element({}) = true;
      live_parts_.emplace(inst, std::move(parts));
    }
    work_.emplace_back(inst, ShapeIndex());
  }
  if (index.empty()) return;
  auto parts = live_parts_.find(inst);
  CHECK(parts != live_parts_.end())
      << inst->name() << " has no part " << index.ToString();
  auto it = parts->second->find(index);
  CHECK(it != parts->second->end())
      << inst->name() << " has no part " << index.ToString();
  if (it->second) return;
  it->second = true;
  work_.emplace_back(inst, index);
}

void HloLivenessAnalysis::MarkAll(const HloInstruction* inst) {
  if (!inst->shape().IsTuple()) return Mark(inst, {});
  ShapeUtil::ForEachSubshape(
      inst->shape(),
      [&](const Shape&, const ShapeIndex& index) { Mark(inst, index); });
}

// A side effect keeps alive the chain of callers that executes it, but not
// their results.
void HloLivenessAnalysis::MarkCallers(const HloComputation* computation) {
  std::vector<const HloComputation*> work = {computation};
  while (!work.empty()) {
    const HloComputation* current = work.back();
    work.pop_back();
    if (!computations_that_run_.insert(current).second) continue;
    for (const HloInstruction* caller : current->caller_instructions()) {
      Mark(caller, {});
      work.push_back(caller->parent());
    }
  }
}

void HloLivenessAnalysis::Finish() {
  while (!work_.empty()) {
    auto [inst, index] = std::move(work_.back());
    work_.pop_back();
    // {} becomes live with the instruction.
    if (index.empty()) PropagateExecution(inst);
    PropagateIndex(inst, index);
  }
}

void HloLivenessAnalysis::PropagateExecution(const HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kParameter:
    case HloOpcode::kCall:
      return;
    case HloOpcode::kWhile:
      MarkAll(inst->while_condition()->root_instruction());
      if (whole_loop_states_) MarkAll(inst);
      return;
    case HloOpcode::kConditional:
      MarkAll(inst->operand(0));
      return;
    default:  // Needs all operands and all that it calls.
      // They lie apart in memory: all are fetched before any is looked at.
      for (const HloInstruction* operand : inst->operands()) {
        PrefetchInstruction(operand);
      }
      for (const HloInstruction* operand : inst->operands()) MarkAll(operand);
      for (const HloComputation* callee : inst->called_computations()) {
        MarkAll(callee->root_instruction());
      }
  }
}

void HloLivenessAnalysis::PropagateIndex(const HloInstruction* inst,
                                         const ShapeIndex& index) {
  switch (inst->opcode()) {
    case HloOpcode::kTuple:
      if (!index.empty()) Mark(inst->operand(index[0]), WithoutFront(index));
      return;
    case HloOpcode::kGetTupleElement:
      Mark(inst->operand(0), WithFront(inst->tuple_index(), index));
      return;
    case HloOpcode::kWhile:
      Mark(inst->while_init(), index);
      Mark(inst->while_body()->root_instruction(), index);
      return;
    case HloOpcode::kCall:
      Mark(inst->to_apply()->root_instruction(), index);
      return;
    case HloOpcode::kConditional:
      for (const HloComputation* branch : inst->branch_computations()) {
        Mark(branch->root_instruction(), index);
      }
      return;
    case HloOpcode::kParameter:
      PropagateParameter(inst, index);
      return;
    default:  // Its operands are live as a whole.
      return;
  }
}

// From a parameter to the matching operand of each caller.
void HloLivenessAnalysis::PropagateParameter(const HloInstruction* parameter,
                                             const ShapeIndex& index) {
  const HloComputation* computation = parameter->parent();
  for (const HloInstruction* caller : computation->caller_instructions()) {
    switch (caller->opcode()) {
      case HloOpcode::kWhile:
        // The next iteration reads it, wherever it comes from.
        Mark(caller, index);
        break;
      case HloOpcode::kCall:
        Mark(caller->operand(parameter->parameter_number()), index);
        break;
      default:  // Needs all of its operands when it runs.
        break;
    }
  }
  auto arguments = arguments_.find(computation);
  if (arguments == arguments_.end()) return;
  for (const HloInstruction* argument : arguments->second) {
    Mark(argument, index);
  }
}

}  // namespace xla
