#ifndef XLA_HLO_TESTLIB_TEST_HELPERS_H_
#define XLA_HLO_TESTLIB_TEST_HELPERS_H_

#include "absl/status/status.h"
#include "absl/status/status_matchers.h"  // IWYU pragma: export
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Assertions on absl::Status and absl::StatusOr. For matchers see
// absl_testing::IsOk, IsOkAndHolds and StatusIs.
//
//   TF_ASSERT_OK(module->set_schedule(schedule));
//   TF_ASSERT_OK_AND_ASSIGN(auto module, Parse(text));

namespace xla {
namespace testing {
namespace internal_status {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status) {
  return status.status();
}

}  // namespace internal_status
}  // namespace testing
}  // namespace xla

namespace tsl {
namespace testing {
using ::absl_testing::IsOk;
using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
}  // namespace testing
}  // namespace tsl

#ifndef TF_EXPECT_OK
#define TF_EXPECT_OK(expression) EXPECT_THAT(expression, ::absl_testing::IsOk())
#define TF_ASSERT_OK(expression) ASSERT_THAT(expression, ::absl_testing::IsOk())
#endif
#ifndef EXPECT_OK
#define EXPECT_OK(expression) TF_EXPECT_OK(expression)
#define ASSERT_OK(expression) TF_ASSERT_OK(expression)
#endif
#define EXPECT_IS_OK(expression) \
  EXPECT_EQ(::absl::OkStatus(),  \
            ::xla::testing::internal_status::GetStatus(expression))
#define ASSERT_IS_OK(expression) \
  ASSERT_EQ(::absl::OkStatus(),  \
            ::xla::testing::internal_status::GetStatus(expression))
#define ASSERT_IS_NOT_OK(expression) \
  ASSERT_NE(::absl::OkStatus(),      \
            ::xla::testing::internal_status::GetStatus(expression))
#define EXPECT_IS_NOT_OK(expression) \
  EXPECT_NE(::absl::OkStatus(),      \
            ::xla::testing::internal_status::GetStatus(expression))

#define HLO_TEST_CONCAT_INNER(a, b) a##b
#define HLO_TEST_CONCAT(a, b) HLO_TEST_CONCAT_INNER(a, b)
#define HLO_ASSERT_OK_AND_ASSIGN_IMPL(status_or, target, expression) \
  auto status_or = (expression);                                     \
  ASSERT_TRUE(status_or.ok()) << status_or.status();                 \
  target = std::move(status_or).value()

#ifndef TF_ASSERT_OK_AND_ASSIGN
#define TF_ASSERT_OK_AND_ASSIGN(target, expression)                       \
  HLO_ASSERT_OK_AND_ASSIGN_IMPL(HLO_TEST_CONCAT(status_or_, __COUNTER__), \
                                target, expression)
#endif
#ifndef ASSERT_OK_AND_ASSIGN
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  TF_ASSERT_OK_AND_ASSIGN(target, expression)
#endif

#endif  // XLA_HLO_TESTLIB_TEST_HELPERS_H_
