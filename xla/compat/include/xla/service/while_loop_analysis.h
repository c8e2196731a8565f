#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ANALYSIS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ANALYSIS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/while_loop_analysis.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ANALYSIS_H_
