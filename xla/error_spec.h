#ifndef XLA_ERROR_SPEC_H_
#define XLA_ERROR_SPEC_H_

#include "xla/xla_data.pb.h"

namespace xla {

// The tolerance of floating-point results: an element passes when
// |actual - expected| <= abs or |actual - expected| / |expected| <= rel.
struct ErrorSpec {
  explicit ErrorSpec(float aabs, float arel = 0) : abs(aabs), rel(arel) {}

  double abs;  // absolute error bound
  double rel;  // relative error bound

  // Elements pass when, rounded to the floating-point type `type`, they are at
  // most `within_n_values` of its representable numbers apart. Negative turns
  // this off.
  struct LowPrecisionFPErrorSpec {
    PrimitiveType type = PRIMITIVE_TYPE_INVALID;
    int within_n_values = -1;
  };
  LowPrecisionFPErrorSpec low_precision_fp_error_spec;

  // NaN matches only NaN; relaxed, any value passes where NaN is expected.
  bool relaxed_nans = false;
  // Infinities match only themselves, unless an actual infinity is allowed
  // where a number is expected, or a number where an infinity is expected.
  bool more_infs_ok = false;
  bool fewer_infs_ok = false;
};

}  // namespace xla

#endif  // XLA_ERROR_SPEC_H_
