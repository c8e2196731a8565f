#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

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
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// reduce-window: for each position of the window, one step of the reducer over
// all outputs that read an input there. Padding and holes are not folded in.

namespace xla {
namespace evaluator {
namespace {

// Interchanges the loops of the definition: window positions are outermost and
// outputs innermost, so that one call of the computation applies a window
// position to a whole row of outputs. Every output still combines its window
// elements in row-major order of the window. Positions that fall into padding
// or between dilated elements are skipped: the initial value takes part only
// once, as the starting value of each output.
//
// The inputs of a row are gathered into a buffer (stride and dilation leave
// gaps); outputs are updated in place unless base dilation leaves gaps among
// them too, in which case they go through a buffer as well.
class WindowReducer {
 public:
  WindowReducer(absl::Span<const Value> inputs, WindowAxes axes,
                std::vector<Value>& results, ScalarFunction& function)
      : inputs_(inputs),
        axes_(std::move(axes)),
        results_(results),
        function_(function),
        in_strides_(RowMajorStrides(inputs[0].dims())),
        out_strides_(RowMajorStrides(results[0].dims())) {
    const int64_t row = axes_.empty() ? 1 : axes_.back().outputs;
    for (const Value& input : inputs) {
      in_rows_.emplace_back(row * input.element_bytes());
      out_rows_.emplace_back(row * input.element_bytes());
    }
  }

  absl::Status Run() {
    DimensionVector window_dims;
    DimensionVector outer_dims;
    for (const WindowAxis& axis : axes_) {
      window_dims.push_back(axis.size);
      outer_dims.push_back(axis.outputs);
    }
    if (!outer_dims.empty()) outer_dims.pop_back();
    Odometer window(window_dims);
    if (window.empty()) return absl::OkStatus();
    do {
      FindPairs(axes_.empty() ? 0 : window[axes_.size() - 1]);
      if (pairs_.empty()) continue;
      Odometer outer(outer_dims);
      if (outer.empty()) return absl::OkStatus();
      do {
        TF_RETURN_IF_ERROR(ReduceRow(window, outer));
      } while (outer.Next());
    } while (window.Next());
    return absl::OkStatus();
  }

 private:
  struct Pair {
    int64_t out;
    int64_t in;
  };

  // Outputs of the innermost dimension and what they read.
  void FindPairs(int64_t w) {
    pairs_.clear();
    contiguous_ = true;
    if (axes_.empty()) {
      pairs_.push_back({0, 0});
      return;
    }
    const WindowAxis& axis = axes_.back();
    if (axis.base_dilation == 1) {
      int64_t first;
      int64_t last;
      axis.ValidRange(w, &first, &last);
      for (int64_t o = first; o < last; ++o) {
        pairs_.push_back({o, axis.Input(o, w)});
      }
      return;
    }
    for (int64_t o = 0; o < axis.outputs; ++o) {
      const int64_t in = axis.Input(o, w);
      if (in < 0) continue;
      contiguous_ &= pairs_.empty() || pairs_.back().out + 1 == o;
      pairs_.push_back({o, in});
    }
  }

  absl::Status ReduceRow(const Odometer& window, const Odometer& outer) {
    int64_t in_row = 0;
    int64_t out_row = 0;
    for (int64_t d = 0; d + 1 < static_cast<int64_t>(axes_.size()); ++d) {
      const int64_t in = axes_[d].Input(outer[d], window[d]);
      if (in < 0) return absl::OkStatus();
      in_row += in * in_strides_[d];
      out_row += outer[d] * out_strides_[d];
    }
    const size_t n = inputs_.size();
    const int64_t count = pairs_.size();
    std::vector<const void*> in(2 * n);
    std::vector<void*> out(n);
    for (size_t k = 0; k < n; ++k) {
      const int64_t bytes = inputs_[k].element_bytes();
      const char* source = inputs_[k].raw() + in_row * bytes;
      char* dest = results_[k].mutable_raw() + out_row * bytes;
      char* gathered = in_rows_[k].data();
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(gathered + i * bytes, source + pairs_[i].in * bytes, bytes);
      }
      in[n + k] = gathered;
      out[k] = dest + pairs_[0].out * bytes;
      if (!contiguous_) {
        out[k] = out_rows_[k].data();
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(out_rows_[k].data() + i * bytes,
                      dest + pairs_[i].out * bytes, bytes);
        }
      }
      in[k] = out[k];
    }
    TF_RETURN_IF_ERROR(function_.Apply(in, out, count));
    if (contiguous_) return absl::OkStatus();
    for (size_t k = 0; k < n; ++k) {
      const int64_t bytes = inputs_[k].element_bytes();
      char* dest = results_[k].mutable_raw() + out_row * bytes;
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(dest + pairs_[i].out * bytes,
                    out_rows_[k].data() + i * bytes, bytes);
      }
    }
    return absl::OkStatus();
  }

  absl::Span<const Value> inputs_;
  WindowAxes axes_;
  std::vector<Value>& results_;
  ScalarFunction& function_;
  DimensionVector in_strides_;
  DimensionVector out_strides_;
  std::vector<std::vector<char>> in_rows_;
  std::vector<std::vector<char>> out_rows_;
  std::vector<Pair> pairs_;
  bool contiguous_ = true;
};

}  // namespace

absl::StatusOr<Value> EvaluateReduceWindow(const HloInstruction* instruction,
                                           absl::Span<Value> operands,
                                           KernelContext& context) {
  const size_t n = operands.size() / 2;
  TF_RETURN_IF_ERROR(
      ConvertToParameters(*instruction->to_apply(), operands, context.budget));
  const absl::Span<const Value> inputs = operands.subspan(0, n);
  const absl::Span<const Value> inits = operands.subspan(n);
  TF_ASSIGN_OR_RETURN(WindowAxes axes,
                      MakeWindowAxes(instruction->window(), inputs[0].dims()));
  DimensionVector dims;
  for (const WindowAxis& axis : axes) dims.push_back(axis.outputs);

  std::vector<PrimitiveType> signature;
  std::vector<Value> results;
  for (size_t k = 0; k < n; ++k) {
    if (inputs[k].dims() != inputs[0].dims() || inits[k].rank() != 0 ||
        inits[k].type() != inputs[k].type()) {
      return InvalidArgument("operands %d and %d do not match the others", k,
                             n + k);
    }
    signature.push_back(inputs[k].type());
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::Make(inputs[k].type(), dims, context.budget));
    if (result.count() > 0) {
      CopyStridedBox(result.mutable_raw(), RowMajorStrides(dims),
                     inits[k].raw(), DimensionVector(dims.size(), 0), dims,
                     result.element_bytes());
    }
    results.push_back(std::move(result));
  }
  std::vector<PrimitiveType> parameters = signature;
  parameters.insert(parameters.end(), signature.begin(), signature.end());
  TF_RETURN_IF_ERROR(
      CheckSignature(instruction->to_apply(), parameters, signature));
  ScalarFunction function(instruction->to_apply(), parameters, signature,
                          context);
  WindowReducer reducer(inputs, std::move(axes), results, function);
  TF_RETURN_IF_ERROR(reducer.Run());
  if (!instruction->shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace evaluator
}  // namespace xla
