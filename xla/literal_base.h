#ifndef XLA_LITERAL_BASE_H_
#define XLA_LITERAL_BASE_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/literal_piece.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

class Literal;

// Read access to a value: an array, a tuple of values, or a token.
//
// `shape_index` names a node inside a tuple; the forms without it, and all
// functions that compute, work on the root. Asking with the wrong native type,
// an index out of range, or for elements of an elided array is a programming
// error and fails a CHECK. Predicates (IsAll, IsZero, ...) are false for arrays
// whose elements are not known.
class LiteralBase {
 public:
  using DynamicSizeType = ShapeUtil::DynamicSizeType;
  using ArrayValueState = LiteralPiece::ArrayValueState;

  virtual ~LiteralBase() = default;

  // Equal types, sizes (those that dynamic dimensions have, whatever their
  // bounds), layouts in the layout-sensitive form, and bits; so a NaN equals
  // itself and 0 differs from -0. An elided array equals only copies of itself.
  bool operator==(const LiteralBase& other) const {
    return Equal(other, /*layout_sensitive=*/false);
  }
  bool operator!=(const LiteralBase& other) const { return !(*this == other); }
  bool Equal(const LiteralBase& other, bool layout_sensitive) const;

  const Shape& shape() const { return root_piece().subshape(); }
  LiteralProto ToProto() const;

