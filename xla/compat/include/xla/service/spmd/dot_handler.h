#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_DOT_HANDLER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_DOT_HANDLER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/dot_handler.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_DOT_HANDLER_H_
