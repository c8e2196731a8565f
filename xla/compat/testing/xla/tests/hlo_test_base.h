#ifndef XLA_COMPAT_TESTING_XLA_TESTS_HLO_TEST_BASE_H_
#define XLA_COMPAT_TESTING_XLA_TESTS_HLO_TEST_BASE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_TESTS_HLO_TEST_BASE_H_
