#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_HEAP_SIMULATOR_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_HEAP_SIMULATOR_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/heap/heap_simulator.h"  // IWYU pragma: export
#include "xla/hlo/analysis/logical_buffer.h"

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HEAP_SIMULATOR_HEAP_SIMULATOR_H_
