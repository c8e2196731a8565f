#ifndef XLA_HLO_TESTLIB_TEST_H_
#define XLA_HLO_TESTLIB_TEST_H_

// googletest with the assertions on Status that this project's tests use.
#include "gmock/gmock.h"                   // IWYU pragma: export
#include "gtest/gtest.h"                   // IWYU pragma: export
#include "xla/hlo/testlib/test_helpers.h"  // IWYU pragma: export

#endif  // XLA_HLO_TESTLIB_TEST_H_
