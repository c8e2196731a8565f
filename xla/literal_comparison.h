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
// InvalidArgument and give the place in a tuple, the index, and both elements.
// Layouts never matter.

// OK for compatible shapes, else an error that lists the dimensions, types and
// tuple structure that differ.
absl::Status EqualShapes(const Shape& expected, const Shape& actual);

// Equal shapes, dynamic sizes and elements, bit for bit, except that any NaN
// equals any NaN.
absl::Status Equal(const LiteralSlice& expected, const LiteralSlice& actual);

// Called for every array that fails, with both arrays, the mismatched elements
// (a PRED literal of their shape), and the array's index.
using MiscompareCallback = std::function<void(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const LiteralSlice& mismatches, const ShapeIndex& shape_index)>;

// As Equal, but floating-point and complex elements may differ within `error`
// (complex: by the absolute value of the difference). The status counts the
// mismatches and shows the worst; with `detailed_message` it shows more.
absl::Status Near(const LiteralSlice& expected, const LiteralSlice& actual,
                  const ErrorSpec& error,
                  std::optional<bool> detailed_message = std::nullopt,
                  const MiscompareCallback& miscompare_callback = nullptr);

}  // namespace literal_comparison
}  // namespace xla

#endif  // XLA_LITERAL_COMPARISON_H_
