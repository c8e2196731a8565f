#ifndef XLA_COMPAT_TESTING_XLA_TESTS_TEST_UTILS_H_
#define XLA_COMPAT_TESTING_XLA_TESTS_TEST_UTILS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/test_utils.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_TESTS_TEST_UTILS_H_
