#ifndef XLA_COMPAT_INCLUDE_XLA_CORE_COLLECTIVES_REDUCTION_KIND_H_
#define XLA_COMPAT_INCLUDE_XLA_CORE_COLLECTIVES_REDUCTION_KIND_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/collectives/reduction_kind.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_CORE_COLLECTIVES_REDUCTION_KIND_H_
