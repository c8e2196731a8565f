#ifndef XLA_LITERAL_UTIL_H_
#define XLA_LITERAL_UTIL_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/array4d.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Makes literals. Unless stated otherwise, layouts are descending and a wrong
// argument (a ragged list, a type without the wanted value) is a programming
// error that fails a CHECK.
class LiteralUtil {
 public:
  LiteralUtil() = delete;

  // One element as a scalar literal, and back.
  static Literal GetFirstScalarLiteral(const LiteralSlice& literal);
  static Literal GetScalarLiteral(const LiteralBase& literal,
                                  absl::Span<const int64_t> multi_index);
  static void SetScalarLiteral(MutableLiteralBase& literal,
                               absl::Span<const int64_t> multi_index,
                               const LiteralBase& scalar);

  // Arrays of rank 0 to 4 from C++ values. The form with a type converts.
  template <typename NativeT>
  static Literal CreateR0(NativeT value);
  template <typename T>
  static Literal CreateR0(PrimitiveType primitive_type, T value);
  template <typename NativeT>
  static Literal CreateR1(absl::Span<const NativeT> values);
  template <typename NativeT>
  static Literal CreateR2(
      std::initializer_list<std::initializer_list<NativeT>> values);
  template <typename NativeT>
  static Literal CreateR2WithLayout(
      std::initializer_list<std::initializer_list<NativeT>> values,
      const Layout& layout);
  template <typename NativeT>
  static Literal CreateR3(std::initializer_list<
                          std::initializer_list<std::initializer_list<NativeT>>>
                              values);
  template <typename NativeT>
  static Literal CreateR3WithLayout(
      std::initializer_list<
          std::initializer_list<std::initializer_list<NativeT>>>
          values,
      const Layout& layout);
  template <typename NativeT>
  static Literal CreateR4(
      std::initializer_list<std::initializer_list<
          std::initializer_list<std::initializer_list<NativeT>>>>
          values);
  template <typename NativeT>
  static Literal CreateR4WithLayout(
      std::initializer_list<std::initializer_list<
          std::initializer_list<std::initializer_list<NativeT>>>>
          values,
      const Layout& layout);

  // Scalars. Min and Max are -inf and inf where the type has them; MaxFinite is
  // the largest number. NanValue: InvalidArgument for types without NaN.
  static Literal Zero(PrimitiveType primitive_type);
  static Literal One(PrimitiveType primitive_type);
  static Literal MinValue(PrimitiveType primitive_type);
  static Literal MaxValue(PrimitiveType primitive_type);
  static Literal MaxFiniteValue(PrimitiveType primitive_type);
  static absl::StatusOr<Literal> NanValue(PrimitiveType primitive_type);

  // All elements the same.
  template <typename NativeT>
  static Literal CreateFullWithDescendingLayout(
      absl::Span<const int64_t> dimensions, NativeT value);
  template <typename NativeT>
  static Literal CreateFull(absl::Span<const int64_t> dimensions,
                            NativeT value) {
    return CreateFullWithDescendingLayout(dimensions, value);
  }

  // From array containers.
  template <typename NativeT>
  static Literal CreateFromArray(const Array<NativeT>& values);
  template <typename NativeT>
  static Literal CreateFromArrayWithLayout(const Array<NativeT>& values,
                                           const Layout& layout);
  template <typename NativeT>
  static Literal CreateR2FromArray2D(const Array2D<NativeT>& values) {
    return CreateFromArray(values);
  }
  template <typename NativeT>
  static Literal CreateR2FromArray2DWithLayout(const Array2D<NativeT>& values,
                                               const Layout& layout) {
    return CreateFromArrayWithLayout(values, layout);
  }
  template <typename NativeT>
  static Literal CreateR3FromArray3D(const Array3D<NativeT>& values) {
    return CreateFromArray(values);
  }
  template <typename NativeT>
  static Literal CreateR3FromArray3DWithLayout(const Array3D<NativeT>& values,
                                               const Layout& layout) {
    return CreateFromArrayWithLayout(values, layout);
  }
  template <typename NativeT>
  static Literal CreateR4FromArray4D(const Array4D<NativeT>& values) {
    return CreateFromArray(values);
  }
  template <typename NativeT>
  static Literal CreateR4FromArray4DWithLayout(const Array4D<NativeT>& values,
                                               const Layout& layout) {
    return CreateFromArrayWithLayout(values, layout);
  }

