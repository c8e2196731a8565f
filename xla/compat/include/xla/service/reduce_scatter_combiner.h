#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_REDUCE_SCATTER_COMBINER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_REDUCE_SCATTER_COMBINER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/collective_combiner.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_REDUCE_SCATTER_COMBINER_H_
