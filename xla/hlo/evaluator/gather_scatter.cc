#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/scalar_function.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// gather clamps windows into the operand; scatter leaves out windows that are
// not wholly within it. Scatter applies updates in row-major order.

namespace xla {
namespace evaluator {
namespace {

using List = google::protobuf::RepeatedField<int64_t>;

bool Contains(const List& list, int64_t x) {
  return absl::c_linear_search(list, x);
}

// Walks the index vectors of gather and scatter, in row-major order of the
// other dimensions of `indices`: where each window starts in the operand.
//
// Gather and scatter share one picture: the dimensions of `indices` other than
// the index vector enumerate windows, the index vector places each window in
// the operand, and batching dimensions of the operand simply follow the
// corresponding dimensions of `indices`. The two differ at the border: gather
// clamps a start so that the window fits, scatter drops a window that does not
// fit as a whole.
class WindowStarts {
 public:
  // index_map[i] is the operand dimension of component i; operand dimensions
  // `batching` run along with dimensions `indices_batching`.
  static absl::StatusOr<WindowStarts> Make(
      const Value& indices, int64_t vector_dim, const List& index_map,
      const List& batching, const List& indices_batching, int64_t operand_rank);

  const DimensionVector& batch_dims() const { return batch_dims_; }
  // The start of the window for a batch index.
  void Find(const DimensionVector& batch, DimensionVector& start) const {
    int64_t offset = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      offset += batch[i] * batch_strides_[i];
    }
    std::fill(start.begin(), start.end(), 0);
    for (size_t i = 0; i < index_map_.size(); ++i) {
      start[index_map_[i]] = indices_.Int64At(offset + i * vector_stride_);
    }
    for (const auto& [operand_dim, batch_dim] : batching_) {
      start[operand_dim] = batch[batch_dim];
    }
  }

 private:
  Value indices_;
  DimensionVector index_map_;
  DimensionVector batch_dims_;
  DimensionVector batch_strides_;
  int64_t vector_stride_ = 0;
  std::vector<std::pair<int64_t, int64_t>> batching_;
};

absl::StatusOr<WindowStarts> WindowStarts::Make(
    const Value& indices, int64_t vector_dim, const List& index_map,
    const List& batching, const List& indices_batching, int64_t operand_rank) {
  WindowStarts starts;
  starts.indices_ = indices;
  if (vector_dim < 0 || vector_dim > indices.rank()) {
    return InvalidArgument("index_vector_dim is out of bounds");
  }
  const DimensionVector strides = RowMajorStrides(indices.dims());
  const int64_t components =
      vector_dim == indices.rank() ? 1 : indices.dim(vector_dim);
  if (components != index_map.size() ||
      batching.size() != indices_batching.size()) {
    return InvalidArgument("index vectors have %d components, not %d",
                           components, index_map.size());
  }
  for (int64_t d : index_map) {
    if (d < 0 || d >= operand_rank) {
      return InvalidArgument("dimension %d is out of bounds", d);
    }
    starts.index_map_.push_back(d);
  }
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == vector_dim) {
      starts.vector_stride_ = strides[d];
      continue;
    }
    for (int i = 0; i < indices_batching.size(); ++i) {
      if (indices_batching.Get(i) != d) continue;
      if (batching.Get(i) < 0 || batching.Get(i) >= operand_rank) {
        return InvalidArgument("dimension %d is out of bounds",
                               batching.Get(i));
      }
      starts.batching_.push_back(
          {batching.Get(i), static_cast<int64_t>(starts.batch_dims_.size())});
    }
    starts.batch_dims_.push_back(indices.dim(d));
    starts.batch_strides_.push_back(strides[d]);
  }
  return starts;
}

int64_t Dot(absl::Span<const int64_t> index,
            absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

// Copies of a box; a single element directly.
void CopyWindow(char* dest, absl::Span<const int64_t> dest_strides,
                const char* src, absl::Span<const int64_t> src_strides,
                absl::Span<const int64_t> dims, int64_t count, int64_t bytes) {
  if (count == 1) {
    std::memcpy(dest, src, bytes);
  } else {
    CopyStridedBox(dest, dest_strides, src, src_strides, dims, bytes);
  }
}

}  // namespace