  // u8[n] with the bytes of a string.
  static Literal CreateR1U8(absl::string_view value);
  // Evenly spaced from `from` to `to`, row by row.
  static Literal CreateR2F32Linspace(float from, float to, int64_t rows,
                                     int64_t cols);
  // Copies of the rank-2 values along new major dimensions: result
  // [projection, rows, columns] and [projection_p, projection_z, rows, cols].
  template <typename NativeT>
  static Literal CreateR3Projected(
      std::initializer_list<std::initializer_list<NativeT>> values,
      int64_t projection);
  template <typename NativeT>
  static Literal CreateR4Projected(
      std::initializer_list<std::initializer_list<NativeT>> values,
      int64_t projection_p, int64_t projection_z);
  // Square matrices: `scalar` (or 1) on the diagonal, 0 elsewhere.
  template <typename NativeT>
  static Literal MakeScalarMatrixR2(int64_t size, NativeT scalar);
  template <typename NativeT>
  static Literal MakeIdentityR2(int64_t size) {
    return MakeScalarMatrixR2<NativeT>(size, static_cast<NativeT>(1));
  }
  // m x n; the element at (i, j) is scale * (i + j / 10^d), d the decimal
  // digits of n, so that it encodes its position.
  template <typename NativeT>
  static Literal CreateFingerprintMatixR2(int64_t m, int64_t n,
                                          NativeT scale = NativeT(1));

  // Tuples; the Owned forms move.
  static Literal MakeTuple(absl::Span<const Literal* const> elements);
  static Literal MakeTupleFromSlices(absl::Span<const LiteralSlice> elements);
  static Literal MakeTupleOwned(std::vector<Literal> elements);
  template <typename... Ts>
  static Literal MakeTupleOwned(Ts... elements) {
    std::vector<Literal> v;
    v.reserve(sizeof...(elements));
    (v.push_back(std::move(elements)), ...);
    return MakeTupleOwned(std::move(v));
  }
  static Literal CreateToken();
  // Zeros.
  static Literal CreateFromDimensions(PrimitiveType primitive_type,
                                      absl::Span<const int64_t> dimensions);

