#ifndef XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_LOOP_FUSION_H_
#define XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_LOOP_FUSION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/transforms/horizontal/horizontal_fusion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_LOOP_FUSION_H_
