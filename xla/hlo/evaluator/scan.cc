#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// scan: (steps of inputs..., carries...) -> (steps of outputs..., carries...),
// from the first step to the last or the other way round.

namespace xla {
namespace evaluator {
namespace {

// Dimensions of one step.
DimensionVector StepDims(absl::Span<const int64_t> dims, int64_t axis) {
  DimensionVector step(dims.begin(), dims.end());
  step.erase(step.begin() + axis);
  return step;
}

// Strides of one step within the whole.
DimensionVector StepStrides(absl::Span<const int64_t> dims, int64_t axis) {
  DimensionVector strides = RowMajorStrides(dims);
  strides.erase(strides.begin() + axis);
  return strides;
}

absl::StatusOr<Value> TakeStep(const Value& whole, int64_t axis, int64_t i,
                               MemoryBudget* budget) {
  const DimensionVector dims = StepDims(whole.dims(), axis);
  TF_ASSIGN_OR_RETURN(Value step, Value::Make(whole.type(), dims, budget));
  if (step.count() > 0) {
    CopyStridedBox(step.mutable_raw(), RowMajorStrides(dims),
                   whole.raw() + i * RowMajorStrides(whole.dims())[axis] *
                                     whole.element_bytes(),
                   StepStrides(whole.dims(), axis), dims,
                   whole.element_bytes());
  }
  return step;
}

absl::Status PutStep(const Value& step, int64_t axis, int64_t i, Value& whole) {
  const DimensionVector dims = StepDims(whole.dims(), axis);
  if (!step.IsArray() || step.dims() != dims || step.type() != whole.type()) {
    return InvalidArgument("the shape of a step does not match the output");
  }
  if (step.count() > 0) {
    CopyStridedBox(
        whole.mutable_raw() +
            i * RowMajorStrides(whole.dims())[axis] * whole.element_bytes(),
        StepStrides(whole.dims(), axis), step.raw(), RowMajorStrides(dims),
        dims, step.element_bytes());
  }
  return absl::OkStatus();
}

// Zeros, in which as much of dynamic dimensions is there as `step`, the first
// to be put there, has of them. Null: there is none.
absl::StatusOr<Value> MakeOutput(const Shape& shape, int64_t axis,
                                 int64_t steps, const Value* step,
                                 MemoryBudget* budget) {
  DimensionVector dims(shape.dimensions().begin(), shape.dimensions().end());
  const int64_t rank = dims.size();
  // Of a static dimension, too: that it has too few is seen where all results
  // are checked.
  dims[axis] = steps;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis || !shape.is_dynamic_dimension(d)) continue;
    if (step != nullptr && step->IsArray() && step->rank() == rank - 1) {
      dims[d] = std::min(dims[d], step->dim(d < axis ? d : d - 1));
    }
  }
  return Value::MakeZeros(shape.element_type(), dims, budget);
}

}  // namespace

// Runs the steps one after the other, last to first where the scan is reversed:
// slices each input along the scan dimension, passes the carries of the
// previous step, and stores the outputs of the step into the stacked results.
// No use is made of associativity.
absl::StatusOr<Value> EvaluateScan(const HloInstruction* instruction,
                                   absl::Span<Value> operands,
                                   KernelContext& context) {
  const auto* scan = Cast<HloScanInstruction>(instruction);
  const int64_t axis = scan->scan_dimension();
  const int64_t inputs = scan->operand_count() - scan->num_carries();
  TF_ASSIGN_OR_RETURN(int64_t steps, scan->GetScanDimSize());
  const Shape& shape = instruction->shape();
  const int64_t parts = shape.IsTuple() ? shape.tuple_shapes_size() : 1;
  const int64_t outputs = parts - scan->num_carries();
  if (inputs < 0 || outputs < 0) {
    return InvalidArgument("more carries than operands or results");
  }
  // As many as a dynamic dimension has at run time.
  if (inputs > 0 && axis < operands[0].rank()) steps = operands[0].dim(axis);
  for (int64_t k = 0; k < inputs; ++k) {
    if (axis >= operands[k].rank() || operands[k].dim(axis) != steps) {
      return InvalidArgument("operand %d does not have %d steps", k, steps);
    }
  }
  std::vector<const Shape*> output_shapes;
  for (int64_t j = 0; j < outputs; ++j) {
    const Shape& part = shape.IsTuple() ? shape.tuple_shapes(j) : shape;
    if (!part.IsArray() ||
        axis >= static_cast<int64_t>(part.dimensions().size())) {
      return InvalidArgument("output %d has no dimension %d", j, axis);
    }
    if (steps > part.dimensions(axis)) {
      return InvalidArgument("output %d does not have %d steps", j, steps);
    }
    output_shapes.push_back(&part);
  }
  std::vector<Value> results;
  std::vector<Value> carries(operands.begin() + inputs, operands.end());
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t i = scan->is_reverse() ? steps - 1 - step : step;
    std::vector<Value> arguments;
    for (int64_t k = 0; k < inputs; ++k) {
      TF_ASSIGN_OR_RETURN(Value part,
                          TakeStep(operands[k], axis, i, context.budget));
      arguments.push_back(std::move(part));
    }
    for (Value& carry : carries) arguments.push_back(std::move(carry));
    TF_ASSIGN_OR_RETURN(Value result,
                        context.device.RunEmbedded(instruction->to_apply(),
                                                   std::move(arguments)));
    std::vector<Value> values;
    if (result.IsTuple()) {
      values = std::move(result).TakeElements();
    } else {
      values.push_back(std::move(result));
    }
    if (static_cast<int64_t>(values.size()) != parts) {
      return InvalidArgument("the computation has %d results, not %d",
                             values.size(), parts);
    }
    for (int64_t j = 0; j < outputs; ++j) {
      if (step == 0) {
        TF_ASSIGN_OR_RETURN(
            Value whole, MakeOutput(*output_shapes[j], axis, steps, &values[j],
                                    context.budget));
        results.push_back(std::move(whole));
      }
      TF_RETURN_IF_ERROR(PutStep(values[j], axis, i, results[j]));
    }
    carries.assign(std::make_move_iterator(values.begin() + outputs),
                   std::make_move_iterator(values.end()));
  }
  for (int64_t j = 0; steps == 0 && j < outputs; ++j) {
    TF_ASSIGN_OR_RETURN(Value whole, MakeOutput(*output_shapes[j], axis, steps,
                                                nullptr, context.budget));
    results.push_back(std::move(whole));
  }
  for (Value& carry : carries) results.push_back(std::move(carry));
  if (!shape.IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace evaluator
}  // namespace xla
