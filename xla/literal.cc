#include "xla/literal.h"

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Immortal shapes of scalars with the default layout, and of nil.
const Shape* ImmortalShape(const Shape& shape) {
  static const auto* const scalars = [] {
    auto* shapes = new std::array<Shape, PrimitiveType_ARRAYSIZE>();
    for (int i = 0; i < PrimitiveType_ARRAYSIZE; ++i) {
      if (!PrimitiveType_IsValid(i)) continue;
      const PrimitiveType type = static_cast<PrimitiveType>(i);
      if (primitive_util::IsArrayType(type)) {
        (*shapes)[i] = ShapeUtil::MakeShapeWithDescendingLayout(type, {});
      }
    }
    (*shapes)[TUPLE] = ShapeUtil::MakeNil();
    (*shapes)[TOKEN] = ShapeUtil::MakeTokenShape();
    return shapes;
  }();
  const Shape& candidate = (*scalars)[shape.element_type_including_buffer()];
  if (shape.IsArrayExcludingBuffer()) {
    if (!shape.dimensions().empty()) return nullptr;
    if (shape.has_layout() && !(shape == candidate)) return nullptr;
    return &candidate;
  }
  if (shape.IsTuple()) {
    return shape.tuple_shapes_size() == 0 ? &candidate : nullptr;
  }
  return shape.IsToken() ? &candidate : nullptr;
}

const Shape* NilShape() {
  static const Shape* const shape = new Shape(ShapeUtil::MakeNil());
  return shape;
}

// Elements of whole bytes have the size of their type here, whatever a device
// makes of them.
void CompleteLayouts(Shape* shape) {
  ShapeUtil::ForEachMutableLeafShape(shape, [](Shape* leaf, const ShapeIndex&) {
    if (!leaf->IsArray()) return;
    if (!leaf->has_layout()) {
      *leaf->mutable_layout() = LayoutUtil::GetDefaultLayoutForShape(*leaf);
    } else if (leaf->layout().element_size_in_bits() != 0 &&
               !primitive_util::IsSubByteNonPredType(leaf->element_type())) {
      leaf->mutable_layout()->set_element_size_in_bits(0);
    }
  });
}

// Points the nodes of a tree at the parts of `shape`.
void SetSubshapes(LiteralPiece& piece, const Shape& shape) {
  piece.set_subshape(&shape);
  for (int64_t i = 0; i < piece.children_size(); ++i) {
    SetSubshapes(piece.child(i), shape.tuple_shapes(i));
  }
}

// Makes the nodes for `shape`; no buffers.
void BuildNodes(LiteralPiece& piece, const Shape& shape) {
  piece.set_subshape(&shape);
  if (shape.tuple_shapes_size() == 0) return;
  piece.BecomeTuple(shape.tuple_shapes_size());
  for (const Shape& element : shape.tuple_shapes()) {
    LiteralPiece child;
    BuildNodes(child, element);
    piece.emplace_back(std::move(child));
  }
}

// Moves the data of a tree into one of the same structure.
void MoveTree(LiteralPiece& from, LiteralPiece& to) {
  if (from.subshape().IsArray()) to.MoveDataFrom(from);
  for (int64_t i = 0; i < from.children_size(); ++i) {
    MoveTree(from.child(i), to.child(i));
  }
}

std::unique_ptr<Shape> CopyWithLayouts(const Shape& shape) {
  auto copy = std::make_unique<Shape>(shape);
  CompleteLayouts(copy.get());
  return copy;
}

// Gives every array of a tree its buffer out of `buffer_of(index)`.
template <typename BufferOf>
void BorrowBuffers(LiteralPiece& root, const BufferOf& buffer_of) {
  root.ForEachMutableSubpiece([&](const ShapeIndex& index, LiteralPiece* p) {
    if (p->subshape().IsArray()) {
      p->set_buffer(const_cast<char*>(buffer_of(index)));
    }
  });
}

// One buffer for an array, or one per element of a flat tuple.
template <typename Pointer>
void BorrowFlat(LiteralPiece& root, absl::Span<Pointer> buffers) {
  const Shape& shape = root.subshape();
  const auto borrow = [](LiteralPiece& piece, Pointer buffer) {
    if (piece.subshape().IsArray()) {
      piece.set_buffer(const_cast<char*>(buffer));
    }
  };
  if (!shape.IsTuple()) {
    CHECK_EQ(buffers.size(), 1);
    borrow(root, buffers[0]);
    return;
  }
  CHECK(!ShapeUtil::IsNestedTuple(shape)) << shape.ToString();
  CHECK_EQ(static_cast<int64_t>(buffers.size()), root.children_size());
  for (int64_t i = 0; i < root.children_size(); ++i) {
    borrow(root.child(i), buffers[i]);
  }
}

}  // namespace

// ---- Literal ---------------------------------------------------------------

MutableLiteralBase::~MutableLiteralBase() = default;

Literal::Literal() : shape_(NilShape()) { BuildNodes(root_piece_, *shape_); }

