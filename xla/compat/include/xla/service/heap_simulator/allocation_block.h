#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_ALLOCATION_BLOCK_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_ALLOCATION_BLOCK_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/heap/allocation_block.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_ALLOCATION_BLOCK_H_
