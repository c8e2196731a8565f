#ifndef XLA_COMPAT_TESTING_XLA_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_
#define XLA_COMPAT_TESTING_XLA_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_

// OpenXLA's path of this header, for code from outside.
#include <string>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/text_format.h"

namespace tsl {
namespace proto_testing {

// Dies of text that is no message of the type.
template <typename Message>
Message ParseTextProtoOrDie(absl::string_view text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(std::string(text),
                                                      &message))
      << "no " << Message::descriptor()->full_name() << ": " << text;
  return message;
}

// MyProto p = ParseTextProtoOrDie("a: 1"): the type of what it is put into.
class TextProto {
 public:
  explicit TextProto(absl::string_view text) : text_(text) {}
  template <typename Message>
  operator Message() const {  // NOLINT
    return ParseTextProtoOrDie<Message>(text_);
  }

 private:
  std::string text_;
};
inline TextProto ParseTextProtoOrDie(absl::string_view text) {
  return TextProto(text);
}

}  // namespace proto_testing
}  // namespace tsl

#endif  // XLA_COMPAT_TESTING_XLA_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_