Literal::Literal(const Shape& shape, bool allocate_arrays,
                 ArrayValueState leaf_array_value_state) {
  SetShape(shape);
  CHECK_OK(Build(root_piece_, allocate_arrays, leaf_array_value_state));
}

Literal::~Literal() { ReleaseShape(); }

Literal::Literal(Literal&& other) noexcept { TakeFrom(other); }

Literal& Literal::operator=(Literal&& other) noexcept {
  if (this != &other) {
    ReleaseShape();
    TakeFrom(other);
  }
  return *this;
}

void Literal::TakeFrom(Literal& other) {
  shape_ = other.shape_;
  owns_shape_ = other.owns_shape_;
  root_piece_ = std::move(other.root_piece_);
  other.shape_ = NilShape();
  other.owns_shape_ = false;
  BuildNodes(other.root_piece_, *other.shape_);
}

void Literal::ReleaseShape() {
  if (owns_shape_) delete shape_;
  owns_shape_ = false;
}

void Literal::SetShape(const Shape& shape) {
  if (const Shape* immortal = ImmortalShape(shape)) {
    shape_ = immortal;
  } else {
    shape_ = CopyWithLayouts(shape).release();
    owns_shape_ = true;
  }
}

absl::Status Literal::Build(Piece& piece, bool allocate_arrays,
                            ArrayValueState leaf_array_value_state) {
  BuildNodes(piece, *shape_);
  return piece.ForEachMutableSubpieceWithStatus(
      [&](const ShapeIndex&, Piece* node) -> absl::Status {
        if (!node->subshape().IsArray()) return absl::OkStatus();
        if (leaf_array_value_state == ArrayValueState::kElided &&
            ShapeUtil::IsZeroElementArray(node->subshape())) {
          return node->AllocateBuffers();
        }
        if (leaf_array_value_state != ArrayValueState::kKnown) {
          node->set_array_value_state(leaf_array_value_state);
          return absl::OkStatus();
        }
        return allocate_arrays ? node->AllocateBuffers() : absl::OkStatus();
      });
}

absl::StatusOr<Literal> Literal::Make(const Shape& shape, bool allocate_arrays,
                                      ArrayValueState leaf_array_value_state) {
  TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(shape));
  Literal literal;
  literal.root_piece_ = Piece();
  literal.SetShape(shape);
  TF_RETURN_IF_ERROR(literal.Build(literal.root_piece_, allocate_arrays,
                                   leaf_array_value_state));
  return literal;
}

absl::StatusOr<std::unique_ptr<Literal>> Literal::MakeUnique(
    const Shape& shape, bool allocate_arrays,
    ArrayValueState leaf_array_value_state) {
  TF_ASSIGN_OR_RETURN(Literal literal,
                      Make(shape, allocate_arrays, leaf_array_value_state));
  return std::make_unique<Literal>(std::move(literal));
}

Shape* Literal::mutable_shape_do_not_use() {
  if (!owns_shape_) {
    shape_ = new Shape(*shape_);
    owns_shape_ = true;
    SetSubshapes(root_piece_, *shape_);
  }
  return const_cast<Shape*>(shape_);
}

absl::Status Literal::MoveFrom(Literal&& src_literal,
                               const ShapeIndex& dest_shape_index) {
  TF_ASSIGN_OR_RETURN(const Shape* dest_shape,
                      ShapeUtil::TryGetSubshape(shape(), dest_shape_index));
  if (!ShapeUtil::Equal(*dest_shape, src_literal.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot move a literal of shape ",
        ShapeUtil::HumanStringWithLayout(src_literal.shape()),
        " to one of shape ", ShapeUtil::HumanStringWithLayout(*dest_shape)));
  }
  if (&src_literal == this) return absl::OkStatus();
  MoveTree(src_literal.root_piece_, piece(dest_shape_index));
  src_literal = Literal();
  return absl::OkStatus();
}

std::vector<Literal> Literal::DecomposeTuple() {
  CHECK(shape().IsTuple()) << shape().ToString();
  std::vector<Literal> elements;
  elements.reserve(root_piece_.children_size());
  for (int64_t i = 0; i < root_piece_.children_size(); ++i) {
    elements.push_back(SubLiteral({i}));
  }
  *this = Literal();
  return elements;
}

Literal Literal::SubLiteral(ShapeIndexView shape_index) {
  if (shape_index.empty()) return std::move(*this);
  Piece& from = piece(ShapeIndex(shape_index));
  Literal element;
  element.root_piece_ = Piece();
  element.SetShape(from.subshape());
  BuildNodes(element.root_piece_, *element.shape_);
  MoveTree(from, element.root_piece_);
  return element;
}

Literal MutableLiteralBase::MoveIntoTuple(absl::Span<Literal> elements) {
  auto shape = std::make_unique<Shape>(ShapeUtil::MakeNil());
  for (const Literal& element : elements) {
    *shape->add_tuple_shapes() = element.shape();
  }
  Literal tuple(*shape, /*allocate_arrays=*/false);
  for (size_t i = 0; i < elements.size(); ++i) {
    MoveTree(elements[i].root_piece_, tuple.root_piece_.child(i));
    elements[i] = Literal();
  }
  return tuple;
}

