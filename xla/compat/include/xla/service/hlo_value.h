#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VALUE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VALUE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/hlo_value.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VALUE_H_
