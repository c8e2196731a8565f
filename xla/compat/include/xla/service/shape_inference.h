#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SHAPE_INFERENCE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SHAPE_INFERENCE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/ir/shape_inference.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SHAPE_INFERENCE_H_
