#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SCATTER_EXPANDER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SCATTER_EXPANDER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/indexing/scatter_expander.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SCATTER_EXPANDER_H_
