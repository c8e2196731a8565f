#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARD_BARRIER_PARTITIONER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARD_BARRIER_PARTITIONER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/shard_barrier_partitioner.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARD_BARRIER_PARTITIONER_H_
