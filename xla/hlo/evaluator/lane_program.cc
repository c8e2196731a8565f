#include "xla/hlo/evaluator/lane_program.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Compiles scalar computations and elementwise fusions to a register program:
// one vector kernel per operation, executed for a block of lanes at a time, so
// that the cost of dispatch is shared by the whole block. Calls are inlined;
// instructions that only move values become aliases of registers.

namespace xla {
namespace evaluator {
namespace {

// Calls inside a scalar computation are inlined this deep.
constexpr int kMaxInlineDepth = 16;
// Longer computations are interpreted: they are no reducers.
constexpr int64_t kMaxOps = 4096;

using Registers = absl::InlinedVector<int32_t, 2>;

bool IsScalar(const Shape& shape) {
  return shape.IsArray() && shape.dimensions().empty();
}

bool ConvertsTypes(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kConvert, HloOpcode::kBitcastConvert,
                          HloOpcode::kStochasticConvert>(opcode);
}

// The lane type that the kernel of `inst` writes; nullopt: any, by params.to.
std::optional<LaneType> ResultLanes(const HloInstruction* inst,
                                    LaneType operand) {
  switch (inst->opcode()) {
    case HloOpcode::kCompare:
    case HloOpcode::kIsFinite:
      return LaneType::kPred;
    case HloOpcode::kAbs:
    case HloOpcode::kReal:
    case HloOpcode::kImag:
      if (operand == LaneType::kC64) return LaneType::kF32;
      if (operand == LaneType::kC128) return LaneType::kF64;
      return operand;
    case HloOpcode::kComplex:
      return operand == LaneType::kF32 ? LaneType::kC64 : LaneType::kC128;
    default:  // The type of the operands, unless that is what changes.
      if (ConvertsTypes(inst->opcode())) return std::nullopt;
      return operand;
  }
}

LaneKernel FindKernel(const HloInstruction* inst, LaneType operand,
                      LaneType result) {
  switch (inst->opcode()) {
    case HloOpcode::kCompare:
      return FindCompareKernel(inst->comparison_direction(),
                               inst->comparison_order(), operand);
    case HloOpcode::kSelect:
    case HloOpcode::kClamp:
      return FindTernaryKernel(inst->opcode(), result);
    default:  // By the number of operands.
      break;
  }
  switch (inst->operand_count()) {
    case 1:
      return FindUnaryKernel(inst->opcode(), operand);
    case 2:
      return FindBinaryKernel(inst->opcode(), operand);
    default:
      return nullptr;
  }
}

// Operands that a kernel reads as the lanes of its first operand must be such.
bool OperandsAgree(const HloInstruction* inst,
                   absl::Span<const PrimitiveType> types) {
  if (inst->opcode() == HloOpcode::kStochasticConvert) {
    return primitive_util::IsFloatingPointType(types[0]) &&
           primitive_util::IsUnsignedIntegralType(types[1]);
  }
  size_t first = 0;
  if (inst->opcode() == HloOpcode::kSelect) {
    if (types[0] != PRED) return false;
    first = 1;
  }
  for (size_t i = first; i < types.size(); ++i) {
    if (LaneTypeOf(types[i]) != LaneTypeOf(types[first])) return false;
  }
  return true;
}

}  // namespace

// Registers are assigned in single-assignment form and never reused; programs
// are short, and the machine keeps all registers of a block in the cache.
class LaneCompiler {
 public:
  // Accepts scalars, and arrays of `elements` elements unless that is -1.
  explicit LaneCompiler(int64_t elements = -1) : elements_(elements) {}

  bool IsLane(const Shape& shape) const {
    return IsScalar(shape) ||
           (elements_ >= 0 && shape.IsArray() && shape.is_static() &&
            ShapeUtil::ElementsIn(shape) == elements_);
  }

  int32_t AddRegister(PrimitiveType type) {
    LaneProgram::Register reg;
    reg.type = type;
    program_.registers_.push_back(reg);
    return static_cast<int32_t>(program_.registers_.size()) - 1;
  }

  int32_t AddInput(PrimitiveType type) {
    program_.input_types_.push_back(type);
    return AddRegister(type);
  }

