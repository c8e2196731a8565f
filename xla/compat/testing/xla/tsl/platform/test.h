#ifndef XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_
#define XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_

// OpenXLA's path of this header, for code from outside.
#include "gmock/gmock.h"  // IWYU pragma: export
#include "gtest/gtest.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_
