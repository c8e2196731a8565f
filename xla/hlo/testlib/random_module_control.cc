// Recipes for opcodes that call computations, and for tuples and tokens.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {

std::vector<Value> RandomComputation::PickOperands(int64_t count) {
  std::vector<Value> operands;
  for (int64_t i = 0; i < count; ++i) {
    Value value = PickArray([](const Value&) { return true; });
    if (value.instruction != nullptr) operands.push_back(value);
  }
  if (operands.empty()) {
    operands.push_back(NewSource(NewShape(state_.RandomType())));
  }
  return operands;
}

std::vector<RandomComputation::Port> RandomComputation::PortsOf(
    absl::Span<const Value> values) const {
  std::vector<Port> ports;
  for (const Value& value : values) {
    ports.push_back({value.shape(), value.range, value.stable});
  }
  return ports;
}

std::vector<RandomComputation::Port> RandomComputation::RandomResults() {
  std::vector<Port> ports;
  for (int64_t n = state_.Between(1, state_.options.tuples ? 3 : 1); n > 0;
       --n) {
    const PrimitiveType type = state_.RandomType();
    ports.push_back({state_.RandomShape(type), state_.Limit(type), false});
  }
  return ports;
}

HloComputation* RandomComputation::Callee(absl::string_view name,
                                          const std::vector<Port>& in,
                                          const std::vector<Port>& out,
                                          bool tuple_parameter,
                                          bool tuple_result, Kind kind) {
  RandomComputation callee(state_, depth_ + 1, std::string(name), kind);
  callee.all_devices_ = all_devices_;
  if (tuple_parameter) {
    std::vector<Shape> shapes;
    for (const Port& port : in) shapes.push_back(port.shape);
    Value tuple =
        callee.AddParameter(ShapeUtil::MakeTupleShape(shapes), {}, false);
    for (size_t i = 0; i < in.size(); ++i) {
      callee.Publish(
          HloInstruction::CreateGetTupleElement(tuple.instruction, i),
          in[i].range, in[i].stable);
    }
  } else {
    for (const Port& port : in) {
      callee.AddParameter(port.shape, port.range, port.stable);
    }
  }
  callee.Grow(std::max<int64_t>(2, state_.options.steps / 4));
  std::vector<Value> results;
  for (const Port& port : out) {
    Value result = callee.Make(port.shape, port.range);
    if (port.stable && !callee.MayDecide(result)) {
      result = callee.NewConstant(
          port.shape, {std::max(port.range.lo, -4.0), port.range.hi});
    }
    results.push_back(result);
  }
  HloInstruction* root =
      tuple_result ? callee.TupleOf(results) : results[0].instruction;
  return callee.Finish(root, /*is_entry=*/false);
}

void RandomComputation::PublishResults(HloInstruction* call,
                                       const std::vector<Port>& out,
                                       bool is_tuple) {
  for (size_t i = 0; i < out.size(); ++i) {
    const Port& port = out[i];
    if (is_tuple) {
      Publish(HloInstruction::CreateGetTupleElement(call, i), port.range,
              port.stable);
    } else {
      const PrimitiveType type = port.shape.element_type();
      Publish(Value{
          call, port.range,
          port.stable || type == PRED || primitive_util::IsIntegralType(type)});
    }
  }
}

bool RandomComputation::Call(HloOpcode opcode) {
  std::vector<Value> operands = PickOperands(state_.Between(1, 3));
  const std::vector<Port> out = RandomResults();
  const bool is_tuple =
      out.size() > 1 || (state_.options.tuples && state_.OneIn(6));
  std::vector<Shape> shapes;
  for (const Port& port : out) shapes.push_back(port.shape);
  const Shape shape = is_tuple ? ShapeUtil::MakeTupleShape(shapes) : shapes[0];
  std::vector<HloInstruction*> instructions;
  for (const Value& value : operands) instructions.push_back(value.instruction);
  const bool fusion = opcode == HloOpcode::kFusion;
  HloComputation* callee =
      Callee(fusion ? "fused" : "callee", PortsOf(operands), out, false,
             is_tuple, fusion ? Kind::kFused : Kind::kAny);
  HloInstruction* call =
      Add(fusion ? HloInstruction::CreateFusion(
                       shape, HloInstruction::FusionKind::kLoop, instructions,
                       callee)
                 : HloInstruction::CreateCall(shape, instructions, callee));
  PublishResults(call, out, is_tuple);
  return true;
}

