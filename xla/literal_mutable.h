#ifndef XLA_LITERAL_MUTABLE_H_
#define XLA_LITERAL_MUTABLE_H_

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/array4d.h"
#include "xla/literal_base.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

class LiteralSlice;

// Write access to a value. The shape stays; elements and dynamic sizes change.
class MutableLiteralBase : public LiteralBase {
 public:
  ~MutableLiteralBase() override = 0;

  using LiteralBase::data;
  template <typename NativeT>
  absl::Span<NativeT> data(const ShapeIndex& shape_index = {}) {
    return piece(shape_index).template data<NativeT>();
  }
  using LiteralBase::untyped_data;
  void* untyped_data(const ShapeIndex& shape_index = {}) {
    return piece(shape_index).untyped_data();
  }

  // The shape, for changes that leave the size of all buffers as it is (such
  // as a layout's memory space).
  virtual Shape* mutable_shape_do_not_use() = 0;

  // A static dimension becomes dynamic, with its size as the bound; the literal
  // must own its memory then.
  void SetDynamicSize(int64_t dim_index, const ShapeIndex& shape_index,
                      DynamicSizeType size);
  void SetDynamicSize(int64_t dim_index, DynamicSizeType size) {
    SetDynamicSize(dim_index, {}, size);
  }

  // Copies the subtree at `src_shape_index` over the one at
  // `dest_shape_index`; the shapes must be compatible, layouts may differ. With
  // `only_dynamic_bound` the bounds may differ and only what is valid in both
  // is copied. InvalidArgument otherwise.
  absl::Status CopyFrom(const LiteralSlice& src_literal,
                        const ShapeIndex& dest_shape_index = {},
                        const ShapeIndex& src_shape_index = {},
                        bool only_dynamic_bound = false);
  // Copies a box of `copy_size` between arrays of one element type and rank.
  absl::Status CopySliceFrom(const LiteralSlice& src_literal,
                             absl::Span<const int64_t> src_base,
                             absl::Span<const int64_t> dest_base,
                             absl::Span<const int64_t> copy_size);
  void CopyElementFrom(const LiteralSlice& src_literal,
                       absl::Span<const int64_t> src_index,
                       absl::Span<const int64_t> dest_index);

  template <typename NativeT>
  void Set(absl::Span<const int64_t> multi_index, const ShapeIndex& shape_index,
           NativeT value) {
    piece(shape_index).template Set<NativeT>(multi_index, value);
  }
  template <typename NativeT>
  void Set(absl::Span<const int64_t> multi_index, NativeT value) {
    mutable_root_piece().template Set<NativeT>(multi_index, value);
  }
  // Converts to the element type: PRED and integers; floats (and complex, with
  // imaginary part 0). FailedPrecondition for other element types.
  absl::Status SetIntegralAsS64(absl::Span<const int64_t> multi_index,
                                int64_t value);
  absl::Status SetFromDouble(absl::Span<const int64_t> multi_index,
                             double value);

  // Replaces each valid element by the function's value for it.
  template <typename NativeT>
  void MutableEachCell(absl::FunctionRef<NativeT(
                           absl::Span<const int64_t> indices, NativeT value)>
                           per_cell);

  // Fills an array of exactly these dimensions.
  template <typename NativeT>
  void PopulateR1(absl::Span<const NativeT> values);
  template <typename NativeT>
  void PopulateR2(std::initializer_list<std::initializer_list<NativeT>> values);
  template <typename NativeT>
  void PopulateFromArray(const Array<NativeT>& values);
  template <typename NativeT>
  void PopulateR2FromArray2D(const Array2D<NativeT>& values) {
    PopulateFromArray(values);
  }
  template <typename NativeT>
  void PopulateR3FromArray3D(const Array3D<NativeT>& values) {
    PopulateFromArray(values);
  }
  template <typename NativeT>
  void PopulateR4FromArray4D(const Array4D<NativeT>& values) {
    PopulateFromArray(values);
  }

  // Fills the whole array in layout order. A generator returns an element, a
  // populator writes it at a void*; both take the logical index, or in the
  // Linear forms the position in the buffer. Parallel ones also take a thread
  // id in [0, ShapeUtil::GetForEachIndexParallelThreadCount()).
  template <typename NativeT, typename Generator>
  absl::Status Populate(Generator&& generator);
  template <typename NativeT, typename Generator>
  absl::Status PopulateParallel(Generator&& generator);
  template <typename Populator>
  absl::Status PopulateInplace(Populator&& populator);
  template <typename Populator>
  absl::Status PopulateInplaceParallel(Populator&& populator);
  template <typename NativeT, typename Generator>
  absl::Status PopulateLinear(Generator&& generator);
  template <typename NativeT, typename Generator>
  absl::Status PopulateLinearParallel(Generator&& generator);
  template <typename Populator>
  absl::Status PopulateLinearInplace(Populator&& populator);
  template <typename Populator>
  absl::Status PopulateLinearInplaceParallel(Populator&& populator);

  template <typename NativeT>
  void PopulateWithValue(NativeT value);

  // A tuple of the values of `elements`, which become nil tuples.
  static Literal MoveIntoTuple(absl::Span<Literal> elements);
  // InvalidArgument for a bad shape or a wrong number of values. Arrays without
  // any values are an error, or elided when `prohibit_empty_literal` is false.
  static absl::StatusOr<Literal> CreateFromProto(
      const LiteralProto& proto, bool prohibit_empty_literal = true);

 protected:
  using LiteralBase::piece;
  Piece& piece(const ShapeIndex& shape_index) {
    return const_cast<Piece&>(LiteralBase::piece(shape_index));
  }
  Piece& mutable_root_piece() { return const_cast<Piece&>(root_piece()); }

 private:
  friend class MutableBorrowingLiteral;
  friend class Literal;

  // FailedPrecondition unless this is an array with a buffer (and, when a type
  // is given, of that element type).
  absl::Status CheckPopulatable(PrimitiveType type) const;
  // Calls `visit(linear_index, multi_index)` for all elements in layout order.
  template <typename Visit>
  void VisitInLayoutOrder(const Visit& visit) const;
};

}  // namespace xla

#endif  // XLA_LITERAL_MUTABLE_H_
