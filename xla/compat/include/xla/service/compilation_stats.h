#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_STATS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_STATS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/pass/compilation_stats.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_STATS_H_