  void SetOutputs(absl::Span<const int32_t> outputs) {
    program_.outputs_.assign(outputs.begin(), outputs.end());
  }

  // The register as floats of another type.
  int32_t AddConvert(int32_t input, PrimitiveType to);
  // Appends an element-wise operation.
  absl::StatusOr<int32_t> AddOp(const HloInstruction* inst,
                                absl::Span<const int32_t> inputs);

  // Appends the instructions of a computation; its results' registers, or
  // nullopt if something in it is not for lanes.
  std::optional<Registers> AddComputation(const HloComputation* computation,
                                          absl::Span<const int32_t> arguments,
                                          int depth);

  LaneProgram Finish();

 private:
  using Env = absl::flat_hash_map<const HloInstruction*, Registers>;

  std::optional<Registers> AddInstruction(const HloInstruction* inst,
                                          absl::Span<const int32_t> arguments,
                                          const Env& env, int depth);
  std::optional<int32_t> AddConstant(const HloInstruction* inst);
  // Whether the elements of the operand are those of the result, in order.
  bool KeepsOrder(const HloInstruction* inst) const;

  const int64_t elements_;
  LaneProgram program_;
};

int32_t LaneCompiler::AddConvert(int32_t input, PrimitiveType to) {
  LaneProgram::Op op;
  op.kernel = ConvertLanes;
  op.opcode = HloOpcode::kConvert;
  op.params.from = program_.registers_[input].type;
  op.params.to = to;
  op.params.width = primitive_util::BitWidth(op.params.from);
  op.inputs = {input};
  op.output = AddRegister(to);
  op.round = !StoredAsLanes(to);
  program_.ops_.push_back(op);
  return op.output;
}

// Looks up the kernel for the opcode and the lane types of its operands, and
// checks that operands and result agree with what it computes. In mixed
// precision, all floats become f64 if one is.
absl::StatusOr<int32_t> LaneCompiler::AddOp(
    const HloInstruction* inst, absl::Span<const int32_t> operands) {
  const PrimitiveType to = inst->shape().element_type();
  Registers inputs(operands.begin(), operands.end());
  absl::InlinedVector<PrimitiveType, 3> types;
  for (int32_t input : inputs) types.push_back(program_.registers_[input].type);
  if (!ConvertsTypes(inst->opcode()) &&
      (to == F64 || absl::c_linear_search(types, F64))) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (types[i] == F64 || !primitive_util::IsFloatingPointType(types[i])) {
        continue;
      }
      inputs[i] = AddConvert(inputs[i], F64);
      types[i] = F64;
    }
  }
  const LaneType operand = LaneTypeOf(types[0]);
  const std::optional<LaneType> written =
      inst->opcode() == HloOpcode::kSelect
          ? std::optional<LaneType>(LaneTypeOf(types[1]))
          : ResultLanes(inst, operand);
  // What is converted to the type of the result.
  PrimitiveType made = to;
  if (primitive_util::IsFloatingPointType(to)) {
    if (written == LaneType::kF32 && to == F64) made = F32;
    if (written == LaneType::kF64) made = F64;
  }
  const LaneType result = LaneTypeOf(made);

  LaneProgram::Op op;
  op.kernel = FindKernel(inst, operand, result);
  if (op.kernel == nullptr) {
    return Unimplemented("%s is not defined for %s",
                         HloOpcodeString(inst->opcode()),
                         primitive_util::LowercasePrimitiveTypeName(types[0]));
  }
  if (!OperandsAgree(inst, types) || written.value_or(result) != result) {
    return InvalidArgument("operand types of %s do not match",
                           HloOpcodeString(inst->opcode()));
  }
  op.opcode = inst->opcode();
  op.params.from = types[0];
  op.params.to = made;
  op.params.width = primitive_util::BitWidth(types[0]);
  if (inst->opcode() == HloOpcode::kReducePrecision) {
    op.params.exponent_bits = inst->exponent_bits();
    op.params.mantissa_bits = inst->mantissa_bits();
  } else if (inst->opcode() == HloOpcode::kStochasticConvert) {
    op.params.width = primitive_util::BitWidth(types[1]);
  } else if (inst->opcode() == HloOpcode::kBitcastConvert &&
             op.params.width != primitive_util::BitWidth(to)) {
    return Unimplemented("bitcast-convert of a scalar to another width");
  }
  op.inputs.assign(inputs.begin(), inputs.end());
  op.output = AddRegister(made);
  op.round = !StoredAsLanes(made);
  program_.ops_.push_back(op);
  if (inst->opcode() == HloOpcode::kCompare) {
    program_.compare_ = LaneProgram::SimpleCompare{inst->comparison_direction(),
                                                   inst->comparison_order(),
                                                   inputs[0], inputs[1]};
  }
  return made == to ? op.output : AddConvert(op.output, to);
}

