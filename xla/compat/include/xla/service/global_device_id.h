#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_GLOBAL_DEVICE_ID_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_GLOBAL_DEVICE_ID_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/collectives/device_id.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_GLOBAL_DEVICE_ID_H_
