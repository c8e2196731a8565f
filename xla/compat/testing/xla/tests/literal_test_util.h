#ifndef XLA_COMPAT_TESTING_XLA_TESTS_LITERAL_TEST_UTIL_H_
#define XLA_COMPAT_TESTING_XLA_TESTS_LITERAL_TEST_UTIL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/literal_test_util.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_TESTS_LITERAL_TEST_UTIL_H_
