#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/schedule_aware_collective_ops_cse.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_
