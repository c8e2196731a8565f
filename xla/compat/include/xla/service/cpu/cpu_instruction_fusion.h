#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_CPU_CPU_INSTRUCTION_FUSION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_CPU_CPU_INSTRUCTION_FUSION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/fusion/cpu_instruction_fusion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_CPU_CPU_INSTRUCTION_FUSION_H_
