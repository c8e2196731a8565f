#include "xla/hlo/evaluator/device.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/spmd_custom_calls.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// An interpreter with an explicit stack of frames instead of recursion: a
// device can stop at an instruction that needs other devices and be resumed
// later with its value. Control flow pushes frames whose Role says what becomes
// of the result when they return.

namespace xla {
namespace evaluator {
namespace {

// Calls nested deeper than any module nests them, unless it calls itself.
constexpr size_t kMaxFrames = 4096;
// RunEmbedded uses the C++ stack.
constexpr int kMaxEmbeddedDepth = 32;

bool ArrayHasShape(const Value& value, const Shape& shape) {
  if (!value.IsArray() || value.type() != shape.element_type() ||
      value.rank() != static_cast<int64_t>(shape.dimensions().size())) {
    return false;
  }
  for (int64_t d = 0; d < value.rank(); ++d) {
    if (shape.is_unbounded_dynamic_dimension(d)) continue;
    if (shape.is_dynamic_dimension(d) ? value.dim(d) > shape.dimensions(d)
                                      : value.dim(d) != shape.dimensions(d)) {
      return false;
    }
  }
  return true;
}

// Shapes may be more static than sizes at run time turn out to be, which is the
// module's fault.
absl::Status OtherShape(const char* verb, const Value& value,
                        const Shape& shape) {
  const std::string found = value.has_value()
                                ? ShapeUtil::HumanString(value.StaticShape())
                                : "nothing";
  const std::string text = absl::StrCat(verb, " ", found, ", but its shape is ",
                                        ShapeUtil::HumanString(shape));
  return value.has_value() && value.FitsIn(shape)
             ? absl::InvalidArgumentError(text)
             : absl::InternalError(text);
}

// In mixed precision floats of several types meet in one array: they become of
// the result's type before they are moved. What is made of the type of the
// operands alone is converted afterwards, by ConvertToShape.
absl::Status ConvertOperands(const HloInstruction* inst,
                             absl::Span<Value> operands, MemoryBudget* budget) {
  if (!inst->shape().IsArray() ||
      !HloOpcodeIsOneOf<HloOpcode::kConcatenate, HloOpcode::kDynamicUpdateSlice,
                        HloOpcode::kPad, HloOpcode::kScatter,
                        HloOpcode::kSelectAndScatter>(inst->opcode())) {
    return absl::OkStatus();
  }
  for (Value& operand : operands) {
    TF_RETURN_IF_ERROR(
        ConvertInPlace(operand, inst->shape().element_type(), budget));
  }
  return absl::OkStatus();
}

// Floats of other types than those in `shape` become of these.
absl::Status ConvertToShape(const Shape& shape, MemoryBudget* budget,
                            Value& value) {
  if (ValueHasShape(value, shape)) return absl::OkStatus();
  if (shape.IsArray()) {
    return ConvertInPlace(value, shape.element_type(), budget);
  }
  if (!shape.IsTuple() || !ValueMayHaveShape(value, shape)) {
    return absl::OkStatus();
  }
  std::vector<Value> elements = std::move(value).TakeElements();
  for (size_t i = 0; i < elements.size(); ++i) {
    TF_RETURN_IF_ERROR(
        ConvertToShape(shape.tuple_shapes(i), budget, elements[i]));
  }
  value = Value::Tuple(std::move(elements));
  return absl::OkStatus();
}

}  // namespace

bool ConcernsOtherDevices(HloOpcode opcode) {
  switch (opcode) {
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      return true;
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
      break;
  }
  return false;
}

bool ValueMayHaveShape(const Value& value, const Shape& shape) {
  if (shape.IsTuple()) {
    return value.IsTuple() &&
           value.element_count() == shape.tuple_shapes_size();
  }
  if (shape.IsArray()) return ArrayHasShape(value, shape);
  return value.has_value();
}

bool ValueHasShape(const Value& value, const Shape& shape) {
  if (!ValueMayHaveShape(value, shape)) return false;
  if (!shape.IsTuple()) return true;
  for (int64_t i = 0; i < value.element_count(); ++i) {
    if (!ValueHasShape(value.element(i), shape.tuple_shapes(i))) return false;
  }
  return true;
}

Device::Device(Program* program, const DeviceOptions* options)
    : program_(program),
      options_(options),
      custom_calls_(options->custom_calls != nullptr
                        ? options->custom_calls
                        : &CustomCallRegistry::Default()) {}

absl::Status Device::Start(const HloComputation* computation,
                           std::vector<Value> arguments) {
  if (static_cast<int64_t>(arguments.size()) != computation->num_parameters()) {
    return InvalidArgument("%d arguments for the %d parameters of %s",
                           arguments.size(), computation->num_parameters(),
                           computation->name());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const HloInstruction* parameter = computation->parameter_instruction(i);
    if (!ValueHasShape(arguments[i], parameter->shape())) {
      return InvalidArgument(
          "argument %d is %s, but parameter %%%s of %s is %s", i,
          ShapeUtil::HumanString(arguments[i].StaticShape()), parameter->name(),
          computation->name(), ShapeUtil::HumanString(parameter->shape()));
    }
  }
  return StartPlan(&program_->PlanFor(computation), std::move(arguments));
}

absl::Status Device::StartPlan(const ComputationPlan* plan,
                               std::vector<Value> arguments) {
  frames_.clear();
  frames_.push_back({plan, Role::kEntry, std::move(arguments),
                     std::vector<Value>(plan->steps.size())});
  state_ = State::kRunning;
  return absl::OkStatus();
}

absl::Status Device::Push(const HloComputation* computation,
                          std::vector<Value> arguments, Role role) {
  if (frames_.size() >= kMaxFrames) {
    return ResourceExhausted("calls nest deeper than %d", kMaxFrames);
  }
  if (static_cast<int64_t>(arguments.size()) != computation->num_parameters()) {
    return InvalidArgument("%d arguments for the %d parameters of %s",
                           arguments.size(), computation->num_parameters(),
                           computation->name());
  }
  const ComputationPlan& plan = program_->PlanFor(computation);
  frames_.push_back({&plan, role, std::move(arguments),
                     std::vector<Value>(plan.steps.size())});
  return absl::OkStatus();
}

absl::StatusOr<Device::State> Device::Run() {
  while (state_ == State::kRunning) {
    absl::Status status = RunStep();
    if (!status.ok()) {
      state_ = State::kFailed;
      return Annotate(std::move(status));
    }
  }
  return state_;
}

// Executes one instruction of the innermost frame, or returns from it at its
// end.
absl::Status Device::RunStep() {
  const Frame& frame = frames_.back();
  if (frame.next == static_cast<int32_t>(frame.plan->steps.size())) {
    return Return();
  }
  if (options_->max_steps >= 0 && steps_ >= options_->max_steps) {
    return ResourceExhausted("the limit of %d steps is reached",
                             options_->max_steps);
  }
  ++steps_;
  return Execute(frame.plan->steps[frame.next]);
}

absl::Status Device::Execute(const Step& step) {
  const HloInstruction* inst = step.instruction;
  Frame& frame = frames_.back();
  if (options_->given != nullptr) {
    const auto it = options_->given->find(inst);
    if (it != options_->given->end()) return Finish(it->second);
  }
  if (step.takes_element && frame.slots[step.operands[0].slot].IsTuple()) {
    Value& tuple = frame.slots[step.operands[0].slot];
    if (inst->tuple_index() >= tuple.element_count()) {
      return InvalidArgument("the tuple has no element %d",
                             inst->tuple_index());
    }
    Value element = tuple.TakeElement(inst->tuple_index());
    if (step.operands[0].last_use) tuple = Value();
    return Finish(std::move(element));
  }
  // An operand at its last use leaves its slot. If nobody else holds it, the
  // kernel is its only owner and may write its result there
  // (Value::MakeUnique): a loop that updates one row of an array for each trip
  // does not copy the array.
  std::vector<Value> operands;
  operands.reserve(step.operands.size());
  for (const ComputationPlan::Operand& operand : step.operands) {
    Value& slot = frame.slots[operand.slot];
    operands.push_back(operand.last_use ? std::move(slot) : slot);
    if (operand.last_use) slot = Value();
  }
  switch (inst->opcode()) {
    case HloOpcode::kParameter: {
      const size_t number = inst->parameter_number();
      if (number >= frame.arguments.size()) {
        return FailedPrecondition("the parameter has no value");
      }
      return Finish(std::move(frame.arguments[number]));
    }
    case HloOpcode::kConstant: {
      TF_ASSIGN_OR_RETURN(Value value, ConstantValue(inst));
      return Finish(std::move(value));
    }
    case HloOpcode::kCustomCall:
      if (ChangesManualRegion(inst)) break;
      return ExecuteCustomCall(inst, operands);
    default:  // Other devices, callees or KernelFor(), below.
      break;
  }
  if (ConcernsOtherDevices(inst->opcode()) ||
      inst->opcode() == HloOpcode::kCustomCall) {
    pending_ = inst;
    pending_operands_ = std::move(operands);
    state_ = State::kWaiting;
    return absl::OkStatus();
  }
  if (const Kernel kernel = KernelFor(inst->opcode()); kernel != nullptr) {
    KernelContext context{*this, options_->budget};
    TF_RETURN_IF_ERROR(
        ConvertOperands(inst, absl::MakeSpan(operands), options_->budget));
    TF_ASSIGN_OR_RETURN(Value value,
                        kernel(inst, absl::MakeSpan(operands), context));
    // Values left by the kernel are freed before the result is examined.
    operands.clear();
    // A tuple has its operands as they are, which may be many.
    if (inst->opcode() != HloOpcode::kTuple) {
      TF_RETURN_IF_ERROR(
          ConvertToShape(inst->shape(), options_->budget, value));
    }
    return Finish(std::move(value));
  }
  return ExecuteControl(inst, std::move(operands));
}

absl::StatusOr<Value> Device::ConstantValue(const HloInstruction* constant) {
  if (options_->constants) {
    TF_ASSIGN_OR_RETURN(Literal literal, options_->constants(constant));
    return Value::FromLiteral(literal, options_->budget, /*borrow=*/false);
  }
  return Value::FromLiteral(constant->literal(), options_->budget,
                            /*borrow=*/true);
}

// Not if a handler is registered for the custom call.
bool Device::ChangesManualRegion(const HloInstruction* inst) const {
  return (EntersManualRegion(inst) || LeavesManualRegion(inst)) &&
         custom_calls_->Find(
             Cast<HloCustomCallInstruction>(inst)->custom_call_target()) ==
             nullptr;
}

absl::Status Device::ExecuteCustomCall(const HloInstruction* inst,
                                       absl::Span<const Value> operands) {
  const auto* call = Cast<HloCustomCallInstruction>(inst);
  const CustomCallRegistry::Handler* handler =
      custom_calls_->Find(call->custom_call_target());
  if (handler == nullptr) {
    return Unimplemented("custom-call target \"%s\" is not supported",
                         call->custom_call_target());
  }
  TF_ASSIGN_OR_RETURN(Value value, (*handler)(*call, operands));
  return Finish(std::move(value));
}

absl::Status Device::Finish(Value result) {
  Frame& frame = frames_.back();
  const Step& step = frame.plan->steps[frame.next];
  const Shape& shape = step.instruction->shape();
  if (!ValueMayHaveShape(result, shape)) {
    return OtherShape("evaluates to", result, shape);
  }
  if (options_->observer) options_->observer(step.instruction, result);
  if (options_->progress) {
    TF_RETURN_IF_ERROR(options_->progress(step.instruction));
  }
  if (!step.dead) frame.slots[frame.next] = std::move(result);
  ++frame.next;
  return absl::OkStatus();
}

absl::Status Device::Return() {
  Value result = std::move(frames_.back().slots[frames_.back().plan->root]);
  const Role role = frames_.back().role;
  frames_.pop_back();
  switch (role) {
    case Role::kEntry:
      result_ = std::move(result);
      state_ = State::kDone;
      return absl::OkStatus();
    case Role::kCall:
      return Finish(std::move(result));
    case Role::kCondition:
    case Role::kBody:
      return ReturnToWhile(role, std::move(result));
    case Role::kAsync: {
      Frame& frame = frames_.back();
      const HloInstruction* inst = frame.plan->steps[frame.next].instruction;
      TF_RETURN_IF_ERROR(ShowAsyncResult(inst, frame.held, result));
      TF_ASSIGN_OR_RETURN(Value state, AsyncState(inst, std::move(frame.held),
                                                  std::move(result)));
      return Finish(std::move(state));
    }
  }
  return absl::OkStatus();
}

absl::Status Device::Resume(Value result) {
  CHECK(state_ == State::kWaiting);
  TF_RETURN_IF_ERROR(
      ConvertToShape(pending_->shape(), options_->budget, result));
  if (!ValueHasShape(result, pending_->shape())) {
    return Annotate(OtherShape("was given", result, pending_->shape()));
  }
  pending_ = nullptr;
  pending_operands_.clear();
  state_ = State::kRunning;
  return Finish(std::move(result));
}

std::string Device::Position() const {
  std::string position;
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    const Frame& frame = *it;
    if (frame.next >= static_cast<int32_t>(frame.plan->steps.size())) continue;
    const HloInstruction* inst = frame.plan->steps[frame.next].instruction;
    absl::StrAppend(&position, position.empty() ? "" : ", called from ", "%",
                    inst->name());
    // An instruction that is evaluated alone may not be in a computation.
    if (frame.plan->computation != nullptr) {
      absl::StrAppend(&position, " in ", frame.plan->computation->name());
    }
    if (inst->opcode() == HloOpcode::kWhile) {
      absl::StrAppend(&position, " (trip ", frame.trips, ")");
    }
  }
  return position.empty() ? "the end" : position;
}

absl::Status Device::Annotate(absl::Status status) const {
  const Frame* frame = frames_.empty() ? nullptr : &frames_.back();
  if (frame == nullptr ||
      frame->next >= static_cast<int32_t>(frame->plan->steps.size())) {
    return status;
  }
  const HloInstruction* inst = frame->plan->steps[frame->next].instruction;
  return absl::Status(status.code(),
                      absl::StrCat(HloOpcodeString(inst->opcode()), " ",
                                   Position(), ": ", status.message()));
}

absl::StatusOr<Value> Device::RunEmbedded(const HloComputation* computation,
                                          std::vector<Value> arguments) {
  if (embedded_depth_ >= kMaxEmbeddedDepth) {
    return ResourceExhausted("applied computations nest deeper than %d",
                             kMaxEmbeddedDepth);
  }
  Device embedded(program_, options_);
  embedded.embedded_depth_ = embedded_depth_ + 1;
  embedded.steps_ = steps_;
  embedded.random_state_ = random_state_;
  TF_RETURN_IF_ERROR(embedded.Start(computation, std::move(arguments)));
  TF_ASSIGN_OR_RETURN(State state, embedded.Run());
  if (state != State::kDone) {
    return Unimplemented(
        "%s is not supported in computations that are applied to elements",
        HloOpcodeString(embedded.pending()->opcode()));
  }
  steps_ = embedded.steps_;
  random_state_ = embedded.random_state_;
  return embedded.TakeResult();
}

}  // namespace evaluator
}  // namespace xla
