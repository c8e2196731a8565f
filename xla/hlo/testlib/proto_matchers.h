#ifndef XLA_HLO_TESTLIB_PROTO_MATCHERS_H_
#define XLA_HLO_TESTLIB_PROTO_MATCHERS_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/field_comparator.h"
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
    if (partial_) {
      differencer.set_scope(
          google::protobuf::util::MessageDifferencer::PARTIAL);
    }
    if (any_order_) {
      differencer.set_repeated_field_comparison(
          google::protobuf::util::MessageDifferencer::AS_SET);
    }
    google::protobuf::util::DefaultFieldComparator comparator;
    comparator.set_treat_nan_as_equal(nans_are_equal_);
    differencer.set_field_comparator(&comparator);
    std::string differences;
    differencer.ReportDifferencesToString(&differences);
    bool equal = differencer.Compare(*expected, actual);
    if (!equal) *listener << "which differs: " << differences;
    return equal;
  }

  // Only fields that the expected message sets.
  void SetPartial() { partial_ = true; }
  // Repeated fields hold the same in any order.
  void SetUnorderedRepeatedFields() { any_order_ = true; }
  void SetTreatingNaNsAsEqual() { nans_are_equal_ = true; }

  void DescribeTo(std::ostream* os) const { *os << "equals " << text_; }
  void DescribeNegationTo(std::ostream* os) const {
    *os << "does not equal " << text_;
  }

 private:
  std::string text_;
  Comparison comparison_;
  bool partial_ = false;
  bool any_order_ = false;
  bool nans_are_equal_ = false;
};

// EXPECT_THAT(message, Partially(EqualsProto("a: 1")));
inline ProtoMatcher Partially(ProtoMatcher matcher) {
  matcher.SetPartial();
  return matcher;
}
inline ProtoMatcher IgnoringRepeatedFieldOrdering(ProtoMatcher matcher) {
  matcher.SetUnorderedRepeatedFields();
  return matcher;
}
inline ProtoMatcher TreatingNaNsAsEqual(ProtoMatcher matcher) {
  matcher.SetTreatingNaNsAsEqual();
  return matcher;
}

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
