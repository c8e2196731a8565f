#ifndef XLA_COMPAT_INCLUDE_XLA_STREAM_EXECUTOR_DEVICE_DESCRIPTION_H_
#define XLA_COMPAT_INCLUDE_XLA_STREAM_EXECUTOR_DEVICE_DESCRIPTION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/cost/device_description.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_STREAM_EXECUTOR_DEVICE_DESCRIPTION_H_
