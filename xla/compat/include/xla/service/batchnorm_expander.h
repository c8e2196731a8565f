#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_BATCHNORM_EXPANDER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_BATCHNORM_EXPANDER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/simplifiers/batchnorm_expander.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_BATCHNORM_EXPANDER_H_
