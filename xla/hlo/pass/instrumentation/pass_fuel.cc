#include "xla/hlo/pass/instrumentation/pass_fuel.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "xla/hlo/pass/pass_name.h"

namespace xla {

absl::StatusOr<std::unique_ptr<PassFuel>> PassFuel::Create(
    absl::string_view text) {
  auto result = std::make_unique<PassFuel>();
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    int64_t count;
    absl::string_view name = absl::StripAsciiWhitespace(parts.first);
    if (name.empty() || !absl::SimpleAtoi(parts.second, &count) || count < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--fuel: expected PASS=COUNT, found ", item));
    }
    if (absl::ConsumeSuffix(&name, ".rewrite")) {
      result->rewrites_[PassNameWithDashes(name)] =
          std::make_shared<int64_t>(count);
      continue;
    }
    result->left_[PassNameWithDashes(name)] = count;
  }
  return result;
}

std::vector<std::string> PassFuel::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, count] : left_) names.push_back(name);
  absl::c_sort(names);
  return names;
}

bool PassFuel::ShouldRun(const PassEvent& event, const HloModule& module) {
  auto it = left_.find(PassNameWithDashes(event.pass_name()));
  if (it == left_.end()) return true;
  if (it->second == 0) return false;
  --it->second;
  return true;
}

}  // namespace xla
