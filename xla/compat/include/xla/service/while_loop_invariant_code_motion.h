#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_INVARIANT_CODE_MOTION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/control_flow/while_loop_invariant_code_motion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
