#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/evaluator/scalar_function.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Element-wise instructions: one block of lanes after the other.

namespace xla {
namespace evaluator {
namespace {

// The dimensions of the result; scalars among the operands are spread.
absl::StatusOr<DimensionVector> CommonDimensions(
    absl::Span<const Value> operands) {
  const Value* widest = &operands[0];
  for (const Value& operand : operands) {
    if (!operand.IsArray())
      return InvalidArgument("an operand is not an array");
    if (operand.rank() > widest->rank()) widest = &operand;
  }
  for (const Value& operand : operands) {
    if (operand.rank() != 0 && operand.dims() != widest->dims()) {
      return InvalidArgument("the operands differ in their dimensions");
    }
  }
  return widest->dims();
}

// Takes over the buffer of an operand of the result's size, or makes one.
absl::StatusOr<Value> MakeResult(absl::Span<Value> operands, PrimitiveType type,
                                 absl::Span<const int64_t> dims,
                                 MemoryBudget* budget) {
  const int64_t count = Product(dims);
  for (Value& operand : operands) {
    if (operand.unique() && operand.count() == count &&
        operand.element_bytes() == ElementBytes(type)) {
      Value result = std::move(operand).Retyped(type).Reshaped(dims);
      operand = Value();
      return result;
    }
  }
  return Value::Make(type, dims, budget);
}

}  // namespace

absl::StatusOr<Value> EvaluateElementwise(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  TF_ASSIGN_OR_RETURN(const LaneProgram* program,
                      context.device.program().LanesFor(instruction));
  TF_ASSIGN_OR_RETURN(DimensionVector dims, CommonDimensions(operands));
  const PrimitiveType type = instruction->shape().element_type();
  const int64_t n = Product(dims);

  LaneMachine machine(*program, std::min(n, kLaneBlock));
  // Where the elements are; scalars are spread over their register once.
  absl::InlinedVector<const char*, 3> elements;
  absl::InlinedVector<int64_t, 3> widths;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Value& operand = operands[k];
    elements.push_back(operand.raw());
    widths.push_back(operand.element_bytes());
    if (operand.rank() != 0 || dims.empty()) continue;
    elements.back() = nullptr;
    machine.SpreadInput(k, operand.raw());
  }
  // A scalar's buffer is read to its end before it could be written to, and
  // others are written to where they have just been read.
  TF_ASSIGN_OR_RETURN(Value result,
                      MakeResult(operands, type, dims, context.budget));
  char* out = result.mutable_raw();
  const int64_t out_bytes = result.element_bytes();
  const bool direct = StoredAsLanes(type);
  for (int64_t start = 0; start < n; start += kLaneBlock) {
    const int64_t lanes = std::min(kLaneBlock, n - start);
    for (size_t k = 0; k < elements.size(); ++k) {
      if (elements[k] == nullptr) continue;
      machine.LoadInput(k, elements[k] + start * widths[k], lanes);
    }
    if (direct) machine.SetOutput(0, out + start * out_bytes);
    machine.Run(lanes);
    if (!direct) machine.StoreOutput(0, out + start * out_bytes, lanes);
  }
  return result;
}

absl::StatusOr<Value> EvaluateSelect(const HloInstruction* instruction,
                                     absl::Span<Value> operands,
                                     KernelContext& context) {
  if (operands[0].type() != PRED) {
    return InvalidArgument("the predicate is not of type pred");
  }
  if (operands[0].rank() == 0) {
    return std::move(operands[operands[0].scalar<bool>() ? 1 : 2]);
  }
  return EvaluateElementwise(instruction, operands, context);
}

absl::StatusOr<Value> EvaluateMap(const HloInstruction* instruction,
                                  absl::Span<Value> operands,
                                  KernelContext& context) {
  std::vector<PrimitiveType> types;
  std::vector<const void*> in;
  for (const Value& operand : operands) {
    if (operand.dims() != operands[0].dims()) {
      return InvalidArgument("the operands differ in their dimensions");
    }
    types.push_back(operand.type());
    in.push_back(operand.raw());
  }
  const PrimitiveType type = instruction->shape().element_type();
  TF_RETURN_IF_ERROR(CheckSignature(instruction->to_apply(), types, {type}));
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(type, operands[0].dims(), context.budget));
  ScalarFunction function(instruction->to_apply(), types, {type}, context);
  void* out[1] = {result.mutable_raw()};
  TF_RETURN_IF_ERROR(function.Apply(in, out, result.count()));
  return result;
}

absl::Status ConvertInPlace(Value& value, PrimitiveType type,
                            MemoryBudget* budget) {
  if (value.IsTuple() || value.type() == type ||
      !primitive_util::IsFloatingPointType(value.type()) ||
      !primitive_util::IsFloatingPointType(type)) {
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(value, ConvertValue(std::move(value), type, budget));
  return absl::OkStatus();
}

void ConvertElements(PrimitiveType from, const void* elements, int64_t n,
                     PrimitiveType to, void* out) {
  LaneParams params;
  params.from = from;
  params.to = to;
  alignas(16) char from_lanes[kLaneBlock * 16];
  alignas(16) char to_lanes[kLaneBlock * 16];
  for (int64_t start = 0; start < n; start += kLaneBlock) {
    const int64_t lanes = std::min(kLaneBlock, n - start);
    LoadLanes(from,
              static_cast<const char*>(elements) + start * ElementBytes(from),
              lanes, from_lanes);
    const void* in[1] = {from_lanes};
    ConvertLanes(in, to_lanes, lanes, params);
    StoreLanes(to, to_lanes, lanes,
               static_cast<char*>(out) + start * ElementBytes(to));
  }
}

absl::StatusOr<Value> ConvertValue(Value value, PrimitiveType type,
                                   MemoryBudget* budget) {
  if (value.type() == type) return value;
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(type, value.dims(), budget));
  ConvertElements(value.type(), value.raw(), value.count(), type,
                  result.mutable_raw());
  return result;
}

}  // namespace evaluator
}  // namespace xla
