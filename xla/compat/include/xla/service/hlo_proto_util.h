#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_PROTO_UTIL_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_PROTO_UTIL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/hlo_proto_util.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_PROTO_UTIL_H_
