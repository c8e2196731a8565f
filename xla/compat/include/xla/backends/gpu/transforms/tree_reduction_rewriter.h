#ifndef XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_TREE_REDUCTION_REWRITER_H_
#define XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_TREE_REDUCTION_REWRITER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/transforms/reductions/tree_reduction_rewriter.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_TREE_REDUCTION_REWRITER_H_
