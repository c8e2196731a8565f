#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_CUSTOM_CALL_SHARDING_HELPER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_CUSTOM_CALL_SHARDING_HELPER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/custom_call_sharding_helper.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_CUSTOM_CALL_SHARDING_HELPER_H_
