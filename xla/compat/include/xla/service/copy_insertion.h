#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_COPY_INSERTION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_COPY_INSERTION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/copies/copy_insertion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_COPY_INSERTION_H_