  // Elements in layout order.
  template <typename NativeT>
  absl::Span<const NativeT> data(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).template data<NativeT>();
  }
  const void* untyped_data(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).untyped_data();
  }
  // Bytes of the elements of an array; `total` adds its dynamic sizes.
  int64_t size_bytes(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).size_bytes_dense();
  }
  int64_t total_size_bytes(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).total_bytes_dense();
  }

  // Binary form: the size (uint64) and bytes of the ShapeProto, then per array
  // its dynamic sizes (int32 each, when dynamic) and its elements, all little
  // endian; PRED takes one bit and sub-byte types their width, lowest bits
  // first. Only fully known literals have one.
  absl::StatusOr<int64_t> SerializedSize() const;
  template <typename OutputIterator>
  absl::Status Serialize(OutputIterator output) const {
    std::string bytes;
    absl::Status status = SerializeToString(&bytes);
    if (status.ok()) std::copy(bytes.begin(), bytes.end(), output);
    return status;
  }
  absl::Status SerializeToString(std::string* output) const;
  absl::StatusOr<std::string> SerializeAsString() const;

  // The bytes of a u8[n].
  std::string GetR1U8AsString() const;

  // HLO text. Arrays of rank >= 2 break lines, except in the Oneline forms.
  // Floats are printed so that they parse back to the same bits, `{...}` stands
  // for elided elements.
  void Print(Printer* printer) const;
  void PrintOneline(Printer* printer) const;
  void PrintWithoutShape(Printer* printer) const;
  void PrintWithoutShapeOneline(Printer* printer) const;
  void PrintWithLayout(Printer* printer) const;
  void PrintWithLayoutOneline(Printer* printer) const;
  std::string ToString() const;
  std::string ToStringOneline() const;
  std::string ToStringWithoutShape() const;
  std::string ToStringWithoutShapeOneline() const;
  std::string ToStringWithLayout() const;
  std::string ToStringWithLayoutOneline() const;

  // Single elements, by logical index or by position in the buffer.
  template <typename NativeT>
  NativeT Get(absl::Span<const int64_t> multi_index,
              const ShapeIndex& shape_index) const {
    return piece(shape_index).template Get<NativeT>(multi_index);
  }
  template <typename NativeT>
  NativeT Get(absl::Span<const int64_t> multi_index) const {
    return root_piece().template Get<NativeT>(multi_index);
  }
  template <typename NativeT>
  NativeT GetLinear(int64_t linear_index, const ShapeIndex& shape_index) const {
    return piece(shape_index).template GetLinear<NativeT>(linear_index);
  }
  template <typename NativeT>
  NativeT GetLinear(int64_t linear_index) const {
    return root_piece().template GetLinear<NativeT>(linear_index);
  }
  template <typename NativeT>
  NativeT GetFirstElement() const {
    return root_piece().template GetLinear<NativeT>(0);
  }
  // Absent unless the array is integral and has an element, which fits.
  std::optional<int64_t> GetFirstInteger() const;
  DynamicSizeType GetDynamicSize(int64_t dim_index,
                                 const ShapeIndex& shape_index) const {
    return piece(shape_index).GetDynamicSize(dim_index);
  }
  DynamicSizeType GetDynamicSize(int64_t dim_index) const {
    return root_piece().GetDynamicSize(dim_index);
  }

  // One element as HLO text (PRED: true, false).
  std::string GetAsString(absl::Span<const int64_t> multi_index,
                          const ShapeIndex& shape_index = {}) const;

  // Whether the element is `value`, which the element type must represent.
  template <typename T>
  typename std::enable_if<std::numeric_limits<T>::is_specialized, bool>::type
  IsEqualAt(absl::Span<const int64_t> multi_index, T value) const {
    if constexpr (std::numeric_limits<T>::is_integer) {
      return IsIntegerEqualAt(
          multi_index, static_cast<int64_t>(value),
          /*is_unsigned=*/!std::numeric_limits<T>::is_signed);
    } else {
      return IsDoubleEqualAt(multi_index, static_cast<double>(value));
    }
  }
  bool IsEqualAt(absl::Span<const int64_t> multi_index, complex128 value) const;

  // The element as a wider type; absent for other element types:
  // GetIntegralAsS64 takes PRED and integers, GetAsDouble those and floats,
  // GetAsComplex128 all. 64-bit integers round in the latter two; a u64 beyond
  // int64 wraps in the first.
  std::optional<int64_t> GetIntegralAsS64(
      absl::Span<const int64_t> multi_index) const;
  std::optional<double> GetAsDouble(
      absl::Span<const int64_t> multi_index) const;
  std::optional<complex128> GetAsComplex128(
      absl::Span<const int64_t> multi_index) const;
  // Sum over buffer positions; absent unless floating point.
  std::optional<double> GetSumAsDouble(
      absl::Span<const int64_t> linear_indices) const;

  // Visits the valid elements in logical order, last dimension fastest.
  void EachCellAsString(
      absl::FunctionRef<void(absl::Span<const int64_t> indices,
                             const std::string& value)>
          per_cell) const;
  template <typename NativeT>
  void EachCell(
      absl::FunctionRef<void(absl::Span<const int64_t> indices, NativeT value)>
          per_cell) const;
  // Stops when `per_cell` returns false; returns whether it never did.
  template <typename NativeT>
  bool EachCellUntilFailure(
      absl::FunctionRef<bool(absl::Span<const int64_t> indices, NativeT value)>
          per_cell) const;

  // Whether all valid elements equal the value (0 == -0, NaN equals nothing).
  // False when the element type cannot represent it; IsAllFloat rounds the
  // value to the element type and takes only floating-point arrays,
  // IsAllComplex only complex ones.
  bool IsAll(const Literal& scalar) const;
  bool IsAll(int8_t value) const;
  bool IsAllFloat(float value) const;
  bool IsAllComplex(complex64 value) const;
  // Whether the array has elements and all have the bits of the first.
  bool IsAllFirst() const;

  // Number of elements equal to `value`; 0 when the type does not represent it.
  // Complex values are looked for among complex elements only.
  template <typename T>
  int64_t CountEqual(T value) const {
    if constexpr (std::numeric_limits<T>::is_integer) {
      return CountEqualInteger(
          static_cast<int64_t>(value),
          /*is_unsigned=*/!std::numeric_limits<T>::is_signed);
    } else {
      return CountEqualDouble(static_cast<double>(value));
    }
  }
  template <typename T>
  int64_t CountEqual(std::complex<T> value) const {
    return CountEqualComplex(complex128(value));
  }

  // Rank 1 holding 0, 1, 2, ...
  bool IsR1Iota() const;
  // Rank 1 integers holding 0, s, 2s, ... with at least two elements: s.
  std::optional<int64_t> IsR1StridedIota() const;
  bool IsZero(absl::Span<const int64_t> indices) const;

  int64_t element_count(const ShapeIndex& index = {}) const {
    return index.empty() ? root_piece().element_count()
                         : piece(index).element_count();
  }

  // Hashing. Consistent with Equal of the same sensitivity; reads at most
  // `kByteLimit` bytes of each array.
  template <typename H>
  friend H AbslHashValue(H state, const LiteralBase& value) {
    return LiteralBase::Hash<H, /*kIsLayoutSensitive=*/false>(std::move(state),
                                                              value);
  }
  template <typename H, bool kIsLayoutSensitive = true,
            int64_t kByteLimit = std::numeric_limits<int64_t>::max()>
  static H Hash(H state, const LiteralBase& literal) {
    // Bounds and flags of dynamic dimensions are left out, as in Equal; sizes
    // are in the fingerprint.
    ShapeUtil::ForEachSubshape(literal.shape(), [&state](const Shape& subshape,
                                                         const ShapeIndex&) {
      state =
          H::combine(std::move(state), subshape.element_type_including_buffer(),
                     subshape.tuple_shapes_size());
      if (kIsLayoutSensitive && subshape.IsArray() && subshape.has_layout()) {
        state = H::combine(std::move(state), subshape.layout());
      }
    });
    return H::combine(std::move(state),
                      literal.DataFingerprint(kIsLayoutSensitive, kByteLimit));
  }
  template <bool layout_sensitive>
  struct AbslHashable {
    const LiteralBase& literal;
    explicit AbslHashable(const LiteralBase& l) : literal(l) {}
    template <typename H>
    friend H AbslHashValue(H h, const AbslHashable& w) {
      return LiteralBase::Hash<H, layout_sensitive>(std::move(h), w.literal);
    }
  };
  // Fingerprint of the elements and dynamic sizes, the same in every process
  // (elided arrays count as equal).
  uint64_t DataFingerprint(
      bool layout_sensitive,
      int64_t byte_limit = std::numeric_limits<int64_t>::max()) const;

  // New values. Convert has the semantics of HLO convert: floats round to
  // nearest even, float to integer truncates and saturates (NaN is 0), integers
  // wrap, anything to PRED compares with 0. BitcastConvert to another width
  // adds or removes a minor dimension. InvalidArgument when the shapes or types
  // do not allow it.
  absl::StatusOr<Literal> ConvertToShape(const Shape& dest_shape) const;
  absl::StatusOr<Literal> BitcastConvert(const Shape& dest_shape) const;
  absl::StatusOr<Literal> Convert(PrimitiveType primitive_dest_type) const;

  Literal Clone() const;
  std::unique_ptr<Literal> CloneToUnique() const;
  Literal Relayout(const Layout& new_layout,
                   const ShapeIndex& shape_index = {}) const;
  Literal Relayout(const Shape& shape_with_layout) const;

  // Turns dynamic sizes into static bounds, and back with the given bounds.
  Literal ToStatic() const;
  Literal ToBoundedDynamic(const Shape& bounded_shape) const;

  // Same elements in logical order under other dimensions, descending layout.
  absl::StatusOr<Literal> Reshape(absl::Span<const int64_t> dimensions) const;
  // `dimensions[i]` is the result dimension that operand dimension i becomes.
  absl::StatusOr<Literal> Broadcast(const Shape& result_shape,
                                    absl::Span<const int64_t> dimensions) const;
  // Result dimension i is operand dimension permutation[i]. The buffer keeps
  // its order; the layout is permuted.
  Literal Transpose(absl::Span<const int64_t> permutation) const;
  Literal Slice(absl::Span<const int64_t> start_indices,
                absl::Span<const int64_t> limit_indices) const;
  // `times` copies along a new major dimension.
  template <typename NativeT>
  Literal Replicate(int64_t times) const;

  bool IsDetermined(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).IsDetermined();
  }
  bool IsKnown(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).IsKnown();
  }
  // Whether the elements of the literal, or of an array in it, were elided in
  // its source (`constant({...})`).
  bool is_elided(const ShapeIndex& shape_index = {}) const {
    return piece(shape_index).IsElided();
  }

  static Literal CreateFromShape(const Shape& shape);
  static Literal CreateFromShapeWithUnknownLeafArrays(const Shape& shape);
  static Literal CreateFromShapeWithUndeterminedLeafArrays(const Shape& shape);
  // All arrays with elements are elided.
  static Literal CreateElided(const Shape& shape);

 protected:
  using Piece = LiteralPiece;

  const Piece& piece(const ShapeIndex& shape_index) const {
    const Piece* piece = &root_piece();
    for (int64_t i : shape_index) {
      DCHECK(i >= 0 && i < piece->children_size());
      piece = &piece->child(i);
    }
    return *piece;
  }
  virtual const Piece& root_piece() const = 0;

 private:
  friend class MutableLiteralBase;
  friend class LiteralSlice;
  friend class BorrowingLiteral;
  friend class MutableBorrowingLiteral;
  friend class Literal;

  bool IsIntegerEqualAt(absl::Span<const int64_t> multi_index, int64_t value,
                        bool is_unsigned) const;
  bool IsDoubleEqualAt(absl::Span<const int64_t> multi_index,
                       double value) const;
  int64_t CountEqualInteger(int64_t value, bool is_unsigned) const;
  int64_t CountEqualDouble(double value) const;
  int64_t CountEqualComplex(complex128 value) const;
};

}  // namespace xla

#endif  // XLA_LITERAL_BASE_H_
