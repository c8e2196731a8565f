#ifndef XLA_LAYOUT_UTIL_H_
#define XLA_LAYOUT_UTIL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Makes, checks, compares and evaluates layouts.
class LayoutUtil {
 public:
  LayoutUtil(const LayoutUtil&) = delete;
  LayoutUtil& operator=(const LayoutUtil&) = delete;

  static Layout MakeLayout(
      absl::Span<const int64_t> minor_to_major,
      absl::Span<const Tile> tiles = {},
      int64_t tail_padding_alignment_in_elements = 1,
      PrimitiveType index_primitive_type = PRIMITIVE_TYPE_INVALID,
      PrimitiveType pointer_primitive_type = PRIMITIVE_TYPE_INVALID,
      int64_t element_size_in_bits = 0, int64_t memory_space = 0,
      absl::Span<const SplitConfig> split_configs = {},
      std::optional<Shape> physical_shape = std::nullopt,
      int64_t dynamic_shape_metadata_prefix_bytes = 0);
  static Layout MakeLayoutFromMajorToMinor(
      absl::Span<const int64_t> major_to_minor);

  // {n-1, ..., 1, 0}: row major, the default of HLO.
  static Layout MakeDescendingLayout(int64_t num_dims);
  static bool HasDescendingLayout(const Layout& layout);
  // {0, 1, ..., n-1}: column major.
  static Layout MakeAscendingLayout(int64_t num_dims);
  static bool HasAscendingLayout(const Layout& layout);

  // The descending layout for arrays, and an empty one for other shapes.
  static Layout GetDefaultLayoutForShape(const Shape& shape);
  static Layout GetDefaultLayoutForRank(int64_t num_dims);
  static Layout GetDefaultLayoutForR2();
  static Layout GetDefaultLayoutForR3();
  static Layout GetDefaultLayoutForR4();
  // Sets the default layout on every array of the shape.
  static void SetToDefaultLayout(Shape* shape);
  static Shape GetWithDefaultLayout(const Shape& shape);
  static void SetToDefaultLayout(ProgramShape* program_shape);

  // InvalidArgument unless every array has a layout that fits it, or none where
  // `allow_missing_layouts`.
  static absl::Status ValidateLayoutInShape(const Shape& shape,
                                            bool allow_missing_layouts = false);
  // InvalidArgument unless `layout` fits the array `shape`, whose own layout is
  // ignored.
  static absl::Status ValidateLayoutForShape(const Layout& layout,
                                             const Shape& shape);

  static void ClearLayout(Shape* shape);
  static void ClearLayout(ProgramShape* program_shape);
  static void ClearTiles(Shape* shape);

  // True for arrays; layouts have no sparse form any more.
  static bool IsDenseArray(const Shape& shape) { return shape.IsArray(); }

  // The two monotonic orders; true for rank <= 1.
  static bool IsMonotonicWithDim0Minor(const Layout& layout);
  static bool IsMonotonicWithDim0Major(const Layout& layout);

  // True if every array of the shape has a layout.
  static bool HasLayout(const Shape& shape);
  static bool HasAnyLayout(const Shape& shape);
  static bool HasLayout(const ProgramShape& program_shape);

  // True if the layout of some array sets the bits of an element.
  static bool HasCustomElementSizeInBits(const Shape& shape);

  static bool Equal(const Layout& lhs, const Layout& rhs);

  static absl::Span<const int64_t> MinorToMajor(const Shape& shape);
  static absl::Span<const int64_t> MinorToMajor(const Layout& layout);
  // The logical dimension at a physical position, counted from the most major.
  static int64_t Major(const Layout& layout, int64_t physical_dimension_number);
  // The same, counted from the most minor.
  static int64_t Minor(const Layout& layout, int64_t physical_dimension_number);
  // Physical position (0 is most major) of each logical dimension.
  static std::vector<int64_t> MakeLogicalToPhysical(const Layout& layout);

  static void PrintHumanString(Printer* printer, const Layout& layout);
  static std::string HumanString(const Layout& layout);

  // Copies the layouts of `src` to `dst`, which must be compatible in structure
  // and ranks; InvalidArgument otherwise.
  static absl::Status CopyLayoutBetweenShapes(const Shape& src, Shape* dst);
  // Compares layouts of shapes of the same structure, array by array.
  static bool LayoutsInShapesEqual(
      const Shape& lhs, const Shape& rhs,
      std::optional<Layout::Equal> equal = std::nullopt);

  // True if the given logical dimensions are neighbors in memory, in any
  // order.
  static bool AreDimensionsConsecutive(const Layout& layout,
                                       absl::Span<const int64_t> dims);

  // The layout with one logical dimension moved to the most major (minor)
  // position; the others keep their order.
  static Layout MoveDimToMajor(const Layout& layout, int64_t dim);
  static Layout MoveDimToMinor(const Layout& layout, int64_t dim);

  // Position, in elements, of the element at `indices` in the buffer of an
  // array with tiles and splits: with splits, all pieces are laid out as large
  // as the largest of them.
  static int64_t LinearIndex(const Shape& shape,
                             absl::Span<const int64_t> indices);
  // The same without splits, tiles applied one after the other: a tile of rank
  // r cuts the r most minor dimensions d into ceil(d/t) x t.
  static int64_t LinearIndexForNestedTiling(const Shape& shape,
                                            absl::Span<const int64_t> indices);
  // Its inverse; positions in padding give indices out of bounds.
  static std::vector<int64_t> DelinearizeIndexForNestedTiling(
      const Shape& shape, int64_t linear_index);

  // The memory space of an array, the default one without layout.
  static int64_t MemorySpace(const Shape& shape);

  // True if strides, in bytes, are those of a dense row-major array. Strides of
  // dimensions of size 1 do not matter.
  static bool ByteStridesIsMajorToMinor(absl::Span<const int64_t> byte_strides,
                                        absl::Span<const int64_t> dims,
                                        PrimitiveType element_type);

  // The size of the largest piece of a dimension (all of it if not split).
  static int64_t MaxSplitSize(const Shape& shape, int64_t dim);
  // Elements, with tile padding, in the largest piece (all if not split);
  // saturates.
  static int64_t MaxElementsInPerSplit(const Shape& shape);
  // The only split of an array; nullopt if it has none.
  static std::optional<SplitConfig> GetSplitConfig(const Shape& shape);

  // True if the tiles leave an array with these sizes, given major to minor in
  // physical order, in row-major order.
  static bool IsUntiledLayout(absl::Span<const Tile> tiles,
                              absl::Span<const int64_t> shape);
};

}  // namespace xla

#endif  // XLA_LAYOUT_UTIL_H_
