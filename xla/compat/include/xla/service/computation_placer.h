#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPUTATION_PLACER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPUTATION_PLACER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/ir/computation_placer.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPUTATION_PLACER_H_
