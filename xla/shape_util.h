#ifndef XLA_SHAPE_UTIL_H_
#define XLA_SHAPE_UTIL_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_bitcast.h"
#include "xla/shape_index_iteration.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

using ShapeIndexView = absl::Span<const int64_t>;

// The position of an element in a nested tuple: {} is the whole shape, {1,0}
// the first element of the second element.
struct ShapeIndex : public absl::InlinedVector<int64_t, 2> {
  using InlinedVector::InlinedVector;

  ShapeIndex() = default;
  explicit ShapeIndex(ShapeIndexView view)
      : InlinedVector(view.begin(), view.end()) {}

  // O(size).
  void push_front(int64_t value) { insert(begin(), value); }
  void pop_front() { erase(begin()); }

  // `{1,0}`.
  std::string ToString() const;

  // From a field `repeated int64 shape_index` of a message.
  template <typename Field>
  static ShapeIndex FromProto(const Field& field) {
    return ShapeIndex(field.begin(), field.end());
  }
};

std::ostream& operator<<(std::ostream& out, const ShapeIndex& shape_index);

// Makes, checks, compares and transforms shapes. Sizes in bytes count the
// bounds of dynamic dimensions; numbers that do not fit saturate.
class ShapeUtil : public ShapeBitcast, public ShapeIndexIteration {
 public:
  // The type of the size of a dynamic dimension at run time.
  using DynamicSizeType = int32_t;

  struct IndexedShape {
    IndexedShape() = default;
    IndexedShape(ShapeIndex index, Shape shape)
        : index(std::move(index)), shape(std::move(shape)) {}
    ShapeIndex index;
    Shape shape;
  };

  // --- Sizes ---------------------------------------------------------------

  // Product of the sizes of the static dimensions (and, if kBoundedDynamicOk,
  // of the bounds of bounded ones), and whether it overflowed; an overflowing
  // product is the largest int64_t.
  template <bool kBoundedDynamicOk>
  static std::pair<int64_t, bool> ExtentProduct(const Shape& shape);
  static int64_t StaticExtentProduct(const Shape& shape) {
    return ExtentProduct</*kBoundedDynamicOk=*/false>(shape).first;
  }
  // Number of elements of an array; 1 for a scalar.
  static int64_t ElementsIn(const Shape& shape) {
    return ExtentProduct</*kBoundedDynamicOk=*/true>(shape).first;
  }
  // Sum over the arrays of a tuple.
  static int64_t ElementsInRecursive(const Shape& shape);
  // True if an array of the shape, or the shape itself, has this element type.
  static bool HasPrimitiveType(const Shape& shape,
                               PrimitiveType primitive_type);
  static bool IsZeroElementArray(const Shape& shape);

  // Bytes of a value: the elements of an array, the table of pointers of a
  // tuple (pointer_size must be given), 0 for a token, one pointer for an
  // opaque value.
  static int64_t ByteSizeOf(const Shape& shape, int64_t pointer_size = -1);
  // Bytes of all arrays of the shape, without tables of pointers.
  static int64_t ByteSizeOfElementsRecursive(const Shape& shape);
  static int64_t ByteSizeOfPrimitiveType(PrimitiveType primitive_type);
  static int64_t ByteSizeOfTupleIndexTable(const Shape& shape,
                                           int64_t pointer_size);
  // Bytes of the elements of an array, densely packed; respects the element
  // size of the layout, not its tiles.
  static int64_t ByteSizeOfElements(const Shape& shape);
  // Bytes of the buffer of an array, with tile and tail padding and the
  // metadata prefix; of the largest piece, if the layout splits the array.
  static int64_t ArraySize(const Shape& shape);
  // Bytes from the first to the last element of the buffer of an array: without
  // trailing padding and without the metadata prefix.
  static int64_t ArrayDataSize(const Shape& shape);
  // Bits one element takes in memory.
  static int64_t ElementSizeInBits(const Shape& shape);

