#ifndef XLA_COMPAT_TESTING_TSL_PLATFORM_TEST_BENCHMARK_H_
#define XLA_COMPAT_TESTING_TSL_PLATFORM_TEST_BENCHMARK_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/platform/test_benchmark.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_TSL_PLATFORM_TEST_BENCHMARK_H_
