#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_CALL_INLINER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_CALL_INLINER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/simplifiers/call_inliner.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_CALL_INLINER_H_