bool RandomComputation::AsyncStart(HloOpcode opcode) {
  std::vector<Value> operands = PickOperands(state_.Between(1, 2));
  const PrimitiveType type = state_.RandomType();
  const std::vector<Port> out = {
      {state_.RandomShape(type), state_.Limit(type), false}};
  std::vector<HloInstruction*> instructions;
  std::vector<Shape> shapes;
  for (const Value& value : operands) {
    instructions.push_back(value.instruction);
    shapes.push_back(value.shape());
  }
  // async-start wraps one call.
  HloComputation* callee =
      Callee("async_callee", PortsOf(operands), out, false, false);
  HloComputation::Builder builder("async_wrapped");
  std::vector<HloInstruction*> parameters;
  for (size_t i = 0; i < shapes.size(); ++i) {
    parameters.push_back(builder.AddInstruction(
        HloInstruction::CreateParameter(i, shapes[i], absl::StrCat("p", i))));
  }
  builder.AddInstruction(
      HloInstruction::CreateCall(out[0].shape, parameters, callee));
  HloComputation* wrapped =
      state_.module->AddEmbeddedComputation(builder.Build());
  const Shape chain =
      ShapeUtil::MakeTupleShape({ShapeUtil::MakeTupleShape(shapes),
                                 out[0].shape, ShapeUtil::MakeShape(U32, {})});
  HloInstruction* async =
      Add(HloInstruction::CreateAsyncStart(chain, instructions, wrapped));
  if (state_.OneIn(2)) {
    async = Add(HloInstruction::CreateAsyncUpdate(chain, async));
  }
  HloInstruction* done =
      Add(HloInstruction::CreateAsyncDone(out[0].shape, async));
  PublishResults(done, out, /*is_tuple=*/false);
  return true;
}

bool RandomComputation::Map(HloOpcode opcode) {
  Value x = PickArray(
      [](const Value& value) { return !value.shape().dimensions().empty(); });
  if (x.instruction == nullptr) return false;
  const PrimitiveType to = state_.RandomType();
  Value y = PickLike(x);
  const std::vector<Port> in = {
      {ShapeUtil::MakeShape(x.type(), {}), x.range, x.stable},
      {ShapeUtil::MakeShape(y.type(), {}), y.range, y.stable}};
  const std::vector<Port> out = {
      {ShapeUtil::MakeShape(to, {}), state_.Limit(to), false}};
  HloComputation* computation =
      Callee("mapped", in, out, false, false, Kind::kScalar);
  Publish(
      HloInstruction::CreateMap(ShapeUtil::ChangeElementType(x.shape(), to),
                                {x.instruction, y.instruction}, computation),
      out[0].range, false);
  return true;
}

bool RandomComputation::While(HloOpcode opcode) {
  // (trip, values...): the values keep their shapes and, by clamps in the body,
  // their ranges.
  std::vector<Value> values = PickOperands(state_.Between(1, 3));
  std::vector<Port> ports;
  for (Value& value : values) {
    if (primitive_util::IsFloatingPointType(value.type()) ||
        primitive_util::IsComplexType(value.type())) {
      const Range limit = state_.Limit(value.type());
      const Range range = {std::max(-8.0, limit.lo), std::min(8.0, limit.hi)};
      value = Bounded(value, range);
      ports.push_back({value.shape(), range, false});
    } else {
      ports.push_back({value.shape(), state_.Limit(value.type()), true});
    }
  }
  const int64_t trips = state_.Between(0, state_.options.max_trips);
  const Shape scalar = ShapeUtil::MakeShape(S32, {});
  std::vector<Shape> shapes = {scalar};
  for (const Port& port : ports) shapes.push_back(port.shape);
  const Shape state_shape = ShapeUtil::MakeTupleShape(shapes);

  HloComputation::Builder condition_builder("condition");
  HloInstruction* state_in = condition_builder.AddInstruction(
      HloInstruction::CreateParameter(0, state_shape, "state"));
  HloInstruction* trip_in = condition_builder.AddInstruction(
      HloInstruction::CreateGetTupleElement(state_in, 0));
  Literal limit(scalar);
  limit.Set<int32_t>({}, static_cast<int32_t>(trips));
  HloInstruction* last = condition_builder.AddInstruction(
      HloInstruction::CreateConstant(std::move(limit)));
  condition_builder.AddInstruction(
      HloInstruction::CreateCompare(ShapeUtil::MakeShape(PRED, {}), trip_in,
                                    last, Comparison::Direction::kLt));
  HloComputation* condition =
      state_.module->AddEmbeddedComputation(condition_builder.Build());

  RandomComputation body(state_, depth_ + 1, "body");
  body.all_devices_ = all_devices_;
  Value state = body.AddParameter(state_shape, {}, false);
  Value trip =
      body.Publish(HloInstruction::CreateGetTupleElement(state.instruction, 0),
                   {0, static_cast<double>(trips)}, true);
  for (size_t i = 0; i < ports.size(); ++i) {
    body.Publish(
        HloInstruction::CreateGetTupleElement(state.instruction, i + 1),
        ports[i].range, ports[i].stable);
  }
  body.Grow(std::max<int64_t>(2, state_.options.steps / 4));
  HloInstruction* next = body.Add(HloInstruction::CreateBinary(
      scalar, HloOpcode::kAdd, trip.instruction, body.ScalarConstant(S32, 1)));
  std::vector<HloInstruction*> results = {next};
  for (const Port& port : ports) {
    results.push_back(body.Make(port.shape, port.range).instruction);
  }
  HloComputation* body_computation =
      body.Finish(body.Add(HloInstruction::CreateTuple(results)), false);

  std::vector<HloInstruction*> init = {ScalarConstant(S32, 0)};
  for (const Value& value : values) init.push_back(value.instruction);
  HloInstruction* loop =
      Add(HloInstruction::CreateWhile(state_shape, condition, body_computation,
                                      Add(HloInstruction::CreateTuple(init))));
  Publish(HloInstruction::CreateGetTupleElement(loop, 0),
          {0, static_cast<double>(trips)}, true);
  for (size_t i = 0; i < ports.size(); ++i) {
    Publish(HloInstruction::CreateGetTupleElement(loop, i + 1), ports[i].range,
            ports[i].stable);
  }
  return true;
}

