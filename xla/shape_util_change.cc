// Shapes made from other shapes.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

namespace {

// `shape` with permuted logical dimensions and without layout.
Shape PermuteSizes(absl::Span<const int64_t> permutation, const Shape& shape) {
  CHECK(shape.IsArray());
  CHECK_EQ(permutation.size(), shape.dimensions_size());
  CHECK(IsPermutation(permutation));
  Shape result(shape.element_type());
  for (int64_t dim : permutation) {
    result.add_dimensions(shape.dimensions(dim),
                          shape.is_dynamic_dimension(dim));
  }
  return result;
}

}  // namespace

Shape ShapeUtil::ChangeElementType(const Shape& original, PrimitiveType type) {
  Shape result = original;
  ForEachMutableLeafShape(&result, [&](Shape* leaf, const ShapeIndex&) {
    if (!leaf->IsArray()) return;
    leaf->set_element_type(type);
    if (leaf->has_layout() && leaf->layout().element_size_in_bits() != 0 &&
        !primitive_util::IsSubByteNonPredType(type)) {
      leaf->mutable_layout()->set_element_size_in_bits(0);
    }
  });
  return result;
}

Shape ShapeUtil::MakeStaticShape(const Shape& original) {
  Shape result = original;
  result.clear_dynamic_dimensions();
  return result;
}

void ShapeUtil::AppendShapeToTuple(const Shape& shape, Shape* tuple_shape) {
  Shape copy = shape;  // It may be an element of the tuple.
  *tuple_shape->add_tuple_shapes() = std::move(copy);
}

void ShapeUtil::UpdateTupleShape(const Shape& shape, int64_t index,
                                 Shape* tuple_shape) {
  CHECK(index >= 0 && index < tuple_shape->tuple_shapes_size());
  *tuple_shape->mutable_tuple_shapes(index) = shape;
}

void ShapeUtil::UpdateDynamicDimension(Shape* shape, ShapeIndexView index,
                                       int64_t dim, bool is_dynamic) {
  GetMutableSubshape(shape, index)->set_dynamic_dimension(dim, is_dynamic);
}

// --- More dimensions ---------------------------------------------------------

void ShapeUtil::AppendMajorDimension(int bound, Shape* shape) {
  if (shape->has_layout()) {
    shape->mutable_layout()->add_minor_to_major(shape->dimensions_size());
  }
  shape->add_dimensions(bound);
}

void ShapeUtil::AppendMinorDimension(int bound, Shape* shape) {
  if (shape->has_layout()) {
    DimensionVector* order = shape->mutable_layout()->mutable_minor_to_major();
    order->insert(order->begin(), shape->dimensions_size());
  }
  shape->add_dimensions(bound);
}

Shape ShapeUtil::PrependMajorDimension(int64_t bound, Shape shape) {
  const int64_t rank = shape.dimensions_size();
  const bool has_layout = shape.has_layout();
  shape = InsertDimensionAtIndex(std::move(shape), 0, bound);
  if (has_layout) {
    DimensionVector* order = shape.mutable_layout()->mutable_minor_to_major();
    order->erase(absl::c_find(*order, 0));
    order->push_back(0);
  }
  CHECK_EQ(shape.dimensions_size(), rank + 1);
  return shape;
}

// In the layout the new dimension is next to the one that it is put in front
// of, on its major side; behind all others it is the most minor one.
Shape ShapeUtil::InsertDimensionAtIndex(Shape shape, int64_t dim_idx,
                                        int64_t bound) {
  const int64_t rank = shape.dimensions_size();
  CHECK(dim_idx >= 0 && dim_idx <= rank);
  if (shape.has_layout()) {
    Layout* layout = shape.mutable_layout();
    DimensionVector order;  // Most minor first.
    if (dim_idx == rank) order.push_back(rank);
    for (int64_t dim : layout->minor_to_major()) {
      order.push_back(dim < dim_idx ? dim : dim + 1);
      if (dim == dim_idx) order.push_back(dim_idx);
    }
    *layout->mutable_minor_to_major() = std::move(order);
    for (int i = 0; i < layout->split_configs_size(); ++i) {
      SplitConfig* split = layout->mutable_split_configs(i);
      if (split->dimension() >= dim_idx) {
        split->set_dimension(split->dimension() + 1);
      }
    }
  }
  shape.add_dimensions(bound, bound == Shape::kUnboundedSize);
  for (int64_t dim = rank; dim > dim_idx; --dim) {
    shape.set_dimensions(dim, shape.dimensions(dim - 1),
                         shape.is_dynamic_dimension(dim - 1));
  }
  shape.set_dimensions(dim_idx, bound, bound == Shape::kUnboundedSize);
  return shape;
}

