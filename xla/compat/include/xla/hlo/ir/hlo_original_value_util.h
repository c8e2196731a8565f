#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_ORIGINAL_VALUE_UTIL_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_ORIGINAL_VALUE_UTIL_H_

// OpenXLA's path of this header, for code from outside.

#include "xla/hlo/ir/hlo_original_value.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_ORIGINAL_VALUE_UTIL_H_