std::optional<int32_t> LaneCompiler::AddConstant(const HloInstruction* inst) {
  const LiteralBase& literal = inst->literal();
  if (literal.is_elided() || !literal.IsKnown()) return std::nullopt;
  const int32_t id = AddRegister(inst->shape().element_type());
  LaneProgram::Register& reg = program_.registers_[id];
  reg.is_constant = true;
  LoadLanes(reg.type, literal.untyped_data(), 1, reg.constant);
  return id;
}

// Whether element i of the result is element i of the operand, in row-major
// order.
bool LaneCompiler::KeepsOrder(const HloInstruction* inst) const {
  const Shape& from = inst->operand(0)->shape();
  if (!IsLane(from)) return false;
  if (IsScalar(from)) return true;
  switch (inst->opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kReshape:
      return true;
    case HloOpcode::kBitcast:
      return ShapeUtil::Equal(from, inst->shape());
    case HloOpcode::kBroadcast:
      return from.dimensions() == inst->shape().dimensions() &&
             absl::c_is_sorted(inst->dimensions());
    default:  // Changes the order, or is not compiled.
      return false;
  }
}

std::optional<Registers> LaneCompiler::AddInstruction(
    const HloInstruction* inst, absl::Span<const int32_t> arguments,
    const Env& env, int depth) {
  Registers inputs;
  const bool takes_tuple = inst->opcode() == HloOpcode::kGetTupleElement;
  for (const HloInstruction* operand : inst->operands()) {
    const auto it = env.find(operand);
    if (it == env.end()) return std::nullopt;
    if (it->second.size() != 1 && !takes_tuple) return std::nullopt;
    inputs.insert(inputs.end(), it->second.begin(), it->second.end());
  }
  if (takes_tuple) {
    if (inst->tuple_index() >= static_cast<int64_t>(inputs.size())) {
      return std::nullopt;
    }
    return Registers{inputs[inst->tuple_index()]};
  }
  if (inst->opcode() == HloOpcode::kTuple) return inputs;
  if (inst->opcode() == HloOpcode::kCall ||
      inst->opcode() == HloOpcode::kFusion) {
    if (depth >= kMaxInlineDepth) return std::nullopt;
    return AddComputation(inst->called_computations()[0], inputs, depth + 1);
  }
  if (!IsLane(inst->shape())) return std::nullopt;
  switch (inst->opcode()) {
    case HloOpcode::kParameter:
      if (inst->parameter_number() >= static_cast<int64_t>(arguments.size())) {
        return std::nullopt;
      }
      return Registers{arguments[inst->parameter_number()]};
    case HloOpcode::kConstant: {
      if (!IsScalar(inst->shape())) return std::nullopt;
      const std::optional<int32_t> constant = AddConstant(inst);
      if (!constant.has_value()) return std::nullopt;
      return Registers{*constant};
    }
    case HloOpcode::kCopy:
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
      if (!KeepsOrder(inst) ||
          program_.registers_[inputs[0]].type != inst->shape().element_type()) {
        return std::nullopt;
      }
      return inputs;
    default:  // Elementwise, or not compiled.
      break;
  }
  if (!HloInstruction::IsOpElementwise(inst->opcode()) || inputs.empty()) {
    return std::nullopt;
  }
  absl::StatusOr<int32_t> output = AddOp(inst, inputs);
  if (!output.ok()) return std::nullopt;
  return Registers{*output};
}

