#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_TEST_UTIL_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_TEST_UTIL_H_

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/pattern_matcher.h"

namespace xla {

inline std::unique_ptr<HloModule> ParseForTest(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

inline HloInstruction* RootOf(const std::unique_ptr<HloModule>& module) {
  return module->entry_computation()->root_instruction();
}

template <typename Pattern>
std::string Description(const Pattern& pattern) {
  std::ostringstream os;
  pattern.DescribeTo(&os);
  return os.str();
}

// Why the item does not match; "(matches)" if it does.
template <typename Item, typename Pattern>
std::string Explanation(Item* item, const Pattern& pattern,
                        bool single_user_only = false) {
  std::ostringstream os;
  if (Match(item, pattern, {/*capture=*/true, single_user_only, &os})) {
    return "(matches)" + os.str();
  }
  return os.str();
}

}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_TEST_UTIL_H_
