#ifndef XLA_INDEX_UTIL_H_
#define XLA_INDEX_UTIL_H_

#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/types/span.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {

// Indices of array elements: one number per dimension, or the position in
// memory, counted in elements, that the layout of the shape gives them.
class IndexUtil {
 public:
  // The position of an element. The second form takes the order of dimensions
  // from minor to major instead of the shape's layout.
  static int64_t MultidimensionalIndexToLinearIndex(
      const Shape& shape, absl::Span<const int64_t> multi_index);
  static int64_t MultidimensionalIndexToLinearIndex(
      const Shape& shape, absl::Span<const int64_t> minor_to_major,
      absl::Span<const int64_t> multi_index);

  // The inverse. Pre: 0 <= linear_index < number of elements.
  static DimensionVector LinearIndexToMultidimensionalIndex(
      const Shape& shape, int64_t linear_index);

  // Moves to the next index, the last dimension fastest, whatever the layout.
  // After the last one: false, and all zero.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static bool BumpIndices(
      const Shape& shape, absl::Span<int64_t> indices) {
    for (int64_t d = static_cast<int64_t>(indices.size()) - 1; d >= 0; --d) {
      if (++indices[d] < shape.dimensions(d)) return true;
      indices[d] = 0;
    }
    return false;
  }

  // How far apart neighbors along `dimension` are, in elements.
  static int64_t GetDimensionStride(const Shape& shape, int64_t dimension);

  // Whether the index has the shape's rank and is inside its bounds.
  static bool IndexInBounds(const Shape& shape,
                            absl::Span<const int64_t> index);

  // -1, 0 or 1 as lhs comes before, is, or comes after rhs, lexicographically.
  static int CompareIndices(absl::Span<const int64_t> lhs,
                            absl::Span<const int64_t> rhs);

  IndexUtil() = delete;
};

}  // namespace xla

#endif  // XLA_INDEX_UTIL_H_
