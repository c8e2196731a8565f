#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ML_DTYPES_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ML_DTYPES_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/float_types.h"  // IWYU pragma: export
#include "xla/int_types.h"    // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ML_DTYPES_H_
