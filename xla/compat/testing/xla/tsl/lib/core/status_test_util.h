#ifndef XLA_COMPAT_TESTING_XLA_TSL_LIB_CORE_STATUS_TEST_UTIL_H_
#define XLA_COMPAT_TESTING_XLA_TSL_LIB_CORE_STATUS_TEST_UTIL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/test_helpers.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_TSL_LIB_CORE_STATUS_TEST_UTIL_H_