  // Bytes of a serialized literal of this shape; InvalidArgument for shapes
  // with tokens, opaque values or unbounded dimensions.
  static absl::StatusOr<int64_t> SerializedSize(const Shape& shape);
  static absl::StatusOr<int64_t> SerializedSizeWithProto(
      const Shape& shape, const ShapeProto& proto);

  // --- Text ----------------------------------------------------------------

  static void PrintHumanString(xla::Printer* printer, const Shape& shape);
  static void PrintHumanStringWithLayout(xla::Printer* printer,
                                         const Shape& shape);
  static void PrintHumanString(xla::Printer* printer,
                               const ProgramShape& program_shape);
  static std::string HumanString(const Shape& shape);
  static std::string HumanStringWithLayout(const Shape& shape);
  static std::string HumanString(const ProgramShape& program_shape);

  // --- Comparisons ---------------------------------------------------------

  // Arrays with the same sizes, dynamic or not, of any element types.
  static bool SameDimensions(const Shape& lhs, const Shape& rhs);
  static bool SameRank(const Shape& lhs, const Shape& rhs);
  static bool SameElementType(const Shape& lhs, const Shape& rhs) {
    return lhs.element_type() == rhs.element_type();
  }
  // Any two floating-point types count as the same.
  static bool SameElementTypeIgnoringFpPrecision(const Shape& a,
                                                 const Shape& b);
  // The type of higher precision of two floating-point or equal types.
  static PrimitiveType HigherPrecisionElementType(const Shape& a,
                                                  const Shape& b);

  // Equal but for layouts and dynamic flags.
  static bool Compatible(const Shape& lhs, const Shape& rhs);
  static bool CompatibleIgnoringElementType(const Shape& lhs, const Shape& rhs);
  // The same tuple structure and kinds of leaves.
  static bool CompatibleKind(const Shape& lhs, const Shape& rhs,
                             bool ignore_buffer = false);
  static bool CompatibleIgnoringFpPrecision(const Shape& lhs, const Shape& rhs);

  // Equal in everything, layouts included.
  static bool Equal(const Shape& lhs, const Shape& rhs);
  static bool EqualIgnoringElementType(const Shape& lhs, const Shape& rhs);
  static bool EqualIgnoringFpPrecision(const Shape& lhs, const Shape& rhs);
  // The same tuple structure, with any leaves.
  static bool EqualStructure(const Shape& lhs, const Shape& rhs);
  // True if `expected_prefix` is equal to `shape` or, for tuples, each of its
  // elements is a prefix of the element at the same place.
  static bool IsPrefix(const Shape& expected_prefix, const Shape& shape,
                       absl::FunctionRef<bool(const Shape&, const Shape&)>
                           equal_fn = Shape::Equal());

  // True if `dynamic_shape` has the rank of `bounded_shape` and no dimension
  // larger than there; the second form also compares tuples.
  static bool DynamicArrayShapeIsCompatible(const xla::Shape& dynamic_shape,
                                            const xla::Shape& bounded_shape);
  static bool DynamicShapeIsCompatible(const xla::Shape& dynamic_shape,
                                       const xla::Shape& bounded_shape);

  // --- Properties ----------------------------------------------------------

