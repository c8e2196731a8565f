#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_REMOVER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_REMOVER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/sharding_remover.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SHARDING_REMOVER_H_
