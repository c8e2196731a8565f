#include "xla/hlo/ir/backend_config.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

TEST(BackendConfigTest, TextIsKeptVerbatim) {
  const char* text = R"({ "known_trip_count" : {"n":"7"} })";
  BackendConfigWrapper config{std::string(text)};
  EXPECT_EQ(config.GetRawString(), text);
  WhileLoopBackendConfig proto;
  ASSERT_TRUE(config.GetProto(&proto).ok());
  EXPECT_EQ(proto.known_trip_count().n(), 7);
  EXPECT_EQ(config.GetRawString(), text) << "parsing changed the text";
}

TEST(BackendConfigTest, MessageBecomesTextOnDemand) {
  WhileLoopBackendConfig proto;
  proto.mutable_known_trip_count()->set_n(12);
  BackendConfigWrapper config(proto);
  EXPECT_FALSE(config.empty());
  BackendConfigWrapper reread(config.GetRawString());
  WhileLoopBackendConfig back;
  ASSERT_TRUE(reread.GetProto(&back).ok());
  EXPECT_EQ(back.known_trip_count().n(), 12);
}

TEST(BackendConfigTest, EmptyConfigIsAClearMessage) {
  BackendConfigWrapper config;
  EXPECT_TRUE(config.empty());
  WhileLoopBackendConfig proto;
  proto.mutable_known_trip_count()->set_n(1);
  ASSERT_TRUE(config.GetProto(&proto).ok());
  EXPECT_FALSE(proto.has_known_trip_count());
}

TEST(BackendConfigTest, TextThatIsNoJsonIsAnErrorOnlyForMessages) {
  BackendConfigWrapper config{std::string("not json {")};
  WhileLoopBackendConfig proto;
  EXPECT_EQ(config.GetProto(&proto).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(config.GetRawString(), "not json {");
}

TEST(BackendConfigTest, OneTextReadAsTwoMessageTypes) {
  BackendConfigWrapper config{std::string("{}")};
  WhileLoopBackendConfig loop;
  Window window;
  EXPECT_TRUE(config.GetProto(&loop).ok());
  EXPECT_TRUE(config.GetProto(&window).ok());
  EXPECT_TRUE(config.GetProto(&loop).ok());
}

TEST(BackendConfigTest, EqualityAndCopies) {
  WhileLoopBackendConfig proto;
  proto.mutable_known_trip_count()->set_n(3);
  BackendConfigWrapper a(proto), b(proto), c;
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  c = a;
  EXPECT_EQ(a, c);
  EXPECT_EQ(a.GetRawString(), c.GetRawString());
}

}  // namespace
}  // namespace xla
