#include "xla/report_json.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "google/protobuf/source_context.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(ReportJsonTest, DefaultsStandUnderTheNamesOfTheProto) {
  const absl::StatusOr<std::string> json =
      ReportToJson(google::protobuf::SourceContext());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, "{\n \"file_name\": \"\"\n}\n");
}

TEST(ReportJsonTest, WhatHasNoJsonIsAnErrorThatNamesTheType) {
  google::protobuf::Timestamp time;
  time.set_seconds(std::numeric_limits<int64_t>::max());
  const absl::Status status = ReportToJson(time).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("google.protobuf.Timestamp to JSON"));
}

}  // namespace
}  // namespace xla
