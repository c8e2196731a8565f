#ifndef XLA_COMPAT_TESTING_XLA_HLO_UTILS_HLO_MATCHERS_H_
#define XLA_COMPAT_TESTING_XLA_HLO_UTILS_HLO_MATCHERS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/hlo_matchers.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_HLO_UTILS_HLO_MATCHERS_H_
