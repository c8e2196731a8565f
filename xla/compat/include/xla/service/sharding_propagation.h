#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_PROPAGATION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_PROPAGATION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_PROPAGATION_H_
