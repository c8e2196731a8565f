#ifndef XLA_HLO_TESTLIB_PROTO_MATCHERS_H_
#define XLA_HLO_TESTLIB_PROTO_MATCHERS_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"

namespace tsl {
namespace proto_testing {

// A matcher of messages: EqualsProto(message or its text form), field by field;
// EquivToProto treats fields that are unset as set to their default.
class ProtoMatcher {
 public:
  using is_gtest_matcher = void;
  using Comparison =
      ::google::protobuf::util::MessageDifferencer::MessageFieldComparison;

  ProtoMatcher(std::string text, Comparison comparison)
      : text_(std::move(text)), comparison_(comparison) {}
  ProtoMatcher(const google::protobuf::Message& message, Comparison comparison)
      : text_(message.DebugString()), comparison_(comparison) {}

  template <typename Message>
  bool MatchAndExplain(const Message& actual,
                       ::testing::MatchResultListener* listener) const {
    std::unique_ptr<Message> expected(actual.New());
    if (!google::protobuf::TextFormat::ParseFromString(text_, expected.get())) {
      *listener << "what is expected is no " << actual.GetTypeName();
      return false;
    }
    google::protobuf::util::MessageDifferencer differencer;
    differencer.set_message_field_comparison(comparison_);
    std::string differences;
    differencer.ReportDifferencesToString(&differences);
    bool equal = differencer.Compare(*expected, actual);
    if (!equal) *listener << "which differs: " << differences;
    return equal;
  }

  void DescribeTo(std::ostream* os) const { *os << "equals " << text_; }
  void DescribeNegationTo(std::ostream* os) const {
    *os << "does not equal " << text_;
  }

 private:
  std::string text_;
  Comparison comparison_;
};

inline ProtoMatcher EqualsProto(absl::string_view text) {
  return {std::string(text), google::protobuf::util::MessageDifferencer::EQUAL};
}
inline ProtoMatcher EqualsProto(const google::protobuf::Message& message) {
  return {message, google::protobuf::util::MessageDifferencer::EQUAL};
}
inline ProtoMatcher EquivToProto(absl::string_view text) {
  return {std::string(text),
          google::protobuf::util::MessageDifferencer::EQUIVALENT};
}
inline ProtoMatcher EquivToProto(const google::protobuf::Message& message) {
  return {message, google::protobuf::util::MessageDifferencer::EQUIVALENT};
}

}  // namespace proto_testing
}  // namespace tsl

#endif  // XLA_HLO_TESTLIB_PROTO_MATCHERS_H_
