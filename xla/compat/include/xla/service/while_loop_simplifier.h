#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_SIMPLIFIER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_SIMPLIFIER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/control_flow/while_loop_simplifier.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_WHILE_LOOP_SIMPLIFIER_H_
