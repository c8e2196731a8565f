#include "xla/index_util.h"

#include <algorithm>
#include <cstdint>

#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {

int64_t IndexUtil::MultidimensionalIndexToLinearIndex(
    const Shape& shape, absl::Span<const int64_t> multi_index) {
  return MultidimensionalIndexToLinearIndex(
      shape, shape.layout().minor_to_major(), multi_index);
}

int64_t IndexUtil::MultidimensionalIndexToLinearIndex(
    const Shape& shape, absl::Span<const int64_t> minor_to_major,
    absl::Span<const int64_t> multi_index) {
  DCHECK_EQ(shape.dimensions_size(), multi_index.size());
  DCHECK_EQ(shape.dimensions_size(), minor_to_major.size());
  int64_t linear = 0;
  for (auto d = minor_to_major.rbegin(); d != minor_to_major.rend(); ++d) {
    DCHECK(multi_index[*d] >= 0 && multi_index[*d] < shape.dimensions(*d));
    linear = linear * shape.dimensions(*d) + multi_index[*d];
  }
  return linear;
}

DimensionVector IndexUtil::LinearIndexToMultidimensionalIndex(
    const Shape& shape, int64_t linear_index) {
  DCHECK_GE(linear_index, 0);
  DimensionVector result(shape.dimensions_size());
  for (int64_t d : shape.layout().minor_to_major()) {
    const int64_t size = shape.dimensions(d);
    result[d] = linear_index % size;
    linear_index /= size;
  }
  DCHECK_EQ(linear_index, 0);
  return result;
}

int64_t IndexUtil::GetDimensionStride(const Shape& shape, int64_t dimension) {
  int64_t stride = 1;
  for (int64_t d : shape.layout().minor_to_major()) {
    if (d == dimension) break;
    stride *= shape.dimensions(d);
  }
  return stride;
}

bool IndexUtil::IndexInBounds(const Shape& shape,
                              absl::Span<const int64_t> index) {
  if (shape.dimensions_size() != static_cast<int64_t>(index.size())) {
    return false;
  }
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape.dimensions(d)) return false;
  }
  return true;
}

int IndexUtil::CompareIndices(absl::Span<const int64_t> lhs,
                              absl::Span<const int64_t> rhs) {
  CHECK_EQ(lhs.size(), rhs.size());
  const auto [l, r] = std::mismatch(lhs.begin(), lhs.end(), rhs.begin());
  if (l == lhs.end()) return 0;
  return *l < *r ? -1 : 1;
}

}  // namespace xla
