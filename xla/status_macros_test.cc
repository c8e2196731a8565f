#include "xla/status_macros.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<int> Positive(int x) {
  if (x <= 0) return absl::InvalidArgumentError("not positive");
  return x;
}
absl::StatusOr<std::pair<int, int>> Twice(int x) {
  return std::make_pair(x, x);
}
absl::StatusOr<std::unique_ptr<int>> Boxed(int x) {
  return std::make_unique<int>(x);
}

absl::Status Check(int x) {
  TF_RET_CHECK(x > 2) << "x is " << x;
  return absl::OkStatus();
}

absl::StatusOr<int> CheckInStatusOr(int x) {
  TF_RET_CHECK(x > 2);
  return x;
}

TEST(StatusMacrosTest, RetCheckNamesConditionAndValues) {
  EXPECT_TRUE(Check(3).ok());
  const absl::Status status = Check(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("x > 2"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("x is 1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("status_macros_test"));
  EXPECT_FALSE(CheckInStatusOr(1).ok());
}

absl::StatusOr<int> Sum(int x, std::map<int, int>* map) {
  TF_RETURN_IF_ERROR(Positive(x).status());
  TF_ASSIGN_OR_RETURN(int a, Positive(x));
  TF_ASSIGN_OR_RETURN((auto [b, c]), Twice(a));
  TF_ASSIGN_OR_RETURN(auto box, Boxed(c));
  TF_ASSIGN_OR_RETURN((*map)[x], Positive(x));
  return a + b + c + *box;
}

TEST(StatusMacrosTest, AssignTakesDeclarationsAndLvalues) {
  std::map<int, int> map;
  EXPECT_EQ(*Sum(2, &map), 8);
  EXPECT_EQ(map[2], 2);
  EXPECT_EQ(Sum(0, &map).status(), absl::InvalidArgumentError("not positive"));
}

absl::Status WithContext(int x) {
  // The macro is one statement: this `else` belongs to the first `if`.
  if (x < 100)
    RETURN_IF_ERROR(Positive(x).status()) << "x was " << x;
  else
    return absl::OutOfRangeError("large");
  ASSIGN_OR_RETURN(int y, Positive(x - 1), _ << "one less than " << x);
  ASSIGN_OR_RETURN(y, Positive(y));
  return absl::OkStatus();
}

TEST(StatusMacrosTest, ContextIsAppended) {
  EXPECT_TRUE(WithContext(2).ok());
  EXPECT_EQ(WithContext(0),
            absl::InvalidArgumentError("not positive; x was 0"));
  EXPECT_EQ(WithContext(1),
            absl::InvalidArgumentError("not positive; one less than 1"));
  EXPECT_EQ(WithContext(100), absl::OutOfRangeError("large"));
}

}  // namespace
}  // namespace xla
