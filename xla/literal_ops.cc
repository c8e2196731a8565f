// New literals out of existing ones, and copies between literals: everything
// that moves elements without looking at them.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"

namespace xla {
namespace {

using ArrayValueState = LiteralPiece::ArrayValueState;

int64_t ElementBytes(const Shape& shape) {
  return ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
}

// Copies a tree; the structures must be compatible.
absl::Status CopyTree(const LiteralPiece& src, LiteralPiece& dest,
                      bool only_dynamic_bound) {
  if (dest.subshape().IsArray()) {
    return dest.CopyFrom(src, only_dynamic_bound);
  }
  for (int64_t i = 0; i < dest.children_size(); ++i) {
    TF_RETURN_IF_ERROR(
        CopyTree(src.child(i), dest.child(i), only_dynamic_bound));
  }
  return absl::OkStatus();
}

bool IsInBox(absl::Span<const int64_t> base, absl::Span<const int64_t> size,
             absl::Span<const int64_t> bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (base[i] < 0 || size[i] < 0 || size[i] > bounds[i] ||
        base[i] > bounds[i] - size[i]) {
      return false;
    }
  }
  return true;
}

int64_t Dot(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Shape ArrayShape(PrimitiveType type, absl::Span<const int64_t> dims,
                 absl::Span<const int64_t> minor_to_major) {
  return ShapeUtil::MakeShapeWithDenseLayout(type, dims, minor_to_major);
}

// The state of a result whose operand has no elements to compute with.
ArrayValueState StateOf(const LiteralPiece& piece) {
  return piece.get_array_value_state();
}

}  // namespace

// ---- Copies ----------------------------------------------------------------

void MutableLiteralBase::SetDynamicSize(int64_t dim_index,
                                        const ShapeIndex& shape_index,
                                        DynamicSizeType size) {
  if (!piece(shape_index).subshape().is_dynamic_dimension(dim_index)) {
    // The shape may move, and with it what the nodes point at.
    Shape* subshape =
        ShapeUtil::GetMutableSubshape(mutable_shape_do_not_use(), shape_index);
    const bool has_room = subshape->is_dynamic();
    subshape->set_dynamic_dimension(static_cast<int>(dim_index), true);
    if (!has_room) piece(shape_index).MakeRoomForDynamicSizes();
  }
  piece(shape_index).SetDynamicSize(dim_index, size);
}

absl::Status MutableLiteralBase::CopyFrom(const LiteralSlice& src_literal,
                                          const ShapeIndex& dest_shape_index,
                                          const ShapeIndex& src_shape_index,
                                          bool only_dynamic_bound) {
  TF_ASSIGN_OR_RETURN(const Shape* dest_shape,
                      ShapeUtil::TryGetSubshape(shape(), dest_shape_index));
  TF_ASSIGN_OR_RETURN(
      const Shape* src_shape,
      ShapeUtil::TryGetSubshape(src_literal.shape(), src_shape_index));
  const bool fits =
      only_dynamic_bound
          ? ShapeUtil::DynamicShapeIsCompatible(*dest_shape, *src_shape) ||
                ShapeUtil::DynamicShapeIsCompatible(*src_shape, *dest_shape)
          : ShapeUtil::Compatible(*dest_shape, *src_shape);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot copy a literal of shape ", ShapeUtil::HumanString(*src_shape),
        " to one of shape ", ShapeUtil::HumanString(*dest_shape)));
  }
  const Piece& src = src_literal.piece(src_shape_index);
  Piece& dest = piece(dest_shape_index);
  if (&src == &dest) return absl::OkStatus();
  return CopyTree(src, dest, only_dynamic_bound);
}

