#include "xla/hlo/evaluator/opaque_attributes.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/errors.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<OpaqueAttributes> OpaqueAttributes::Parse(
    absl::string_view text) {
  OpaqueAttributes attributes;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) {
      return InvalidArgument("attribute \"%s\" has no value", text);
    }
    const std::string name(absl::StripAsciiWhitespace(text.substr(0, equals)));
    text = absl::StripAsciiWhitespace(text.substr(equals + 1));
    size_t end = text.find(',');
    absl::string_view value = text.substr(0, end);
    if (absl::ConsumePrefix(&text, "[")) {
      const size_t close = text.find(']');
      if (close == absl::string_view::npos) {
        return InvalidArgument("the list of attribute \"%s\" has no end", name);
      }
      value = text.substr(0, close);
      text.remove_prefix(close + 1);
      end = text.find(',');
    }
    std::vector<int64_t>& numbers = attributes.values_[name];
    for (absl::string_view piece :
         absl::StrSplit(value, ',', absl::SkipWhitespace())) {
      int64_t number;
      if (!absl::SimpleAtoi(piece, &number)) {
        return InvalidArgument("attribute \"%s\": \"%s\" is not an integer",
                               name, piece);
      }
      numbers.push_back(number);
    }
    text = end == absl::string_view::npos ? absl::string_view()
                                          : text.substr(end + 1);
  }
  return attributes;
}

absl::StatusOr<std::vector<int64_t>> OpaqueAttributes::List(
    absl::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) {
    return InvalidArgument("attribute \"%s\" is missing", name);
  }
  return it->second;
}

absl::StatusOr<int64_t> OpaqueAttributes::Number(absl::string_view name,
                                                 int64_t limit) const {
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> list, List(name));
  if (list.size() != 1 || list[0] < 0 || list[0] > limit) {
    return InvalidArgument("attribute \"%s\" is not a number from 0 to %d",
                           name, limit);
  }
  return list[0];
}

}  // namespace xla
