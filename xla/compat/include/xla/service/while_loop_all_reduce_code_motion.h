#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/while_loop_all_reduce_code_motion.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_
