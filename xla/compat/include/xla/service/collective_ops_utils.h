#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_COLLECTIVE_OPS_UTILS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_COLLECTIVE_OPS_UTILS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/collectives/collective_ops_utils.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_COLLECTIVE_OPS_UTILS_H_
