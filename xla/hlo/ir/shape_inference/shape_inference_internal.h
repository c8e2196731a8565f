#ifndef XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_INTERNAL_H_
#define XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_INTERNAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Shared by the parts of ShapeInference; for its own files only.

namespace xla::shape_inference_internal {

// Shorter than ShapeUtil::HumanString, and takes a list of dimensions.
std::string Str(const Shape& shape);
std::string Str(absl::Span<const int64_t> dims);

// The size of a dimension: a number, <=bound or ?.
struct Size {
  int64_t size;
  bool dynamic;
};

inline Size SizeOf(const Shape& shape, int64_t dim) {
  return {shape.dimensions(dim), shape.is_dynamic_dimension(dim)};
}
inline bool IsUnbounded(int64_t size) { return size == Shape::kUnboundedSize; }

// Equal bounds, or ? in one of them.
inline bool Agree(int64_t a, int64_t b) {
  return a == b || IsUnbounded(a) || IsUnbounded(b);
}
// The more specific of two that agree; dynamic if one is, unless ? met a
// static size.
Size Merge(Size a, Size b);

// Arithmetic on sizes; nullopt for ?; saturates on overflow, which gives a
// shape that no function accepts as valid.
int64_t SaturatedAdd(int64_t a, int64_t b);
int64_t SaturatedMul(int64_t a, int64_t b);

// Collects the dimensions of a result.
class ArrayBuilder {
 public:
  void Add(Size size) {
    sizes_.push_back(size.size);
    dynamic_.push_back(size.dynamic);
    any_dynamic_ = any_dynamic_ || size.dynamic;
  }
  void Add(int64_t size) { Add(Size{size, false}); }
  // InvalidArgument if sizes are negative or their product is too large.
  absl::StatusOr<Shape> Build(PrimitiveType type) const;

 private:
  absl::InlinedVector<int64_t, 6> sizes_;
  std::vector<bool> dynamic_;
  bool any_dynamic_ = false;
};

// Checks. `what` starts the message: "operand of transpose".
absl::Status ExpectArray(const Shape& shape, absl::string_view what);
absl::Status ExpectScalar(const Shape& shape, absl::string_view what);
absl::Status ExpectIntegralScalar(const Shape& shape, absl::string_view what);
// Each in [0, rank), without repetition.
absl::Status ExpectDimensions(absl::Span<const int64_t> dims, int64_t rank,
                              absl::string_view what);
absl::Status ExpectDimension(int64_t dim, int64_t rank, absl::string_view what);
absl::Status ExpectSorted(absl::Span<const int64_t> dims,
                          absl::string_view what);
// The same rank, and sizes that agree.
absl::Status ExpectSameSizes(const Shape& a, const Shape& b,
                             absl::string_view what);
// The common element type (the one of higher precision) of two arrays.
absl::StatusOr<PrimitiveType> CommonType(const Shape& a, const Shape& b,
                                         absl::string_view what);
// The element type of a product of sums over the operands: the preferred one if
// it can hold the values, or that of higher precision. Integers, floats
// and complex numbers may mix.
absl::StatusOr<PrimitiveType> ProductType(
    const Shape& lhs, const Shape& rhs, std::optional<PrimitiveType> preferred);

// Sizes, strides and dilations of a window are positive.
absl::Status ExpectSlidingWindow(const Window& window, absl::string_view what);

// The window slid over `base`, whose rank it must have. `what` is the opcode.
absl::StatusOr<Shape> WindowOutput(const Shape& base, const Window& window,
                                   PrimitiveType type, absl::string_view what);

// A computation that combines n accumulators with n values:
// (acc0.., value0..) -> acc or (acc0, ..), all scalars. `inputs` and
// `init_values` have the element types that go in.
absl::Status ExpectReducer(const ProgramShape& reducer,
                           absl::Span<const Shape* const> inputs,
                           absl::Span<const Shape* const> init_values,
                           absl::string_view what);
// The i-th of its n results.
const Shape& ReducerResult(const ProgramShape& reducer, int64_t i);

// The shape itself if there is one, else the tuple.
Shape OneOrTuple(std::vector<Shape> shapes);

inline bool Contains(absl::Span<const int64_t> list, int64_t value) {
  for (int64_t element : list) {
    if (element == value) return true;
  }
  return false;
}

}  // namespace xla::shape_inference_internal

#endif  // XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_INTERNAL_H_