  // Conversions of all arrays of the one type in a (tuple) literal; arrays of
  // other types are copied.
  static Literal ConvertF8E4M3FNToF32(const LiteralSlice& f8e4m3fn_literal);
  static Literal ConvertF8E5M2ToF32(const LiteralSlice& f8e5m2_literal);
  static Literal ConvertS8ToF32(const LiteralSlice& s8_literal);
  static Literal ConvertBF16ToF32(const LiteralSlice& bf16_literal);
  static Literal ConvertBF16ToF64(const LiteralSlice& bf16_literal);
  static Literal ConvertF32ToF8E4M3FNUZ(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToF8E5M2FNUZ(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToF8E5M2(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToF8E4M3FN(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToBF16(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToS8(const LiteralSlice& f32_literal);
  static Literal ConvertF32ToF64(const LiteralSlice& f32_literal);
  static Literal ConvertF64ToBF16(const LiteralSlice& f64_literal);
  static Literal ConvertF64ToF32(const LiteralSlice& f64_literal);
  static Literal ConvertS32ToF32(const LiteralSlice& s32_literal);
  static Literal ConvertS32ToS1(const LiteralSlice& s32_literal);

  // The largest element of a non-empty real array, as a scalar.
  static Literal MaxElement(const LiteralSlice& literal);
  // The same elements in logical order under other dimensions and layout.
  static Literal ReshapeSlice(absl::Span<const int64_t> new_dimensions,
                              absl::Span<const int64_t> minor_to_major,
                              const LiteralSlice& literal);

  template <PrimitiveType type, typename T = primitive_util::NativeTypeOf<type>>
  static absl::StatusOr<Literal> CreateLiteralWithGenerator(
      const Shape& shape,
      absl::FunctionRef<T(absl::Span<const int64_t>)> generator);
  // Normally distributed elements. The form without engine is deterministic.
  template <PrimitiveType type, typename E,
            typename T = primitive_util::NativeTypeOf<type>>
  static absl::StatusOr<Literal> CreateRandomLiteral(const Shape& shape,
                                                     E* engine, T mean,
                                                     T stddev);
  template <typename E>
  static absl::StatusOr<Literal> CreateRandomLiteral(const Shape& shape,
                                                     E* engine, double mean,
                                                     double stddev);
  template <PrimitiveType type, typename T = primitive_util::NativeTypeOf<type>>
  static absl::StatusOr<Literal> CreateRandomLiteral(const Shape& shape, T mean,
                                                     T stddev);

  // Fills every array of a literal from `seed`, the same on every platform:
  // small integers that every integer type holds, floats in [-1, 1], PRED from
  // single bits. Gives elided arrays elements.
  static absl::Status FillDeterministic(Literal* literal, uint64_t seed);

  // `{1,2}`.
  static std::string MultiIndexAsString(absl::Span<const int64_t> multi_index);
  // The value of an integral scalar; absent for anything else, or when it does
  // not fit.
  static std::optional<int64_t> LiteralAsScalarInt64(const Literal& l);
  static std::vector<const Literal*> MakePointers(
      absl::Span<const Literal> literals);

 private:
  static Literal MakeR0(PrimitiveType primitive_type, double value);
  static Literal MakeR0(PrimitiveType primitive_type, int64_t value);
};

// A value to run `shape` with: pseudo-random and the same in every run, or all
// the same when `pseudo_random` is false. Integers stay within what index
// computations can use, floats are in (-1, 1), unless `use_large_range`.
absl::StatusOr<Literal> MakeFakeLiteral(const Shape& shape,
                                        bool pseudo_random = true,
                                        bool use_large_range = false);
// As above with an engine and constraints: `limit` is the inclusive range of
// integers; `is_sorted` sorts a rank-1 array and `no_duplicates` makes integers
// distinct, as far as the type allows; `max_bits_of_precision` cuts float
// significands.
absl::StatusOr<Literal> MakeFakeLiteral(
    const Shape& shape, std::minstd_rand0* engine,
    std::optional<std::pair<int64_t, int64_t>> limit, bool is_sorted,
    bool no_duplicates, bool use_large_range,
    std::optional<int64_t> max_bits_of_precision,
    std::optional<int64_t> index_alignment = std::nullopt,
    std::optional<uint64_t> index_known_zeroes = std::nullopt,
    std::function<double(std::minstd_rand0*)> float_generator = nullptr);

// The array of which `values` holds config.num_non_zero elements of each block
// of config.block_size along config.dimension; `indices`, integers of the same
// dimensions, are the places of the values in their blocks. Elements without a
// value are zero, and zeros may stand for values that a block lacks, at any
// index. In the layout of `values`.
//   2x4, {5, 6, 7, 0} at {0, 3, 1, 0} -> {5, 0, 0, 6, 0, 7, 0, 0}
// InvalidArgument for shapes that do not fit, indices outside of their block
// and two values in one place; Unimplemented for a stride above 1.
absl::StatusOr<Literal> MaterializeSparseOperand(
    const LiteralSlice& values, const LiteralSlice& indices,
    const SparsityConfig::TensorSparsityConfig& config);

}  // namespace xla

#include "xla/literal_util_templates.h"  // IWYU pragma: export

#endif  // XLA_LITERAL_UTIL_H_
