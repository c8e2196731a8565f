#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_ALIAS_INFO_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_ALIAS_INFO_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/gpu_alias_info.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_ALIAS_INFO_H_