  // Number of dimensions of size other than 1.
  static int64_t TrueNumDimensions(const Shape& array_shape);
  static bool IsScalar(const Shape& shape) {
    return shape.IsArray() && shape.dimensions().empty();
  }
  // An array whose dimensions all have size 1.
  static bool IsEffectiveScalar(const Shape& shape) {
    return shape.IsArray() && TrueNumDimensions(shape) == 0;
  }
  static bool IsScalarWithElementType(const Shape& shape,
                                      PrimitiveType element_type) {
    return IsScalar(shape) && shape.element_type() == element_type;
  }
  static DimensionVector CreateDimensionVectorFromShape(const Shape& shape);
  // The size of a dimension; -1 is the last one.
  static int64_t GetDimension(const Shape& shape, int64_t dimension_number);
  static int64_t GetDimensionNumber(const Shape& shape,
                                    int64_t dimension_number);
  // True if all dimensions before this one have size 1.
  static bool IsEffectivelyMostMajorDimension(const Shape& shape,
                                              int64_t dimension);
  static bool IsInitialized(const Shape& shape) {
    return shape.element_type() != PRIMITIVE_TYPE_INVALID;
  }
  static bool ElementIsIntegral(const Shape& shape);
  static bool ElementIsFloating(const Shape& shape);
  static bool ElementIsComplex(const Shape& shape);
  static bool ElementHasBitWidth(const Shape& shape, int bits);
  static bool ElementIsIntegralWithBits(const Shape& shape, int bits);
  static bool ElementIsSigned(const Shape& shape);
  // True if a conversion between the element types loses nothing and keeps the
  // kind of number.
  static bool ElementCanUpcast(const Shape& from, const Shape& to);
  static bool IsNestedTuple(const Shape& shape);
  static bool IsEmptyTuple(const Shape& shape);
  static bool HasDegenerateDimensions(const Shape& shape);
  static bool LastDimIsMinorMost(const Shape& shape);
  // Elements of a 1-D array that share a word because its last tile is (p,1);
  // 1 for other arrays of rank 1, InvalidArgument for other shapes.
  static absl::StatusOr<int64_t> PackedFactorFor1DInterleavedArray(
      const Shape& shape);

  // --- Construction: Make* CHECK-fails on invalid arguments, MakeValidated*
  // returns InvalidArgument. ----------------------------------------------

  static ProgramShape MakeProgramShape(std::initializer_list<Shape> parameters,
                                       Shape result);
  static Shape MakeTupleShape(absl::Span<const Shape> shapes);
  static Shape MakeTupleShape(std::vector<Shape>&& shapes);
  static Shape MakeTupleShape(std::initializer_list<Shape> shapes);
  static Shape MakeTupleShapeWithPtrs(absl::Span<const Shape* const> shapes);
  static absl::StatusOr<Shape> MakeValidatedTupleShape(
      absl::Span<const Shape> shapes);
  static absl::StatusOr<Shape> MakeValidatedTupleShapeWithPtrs(
      absl::Span<const Shape* const> shapes);
  // The shape itself if there is only one.
  static Shape MakeMaybeTupleShape(absl::Span<const Shape> shapes);
  static absl::StatusOr<Shape> MakeValidatedMaybeTupleShape(
      absl::Span<const Shape> shapes);
  static Shape MakeOpaqueShape() { return Shape(OPAQUE_TYPE); }
  static Shape MakeTokenShape() { return Shape(TOKEN); }
  static Shape MakeNil() { return Shape(TUPLE); }

