#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_TYPES_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_TYPES_H_

// OpenXLA's path of this header, for code from outside.
#include <cstdint>  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_TYPES_H_