absl::StatusOr<Value> EvaluateGather(const HloInstruction* instruction,
                                     absl::Span<Value> operands,
                                     KernelContext& context) {
  const Value& operand = operands[0];
  const GatherDimensionNumbers& dims = instruction->gather_dimension_numbers();
  const absl::Span<const int64_t> sizes = instruction->gather_slice_sizes();
  if (static_cast<int64_t>(sizes.size()) != operand.rank()) {
    return InvalidArgument("slice_sizes has %d numbers", sizes.size());
  }
  TF_ASSIGN_OR_RETURN(
      WindowStarts starts,
      WindowStarts::Make(operands[1], dims.index_vector_dim(),
                         dims.start_index_map(), dims.operand_batching_dims(),
                         dims.start_indices_batching_dims(), operand.rank()));
  const DimensionVector operand_strides = RowMajorStrides(operand.dims());
  DimensionVector window_dims;
  DimensionVector from;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (sizes[d] > operand.dim(d) || sizes[d] < 0) {
      return InvalidArgument("a slice of %d of the %d elements of dimension %d",
                             sizes[d], operand.dim(d), d);
    }
    if (Contains(dims.collapsed_slice_dims(), d) ||
        Contains(dims.operand_batching_dims(), d)) {
      continue;
    }
    window_dims.push_back(sizes[d]);
    from.push_back(operand_strides[d]);
  }
  const int64_t rank = starts.batch_dims().size() + window_dims.size();
  DimensionVector result_dims;
  std::vector<bool> is_window;
  size_t next_window = 0;
  size_t next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    is_window.push_back(Contains(dims.offset_dims(), d));
    if (is_window.back() ? next_window == window_dims.size()
                         : next_batch == starts.batch_dims().size()) {
      return InvalidArgument("offset_dims do not fit the slice");
    }
    result_dims.push_back(is_window.back() ? window_dims[next_window++]
                                           : starts.batch_dims()[next_batch++]);
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), result_dims, context.budget));
  if (result.count() == 0) return result;
  // Slices without elements, of which the result shows none: nothing is read.
  if (absl::c_linear_search(sizes, 0)) {
    std::fill_n(result.mutable_raw(), result.bytes(), 0);
    return result;
  }
  const DimensionVector result_strides = RowMajorStrides(result_dims);
  DimensionVector to;
  DimensionVector batch_strides;
  for (int64_t d = 0; d < rank; ++d) {
    (is_window[d] ? to : batch_strides).push_back(result_strides[d]);
  }
  const int64_t bytes = operand.element_bytes();
  const int64_t window_count = Product(window_dims);
  DimensionVector start(operand.rank());
  Odometer batch(starts.batch_dims());
  do {
    starts.Find(batch.index(), start);
    for (int64_t d = 0; d < operand.rank(); ++d) {
      start[d] = std::clamp<int64_t>(start[d], 0, operand.dim(d) - sizes[d]);
    }
    CopyWindow(result.mutable_raw() + Dot(batch.index(), batch_strides) * bytes,
               to, operand.raw() + Dot(start, operand_strides) * bytes, from,
               window_dims, window_count, bytes);
  } while (batch.Next());
  return result;
}

namespace {

// The windows of a scatter: how dimensions of updates and operands correspond.
struct ScatterWindows {
  DimensionVector dims;           // Of the window.
  DimensionVector operand;        // Strides in the operand.
  DimensionVector update;         // Strides in the updates.
  DimensionVector batch_strides;  // Of the other dimensions of the updates.
  DimensionVector sizes;          // Of the window by operand dimension.
  int64_t count = 1;
};

absl::StatusOr<ScatterWindows> MakeWindows(const ScatterDimensionNumbers& dims,
                                           const Value& operand,
                                           const Value& updates,
                                           const WindowStarts& starts) {
  ScatterWindows windows;
  const DimensionVector operand_strides = RowMajorStrides(operand.dims());
  const DimensionVector update_strides = RowMajorStrides(updates.dims());
  size_t next_batch = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (Contains(dims.update_window_dims(), d)) {
      windows.dims.push_back(updates.dim(d));
      windows.update.push_back(update_strides[d]);
      continue;
    }
    if (next_batch == starts.batch_dims().size() ||
        starts.batch_dims()[next_batch++] != updates.dim(d)) {
      return InvalidArgument("updates and indices differ in dimension %d", d);
    }
    windows.batch_strides.push_back(update_strides[d]);
  }
  size_t next_window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(dims.inserted_window_dims(), d) ||
        Contains(dims.input_batching_dims(), d)) {
      windows.sizes.push_back(1);
      continue;
    }
    if (next_window == windows.dims.size()) {
      return InvalidArgument("update windows have too few dimensions");
    }
    windows.sizes.push_back(windows.dims[next_window++]);
    windows.operand.push_back(operand_strides[d]);
  }
  if (next_window != windows.dims.size() ||
      next_batch != starts.batch_dims().size()) {
    return InvalidArgument("updates do not fit the indices");
  }
  windows.count = Product(windows.dims);
  return windows;
}