std::optional<Registers> LaneCompiler::AddComputation(
    const HloComputation* computation, absl::Span<const int32_t> arguments,
    int depth) {
  Env env;
  for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (static_cast<int64_t>(program_.registers_.size()) > kMaxOps) {
      return std::nullopt;
    }
    std::optional<Registers> registers =
        AddInstruction(inst, arguments, env, depth);
    if (!registers.has_value()) return std::nullopt;
    env.emplace(inst, *std::move(registers));
  }
  return env.at(computation->root_instruction());
}

LaneProgram LaneCompiler::Finish() {
  if (program_.ops_.size() != 1 || program_.outputs_.size() != 1 ||
      program_.outputs_[0] != program_.ops_[0].output) {
    program_.compare_.reset();
  } else if (program_.compare_.has_value()) {
    const int32_t inputs = static_cast<int32_t>(program_.num_inputs());
    if (program_.compare_->lhs >= inputs || program_.compare_->rhs >= inputs) {
      program_.compare_.reset();
    }
  }
  return std::move(program_);
}

std::unique_ptr<LaneProgram> LaneProgram::Compile(
    const HloComputation* computation) {
  LaneCompiler compiler;
  Registers arguments;
  for (const HloInstruction* parameter :
       computation->parameter_instructions()) {
    if (!IsScalar(parameter->shape())) return nullptr;
    arguments.push_back(compiler.AddInput(parameter->shape().element_type()));
  }
  const std::optional<Registers> outputs =
      compiler.AddComputation(computation, arguments, 0);
  if (!outputs.has_value()) return nullptr;
  compiler.SetOutputs(*outputs);
  return std::make_unique<LaneProgram>(compiler.Finish());
}

std::unique_ptr<LaneProgram> LaneProgram::CompileLoop(
    const HloComputation* computation) {
  const Shape& root = computation->root_instruction()->shape();
  const Shape* first = &root;
  if (root.IsTuple()) {
    if (root.tuple_shapes().empty()) return nullptr;
    first = &root.tuple_shapes(0);
  }
  if (!first->IsArray() || !first->is_static()) return nullptr;
  LaneCompiler compiler(ShapeUtil::ElementsIn(*first));
  // A register of a scalar would do for an array of one element only.
  const auto is_result = [&](const Shape& shape) {
    return compiler.IsLane(shape) && !IsScalar(shape);
  };
  if (root.IsTuple() ? !absl::c_all_of(root.tuple_shapes(), is_result)
                     : !is_result(root)) {
    return nullptr;
  }
  Registers arguments;
  for (const HloInstruction* parameter :
       computation->parameter_instructions()) {
    if (!compiler.IsLane(parameter->shape())) return nullptr;
    arguments.push_back(compiler.AddInput(parameter->shape().element_type()));
  }
  const std::optional<Registers> outputs =
      compiler.AddComputation(computation, arguments, 0);
  if (!outputs.has_value()) return nullptr;
  compiler.SetOutputs(*outputs);
  return std::make_unique<LaneProgram>(compiler.Finish());
}

absl::StatusOr<LaneProgram> LaneProgram::CompileInstruction(
    const HloInstruction* instruction) {
  LaneCompiler compiler;
  Registers inputs;
  for (const HloInstruction* operand : instruction->operands()) {
    if (!operand->shape().IsArray()) {
      return InvalidArgument("operand %s is not an array", operand->name());
    }
    inputs.push_back(compiler.AddInput(operand->shape().element_type()));
  }
  TF_ASSIGN_OR_RETURN(int32_t output, compiler.AddOp(instruction, inputs));
  compiler.SetOutputs({output});
  LaneProgram program = compiler.Finish();
  program.ops_.back().round = false;  // Storing rounds.
  return program;
}

int64_t LaneProgram::bytes_per_lane() const {
  int64_t bytes = 0;
  for (const Register& reg : registers_) {
    bytes += LaneBytes(LaneTypeOf(reg.type));
  }
  return bytes;
}

