#ifndef XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_
#define XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_

// OpenXLA's path of this header, for code from outside.
#include <string>

#include "gmock/gmock.h"  // IWYU pragma: export
#include "gtest/gtest.h"  // IWYU pragma: export

namespace tsl::testing {

// A folder for files of tests, which is there.
inline std::string TmpDir() { return ::testing::TempDir(); }

// That of --gtest_random_seed; another one in each run by default.
inline int RandomSeed() {
  return ::testing::UnitTest::GetInstance()->random_seed();
}

}  // namespace tsl::testing

#endif  // XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_H_