absl::Status MutableLiteralBase::CopySliceFrom(
    const LiteralSlice& src_literal, absl::Span<const int64_t> src_base,
    absl::Span<const int64_t> dest_base, absl::Span<const int64_t> copy_size) {
  TF_RET_CHECK(shape().IsArray() && src_literal.shape().IsArray());
  TF_RET_CHECK(ShapeUtil::SameElementType(src_literal.shape(), shape()));
  const size_t rank = shape().dimensions().size();
  if (copy_size.empty() && src_literal.shape().dimensions().size() != rank) {
    // One element, of which an empty list names the first.
    const auto index = [](absl::Span<const int64_t> base, const Shape& shape) {
      DimensionVector result(base.begin(), base.end());
      if (base.empty()) result.resize(shape.dimensions().size(), 0);
      return result;
    };
    const DimensionVector from = index(src_base, src_literal.shape());
    const DimensionVector to = index(dest_base, shape());
    TF_RET_CHECK(
        IsInBox(from, DimensionVector(from.size(), 1),
                src_literal.shape().dimensions()) &&
        IsInBox(to, DimensionVector(to.size(), 1), shape().dimensions()));
    CopyElementFrom(src_literal, from, to);
    return absl::OkStatus();
  }
  TF_RET_CHECK(src_literal.shape().dimensions().size() == rank &&
               src_base.size() == rank && dest_base.size() == rank &&
               copy_size.size() == rank);
  if (!IsInBox(src_base, copy_size, src_literal.shape().dimensions()) ||
      !IsInBox(dest_base, copy_size, shape().dimensions())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a box of size {", absl::StrJoin(copy_size, ","), "} at {",
                     absl::StrJoin(src_base, ","), "} of ",
                     ShapeUtil::HumanString(src_literal.shape()), " and {",
                     absl::StrJoin(dest_base, ","), "} of ",
                     ShapeUtil::HumanString(shape()), " is out of bounds"));
  }
  const Piece& src = src_literal.piece({});
  Piece& dest = mutable_root_piece();
  TF_RET_CHECK(src.buffer() != nullptr && dest.buffer() != nullptr);
  const DimensionVector src_strides = src.ElementStrides();
  const DimensionVector dest_strides = dest.ElementStrides();
  const int64_t bytes = ElementBytes(shape());
  CopyStridedBox(dest.buffer() + Dot(dest_base, dest_strides) * bytes,
                 dest_strides,
                 src.buffer() + Dot(src_base, src_strides) * bytes, src_strides,
                 copy_size, bytes);
  return absl::OkStatus();
}

void MutableLiteralBase::CopyElementFrom(const LiteralSlice& src_literal,
                                         absl::Span<const int64_t> src_index,
                                         absl::Span<const int64_t> dest_index) {
  const Piece& src = src_literal.piece({});
  Piece& dest = mutable_root_piece();
  CHECK_EQ(shape().element_type(), src_literal.shape().element_type());
  CHECK(src.buffer() != nullptr && dest.buffer() != nullptr);
  const int64_t bytes = ElementBytes(shape());
  std::copy_n(src.buffer() + src.LinearIndex(src_index) * bytes, bytes,
              dest.buffer() + dest.LinearIndex(dest_index) * bytes);
}

absl::Status MutableLiteralBase::CheckPopulatable(PrimitiveType type) const {
  if (!shape().IsArray()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a literal of shape ", ShapeUtil::HumanString(shape()),
                     " is not an array"));
  }
  if (type != PRIMITIVE_TYPE_INVALID && shape().element_type() != type) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot populate a literal of shape ",
                     ShapeUtil::HumanString(shape()), " with elements of type ",
                     primitive_util::LowercasePrimitiveTypeName(type)));
  }
  if (untyped_data() == nullptr) {
    return absl::FailedPreconditionError("the literal has no buffer");
  }
  return absl::OkStatus();
}

Literal LiteralBase::CreateFromShape(const Shape& shape) {
  return Literal(shape);
}

Literal LiteralBase::CreateFromShapeWithUnknownLeafArrays(const Shape& shape) {
  return Literal(shape, /*allocate_arrays=*/false, ArrayValueState::kUnknown);
}

Literal LiteralBase::CreateFromShapeWithUndeterminedLeafArrays(
    const Shape& shape) {
  return Literal(shape, /*allocate_arrays=*/false,
                 ArrayValueState::kUndetermined);
}

Literal LiteralBase::CreateElided(const Shape& shape) {
  return Literal(shape, /*allocate_arrays=*/false, ArrayValueState::kElided);
}

Literal LiteralBase::Clone() const {
  Literal result(shape(), /*allocate_arrays=*/false);
  root_piece().ForEachSubpiece([&](const ShapeIndex& index, const Piece& src) {
    if (!src.subshape().IsArray()) return;
    if (src.buffer() == nullptr &&
        src.get_array_value_state() == ArrayValueState::kKnown) {
      return;  // Not allocated here either.
    }
    CHECK_OK(result.piece(index).CopyFrom(src, /*only_dynamic_bound=*/false));
  });
  return result;
}

std::unique_ptr<Literal> LiteralBase::CloneToUnique() const {
  return std::make_unique<Literal>(Clone());
}

