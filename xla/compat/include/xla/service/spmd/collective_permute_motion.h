#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_COLLECTIVE_PERMUTE_MOTION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_COLLECTIVE_PERMUTE_MOTION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/collective_permute_motion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_COLLECTIVE_PERMUTE_MOTION_H_