std::ostream& operator<<(std::ostream& out, const LiteralBase& literal) {
  return out << literal.ToString();
}

// ---- Views -----------------------------------------------------------------

LiteralSlice::LiteralSlice() {
  static const Literal* const nil = new Literal();
  root_piece_ = &static_cast<const LiteralBase*>(nil)->root_piece();
}

LiteralSlice::LiteralSlice(const LiteralBase& literal)
    : root_piece_(&literal.root_piece()) {}

LiteralSlice::LiteralSlice(const LiteralBase& literal,
                           const ShapeIndex& view_root)
    : root_piece_(&literal.piece(view_root)) {}

BorrowingLiteral::BorrowingLiteral()
    : shape_(std::make_unique<Shape>(ShapeUtil::MakeNil())) {
  BuildNodes(root_piece_, *shape_);
}

BorrowingLiteral::BorrowingLiteral(const char* src_buf_ptr, const Shape& shape)
    : shape_(CopyWithLayouts(shape)) {
  CHECK(shape_->IsArray()) << shape_->ToString();
  BuildNodes(root_piece_, *shape_);
  BorrowFlat(root_piece_, absl::MakeSpan(&src_buf_ptr, 1));
}

BorrowingLiteral::BorrowingLiteral(absl::Span<const char* const> src_buf_ptrs,
                                   const Shape& shape)
    : shape_(CopyWithLayouts(shape)) {
  BuildNodes(root_piece_, *shape_);
  BorrowFlat(root_piece_, src_buf_ptrs);
}

BorrowingLiteral::BorrowingLiteral(ShapeTree<const char*> src_buf_ptrs)
    : shape_(CopyWithLayouts(src_buf_ptrs.shape())) {
  BuildNodes(root_piece_, *shape_);
  BorrowBuffers(root_piece_, [&](const ShapeIndex& index) {
    return src_buf_ptrs.element(index);
  });
}

MutableBorrowingLiteral::MutableBorrowingLiteral()
    : shape_(std::make_unique<Shape>(ShapeUtil::MakeNil())) {
  BuildNodes(root_piece_, *shape_);
}

MutableBorrowingLiteral::MutableBorrowingLiteral(
    const MutableBorrowingLiteral& literal)
    : MutableLiteralBase() {
  Borrow(literal.root_piece());
}

MutableBorrowingLiteral& MutableBorrowingLiteral::operator=(
    const MutableBorrowingLiteral& literal) {
  if (this != &literal) Borrow(literal.root_piece());
  return *this;
}

MutableBorrowingLiteral::MutableBorrowingLiteral(MutableLiteralBase* literal) {
  Borrow(literal->root_piece());
}

MutableBorrowingLiteral::MutableBorrowingLiteral(
    MutableBorrowingLiteral literal, const ShapeIndex& view_root) {
  Borrow(literal.piece(view_root));
}

MutableBorrowingLiteral::MutableBorrowingLiteral(const char* src_buf_ptr,
                                                 const Shape& shape)
    : shape_(CopyWithLayouts(shape)) {
  CHECK(shape_->IsArray()) << shape_->ToString();
  BuildNodes(root_piece_, *shape_);
  BorrowFlat(root_piece_, absl::MakeSpan(&src_buf_ptr, 1));
}

MutableBorrowingLiteral::MutableBorrowingLiteral(absl::Span<char*> src_buf_ptrs,
                                                 const Shape& shape)
    : shape_(CopyWithLayouts(shape)) {
  BuildNodes(root_piece_, *shape_);
  BorrowFlat(root_piece_, src_buf_ptrs);
}

MutableBorrowingLiteral::MutableBorrowingLiteral(ShapeTree<char*> src_buf_ptrs)
    : shape_(CopyWithLayouts(src_buf_ptrs.shape())) {
  BuildNodes(root_piece_, *shape_);
  BorrowBuffers(root_piece_, [&](const ShapeIndex& index) {
    return src_buf_ptrs.element(index);
  });
}

void MutableBorrowingLiteral::Borrow(const Piece& source) {
  auto shape = std::make_unique<Shape>(source.subshape());
  Piece root;
  BuildNodes(root, *shape);
  root.ForEachMutableSubpiece([&](const ShapeIndex& index, Piece* piece) {
    if (!piece->subshape().IsArray()) return;
    const Piece* from = &source;
    for (int64_t i : index) from = &from->child(i);
    if (const char* buffer = from->buffer()) {
      piece->set_buffer(const_cast<char*>(buffer));
    } else if (from->get_array_value_state() != ArrayValueState::kKnown) {
      CHECK_OK(piece->CopyFrom(*from, /*only_dynamic_bound=*/false));
    }
  });
  root_piece_ = std::move(root);
  shape_ = std::move(shape);
}

}  // namespace xla
