#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_GPU_FUSIBLE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_GPU_FUSIBLE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/model/gpu_fusible.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_GPU_FUSIBLE_H_
