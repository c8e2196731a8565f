#include "xla/layout_util.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

namespace {

// Calls fn(array) for each array of a shape that may be a tuple, until one
// call returns false; returns whether none did. S is Shape or const Shape.
template <typename S, typename Fn>
bool AllArrays(S* shape, const Fn& fn) {
  if (!shape->IsTuple()) return !shape->IsArray() || fn(shape);
  for (int i = 0; i < shape->tuple_shapes_size(); ++i) {
    S* element;
    if constexpr (std::is_const_v<S>) {
      element = &shape->tuple_shapes(i);
    } else {
      element = shape->mutable_tuple_shapes(i);
    }
    if (!AllArrays(element, fn)) return false;
  }
  return true;
}

void SetDescending(Layout* layout, int64_t num_dims) {
  DimensionVector* order = layout->mutable_minor_to_major();
  order->resize(num_dims);
  for (int64_t i = 0; i < num_dims; ++i) (*order)[i] = num_dims - 1 - i;
}

}  // namespace

// --- Construction ------------------------------------------------------------

Layout LayoutUtil::MakeLayout(absl::Span<const int64_t> minor_to_major,
                              absl::Span<const Tile> tiles,
                              int64_t tail_padding_alignment_in_elements,
                              PrimitiveType index_primitive_type,
                              PrimitiveType pointer_primitive_type,
                              int64_t element_size_in_bits,
                              int64_t memory_space,
                              absl::Span<const SplitConfig> split_configs,
                              std::optional<Shape> physical_shape,
                              int64_t dynamic_shape_metadata_prefix_bytes) {
  return Layout(minor_to_major, tiles, index_primitive_type,
                pointer_primitive_type, tail_padding_alignment_in_elements,
                element_size_in_bits, memory_space, split_configs,
                physical_shape.has_value()
                    ? std::make_unique<Shape>(*std::move(physical_shape))
                    : nullptr,
                dynamic_shape_metadata_prefix_bytes);
}

Layout LayoutUtil::MakeLayoutFromMajorToMinor(
    absl::Span<const int64_t> major_to_minor) {
  Layout layout;
  layout.mutable_minor_to_major()->assign(major_to_minor.rbegin(),
                                          major_to_minor.rend());
  return layout;
}

Layout LayoutUtil::MakeDescendingLayout(int64_t num_dims) {
  Layout layout;
  SetDescending(&layout, num_dims);
  return layout;
}

bool LayoutUtil::HasDescendingLayout(const Layout& layout) {
  return IsMonotonicWithDim0Major(layout);
}

Layout LayoutUtil::MakeAscendingLayout(int64_t num_dims) {
  Layout layout;
  layout.mutable_minor_to_major()->resize(num_dims);
  absl::c_iota(*layout.mutable_minor_to_major(), 0);
  return layout;
}

bool LayoutUtil::HasAscendingLayout(const Layout& layout) {
  return IsMonotonicWithDim0Minor(layout);
}

Layout LayoutUtil::GetDefaultLayoutForShape(const Shape& shape) {
  return MakeDescendingLayout(shape.dimensions_size());
}

Layout LayoutUtil::GetDefaultLayoutForRank(int64_t num_dims) {
  return MakeDescendingLayout(num_dims);
}

Layout LayoutUtil::GetDefaultLayoutForR2() { return MakeDescendingLayout(2); }
Layout LayoutUtil::GetDefaultLayoutForR3() { return MakeDescendingLayout(3); }
Layout LayoutUtil::GetDefaultLayoutForR4() { return MakeDescendingLayout(4); }

void LayoutUtil::SetToDefaultLayout(Shape* shape) {
  AllArrays(shape, [](Shape* array) {
    Layout* layout = array->mutable_layout();
    layout->Clear();
    SetDescending(layout, array->dimensions_size());
    return true;
  });
}

Shape LayoutUtil::GetWithDefaultLayout(const Shape& shape) {
  Shape copy = shape;
  SetToDefaultLayout(&copy);
  return copy;
}

void LayoutUtil::SetToDefaultLayout(ProgramShape* program_shape) {
  for (Shape& parameter : *program_shape->mutable_parameters()) {
    SetToDefaultLayout(&parameter);
  }
  SetToDefaultLayout(program_shape->mutable_result());
}

// --- Validation --------------------------------------------------------------

