#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_MODEL_GPU_PERFORMANCE_MODEL_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_MODEL_GPU_PERFORMANCE_MODEL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_MODEL_GPU_PERFORMANCE_MODEL_H_
