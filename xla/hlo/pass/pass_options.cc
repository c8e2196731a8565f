#include "xla/hlo/pass/pass_options.h"

#include "absl/strings/numbers.h"
#include "xla/hlo/pass/nearest_name.h"

namespace xla {
namespace pass_options_internal {

absl::Status ParseValue(absl::string_view text, bool* value) {
  // `name` alone, without `=value`, switches it on.
  if (text.empty()) text = "true";
  if (absl::SimpleAtob(text, value)) return absl::OkStatus();
  return absl::InvalidArgumentError("expected true or false");
}

absl::Status ParseValue(absl::string_view text, int64_t* value) {
  if (absl::SimpleAtoi(text, value)) return absl::OkStatus();
  return absl::InvalidArgumentError("expected an integer");
}

absl::Status ParseValue(absl::string_view text, double* value) {
  if (absl::SimpleAtod(text, value)) return absl::OkStatus();
  return absl::InvalidArgumentError("expected a number");
}

absl::Status ParseValue(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return absl::OkStatus();
}

std::string ValueToString(bool value) { return value ? "true" : "false"; }
std::string ValueToString(int64_t value) { return absl::StrCat(value); }
std::string ValueToString(double value) { return absl::StrCat(value); }
std::string ValueToString(const std::string& value) { return value; }

absl::Status UnknownOption(absl::string_view name,
                           const std::vector<PassOptionInfo>& known) {
  if (known.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option ", name, ": this pass has no options"));
  }
  std::vector<std::string> names;
  for (const PassOptionInfo& option : known) names.push_back(option.name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown option ", name, DidYouMean(name, names)));
}

}  // namespace pass_options_internal
}  // namespace xla
