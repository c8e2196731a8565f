#ifndef XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_REDUCTION_DEGENERATE_DIM_REMOVER_H_
#define XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_REDUCTION_DEGENERATE_DIM_REMOVER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/transforms/reductions/reduction_degenerate_dim_remover.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_REDUCTION_DEGENERATE_DIM_REMOVER_H_
