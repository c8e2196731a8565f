#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MEMORY_SCHEDULER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MEMORY_SCHEDULER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/logical_buffer.h"
#include "xla/hlo/transforms/memory/hlo_memory_scheduler.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MEMORY_SCHEDULER_H_
