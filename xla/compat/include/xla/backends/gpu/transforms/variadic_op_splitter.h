#ifndef XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_VARIADIC_OP_SPLITTER_H_
#define XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_VARIADIC_OP_SPLITTER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/variadic_op_splitter.h"  // IWYU pragma: export

namespace xla::gpu {
using ::xla::VariadicOpSplitter;
}  // namespace xla::gpu

#endif  // XLA_COMPAT_INCLUDE_XLA_BACKENDS_GPU_TRANSFORMS_VARIADIC_OP_SPLITTER_H_
