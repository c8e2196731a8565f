#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_CANONICALIZE_ALL_GATHER_FOR_CSE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_CANONICALIZE_ALL_GATHER_FOR_CSE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/canonicalize_all_gather_for_cse.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_CANONICALIZE_ALL_GATHER_FOR_CSE_H_
