#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_MULTI_OUTPUT_FUSION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_MULTI_OUTPUT_FUSION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/fusion/multi_output_fusion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_MULTI_OUTPUT_FUSION_H_