Shape ShapeUtil::InsertDimensionsAtIndex(Shape shape, int64_t dim_idx,
                                         absl::Span<const int64_t> bounds) {
  for (auto bound = bounds.rbegin(); bound != bounds.rend(); ++bound) {
    shape = InsertDimensionAtIndex(std::move(shape), dim_idx, *bound);
  }
  return shape;
}

void ShapeUtil::CopyDynamicDimensions(Shape* to, const Shape& from) {
  CHECK_EQ(to->dimensions_size(), from.dimensions_size());
  for (int i = 0; i < from.dimensions_size(); ++i) {
    to->set_dynamic_dimension(i, from.is_dynamic_dimension(i));
  }
}

// --- Other orders ------------------------------------------------------------

Shape ShapeUtil::MoveDimToMajor(const Shape& shape, int64_t dim) {
  Shape result = shape;
  if (shape.IsTuple()) {
    for (Shape& element : *result.mutable_tuple_shapes()) {
      element = MoveDimToMajor(element, dim);
    }
  } else if (shape.has_layout() && dim < shape.dimensions_size()) {
    *result.mutable_layout() = LayoutUtil::MoveDimToMajor(shape.layout(), dim);
  }
  return result;
}

Shape ShapeUtil::PermuteDimensions(absl::Span<const int64_t> permutation,
                                   const Shape& shape) {
  Shape result = PermuteSizes(permutation, shape);
  if (!shape.has_layout()) return result;
  // Where each dimension of `shape` went.
  DimensionVector moved(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) moved[permutation[i]] = i;
  Layout* layout = result.mutable_layout();
  *layout = shape.layout();
  for (int64_t& dim : *layout->mutable_minor_to_major()) dim = moved[dim];
  return result;
}

Shape ShapeUtil::PermuteDimensionsIgnoringLayout(
    absl::Span<const int64_t> permutation, const Shape& shape) {
  Shape result = PermuteSizes(permutation, shape);
  if (shape.has_layout()) LayoutUtil::SetToDefaultLayout(&result);
  return result;
}

// --- Fewer dimensions --------------------------------------------------------

Shape ShapeUtil::DropDegenerateDimensions(const Shape& shape) {
  return FilterDimensions(
      [&](int64_t dim) { return shape.dimensions(dim) != 1; }, shape);
}

Shape ShapeUtil::DeleteDimension(int64_t dim_to_delete, Shape shape) {
  shape.DeleteDimension(dim_to_delete);
  return shape;
}

Shape ShapeUtil::DeleteDimensions(absl::Span<int64_t const> dims_to_delete,
                                  Shape shape) {
  shape.DeleteDimensions(dims_to_delete);
  return shape;
}

Shape ShapeUtil::FilterDimensions(absl::FunctionRef<bool(int64_t)> p,
                                  Shape shape) {
  CHECK(shape.IsArray());
  DimensionVector dims_to_delete;
  for (int64_t dim = 0; dim < shape.dimensions_size(); ++dim) {
    if (!p(dim)) dims_to_delete.push_back(dim);
  }
  shape.DeleteDimensions(dims_to_delete);
  return shape;
}

// --- Devices and hosts -------------------------------------------------------

Shape ShapeUtil::ComplexComponentShape(const Shape& complex_shape) {
  CHECK(ElementIsComplex(complex_shape)) << complex_shape;
  return ChangeElementType(complex_shape, primitive_util::ComplexComponentType(
                                              complex_shape.element_type()));
}

Shape ShapeUtil::DeviceShapeToHostShape(Shape s) {
  ForEachMutableLeafShape(&s, [](Shape* leaf, const ShapeIndex&) {
    if (!leaf->has_layout() || leaf->layout().is_plain()) return;
    Layout* layout = leaf->mutable_layout();
    *layout = Layout(DimensionVector(layout->minor_to_major().begin(),
                                     layout->minor_to_major().end()));
  });
  return s;
}

bool ShapeUtil::DeviceShapeIsHostShape(const Shape& shape) {
  return ForEachLeafShapeWithStatus(shape,
                                    [](const Shape& leaf, const ShapeIndex&) {
                                      return leaf.has_layout() &&
                                                     !leaf.layout().is_plain()
                                                 ? absl::CancelledError()
                                                 : absl::OkStatus();
                                    })
      .ok();
}

void ShapeUtil::UpdateElementSizeInBits(Shape* s, bool pack_subbyte_types) {
  ForEachMutableLeafShape(s, [&](Shape* leaf, const ShapeIndex&) {
    if (!leaf->has_layout()) return;
    const PrimitiveType type = leaf->element_type();
    const bool packs =
        pack_subbyte_types && primitive_util::IsSubByteNonPredType(type);
    leaf->mutable_layout()->set_element_size_in_bits(
        packs ? primitive_util::BitWidth(type) : 0);
  });
}

}  // namespace xla
