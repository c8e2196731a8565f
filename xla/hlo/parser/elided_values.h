#ifndef XLA_HLO_PARSER_ELIDED_VALUES_H_
#define XLA_HLO_PARSER_ELIDED_VALUES_H_

#include "absl/status/statusor.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla::hlo_text {

// Elements for a constant whose text was cut to `{...}`. They depend on types
// and dimensions alone: the same shape always gets the same values. Floating
// point: [-1, 1) (positive where there is no sign); integers: 0 to 99 or the
// type's maximum; pred: both values.
//
// An error if the shape has no size or memory is short. O(elements).
absl::StatusOr<Literal> MakeElidedValues(const Shape& shape);

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_ELIDED_VALUES_H_
