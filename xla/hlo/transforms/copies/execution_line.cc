#include "xla/hlo/transforms/copies/execution_line.h"

#include <cstddef>

#include "absl/container/inlined_vector.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"

namespace xla {
namespace {

using Callees = absl::InlinedVector<HloComputation*, 2>;

Callees CalleesOnTheLine(const HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kWhile:
      return {inst->while_condition(), inst->while_body()};
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kAsyncStart:
      return Callees(inst->called_computations().begin(),
                     inst->called_computations().end());
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncUpdate:
      // Their start has run it.
    case XLA_ANY_WITHOUT_SCHEDULE:
      break;
  }
  return {};
}

}  // namespace

struct ExecutionLine::Frame {
  const HloComputation* computation;
  int depth;
  const std::vector<HloInstruction*>* sequence;
  size_t position = 0;
  // Whether the instruction at `position` has read its operands.
  bool has_read = false;
  Callees callees;
  size_t next_callee = 0;
};

// A walk over all sequences in the order of execution, with the calls on a
// stack of its own: modules may nest deeper than the C++ stack is. A read and a
// write are different times, so that an operand that ends at an instruction and
// a result that begins there do not overlap.
ExecutionLine::ExecutionLine(const HloModule& module,
                             const HloSchedule& schedule, CopySites& sites)
    : schedule_(schedule), sites_(sites), slots_(module) {
  reads_.resize(slots_.size(), -1);
  writes_.resize(slots_.size(), -1);
  std::vector<Frame> stack;
  Enter(module.entry_computation(), nullptr, 0, &stack);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.position == frame.sequence->size()) {
      Leave(frame.computation);
      stack.pop_back();
      continue;
    }
    HloInstruction* inst = (*frame.sequence)[frame.position];
    const bool is_parameter = inst->opcode() == HloOpcode::kParameter;
    if (!frame.has_read && !is_parameter) {
      auto before = sites_.before.find(inst);
      if (before != sites_.before.end()) Pass(before->second);
      reads_[slots_[inst]] = ++now_;
      frame.callees = CalleesOnTheLine(inst);
      frame.next_callee = 0;
      frame.has_read = true;
    }
    if (!is_parameter && frame.next_callee < frame.callees.size()) {
      const int depth =
          frame.depth + (inst->opcode() == HloOpcode::kWhile ? 1 : 0);
      Enter(frame.callees[frame.next_callee++], inst, depth, &stack);
      continue;
    }
    if (!is_parameter) writes_[slots_[inst]] = ++now_;
    auto after = sites_.after.find(inst);
    if (after != sites_.after.end()) Pass(after->second);
    frame.has_read = false;
    ++frame.position;
  }
}

void ExecutionLine::Enter(HloComputation* computation, HloInstruction* caller,
                          int depth, std::vector<Frame>* stack) {
  if (spans_.contains(computation) ||
      !schedule_.is_computation_scheduled(computation)) {
    return;
  }
  Span& span = spans_[computation];
  span = {++now_, -1, caller, depth};
  for (const HloInstruction* parameter :
       computation->parameter_instructions()) {
    reads_[slots_[parameter]] = writes_[slots_[parameter]] = span.start;
  }
  auto sites = sites_.at_start.find(computation);
  if (sites != sites_.at_start.end()) Pass(sites->second);
  Frame frame;
  frame.computation = computation;
  frame.depth = depth;
  frame.sequence = &schedule_.sequence(computation).instructions();
  stack->push_back(std::move(frame));
}

void ExecutionLine::Leave(const HloComputation* computation) {
  auto sites = sites_.at_end.find(computation);
  if (sites != sites_.at_end.end()) Pass(sites->second);
  spans_[computation].end = ++now_;
}

// Copies of one place run one after the other: the second reads after the first
// has written.
void ExecutionLine::Pass(const std::vector<int32_t>& sites) {
  for (int32_t site : sites) {
    sites_.sites[site].read = ++now_;
    sites_.sites[site].write = ++now_;
  }
}

}  // namespace xla
