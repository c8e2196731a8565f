#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_LOGICAL_BUFFER_ANALYSIS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_LOGICAL_BUFFER_ANALYSIS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/logical_buffer_analysis.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_LOGICAL_BUFFER_ANALYSIS_H_
