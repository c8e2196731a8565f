#ifndef XLA_LITERAL_H_
#define XLA_LITERAL_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/literal_base.h"     // IWYU pragma: export
#include "xla/literal_mutable.h"  // IWYU pragma: export
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {

// A value that owns its shape and elements. Movable, not copyable: Clone() is
// the explicit copy. Arrays without a layout get the descending one. Scalars
// need no allocation at all.
class Literal : public MutableLiteralBase {
 public:
  // A nil tuple.
  Literal();
  Literal(const Literal& other) = delete;
  Literal& operator=(const Literal& other) = delete;
  Literal(Literal&& other) noexcept;
  Literal& operator=(Literal&& other) noexcept;
  ~Literal() override;

  // Elements start as zeros, dynamic sizes as the bounds. Fails a CHECK where
  // Make returns an error. Without `allocate_arrays`, or in a state other than
  // kKnown, there are no elements.
  explicit Literal(
      const Shape& shape, bool allocate_arrays = true,
      ArrayValueState leaf_array_value_state = ArrayValueState::kKnown);
  // InvalidArgument for shapes without a size (unbounded dimensions),
  // ResourceExhausted when memory is short.
  static absl::StatusOr<Literal> Make(
      const Shape& shape, bool allocate_arrays = true,
      ArrayValueState leaf_array_value_state = ArrayValueState::kKnown);
  static absl::StatusOr<std::unique_ptr<Literal>> MakeUnique(
      const Shape& shape, bool allocate_arrays = true,
      ArrayValueState leaf_array_value_state = ArrayValueState::kKnown);

  // Moves the value of `src_literal` into the node at the index, whose shape
  // must equal it (layout included); `src_literal` becomes a nil tuple.
  absl::Status MoveFrom(Literal&& src_literal,
                        const ShapeIndex& dest_shape_index);
  absl::Status MoveFrom(Literal&& src_literal) {
    return MoveFrom(std::move(src_literal), /*dest_shape_index=*/{});
  }

  // The elements of a tuple as literals of their own; this becomes a nil tuple.
  std::vector<Literal> DecomposeTuple();
  // Moves one subtree out, which leaves the one here without buffers.
  Literal SubLiteral(ShapeIndexView shape_index);

  // Reads the form that Serialize writes.
  template <typename InputIterator>
  static absl::StatusOr<Literal> Deserialize(InputIterator begin,
                                             InputIterator end) {
    return DeserializeFromString(std::string(begin, end));
  }
  static absl::StatusOr<Literal> DeserializeFromString(absl::string_view data);

  Shape* mutable_shape_do_not_use() override;

 protected:
  const Piece& root_piece() const override { return root_piece_; }

 private:
  friend class LiteralBase;
  friend class MutableLiteralBase;

  void SetShape(const Shape& shape);
  absl::Status Build(Piece& piece, bool allocate_arrays,
                     ArrayValueState leaf_array_value_state);
  void ReleaseShape();
  void TakeFrom(Literal& other);

  // Owned, or one of the immortal scalar shapes.
  const Shape* shape_ = nullptr;
  bool owns_shape_ = false;
  Piece root_piece_;
};

// A literal that writes into memory, or into a subtree of a literal, owned by
// others, who must keep it alive. Copies write to the same memory.
class MutableBorrowingLiteral : public MutableLiteralBase {
 public:
  MutableBorrowingLiteral();
  MutableBorrowingLiteral(const MutableBorrowingLiteral& literal);
  MutableBorrowingLiteral& operator=(const MutableBorrowingLiteral& literal);
  explicit MutableBorrowingLiteral(MutableLiteralBase* literal);
  MutableBorrowingLiteral(MutableBorrowingLiteral literal,
                          const ShapeIndex& view_root);
  // An array; `src_buf_ptr` holds total_size_bytes() bytes.
  MutableBorrowingLiteral(const char* src_buf_ptr, const Shape& shape);
  // A flat tuple with one buffer per element, or an array with one buffer.
  MutableBorrowingLiteral(absl::Span<char*> src_buf_ptrs, const Shape& shape);
  explicit MutableBorrowingLiteral(ShapeTree<char*> src_buf_ptrs);

  Shape* mutable_shape_do_not_use() override { return shape_.get(); }

 protected:
  const Piece& root_piece() const override { return root_piece_; }

 private:
  // Mirrors `source`: same shape, buffers borrowed.
  void Borrow(const Piece& source);

  std::unique_ptr<Shape> shape_;
  Piece root_piece_;
};

// A read-only view of a literal or of a subtree of one; cheap to copy. The
// literal must outlive it.
class LiteralSlice : public LiteralBase {
 public:
  LiteralSlice();
  LiteralSlice(const LiteralBase& literal);  // NOLINT: implicit on purpose
  LiteralSlice(const LiteralBase& literal, const ShapeIndex& view_root);

 protected:
  const Piece& root_piece() const override { return *root_piece_; }

 private:
  const Piece* root_piece_;
};

// A literal that reads memory owned by others, who must keep it alive.
class BorrowingLiteral : public LiteralBase {
 public:
  BorrowingLiteral();
  // An array; `src_buf_ptr` holds total_size_bytes() bytes.
  BorrowingLiteral(const char* src_buf_ptr, const Shape& shape);
  // A flat tuple with one buffer per element, or an array with one buffer.
  BorrowingLiteral(absl::Span<const char* const> src_buf_ptrs,
                   const Shape& shape);
  explicit BorrowingLiteral(ShapeTree<const char*> src_buf_ptrs);

 protected:
  const Piece& root_piece() const override { return root_piece_; }

 private:
  std::unique_ptr<Shape> shape_;
  Piece root_piece_;
};

// ToString of any of the kinds above.
std::ostream& operator<<(std::ostream& out, const LiteralBase& literal);

}  // namespace xla

#include "xla/literal_templates.h"  // IWYU pragma: export

#endif  // XLA_LITERAL_H_