bool RandomComputation::Conditional(HloOpcode opcode) {
  const std::vector<Port> out = RandomResults();
  const bool is_tuple = out.size() > 1;
  std::vector<Shape> shapes;
  for (const Port& port : out) shapes.push_back(port.shape);
  const Shape shape = is_tuple ? ShapeUtil::MakeTupleShape(shapes) : shapes[0];
  const bool by_index = state_.OneIn(2);
  const int64_t branches = by_index ? state_.Between(1, 3) : 2;
  std::vector<HloComputation*> computations;
  std::vector<HloInstruction*> arguments;
  // Each device takes the branch that it computes.
  const bool all_devices = std::exchange(all_devices_, false);
  for (int64_t i = 0; i < branches; ++i) {
    std::vector<Value> operands = PickOperands(state_.Between(1, 2));
    const bool tuple_argument = operands.size() > 1 || state_.OneIn(4);
    arguments.push_back(tuple_argument ? TupleOf(operands)
                                       : operands[0].instruction);
    computations.push_back(
        Callee("branch", PortsOf(operands), out, tuple_argument, is_tuple));
  }
  all_devices_ = all_devices;
  HloInstruction* conditional = nullptr;
  if (by_index) {
    Value index = MakeIndices(ShapeUtil::MakeShape(S32, {}), branches + 1);
    conditional = Add(HloInstruction::CreateConditional(
        shape, index.instruction, computations, arguments));
  } else {
    Value pred = Make(ShapeUtil::MakeShape(PRED, {}), {0, 1});
    conditional = Add(HloInstruction::CreateConditional(
        shape, pred.instruction, arguments[0], computations[0], arguments[1],
        computations[1]));
  }
  PublishResults(conditional, out, is_tuple);
  return true;
}

bool RandomComputation::OptimizationBarrier(HloOpcode opcode) {
  std::vector<Value> values = PickOperands(state_.Between(1, 3));
  if (values.size() == 1) {
    Publish(HloInstruction::CreateUnary(values[0].shape(), opcode,
                                        values[0].instruction),
            values[0].range, values[0].stable);
    return true;
  }
  HloInstruction* tuple = TupleOf(values);
  HloInstruction* barrier =
      Add(HloInstruction::CreateUnary(tuple->shape(), opcode, tuple));
  for (size_t i = 0; i < values.size(); ++i) {
    Publish(HloInstruction::CreateGetTupleElement(barrier, i), values[i].range,
            values[i].stable);
  }
  return true;
}

bool RandomComputation::AfterAll(HloOpcode opcode) {
  Value x = PickArray([](const Value&) { return true; });
  if (x.instruction == nullptr) return false;
  HloInstruction* token = Add(HloInstruction::CreateToken());
  if (opcode == HloOpcode::kAfterAll) {
    token = Add(HloInstruction::CreateAfterAll(
        {token, Add(HloInstruction::CreateToken())}));
  }
  Publish(HloInstruction::CreateAddDependency(x.instruction, token), x.range,
          x.stable);
  return true;
}

bool RandomComputation::Tuple(HloOpcode opcode) {
  if (!state_.options.tuples) return false;
  std::vector<Value> values = PickOperands(state_.Between(1, 3));
  HloInstruction* tuple = TupleOf(values);
  const bool nested = state_.OneIn(3);
  if (nested) tuple = Add(HloInstruction::CreateTuple({tuple}));
  HloInstruction* from =
      nested ? Add(HloInstruction::CreateGetTupleElement(tuple, 0)) : tuple;
  const int64_t i = state_.Below(values.size());
  Publish(HloInstruction::CreateGetTupleElement(from, i), values[i].range,
          values[i].stable);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
