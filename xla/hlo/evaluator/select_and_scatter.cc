#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/scalar_function.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/evaluator/window_axis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// select-and-scatter: each source element goes to the place that its window
// selects. The selected element starts as the first of the window; a later one
// takes its place where select(selected, later) is false.

namespace xla {
namespace evaluator {

// Follows the definition directly, in O(elements of the source x window size)
// calls of `select`: for each window, a running candidate survives as long as
// `select(candidate, next)` holds, and the winner receives the value of the
// source through `scatter`. Windows are visited in row-major order of the
// source, which fixes the order of the updates where windows overlap. Padding
// never wins; a window of nothing but padding scatters nothing.
absl::StatusOr<Value> EvaluateSelectAndScatter(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  const Value& operand = operands[0];
  const Value& source = operands[1];
  const Value& init = operands[2];
  const PrimitiveType type = operand.type();
  if (source.type() != type || init.type() != type || init.rank() != 0) {
    return InvalidArgument("the operands have different element types");
  }
  TF_RETURN_IF_ERROR(
      CheckSignature(instruction->select(), {type, type}, {PRED}));
  TF_RETURN_IF_ERROR(
      CheckSignature(instruction->scatter(), {type, type}, {type}));
  TF_ASSIGN_OR_RETURN(WindowAxes axes,
                      MakeWindowAxes(instruction->window(), operand.dims()));
  DimensionVector window_dims;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    window_dims.push_back(axes[d].size);
    if (source.rank() != operand.rank() || axes[d].outputs != source.dim(d)) {
      return InvalidArgument("the source does not have one value per window");
    }
  }

  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(type, operand.dims(), context.budget));
  if (result.count() == 0) return result;
  const DimensionVector strides = RowMajorStrides(operand.dims());
  CopyStridedBox(result.mutable_raw(), strides, init.raw(),
                 DimensionVector(operand.rank(), 0), operand.dims(),
                 result.element_bytes());
  ScalarFunction select(instruction->select(), {type, type}, {PRED}, context);
  ScalarFunction scatter(instruction->scatter(), {type, type}, {type}, context);
  const int64_t bytes = operand.element_bytes();

  Odometer at(source.dims());
  if (at.empty()) return result;
  const char* from = source.raw();
  do {
    int64_t selected = -1;
    Odometer window(window_dims);
    do {
      int64_t candidate = 0;
      for (int64_t d = 0; d < operand.rank(); ++d) {
        const int64_t in = axes[d].Input(at[d], window[d]);
        if (in < 0) {
          candidate = -1;
          break;
        }
        candidate += in * strides[d];
      }
      if (candidate < 0) continue;
      if (selected >= 0) {
        const void* pair[2] = {operand.raw() + selected * bytes,
                               operand.raw() + candidate * bytes};
        TF_ASSIGN_OR_RETURN(bool keep, select.Test(pair));
        if (keep) continue;
      }
      selected = candidate;
    } while (window.Next());
    if (selected >= 0) {
      char* to = result.mutable_raw() + selected * bytes;
      const void* in[2] = {to, from};
      void* out[1] = {to};
      TF_RETURN_IF_ERROR(scatter.Apply(in, out, 1));
    }
    from += bytes;
  } while (at.Next());
  return result;
}

}  // namespace evaluator
}  // namespace xla
