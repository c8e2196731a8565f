#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDING_FORMAT_PICKER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDING_FORMAT_PICKER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/sharding_format_picker.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDING_FORMAT_PICKER_H_
