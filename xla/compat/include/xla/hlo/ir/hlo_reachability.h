#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_REACHABILITY_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_REACHABILITY_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/hlo_reachability.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_IR_HLO_REACHABILITY_H_