// result = f(result, update) over one window, n operands at once.
absl::Status CombineWindow(const ScatterWindows& windows, int64_t to,
                           int64_t from, absl::Span<const Value> updates,
                           absl::Span<Value> results,
                           ScalarFunction& function) {
  const size_t n = results.size();
  // Runs of neighbors on both sides are combined at once.
  int64_t run = 1;
  DimensionVector outer = windows.dims;
  if (!outer.empty() && windows.operand.back() == 1 &&
      windows.update.back() == 1) {
    run = outer.back();
    outer.back() = 1;
  }
  std::vector<const void*> in(2 * n);
  std::vector<void*> out(n);
  Odometer at(outer);
  do {
    const int64_t operand_at = to + Dot(at.index(), windows.operand);
    const int64_t update_at = from + Dot(at.index(), windows.update);
    for (size_t k = 0; k < n; ++k) {
      const int64_t bytes = results[k].element_bytes();
      out[k] = results[k].mutable_raw() + operand_at * bytes;
      in[k] = out[k];
      in[n + k] = updates[k].raw() + update_at * updates[k].element_bytes();
    }
    TF_RETURN_IF_ERROR(function.Apply(in, out, run));
  } while (at.Next());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> EvaluateScatter(const HloInstruction* instruction,
                                      absl::Span<Value> operands,
                                      KernelContext& context) {
  const size_t n = operands.size() / 2;
  const ScatterDimensionNumbers& dims =
      instruction->scatter_dimension_numbers();
  const absl::Span<const Value> updates = operands.subspan(n + 1);
  std::vector<PrimitiveType> types;
  std::vector<Value> results;
  for (size_t k = 0; k < n; ++k) {
    if (operands[k].dims() != operands[0].dims() ||
        updates[k].dims() != updates[0].dims()) {
      return InvalidArgument("operands and updates differ");
    }
    types.push_back(operands[k].type());
  }
  std::vector<PrimitiveType> signature = types;
  for (size_t k = 0; k < n; ++k) signature.push_back(updates[k].type());
  TF_RETURN_IF_ERROR(CheckSignature(instruction->to_apply(), signature, types));
  TF_ASSIGN_OR_RETURN(WindowStarts starts,
                      WindowStarts::Make(operands[n], dims.index_vector_dim(),
                                         dims.scatter_dims_to_operand_dims(),
                                         dims.input_batching_dims(),
                                         dims.scatter_indices_batching_dims(),
                                         operands[0].rank()));
  TF_ASSIGN_OR_RETURN(const ScatterWindows windows,
                      MakeWindows(dims, operands[0], updates[0], starts));
  const DimensionVector operand_dims = operands[0].dims();
  const DimensionVector strides = RowMajorStrides(operand_dims);
  for (size_t k = 0; k < n; ++k) {
    TF_ASSIGN_OR_RETURN(Value result, Value::MakeUnique(std::move(operands[k]),
                                                        context.budget));
    results.push_back(std::move(result));
  }
  ScalarFunction function(instruction->to_apply(), signature, types, context);
  const bool overwrites =
      n == 1 && function.lanes() != nullptr && function.lanes()->AsInput() == 1;

  Odometer batch(starts.batch_dims());
  if (windows.count > 0 && !batch.empty()) {
    DimensionVector start(operand_dims.size());
    do {
      starts.Find(batch.index(), start);
      bool inside = true;
      for (size_t d = 0; d < start.size(); ++d) {
        inside &=
            start[d] >= 0 && start[d] <= operand_dims[d] - windows.sizes[d];
      }
      if (!inside) continue;
      const int64_t to = Dot(start, strides);
      const int64_t from = Dot(batch.index(), windows.batch_strides);
      if (overwrites) {
        const int64_t bytes = results[0].element_bytes();
        CopyWindow(results[0].mutable_raw() + to * bytes, windows.operand,
                   updates[0].raw() + from * bytes, windows.update,
                   windows.dims, windows.count, bytes);
        continue;
      }
      TF_RETURN_IF_ERROR(CombineWindow(windows, to, from, updates,
                                       absl::MakeSpan(results), function));
    } while (batch.Next());
  }
  if (!instruction->shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace evaluator
}  // namespace xla
