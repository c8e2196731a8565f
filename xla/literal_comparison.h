#ifndef XLA_LITERAL_COMPARISON_H_
#define XLA_LITERAL_COMPARISON_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "xla/error_spec.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace literal_comparison {

// Compares literals and explains the first differences. All errors are
// InvalidArgument; they say where in a tuple, at which index, and what both
// elements are. Layouts never matter.

// Which dimensions, types and tuple structure differ; OK for compatible shapes.
absl::Status EqualShapes(const Shape& expected, const Shape& actual);

// Equal shapes, dynamic sizes and elements, bit for bit, except that any NaN
// equals any NaN.
absl::Status Equal(const LiteralSlice& expected, const LiteralSlice& actual);

// Told of every array that fails: what both are, which elements are off (a PRED
// literal of their shape), and where the array is.
using MiscompareCallback = std::function<void(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const LiteralSlice& mismatches, const ShapeIndex& shape_index)>;

// As Equal, but floating-point and complex elements may be off as `error`
// allows (complex: the absolute value of the difference). The error counts the
// mismatches and shows the worst; `detailed_message` shows more of them.
absl::Status Near(const LiteralSlice& expected, const LiteralSlice& actual,
                  const ErrorSpec& error,
                  std::optional<bool> detailed_message = std::nullopt,
                  const MiscompareCallback& miscompare_callback = nullptr);

}  // namespace literal_comparison
}  // namespace xla

#endif  // XLA_LITERAL_COMPARISON_H_
