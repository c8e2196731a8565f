#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_BUFFER_ASSIGNMENT_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_BUFFER_ASSIGNMENT_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"  // IWYU pragma: export
#include "xla/hlo/analysis/buffers/buffer_assignment_sizes.h"
#include "xla/hlo/analysis/heap/heap_simulator.h"
#include "xla/hlo/analysis/logical_buffer.h"

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_BUFFER_ASSIGNMENT_H_
