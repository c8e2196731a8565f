#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_NAME_UNIQUER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_NAME_UNIQUER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/ir/name_uniquer.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_NAME_UNIQUER_H_
