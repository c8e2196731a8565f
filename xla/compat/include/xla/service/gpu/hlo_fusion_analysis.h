#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_HLO_FUSION_ANALYSIS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_HLO_FUSION_ANALYSIS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_GPU_HLO_FUSION_ANALYSIS_H_