namespace {

absl::Status ValidateMinorToMajor(const Layout& layout, const Shape& shape) {
  const int64_t rank = shape.dimensions_size();
  if (layout.minor_to_major_size() != rank) {
    return InvalidArgument(
        "layout minor_to_major field contains %d elements, but shape has %d "
        "dimensions: {%s}; shape: %s",
        layout.minor_to_major_size(), rank,
        absl::StrJoin(layout.minor_to_major(), ", "), shape.ToString());
  }
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t dim : layout.minor_to_major()) {
    if (dim < 0 || dim >= rank) {
      return InvalidArgument(
          "layout minor_to_major field has out-of-bounds value: %s",
          LayoutUtil::HumanString(layout));
    }
    if (seen[dim]) {
      return InvalidArgument(
          "layout minor_to_major field has duplicate values: %s",
          LayoutUtil::HumanString(layout));
    }
    seen[dim] = true;
  }
  return absl::OkStatus();
}

absl::Status ValidateTiles(const Layout& layout) {
  for (const Tile& tile : layout.tiles()) {
    if (tile.dimensions().empty()) {
      return InvalidArgument(
          "layout has invalid tile: a tile has no "
          "dimensions: %s",
          LayoutUtil::HumanString(layout));
    }
    for (size_t i = 0; i < tile.dimensions().size(); ++i) {
      const int64_t size = tile.dimension(i);
      const bool combines =
          size == Tile::kCombineDimension && i + 1 < tile.dimensions().size();
      if (size <= 0 && !combines) {
        return InvalidArgument(
            "layout has invalid tile: tile sizes are positive, and only "
            "dimensions that have a next one are combined with it: %s",
            LayoutUtil::HumanString(layout));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSplits(const Layout& layout, const Shape& shape) {
  for (const SplitConfig& split : layout.split_configs()) {
    if (split.dimension() < 0 || split.dimension() >= shape.dimensions_size()) {
      return InvalidArgument("layout splits dimension %d of a shape with %d",
                             split.dimension(), shape.dimensions_size());
    }
    const int64_t dim = LayoutUtil::Major(layout, split.dimension());
    int64_t previous = 0;
    for (int64_t index : split.split_indices()) {
      if (index <= previous || index >= shape.dimensions(dim)) {
        return InvalidArgument(
            "layout split indices must increase and lie inside dimension %d of "
            "size %d: %s",
            dim, shape.dimensions(dim), LayoutUtil::HumanString(layout));
      }
      previous = index;
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateRest(const Layout& layout, const Shape& shape) {
  for (PrimitiveType type :
       {layout.index_primitive_type(), layout.pointer_primitive_type()}) {
    if (type != PRIMITIVE_TYPE_INVALID &&
        !primitive_util::IsUnsignedIntegralType(type)) {
      return InvalidArgument(
          "layout index and pointer types are unsigned integers: %s",
          LayoutUtil::HumanString(layout));
    }
  }
  if (layout.has_physical_shape()) {
    return InvalidArgument(
        "layout has a physical_shape, but the array is not sparse: %s",
        LayoutUtil::HumanString(layout));
  }
  if (layout.element_size_in_bits() < 0) {
    return InvalidArgument("layout element_size_in_bits field is negative: %d",
                           layout.element_size_in_bits());
  }
  if (layout.tail_padding_alignment_in_elements() < 1) {
    return InvalidArgument(
        "layout tail_padding_alignment_in_elements field is not positive: %d",
        layout.tail_padding_alignment_in_elements());
  }
  if (layout.memory_space() < 0) {
    return InvalidArgument("layout memory_space field is negative: %d",
                           layout.memory_space());
  }
  if (layout.dynamic_shape_metadata_prefix_bytes() < 0) {
    return InvalidArgument(
        "layout dynamic_shape_metadata_prefix_bytes field is negative: %d",
        layout.dynamic_shape_metadata_prefix_bytes());
  }
  TF_RETURN_IF_ERROR(ValidateTiles(layout));
  return ValidateSplits(layout, shape);
}

}  // namespace

absl::Status LayoutUtil::ValidateLayoutInShape(const Shape& shape,
                                               bool allow_missing_layouts) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes()) {
      TF_RETURN_IF_ERROR(ValidateLayoutInShape(element, allow_missing_layouts));
    }
    return absl::OkStatus();
  }
  if (!shape.IsArray()) return absl::OkStatus();
  if (!shape.has_layout()) {
    if (allow_missing_layouts) return absl::OkStatus();
    return InvalidArgument("shape %s does not have a layout", shape.ToString());
  }
  return ValidateLayoutForShape(shape.layout(), shape);
}

absl::Status LayoutUtil::ValidateLayoutForShape(const Layout& layout,
                                                const Shape& shape) {
  if (shape.IsTuple()) {
    return InvalidArgument("a single Layout is not valid for tuple shapes");
  }
  if (!shape.IsArray()) {
    if (layout.minor_to_major_size() == 0) return absl::OkStatus();
    return InvalidArgument(
        "shape of primitive type %s should not have a non-trivial layout",
        PrimitiveType_Name(shape.element_type()));
  }
  TF_RETURN_IF_ERROR(ValidateMinorToMajor(layout, shape));
  return layout.is_plain() ? absl::OkStatus() : ValidateRest(layout, shape);
}

// --- Removal -----------------------------------------------------------------

void LayoutUtil::ClearLayout(Shape* shape) {
  AllArrays(shape, [](Shape* array) {
    array->clear_layout();
    return true;
  });
}

void LayoutUtil::ClearLayout(ProgramShape* program_shape) {
  for (Shape& parameter : *program_shape->mutable_parameters()) {
    ClearLayout(&parameter);
  }
  ClearLayout(program_shape->mutable_result());
}

void LayoutUtil::ClearTiles(Shape* shape) {
  AllArrays(shape, [](Shape* array) {
    if (array->has_layout()) array->mutable_layout()->clear_tiles();
    return true;
  });
}

// --- Questions ---------------------------------------------------------------

bool LayoutUtil::IsMonotonicWithDim0Minor(const Layout& layout) {
  return absl::c_is_sorted(layout.minor_to_major());
}

bool LayoutUtil::IsMonotonicWithDim0Major(const Layout& layout) {
  return absl::c_is_sorted(layout.minor_to_major(), std::greater<int64_t>());
}

bool LayoutUtil::HasLayout(const Shape& shape) {
  return AllArrays(&shape, [](const Shape* a) { return a->has_layout(); });
}

bool LayoutUtil::HasAnyLayout(const Shape& shape) {
  return !AllArrays(&shape, [](const Shape* a) { return !a->has_layout(); });
}

bool LayoutUtil::HasLayout(const ProgramShape& program_shape) {
  return HasLayout(program_shape.result()) &&
         absl::c_all_of(program_shape.parameters(),
                        [](const Shape& s) { return HasLayout(s); });
}

bool LayoutUtil::HasCustomElementSizeInBits(const Shape& shape) {
  return !AllArrays(&shape, [](const Shape* a) {
    return !a->has_layout() || a->layout().element_size_in_bits() == 0;
  });
}

bool LayoutUtil::Equal(const Layout& lhs, const Layout& rhs) {
  return lhs == rhs;
}

absl::Span<const int64_t> LayoutUtil::MinorToMajor(const Shape& shape) {
  return shape.layout().minor_to_major();
}

absl::Span<const int64_t> LayoutUtil::MinorToMajor(const Layout& layout) {
  return layout.minor_to_major();
}

int64_t LayoutUtil::Major(const Layout& layout,
                          int64_t physical_dimension_number) {
  const int64_t rank = layout.minor_to_major_size();
  CHECK(physical_dimension_number >= 0 && physical_dimension_number < rank);
  return layout.minor_to_major(rank - 1 - physical_dimension_number);
}

int64_t LayoutUtil::Minor(const Layout& layout,
                          int64_t physical_dimension_number) {
  CHECK(physical_dimension_number >= 0 &&
        physical_dimension_number < layout.minor_to_major_size());
  return layout.minor_to_major(physical_dimension_number);
}

std::vector<int64_t> LayoutUtil::MakeLogicalToPhysical(const Layout& layout) {
  const int64_t rank = layout.minor_to_major_size();
  std::vector<int64_t> logical_to_physical(rank);
  for (int64_t i = 0; i < rank; ++i) {
    logical_to_physical[Major(layout, i)] = i;
  }
  return logical_to_physical;
}

void LayoutUtil::PrintHumanString(Printer* printer, const Layout& layout) {
  layout.Print(printer);
}

std::string LayoutUtil::HumanString(const Layout& layout) {
  return layout.ToString();
}

int64_t LayoutUtil::MemorySpace(const Shape& shape) {
  return shape.has_layout() ? shape.layout().memory_space()
                            : Layout::kDefaultMemorySpace;
}

bool LayoutUtil::LayoutsInShapesEqual(const Shape& lhs, const Shape& rhs,
                                      std::optional<Layout::Equal> equal) {
  if (lhs.IsTuple() || rhs.IsTuple()) {
    return lhs.IsTuple() && rhs.IsTuple() &&
           absl::c_equal(lhs.tuple_shapes(), rhs.tuple_shapes(),
                         [&](const Shape& l, const Shape& r) {
                           return LayoutsInShapesEqual(l, r, equal);
                         });
  }
  if (!lhs.IsArray() || !rhs.IsArray()) return lhs.IsArray() == rhs.IsArray();
  if (lhs.dimensions_size() != rhs.dimensions_size() ||
      lhs.has_layout() != rhs.has_layout()) {
    return false;
  }
  if (!lhs.has_layout()) return true;
  return equal.has_value() ? (*equal)(lhs.layout(), rhs.layout())
                           : lhs.layout() == rhs.layout();
}

bool LayoutUtil::AreDimensionsConsecutive(const Layout& layout,
                                          absl::Span<const int64_t> dims) {
  if (dims.empty()) return true;
  absl::InlinedVector<int64_t, 8> positions;
  for (int64_t dim : dims) {
    positions.push_back(PositionInContainer(layout.minor_to_major(), dim));
  }
  absl::c_sort(positions);
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] != positions[i - 1] + 1) return false;
  }
  return true;
}