std::optional<HloOpcode> LaneProgram::AsBinary() const {
  if (ops_.size() != 1 || outputs_.size() != 1 || num_inputs() != 2) {
    return std::nullopt;
  }
  const Op& op = ops_[0];
  if (op.inputs.size() != 2 || outputs_[0] != op.output ||
      op.opcode == HloOpcode::kCompare) {
    return std::nullopt;
  }
  const bool in_order = op.inputs[0] == 0 && op.inputs[1] == 1;
  const bool swapped = op.inputs[0] == 1 && op.inputs[1] == 0 &&
                       HloOpcodeIsBinaryCommutative(op.opcode);
  if (!in_order && !swapped) return std::nullopt;
  if (input_types_[0] != input_types_[1] ||
      registers_[op.output].type != input_types_[0]) {
    return std::nullopt;
  }
  return op.opcode;
}

// If the program returns one of its inputs unchanged: which.
std::optional<int64_t> LaneProgram::AsInput() const {
  if (outputs_.size() != 1 || outputs_[0] >= num_inputs()) return std::nullopt;
  return outputs_[0];
}

// All registers lie in one allocation, 16-byte aligned; constants are broadcast
// once.
LaneMachine::LaneMachine(const LaneProgram& program, int64_t max_lanes)
    : program_(program), max_lanes_(max_lanes) {
  CHECK_LE(max_lanes, kLaneBlock);
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  for (const LaneProgram::Register& reg : program.registers_) {
    offsets.push_back(bytes);
    bytes += (LaneBytes(LaneTypeOf(reg.type)) * max_lanes + 15) / 16 * 16;
  }
  // An input that is an output may be overwritten by another output before it
  // is stored.
  keeps_.resize(program.num_inputs(), false);
  for (int32_t output : program.outputs_) {
    if (program.outputs_.size() > 1 && output < program.num_inputs()) {
      keeps_[output] = true;
    }
  }
  storage_.resize(bytes + 16);
  char* base = storage_.data() +
               (16 - reinterpret_cast<uintptr_t>(storage_.data()) % 16) % 16;
  for (size_t i = 0; i < offsets.size(); ++i) {
    own_.push_back(base + offsets[i]);
    at_.push_back(own_.back());
    const LaneProgram::Register& reg = program.registers_[i];
    if (!reg.is_constant) continue;
    const int64_t width = LaneBytes(LaneTypeOf(reg.type));
    for (int64_t lane = 0; lane < max_lanes; ++lane) {
      std::memcpy(base + offsets[i] + lane * width, reg.constant, width);
    }
  }
}

// Elements that are stored as lanes are read in place, without a copy.
void LaneMachine::LoadInput(int64_t i, const void* elements, int64_t n) {
  const PrimitiveType type = program_.input_types_[i];
  if (StoredAsLanes(type) && !keeps_[i]) {
    at_[i] = elements;
    return;
  }
  at_[i] = own_[i];
  LoadLanes(type, elements, n, own_[i]);
}

void LaneMachine::SpreadInput(int64_t i, const void* element) {
  const PrimitiveType type = program_.input_types_[i];
  const int64_t width = LaneBytes(LaneTypeOf(type));
  char* lanes = static_cast<char*>(own_[i]);
  LoadLanes(type, element, 1, lanes);
  for (int64_t lane = 1; lane < max_lanes_; ++lane) {
    std::memcpy(lanes + lane * width, lanes, width);
  }
  at_[i] = lanes;
}

void LaneMachine::StoreOutput(int64_t i, void* elements, int64_t n) const {
  StoreLanes(program_.output_type(i), Output(i), n, elements);
}

void LaneMachine::Run(int64_t n) {
  for (const LaneProgram::Op& op : program_.ops_) {
    const void* in[3] = {};
    for (size_t i = 0; i < op.inputs.size(); ++i) in[i] = at_[op.inputs[i]];
    op.kernel(in, own_[op.output], n, op.params);
    if (op.round) RoundLanes(op.params.to, own_[op.output], n);
  }
}

}  // namespace evaluator
}  // namespace xla
