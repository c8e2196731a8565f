#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_DOT_AS_CONVOLUTION_UTIL_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_DOT_AS_CONVOLUTION_UTIL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/dot_as_convolution_util.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_DOT_AS_CONVOLUTION_UTIL_H_
