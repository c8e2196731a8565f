#include "xla/shape_index_iteration.h"

#include <cstdint>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {

namespace {

// Calls fn(index), which returns whether to go on, for each index.
template <typename Fn>
void Iterate(const Shape& shape, absl::Span<const int64_t> base,
             absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
             Fn&& fn) {
  const int64_t rank = shape.dimensions_size();
  CHECK_EQ(rank, base.size());
  CHECK_EQ(rank, count.size());
  CHECK_EQ(rank, incr.size());
  // Most minor first, so that memory is walked in order.
  DimensionVector order(rank);
  for (int64_t i = 0; i < rank; ++i) {
    order[i] =
        shape.has_layout() ? shape.layout().minor_to_major(i) : rank - 1 - i;
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (count[i] <= 0 && incr[i] != 0) return;
  }
  DimensionVector index(base.begin(), base.end());
  while (fn(absl::MakeConstSpan(index))) {
    int64_t i = 0;
    for (; i < rank; ++i) {
      const int64_t dim = order[i];
      index[dim] += incr[dim];
      if (incr[dim] > 0 && index[dim] < base[dim] + count[dim]) break;
      index[dim] = base[dim];
    }
    if (i == rank) return;
  }
}

// The same for visitors that may fail.
template <typename Fn>
absl::Status IterateWithStatus(const Shape& shape,
                               absl::Span<const int64_t> base,
                               absl::Span<const int64_t> count,
                               absl::Span<const int64_t> incr, Fn&& visitor) {
  absl::Status status;
  Iterate(shape, base, count, incr, [&](absl::Span<const int64_t> index) {
    absl::StatusOr<bool> go_on = visitor(index);
    if (go_on.ok()) return *go_on;
    status = go_on.status();
    return false;
  });
  return status;
}

// Bounds of a loop over all elements.
struct WholeShape {
  explicit WholeShape(const Shape& shape)
      : base(shape.dimensions_size(), 0), incr(shape.dimensions_size(), 1) {}
  DimensionVector base;
  DimensionVector incr;
};

}  // namespace

absl::Status ShapeIndexIteration::ForEachIndexWithStatus(
    const Shape& shape, absl::Span<const int64_t> base,
    absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
    const ForEachVisitorFunction& visitor_function) {
  return IterateWithStatus(shape, base, count, incr, visitor_function);
}

absl::Status ShapeIndexIteration::ForEachIndexWithStatus(
    const Shape& shape, const ForEachVisitorFunction& visitor_function) {
  WholeShape whole(shape);
  return IterateWithStatus(shape, whole.base, shape.dimensions(), whole.incr,
                           visitor_function);
}

void ShapeIndexIteration::ForEachIndex(
    const Shape& shape, absl::Span<const int64_t> base,
    absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
    const ForEachVisitorFunction& visitor_function) {
  CHECK_OK(ForEachIndexWithStatus(shape, base, count, incr, visitor_function));
}

void ShapeIndexIteration::ForEachIndex(
    const Shape& shape, const ForEachVisitorFunction& visitor_function) {
  CHECK_OK(ForEachIndexWithStatus(shape, visitor_function));
}

void ShapeIndexIteration::ForEachIndexNoStatus(
    const Shape& shape, absl::Span<const int64_t> base,
    absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
    const ForEachVisitorFunctionNoStatus& visitor_function) {
  Iterate(shape, base, count, incr, visitor_function);
}

void ShapeIndexIteration::ForEachIndexNoStatus(
    const Shape& shape,
    const ForEachVisitorFunctionNoStatus& visitor_function) {
  WholeShape whole(shape);
  Iterate(shape, whole.base, shape.dimensions(), whole.incr, visitor_function);
}

absl::Status ShapeIndexIteration::ForEachIndexParallelWithStatus(
    const Shape& shape, absl::Span<const int64_t> base,
    absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
    const ForEachParallelVisitorFunction& visitor_function) {
  return IterateWithStatus(shape, base, count, incr,
                           [&](absl::Span<const int64_t> index) {
                             return visitor_function(index, /*thread_id=*/0);
                           });
}

absl::Status ShapeIndexIteration::ForEachIndexParallelWithStatus(
    const Shape& shape,
    const ForEachParallelVisitorFunction& visitor_function) {
  WholeShape whole(shape);
  return ForEachIndexParallelWithStatus(shape, whole.base, shape.dimensions(),
                                        whole.incr, visitor_function);
}

void ShapeIndexIteration::ForEachIndexParallel(
    const Shape& shape, absl::Span<const int64_t> base,
    absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
    const ForEachParallelVisitorFunction& visitor_function) {
  CHECK_OK(ForEachIndexParallelWithStatus(shape, base, count, incr,
                                          visitor_function));
}

void ShapeIndexIteration::ForEachIndexParallel(
    const Shape& shape,
    const ForEachParallelVisitorFunction& visitor_function) {
  CHECK_OK(ForEachIndexParallelWithStatus(shape, visitor_function));
}

}  // namespace xla
