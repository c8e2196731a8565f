#ifndef XLA_HLO_PASS_PASS_OPTIONS_H_
#define XLA_HLO_PASS_PASS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {

// Options of passes as text: `hlo-cse{layout-sensitive=false,scalars-only}`.
//
// A pass with options has a struct with a default for each field and one
// function that names them; parsing, listing and help follow from it:
//
//   struct HloCseOptions {
//     bool layout_sensitive = true;
//     int64_t limit = 0;
//
//     template <typename Visitor>
//     void VisitFields(Visitor&& visit) {
//       visit("layout-sensitive", layout_sensitive, "treat values with
//       different layouts as different"); visit("limit", limit, "bytes; 0 for
//       no limit");
//     }
//   };
//
// Fields are bool, int64_t, double, std::string or an enum for which
// `bool AbslParseFlag(absl::string_view, E*, std::string* error)` and
// `std::string AbslUnparseFlag(E)` exist.

// The settings between the braces, in the order given.
struct PassOptionText {
  std::vector<std::pair<std::string, std::string>> settings;
};

// The description of one option, for lists and help.
struct PassOptionInfo {
  std::string name;
  std::string default_value;
  std::string help;
};

namespace pass_options_internal {

absl::Status ParseValue(absl::string_view text, bool* value);
absl::Status ParseValue(absl::string_view text, int64_t* value);
absl::Status ParseValue(absl::string_view text, double* value);
absl::Status ParseValue(absl::string_view text, std::string* value);
template <typename E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
absl::Status ParseValue(absl::string_view text, E* value) {
  std::string error;
  if (AbslParseFlag(text, value, &error)) return absl::OkStatus();
  return absl::InvalidArgumentError(error);
}

std::string ValueToString(bool value);
std::string ValueToString(int64_t value);
std::string ValueToString(double value);
std::string ValueToString(const std::string& value);
template <typename E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
std::string ValueToString(E value) {
  return AbslUnparseFlag(value);
}

// The error for a setting that no field has, with the nearest name.
absl::Status UnknownOption(absl::string_view name,
                           const std::vector<PassOptionInfo>& known);

}  // namespace pass_options_internal

// Returns the fields of `Options` with their defaults, in their order.
template <typename Options>
std::vector<PassOptionInfo> DescribePassOptions() {
  std::vector<PassOptionInfo> result;
  Options options;
  options.VisitFields(
      [&](absl::string_view name, auto& field, absl::string_view help) {
        result.push_back({std::string(name),
                          pass_options_internal::ValueToString(field),
                          std::string(help)});
      });
  return result;
}

// Returns the defaults of `Options` with the settings of `text` applied, or an
// InvalidArgument error that names the setting.
template <typename Options>
absl::StatusOr<Options> ParsePassOptions(const PassOptionText& text) {
  Options options;
  for (const auto& setting : text.settings) {
    bool found = false;
    absl::Status status;
    options.VisitFields(
        [&](absl::string_view name, auto& field, absl::string_view help) {
          if (name != setting.first) return;
          found = true;
          status = pass_options_internal::ParseValue(setting.second, &field);
        });
    if (!found) {
      return pass_options_internal::UnknownOption(
          setting.first, DescribePassOptions<Options>());
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("option ", setting.first,
                                                     "=", setting.second, ": ",
                                                     status.message()));
    }
  }
  return options;
}

// For passes without options.
struct NoPassOptions {
  template <typename Visitor>
  void VisitFields(Visitor&& visit) {}
};

}  // namespace xla

#endif  // XLA_HLO_PASS_PASS_OPTIONS_H_
