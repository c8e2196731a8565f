#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Instructions that push frames: call, fusion, while, conditional, async.

namespace xla {
namespace evaluator {
namespace {

// A predicate chooses branch 0 when true; an index out of bounds the last one.
absl::StatusOr<int64_t> ChooseBranch(const HloInstruction* conditional,
                                     const Value& selector) {
  if (!selector.IsArray() || selector.rank() != 0) {
    return InvalidArgument("the selector is not a scalar");
  }
  if (selector.type() == PRED) return selector.scalar<bool>() ? 0 : 1;
  const int64_t branches = conditional->branch_count();
  const int64_t index = selector.AsInt64();
  return index >= 0 && index < branches ? index : branches - 1;
}

}  // namespace

absl::Status Device::ExecuteControl(const HloInstruction* inst,
                                    std::vector<Value> operands) {
  switch (inst->opcode()) {
    case HloOpcode::kFusion:
      if (const LaneProgram* loop = LoopOf(inst); loop != nullptr) {
        TF_ASSIGN_OR_RETURN(
            Value value,
            EvaluateFusionLoop(*loop, inst, absl::MakeSpan(operands),
                               options_->budget));
        operands.clear();
        return Finish(std::move(value));
      }
      return Push(inst->called_computations()[0], std::move(operands),
                  Role::kCall);
    case HloOpcode::kCall:
      return Push(inst->called_computations()[0], std::move(operands),
                  Role::kCall);
    case HloOpcode::kWhile:
      return ExecuteWhile(inst, std::move(operands[0]));
    case HloOpcode::kConditional: {
      TF_ASSIGN_OR_RETURN(int64_t branch, ChooseBranch(inst, operands[0]));
      if (branch >= inst->branch_count() ||
          branch + 1 >= static_cast<int64_t>(operands.size())) {
        return InvalidArgument("there is no branch %d", branch);
      }
      std::vector<Value> arguments;
      arguments.push_back(std::move(operands[branch + 1]));
      operands.clear();
      return Push(inst->branch_computation(branch), std::move(arguments),
                  Role::kCall);
    }
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      return ExecuteAsync(inst, std::move(operands));
    default:  // An error.
      return Unimplemented("the evaluator does not support opcode %s",
                           HloOpcodeString(inst->opcode()));
  }
}

// No program if values inside the fusion are observed or given.
const LaneProgram* Device::LoopOf(const HloInstruction* fusion) {
  if (options_->observer || options_->constants || options_->given != nullptr) {
    return nullptr;
  }
  return program_->LoopFor(fusion->called_computations()[0]);
}

absl::Status Device::ExecuteWhile(const HloInstruction* loop, Value state) {
  Frame& frame = frames_.back();
  frame.held = std::move(state);
  frame.trips = 0;
  std::vector<Value> arguments = {frame.held};
  return Push(loop->while_condition(), std::move(arguments), Role::kCondition);
}

// The condition reads the state that the body may get next, so the frame holds
// a reference to it meanwhile. The body gets that reference and the frame keeps
// none: arrays that nothing else holds can then be updated in place rather than
// copied in every iteration.
absl::Status Device::ReturnToWhile(Role role, Value result) {
  Frame& frame = frames_.back();
  const HloInstruction* loop = frame.plan->steps[frame.next].instruction;
  std::vector<Value> arguments;
  if (role == Role::kBody) {
    frame.held = std::move(result);
    arguments.push_back(frame.held);
    return Push(loop->while_condition(), std::move(arguments),
                Role::kCondition);
  }
  if (!result.IsArray() || result.type() != PRED || result.rank() != 0) {
    return InvalidArgument("the condition is not pred[]");
  }
  if (!result.scalar<bool>()) {
    Value state = std::move(frame.held);
    frame.held = Value();
    return Finish(std::move(state));
  }
  if (options_->max_loop_iterations >= 0 &&
      frame.trips >= options_->max_loop_iterations) {
    return ResourceExhausted("the loop exceeds the limit of %d iterations",
                             frame.trips);
  }
  ++frame.trips;
  arguments.push_back(std::move(frame.held));
  frame.held = Value();
  return Push(loop->while_body(), std::move(arguments), Role::kBody);
}

// An async computation runs in the first link with all operands and the whole
// output, at the latest in the done. In between, the value of the chain is a
// tuple of its operands, the result (empty until it is known) and zeros for the
// context.
absl::StatusOr<Value> Device::AsyncState(const HloInstruction* inst,
                                         Value operands, Value result) {
  if (inst->opcode() == HloOpcode::kAsyncDone) return result;
  std::vector<Value> state;
  state.push_back(std::move(operands));
  state.push_back(std::move(result));
  for (int64_t i = 2; i < inst->shape().tuple_shapes_size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        Value context,
        Value::ZerosOfShape(inst->shape().tuple_shapes(i), options_->budget));
    state.push_back(std::move(context));
  }
  return Value::Tuple(std::move(state));
}

absl::Status Device::ExecuteAsync(const HloInstruction* inst,
                                  std::vector<Value> operands) {
  const HloComputation* computation = inst->async_wrapped_computation();
  const bool is_done = inst->opcode() == HloOpcode::kAsyncDone;
  if (inst->opcode() != HloOpcode::kAsyncStart) {
    // The operands bound so far, then those bound here.
    Value chain = std::move(operands[0]);
    if (!chain.IsTuple() || chain.element_count() < 2 ||
        !chain.element(0).IsTuple()) {
      return InvalidArgument("operand 0 is not the state of an async chain");
    }
    std::vector<Value> bound = chain.element(0).elements();
    std::move(operands.begin() + 1, operands.end(), std::back_inserter(bound));
    operands = std::move(bound);
    const bool has_run =
        computation == nullptr
            ? chain.element(1).has_value()
            : IsCompleteAsyncState(inst->operand(0)->shape(), *computation);
    if (has_run) {
      if (is_done) return Finish(chain.element(1));
      TF_ASSIGN_OR_RETURN(Value state,
                          AsyncState(inst, Value::Tuple(std::move(operands)),
                                     chain.element(1)));
      return Finish(std::move(state));
    }
  }
  if (computation == nullptr) {
    return FailedPrecondition("the async computation cannot be reached");
  }
  if (is_done &&
      static_cast<int64_t>(operands.size()) < computation->num_parameters()) {
    return FailedPrecondition("%d of %d operands are bound", operands.size(),
                              computation->num_parameters());
  }
  if (!is_done && !IsCompleteAsyncState(inst->shape(), *computation)) {
    TF_ASSIGN_OR_RETURN(
        Value state,
        AsyncState(inst, Value::Tuple(std::move(operands)), Value()));
    return Finish(std::move(state));
  }
  frames_.back().held = Value::Tuple(operands);
  return Push(computation, std::move(operands), Role::kAsync);
}

// Links before that show the output already have it now.
absl::Status Device::ShowAsyncResult(const HloInstruction* link,
                                     const Value& operands,
                                     const Value& result) {
  if (!options_->observer) return absl::OkStatus();
  const Shape& whole =
      link->async_wrapped_computation()->root_instruction()->shape();
  while (link->opcode() != HloOpcode::kAsyncStart) {
    link = Cast<HloAsyncInstruction>(link)->async_chain_previous();
    if (link == nullptr || link->shape().tuple_shapes_size() < 2 ||
        !ShapeUtil::Compatible(link->shape().tuple_shapes(1), whole)) {
      break;
    }
    const Shape& shown = link->shape().tuple_shapes(0);
    const std::vector<Value>& all = operands.elements();
    if (static_cast<size_t>(shown.tuple_shapes_size()) > all.size()) break;
    std::vector<Value> bound(all.begin(),
                             all.begin() + shown.tuple_shapes_size());
    TF_ASSIGN_OR_RETURN(
        Value state, AsyncState(link, Value::Tuple(std::move(bound)), result));
    options_->observer(link, state);
  }
  return absl::OkStatus();
}

}  // namespace evaluator
}  // namespace xla
