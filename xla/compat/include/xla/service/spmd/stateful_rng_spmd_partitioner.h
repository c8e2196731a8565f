#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/stateful_rng_spmd_partitioner.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_