// ---- Layouts ---------------------------------------------------------------

Literal LiteralBase::Relayout(const Layout& new_layout,
                              const ShapeIndex& shape_index) const {
  Shape new_shape = ShapeUtil::GetSubshape(shape(), shape_index);
  CHECK(new_shape.IsArray()) << new_shape.ToString();
  *new_shape.mutable_layout() = new_layout;
  Literal result(new_shape, /*allocate_arrays=*/false);
  CHECK_OK(result.mutable_root_piece().CopyFrom(piece(shape_index),
                                                /*only_dynamic_bound=*/false));
  return result;
}

Literal LiteralBase::Relayout(const Shape& shape_with_layout) const {
  CHECK(ShapeUtil::Compatible(shape_with_layout, shape()))
      << shape_with_layout.ToString() << " vs " << shape().ToString();
  Literal result(shape_with_layout, /*allocate_arrays=*/false);
  CHECK_OK(CopyTree(root_piece(), result.mutable_root_piece(),
                    /*only_dynamic_bound=*/false));
  return result;
}

Literal LiteralBase::ToStatic() const {
  Shape new_shape = shape();
  ShapeUtil::ForEachMutableSubshape(
      &new_shape, [&](Shape* subshape, const ShapeIndex& index) {
        if (!subshape->IsArray()) return;
        const DimensionVector dims = piece(index).valid_dimensions();
        for (size_t i = 0; i < dims.size(); ++i) {
          subshape->set_dimensions(i, dims[i], /*is_dynamic=*/false);
        }
      });
  Literal result(new_shape, /*allocate_arrays=*/false);
  CHECK_OK(CopyTree(root_piece(), result.mutable_root_piece(),
                    /*only_dynamic_bound=*/true));
  return result;
}

Literal LiteralBase::ToBoundedDynamic(const Shape& bounded_shape) const {
  CHECK(bounded_shape.is_dynamic()) << bounded_shape.ToString();
  Literal result(bounded_shape);
  CHECK_OK(CopyTree(root_piece(), result.mutable_root_piece(),
                    /*only_dynamic_bound=*/true));
  return result;
}

// ---- Shapes ----------------------------------------------------------------

absl::StatusOr<Literal> LiteralBase::Reshape(
    absl::Span<const int64_t> dimensions) const {
  if (!shape().IsArray()) {
    return absl::InvalidArgumentError("only arrays can be reshaped");
  }
  if (shape().is_dynamic()) {
    return absl::UnimplementedError(
        "Literal::Reshape of an array with dynamic dimensions");
  }
  TF_ASSIGN_OR_RETURN(Shape new_shape,
                      ShapeUtil::MakeValidatedShapeWithDescendingLayout(
                          shape().element_type(), dimensions));
  if (ShapeUtil::ElementsIn(new_shape) != element_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "reshape of ", ShapeUtil::HumanString(shape()), " to ",
        ShapeUtil::HumanString(new_shape), " changes the number of elements"));
  }
  const Piece& src = root_piece();
  if (!src.IsKnown()) return Literal(new_shape, false, StateOf(src));
  TF_ASSIGN_OR_RETURN(Literal result, Literal::Make(new_shape));
  // The row-major strides of the operand's dimensions in the result.
  const absl::Span<const int64_t> dims = shape().dimensions();
  DimensionVector row_major(dims.size());
  int64_t stride = 1;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    row_major[d] = stride;
    stride *= dims[d];
  }
  CopyStridedBox(static_cast<char*>(result.untyped_data()), row_major,
                 src.buffer(), src.ElementStrides(), dims,
                 ElementBytes(new_shape));
  return result;
}

