#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_OP_EXPANDER_PASS_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_OP_EXPANDER_PASS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/op_expander_pass.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_OP_EXPANDER_PASS_H_