  // Arrays with the descending layout.
  static Shape MakeShape(PrimitiveType element_type,
                         absl::Span<const int64_t> dimensions);
  static Shape MakeShape(PrimitiveType element_type,
                         absl::Span<const int64_t> dimensions,
                         const std::vector<bool>& dynamic_dimensions);
  static Shape MakeScalarShape(PrimitiveType element_type);
  template <typename T>
  static Shape MakeShapeWithType(absl::Span<const int64_t> dimensions) {
    return MakeShape(primitive_util::NativeToPrimitiveType<T>(), dimensions);
  }
  static absl::StatusOr<Shape> MakeValidatedScalarShape(
      PrimitiveType element_type);
  static absl::StatusOr<Shape> MakeValidatedShape(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> MakeValidatedShape(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions,
      const std::vector<bool>& dynamic_dimensions);
  template <typename T>
  static absl::StatusOr<Shape> MakeValidatedShapeWithType(
      absl::Span<const int64_t> dimensions) {
    return MakeValidatedShape(primitive_util::NativeToPrimitiveType<T>(),
                              dimensions);
  }
  static absl::StatusOr<Shape> MakeValidatedBufferShape(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> MakeValidatedBufferShape(Shape element_shape);

  static Shape MakeShapeWithDenseLayout(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions,
      absl::Span<const int64_t> minor_to_major,
      absl::Span<const Tile> tiles = {},
      int64_t tail_padding_alignment_in_elements = 1,
      int64_t element_size_in_bits = 0, int64_t memory_space = 0,
      absl::Span<const SplitConfig> split_configs = {});
  static absl::StatusOr<Shape> MakeValidatedShapeWithDenseLayout(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions,
      absl::Span<const int64_t> minor_to_major,
      absl::Span<const Tile> tiles = {},
      int64_t tail_padding_alignment_in_elements = 1,
      int64_t element_size_in_bits = 0, int64_t memory_space = 0,
      absl::Span<const SplitConfig> split_configs = {});
  static Shape MakeShapeWithDescendingLayout(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> MakeValidatedShapeWithDescendingLayout(
      PrimitiveType element_type, absl::Span<const int64_t> dimensions);
  // The same buffer seen in row-major order: logical dimensions are permuted
  // into physical order.
  static Shape MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
      const Shape& shape);
  static absl::StatusOr<Shape>
  MakeValidatedShapeWithDescendingLayoutAndSamePhysicalLayout(
      const Shape& shape);
  static absl::Status PopulateShape(PrimitiveType element_type,
                                    absl::Span<const int64_t> dimensions,
                                    Shape* shape);

  // InvalidArgument for shapes with sizes or types out of range, layouts that
  // do not fit, or 2^63 bytes or more. The first form requires layouts
  // everywhere.
  static absl::Status ValidateShape(const Shape& shape);
  static absl::Status ValidateShapeWithOptionalLayout(const Shape& shape);

  // --- Changes -------------------------------------------------------------

  // Changes every array of the shape.
  static Shape ChangeElementType(const Shape& original, PrimitiveType type);
  // Makes every dimension static, at its bound.
  static Shape MakeStaticShape(const Shape& original);
  static Shape MakeShapeWithStaticDimensions(const Shape& shape) {
    return MakeStaticShape(shape);
  }
  static void AppendShapeToTuple(const Shape& shape, Shape* tuple_shape);
  static void UpdateTupleShape(const Shape& shape, int64_t index,
                               Shape* tuple_shape);
  static void UpdateDynamicDimension(Shape* shape, ShapeIndexView index,
                                     int64_t dim, bool is_dynamic);
  // Adds a last (first) logical dimension, physically the most major.
  static void AppendMajorDimension(int bound, Shape* shape);
  static Shape PrependMajorDimension(int64_t bound, Shape shape);
  // Adds a last logical dimension, physically the most minor.
  static void AppendMinorDimension(int bound, Shape* shape);
  // Inserts logical dimensions; in memory they come right before (more major
  // than) the dimension they push back, or last of all.
  static Shape InsertDimensionAtIndex(Shape shape, int64_t dim_idx,
                                      int64_t bound);
  static Shape InsertDimensionsAtIndex(Shape shape, int64_t dim_idx,
                                       absl::Span<const int64_t> bounds);
  static void CopyDynamicDimensions(Shape* to, const Shape& from);
  // The shape with one dimension made the most major of its layout; the others
  // keep their order, and all dimensions their numbers. Tuples element-wise.
  static Shape MoveDimToMajor(const Shape& shape, int64_t dim);
  static Shape ComplexComponentShape(const Shape& complex_shape);
  // Removes tiles, memory spaces, element sizes, paddings and physical shapes.
  static Shape DeviceShapeToHostShape(Shape s);
  static bool DeviceShapeIsHostShape(const Shape& shape);
  // Sets the element size of each array's layout to the bits of its type if it
  // is below a byte and they are packed, and to 0 (natural) otherwise.
  static void UpdateElementSizeInBits(Shape* s, bool pack_subbyte_types);

  // Result dimension i is the dimension permutation[i] of `shape`; the layout,
  // if there is one, follows so that memory does not change.
  static Shape PermuteDimensions(absl::Span<const int64_t> permutation,
                                 const Shape& shape);
  // The same; the result has the descending layout if `shape` has one.
  static Shape PermuteDimensionsIgnoringLayout(
      absl::Span<const int64_t> permutation, const Shape& shape);
  static Shape ReorderLogicalDimensions(const Shape& shape,
                                        absl::Span<const int64_t> permutation) {
    return PermuteDimensions(permutation, shape);
  }
  // Removes dimensions of size 1.
  static Shape DropDegenerateDimensions(const Shape& shape);
  static Shape DeleteDimension(int64_t dim_to_delete, Shape shape);
  static Shape DeleteDimensions(absl::Span<int64_t const> dims_to_delete,
                                Shape shape);
  // Keeps the dimensions for which `p` is true.
  static Shape FilterDimensions(absl::FunctionRef<bool(int64_t)> p,
                                Shape shape);

  // --- Tuples --------------------------------------------------------------

  static int64_t TupleElementCount(const Shape& shape);
  static const Shape& GetTupleElementShape(const Shape& shape, int64_t index);
  // Number of subshapes, the shape itself included.
  static int64_t SubshapeCount(const Shape& shape);
  // The elements [start, limit) of a tuple.
  static Shape SliceTuple(const Shape& tuple, int64_t start, int64_t limit);
  static bool IndexIsValid(const Shape& shape, ShapeIndexView index);
  static const Shape& GetSubshape(const Shape& shape, ShapeIndexView index);
  static absl::StatusOr<const Shape*> TryGetSubshape(const Shape& shape,
                                                     ShapeIndexView index);
  static Shape* GetMutableSubshape(Shape* shape, ShapeIndexView index);
  // Leaves are subshapes that are not tuples.
  static bool IsLeafIndex(const Shape& shape, const ShapeIndex& index);
  static int64_t GetLeafCount(const Shape& shape);
  static int64_t GetLeafCountTuple(const Shape& shape);
  static std::vector<IndexedShape> GetLeafShapes(const Shape& shape);
  // All leaves, in order.
  static void FlattenTupleShape(const Shape& shape,
                                std::vector<const Shape*>& flattened);
  static std::vector<const Shape*> FlattenTupleShape(const Shape& shape);

  // Calls fn(subshape, index) for the shape and all its elements, before (or,
  // PostOrder, after) their elements. fn of the WithStatus forms returns a
  // status, and the first error ends the walk.
  template <typename Fn>
  static void ForEachSubshape(const Shape& shape, Fn&& fn) {
    ForEachSubshapeWithStatus(shape, AlwaysOk<const Shape&>(fn)).IgnoreError();
  }
  template <typename Fn>
  static void ForEachMutableSubshape(Shape* shape, Fn&& fn) {
    ForEachMutableSubshapeWithStatus(shape, AlwaysOk<Shape*>(fn)).IgnoreError();
  }
  template <typename Fn>
  static absl::Status ForEachLeafShapeWithStatus(const Shape& shape, Fn&& fn) {
    return ForEachSubshapeWithStatus(
        shape, [&](const Shape& subshape, const ShapeIndex& index) {
          return subshape.IsTuple() ? absl::OkStatus() : fn(subshape, index);
        });
  }
  template <typename Fn>
  static absl::Status ForEachMutableLeafShapeWithStatus(Shape* shape, Fn&& fn) {
    return ForEachMutableSubshapeWithStatus(
        shape, [&](Shape* subshape, const ShapeIndex& index) {
          return subshape->IsTuple() ? absl::OkStatus() : fn(subshape, index);
        });
  }
  template <typename Fn>
  static void ForEachLeafShape(const Shape& shape, Fn&& fn) {
    ForEachLeafShapeWithStatus(shape, AlwaysOk<const Shape&>(fn)).IgnoreError();
  }
  template <typename Fn>
  static void ForEachMutableLeafShape(Shape* shape, Fn&& fn) {
    ForEachMutableLeafShapeWithStatus(shape, AlwaysOk<Shape*>(fn))
        .IgnoreError();
  }
  template <typename Fn>
  static absl::Status ForEachSubshapeWithStatus(const Shape& shape, Fn&& fn) {
    ShapeIndex index;
    return Walk</*kPostOrder=*/false>(
        &shape, &index,
        [&](const Shape* s, const ShapeIndex& i) { return fn(*s, i); });
  }
  template <typename Fn>
  static absl::Status ForEachMutableSubshapeWithStatus(Shape* shape, Fn&& fn) {
    ShapeIndex index;
    return Walk</*kPostOrder=*/false>(shape, &index, fn);
  }
  template <typename Fn>
  static void ForEachSubshapePostOrder(const Shape& shape, Fn&& fn) {
    ForEachSubshapePostOrderWithStatus(shape, AlwaysOk<const Shape&>(fn))
        .IgnoreError();
  }
  template <typename Fn>
  static void ForEachMutableSubshapePostOrder(Shape* shape, Fn&& fn) {
    ForEachMutableSubshapePostOrderWithStatus(shape, AlwaysOk<Shape*>(fn))
        .IgnoreError();
  }
  template <typename Fn>
  static absl::Status ForEachSubshapePostOrderWithStatus(const Shape& shape,
                                                         Fn&& fn) {
    ShapeIndex index;
    return Walk</*kPostOrder=*/true>(
        &shape, &index,
        [&](const Shape* s, const ShapeIndex& i) { return fn(*s, i); });
  }
  template <typename Fn>
  static absl::Status ForEachMutableSubshapePostOrderWithStatus(Shape* shape,
                                                                Fn&& fn) {
    ShapeIndex index;
    return Walk</*kPostOrder=*/true>(shape, &index, fn);
  }

 private:
  template <typename S, typename Fn>
  static auto AlwaysOk(Fn& fn) {
    return [&fn](S shape, const ShapeIndex& index) {
      fn(shape, index);
      return absl::OkStatus();
    };
  }

  // S is Shape or const Shape.
  template <bool kPostOrder, typename S, typename Fn>
  static absl::Status Walk(S* shape, ShapeIndex* index, Fn&& fn) {
    const ShapeIndex& const_index = *index;
    if constexpr (!kPostOrder) {
      if (absl::Status status = fn(shape, const_index); !status.ok()) {
        return status;
      }
    }
    for (int64_t i = 0; i < shape->tuple_shapes_size(); ++i) {
      S* element;
      if constexpr (std::is_const_v<S>) {
        element = &shape->tuple_shapes(i);
      } else {
        element = shape->mutable_tuple_shapes(i);
      }
      index->push_back(i);
      absl::Status status = Walk<kPostOrder>(element, index, fn);
      if (!status.ok()) return status;
      index->pop_back();
    }
    if constexpr (kPostOrder) return fn(shape, const_index);
    return absl::OkStatus();
  }
};

template <bool kBoundedDynamicOk>
std::pair<int64_t, bool> ShapeUtil::ExtentProduct(const Shape& shape) {
  absl::Span<const int64_t> dims = shape.dimensions();
  absl::Span<const bool> dynamic = shape.dynamic_dimensions();
  int64_t product = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Shape::kUnboundedSize) continue;
    if (!kBoundedDynamicOk && dynamic[i]) continue;
    if (dims[i] == 0) return {0, false};
    overflow |= __builtin_mul_overflow(product, dims[i], &product);
  }
  if (overflow) return {std::numeric_limits<int64_t>::max(), true};
  return {product, false};
}

}  // namespace xla

#endif  // XLA_SHAPE_UTIL_H_
