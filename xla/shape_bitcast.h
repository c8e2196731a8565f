#ifndef XLA_SHAPE_BITCAST_H_
#define XLA_SHAPE_BITCAST_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/shape.h"

namespace xla {

// Properties of reshapes and transposes of arrays, and which of them leave
// memory unchanged. Part of ShapeUtil; callers name that class.
//
// A reshape keeps the row-major order of logical elements, a transpose permutes
// dimensions, and both are bitcasts if every element stays at its address.
//
// Costs O(rank), or O(rank log rank).
class ShapeBitcast {
 public:
  struct ShapeEqualityDescriptor {
    std::vector<int64_t> deleted_dimensions;
    std::vector<int64_t> inserted_dimensions;
  };
  // If two arrays differ only by dimensions of size 1: the dimensions deleted
  // from `shape_pre` and those inserted in `shape_post`.
  static std::optional<ShapeEqualityDescriptor>
  InsertedOrDeleted1SizedDimensions(const Shape& shape_pre,
                                    const Shape& shape_post);

  // Pairs (input dimension, output dimension) that a reshape keeps: of the same
  // size, with the same number of elements before and after.
  static std::vector<std::pair<int64_t, int64_t>> DimensionsUnmodifiedByReshape(
      const Shape& input_shape, const Shape& output_shape);

  // The dimensions of `to_shape` that the given ones of `from_shape` (in
  // increasing order) become; nullopt if the reshape modifies one of them.
  static std::optional<std::vector<int64_t>> ReshapeLeavesDimensionsUnmodified(
      const Shape& from_shape, const Shape& to_shape,
      absl::Span<const int64_t> input_dim_indices);

  // Output dimension i is the input dimension dimension_mapping[i]. Both shapes
  // must have layouts.
  static bool TransposeIsBitcast(const Shape& input_shape,
                                 const Shape& output_shape,
                                 absl::Span<const int64_t> dimension_mapping,
                                 bool ignore_element_type = false);
  // With tiles, only shapes that are equal up to dimensions of size 1 outside
  // the tiles are found to be bitcasts.
  static bool ReshapeIsBitcast(const Shape& input_shape,
                               const Shape& output_shape,
                               bool ignore_element_type = false);
  static bool IsReshapeOrTransposeBitcast(const Shape& a, const Shape& b,
                                          bool ignore_element_type = false);

  // The dimensions of the transpose equivalent to a bitcast; nullopt if there
  // is none.
  static std::optional<std::vector<int64_t>>
  DeduceTransposeDimensionsForBitcast(const Shape& input_shape,
                                      const Shape& output_shape);

  // Two arrays of one element type with the same number of elements.
  static bool IsDecomposableBitcast(const Shape& input_shape,
                                    const Shape& output_shape);

  struct BitcastDecompositionReshape {};

  struct BitcastDecompositionTranspose {
    std::vector<int64_t> transpose_dims;
  };

  // transpose2(reshape(transpose1(x))), each of them a bitcast.
  struct BitcastDecompositionTrt {
    std::vector<int64_t> transpose1_dims;
    Shape transpose1_shape;
    Shape reshape_shape;
    std::vector<int64_t> transpose2_dims;

    bool IsTranspose1Identity() const {
      return absl::c_is_sorted(transpose1_dims);
    }
    bool IsTranspose2Identity() const {
      return absl::c_is_sorted(transpose2_dims);
    }
  };

  using BitcastDecomposition = std::optional<
      std::variant<BitcastDecompositionReshape, BitcastDecompositionTranspose,
                   BitcastDecompositionTrt>>;

  // A bitcast as transpose, reshape and transpose; nullopt if it is not
  // decomposable.
  static std::optional<BitcastDecompositionTrt> DecomposeBitcastToTrt(
      const Shape& input_shape, const Shape& output_shape);
  // The simplest decomposition of a bitcast; nullopt if it is not decomposable.
  static BitcastDecomposition DecomposeBitcast(const Shape& input_shape,
                                               const Shape& output_shape);

  // `output_shape` with the layout with which a reshape of `input_shape` to it
  // is a bitcast; nullopt if there is none.
  static std::optional<Shape> AlignLayouts(const Shape& input_shape,
                                           const Shape& output_shape);

  // A transpose of row-major arrays in its simplest form: dimensions of size 1
  // dropped and dimensions that stay neighbors merged. Returns the dimensions
  // of the output and sets the permutation. InvalidArgument if a layout is not
  // row major.
  //
  //   f32[2,3,4,5] transposed by {2,3,0,1}  ->  {20, 6}, permutation {1, 0}
  static absl::StatusOr<absl::InlinedVector<int64_t, 3>>
  GetNormalizedLogicalTransposeShape(
      const Shape& input_shape, const Shape& output_shape,
      absl::Span<int64_t const> dimensions,
      absl::InlinedVector<int64_t, 3>& permutation);

  // Bytes between neighbors in each dimension of an array without tiles (each
  // element at its unpacked size). InvalidArgument if they are not defined.
  static absl::Status UnpackedByteStrides(const Shape& shape,
                                          absl::Span<int64_t> strides);
  // The same; nullopt instead of an error.
  static std::optional<absl::InlinedVector<int64_t, 4>> UnpackedByteStrides(
      const Shape& shape);
  // The same; nullopt also for types packed below a byte.
  static std::optional<absl::InlinedVector<int64_t, 4>> ByteStrides(
      const Shape& shape);
};

}  // namespace xla

#endif  // XLA_SHAPE_BITCAST_H_