// A copy whose source has stride 0 along the dimensions that are added, so that
// every step along them reads the same element.
absl::StatusOr<Literal> LiteralBase::Broadcast(
    const Shape& result_shape, absl::Span<const int64_t> dimensions) const {
  const absl::Span<const int64_t> dims = shape().dimensions();
  const auto invalid = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("broadcast of ", ShapeUtil::HumanString(shape()), " to ",
                     ShapeUtil::HumanString(result_shape), " along {",
                     absl::StrJoin(dimensions, ","), "}: ", why));
  };
  if (!shape().IsArray() || !result_shape.IsArray()) {
    return invalid("not an array");
  }
  if (shape().element_type() != result_shape.element_type()) {
    return invalid("the element types differ");
  }
  if (dims.size() != dimensions.size()) {
    return invalid("not one result dimension per operand dimension");
  }
  const int64_t rank = result_shape.dimensions_size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dimensions[i] < 0 || dimensions[i] >= rank ||
        result_shape.dimensions(dimensions[i]) != dims[i]) {
      return invalid("the sizes differ");
    }
  }
  const Piece& src = root_piece();
  if (!src.IsKnown()) return Literal(result_shape, false, StateOf(src));
  TF_ASSIGN_OR_RETURN(Literal result, Literal::Make(result_shape));
  const DimensionVector strides = src.ElementStrides();
  DimensionVector result_strides(rank, 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    result_strides[dimensions[i]] += strides[i];
    if (shape().is_dynamic_dimension(i)) {
      result.SetDynamicSize(dimensions[i], src.GetDynamicSize(i));
    }
  }
  Piece& dest = result.mutable_root_piece();
  CopyStridedBox(dest.buffer(), dest.ElementStrides(), src.buffer(),
                 result_strides, result_shape.dimensions(),
                 ElementBytes(result_shape));
  return result;
}

// The elements stay where they are: permuting the dimensions and the layout
// alike transposes the array without a move.
Literal LiteralBase::Transpose(absl::Span<const int64_t> permutation) const {
  CHECK(shape().IsArray()) << shape().ToString();
  const int64_t rank = shape().dimensions_size();
  CHECK_EQ(static_cast<int64_t>(permutation.size()), rank);
  DimensionVector inverse(rank, -1);
  Shape new_shape(shape().element_type());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = permutation[i];
    CHECK(from >= 0 && from < rank && inverse[from] == -1)
        << "not a permutation: {" << absl::StrJoin(permutation, ",") << "}";
    inverse[from] = i;
    new_shape.add_dimensions(shape().dimensions(from),
                             shape().is_dynamic_dimension(from));
  }
  Layout* layout = new_shape.mutable_layout();
  layout->clear_minor_to_major();
  for (int64_t dim : shape().layout().minor_to_major()) {
    layout->add_minor_to_major(inverse[dim]);
  }
  const Piece& src = root_piece();
  if (!src.IsKnown()) return Literal(new_shape, false, StateOf(src));
  Literal result(new_shape);
  for (int64_t i = 0; i < rank; ++i) {
    if (new_shape.is_dynamic_dimension(i)) {
      result.SetDynamicSize(i, src.GetDynamicSize(permutation[i]));
    }
  }
  std::copy_n(src.buffer(), size_bytes(),
              static_cast<char*>(result.untyped_data()));
  return result;
}

Literal LiteralBase::Slice(absl::Span<const int64_t> start_indices,
                           absl::Span<const int64_t> limit_indices) const {
  CHECK(shape().IsArray()) << shape().ToString();
  const int64_t rank = shape().dimensions_size();
  CHECK(static_cast<int64_t>(start_indices.size()) == rank &&
        static_cast<int64_t>(limit_indices.size()) == rank);
  Shape new_shape = ArrayShape(shape().element_type(), shape().dimensions(),
                               shape().layout().minor_to_major());
  DimensionVector sizes(rank);
  for (int64_t i = 0; i < rank; ++i) {
    sizes[i] = limit_indices[i] - start_indices[i];
    CHECK(start_indices[i] >= 0 && sizes[i] >= 0 &&
          limit_indices[i] <= shape().dimensions(i))
        << "slice {" << absl::StrJoin(start_indices, ",") << "} to {"
        << absl::StrJoin(limit_indices, ",") << "} of " << shape().ToString();
    new_shape.set_dimensions(i, sizes[i], shape().is_dynamic_dimension(i));
  }
  const Piece& src = root_piece();
  if (!src.IsKnown()) return Literal(new_shape, false, StateOf(src));
  Literal result(new_shape);
  Piece& dest = result.mutable_root_piece();
  for (int64_t i = 0; i < rank; ++i) {
    if (!shape().is_dynamic_dimension(i)) continue;
    const int64_t valid = src.GetDynamicSize(i) - start_indices[i];
    dest.SetDynamicSize(i, std::clamp<int64_t>(valid, 0, sizes[i]));
  }
  const DimensionVector strides = src.ElementStrides();
  const int64_t bytes = ElementBytes(new_shape);
  CopyStridedBox(dest.buffer(), dest.ElementStrides(),
                 src.buffer() + Dot(start_indices, strides) * bytes, strides,
                 sizes, bytes);
  return result;
}

}  // namespace xla
