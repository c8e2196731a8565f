#ifndef XLA_HLO_EVALUATOR_RUN_LITERAL_DIFFERENCE_H_
#define XLA_HLO_EVALUATOR_RUN_LITERAL_DIFFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// How far elements may be apart. One passes when it satisfies any of the
// bounds, or both are NaN. Integers and predicates must be equal, unless
// `integers` is set: then abs and rel count for them too.
struct Tolerance {
  double abs = 0;
  double rel = 0;
  // Representable numbers apart, in the element type.
  int64_t ulps = 0;
  bool integers = false;

  // "0.001", "abs=1e-3,rel=1e-2,ulps=4", "exact"; one number is abs and rel.
  static absl::StatusOr<Tolerance> Parse(absl::string_view text);
  // Typical effect of different orders of evaluation of a short computation on
  // values of order 1 of this type; exact for types without rounding.
  static Tolerance ForType(PrimitiveType type);
};

// The first element, in logical order, that two literals differ in, and what
// can be said about the others.
struct LiteralDifference {
  ShapeIndex shape_index;
  std::vector<int64_t> index;
  std::string expected;
  std::string actual;
  // The distance of that first element; absent for integers, PRED, and where
  // one side is NaN.
  std::optional<int64_t> ulps;
  // Over all arrays.
  int64_t mismatches = 0;
  int64_t elements = 0;
  double max_abs_error = 0;

  // `output {0} at [1,2]: expected 1, actual 2 (1 ULP); 3 of 12 elements
  // differ, by at most 0.5`.
  std::string ToString() const;
};

// How far apart all elements are, those that pass included.
struct LiteralErrors {
  double max_abs = 0;
  // Relative to the larger of the two magnitudes, so at most 2.
  double max_rel = 0;
  // Tolerance of the array with the largest absolute error; else the
  // first one.
  std::optional<Tolerance> tolerance;
  int64_t elements = 0;
  // Elements that pass as both are NaN: of these the comparison says little.
  int64_t nans = 0;

  // `largest error 0.5 absolute, 0.25 relative; tolerance abs=0.1, rel=0.1 (any
  // one is enough)`; with NaN elements `…; 3 of 12 elements are NaN in both`.
  std::string ToString() const;
};

// Compares all arrays; layouts do not matter, dynamic sizes do. Nothing if all
// pass. InvalidArgument for incompatible shapes and for elided elements. Adds
// to `errors`, if given.
absl::StatusOr<std::optional<LiteralDifference>> FindDifference(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const Tolerance& tolerance, LiteralErrors* errors = nullptr);
// The same with a tolerance for each type: `scale` times that of ForType, where
// absolute errors are relative to the largest element of an array (or to 1, if
// all are smaller): what cancels was that large on the way.
absl::StatusOr<std::optional<LiteralDifference>> FindDifferenceByType(
    const LiteralSlice& expected, const LiteralSlice& actual, double scale,
    LiteralErrors* errors = nullptr);

// How many representable numbers lie between two elements of a floating-point
// array, from the bits: -0 and 0 are one number.
int64_t UlpsApart(PrimitiveType type, const void* a, const void* b);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_LITERAL_DIFFERENCE_H_