bool LayoutUtil::ByteStridesIsMajorToMinor(
    absl::Span<const int64_t> byte_strides, absl::Span<const int64_t> dims,
    PrimitiveType element_type) {
  CHECK_EQ(dims.size(), byte_strides.size());
  int64_t stride = primitive_util::ByteWidth(element_type);
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    if (dims[i] > 1 && byte_strides[i] != stride) return false;
    if (__builtin_mul_overflow(stride, dims[i], &stride)) return false;
  }
  return true;
}

// --- Changes -----------------------------------------------------------------

absl::Status LayoutUtil::CopyLayoutBetweenShapes(const Shape& src, Shape* dst) {
  if (src.IsTuple() || dst->IsTuple()) {
    if (!src.IsTuple() || !dst->IsTuple() ||
        src.tuple_shapes_size() != dst->tuple_shapes_size()) {
      return InvalidArgument(
          "cannot copy layout from shape: shape structure differs: %s to %s",
          src.ToString(), dst->ToString());
    }
    for (int i = 0; i < src.tuple_shapes_size(); ++i) {
      TF_RETURN_IF_ERROR(CopyLayoutBetweenShapes(src.tuple_shapes(i),
                                                 dst->mutable_tuple_shapes(i)));
    }
    return absl::OkStatus();
  }
  if (!dst->IsArray()) return absl::OkStatus();
  if (!src.IsArray() || !src.has_layout()) {
    dst->clear_layout();
    return absl::OkStatus();
  }
  if (src.dimensions_size() != dst->dimensions_size()) {
    return InvalidArgument(
        "cannot copy layout from shape: numbers of dimensions differ: %s to %s",
        src.ToString(/*print_layout=*/true), dst->ToString());
  }
  TF_RETURN_IF_ERROR(ValidateLayoutForShape(src.layout(), *dst));
  *dst->mutable_layout() = src.layout();
  return absl::OkStatus();
}

Layout LayoutUtil::MoveDimToMajor(const Layout& layout, int64_t dim) {
  Layout result = layout;
  DimensionVector* order = result.mutable_minor_to_major();
  order->erase(absl::c_find(*order, dim));
  order->push_back(dim);
  return result;
}

Layout LayoutUtil::MoveDimToMinor(const Layout& layout, int64_t dim) {
  Layout result = layout;
  DimensionVector* order = result.mutable_minor_to_major();
  order->erase(absl::c_find(*order, dim));
  order->insert(order->begin(), dim);
  return result;
}

}  // namespace xla
