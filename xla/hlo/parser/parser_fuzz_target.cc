#include "xla/hlo/parser/parser_fuzz_target.h"

#include <memory>
#include <string>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::hlo_text {

bool ParsesAndRoundTrips(absl::string_view text) {
  HloParserOptions options;
  options.set_max_recursion_depth(200);
  // Both modes read all attributes; the lenient one keeps more.
  options.set_allow_unknown_attributes(text.size() % 2 == 0);
  auto module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options);
  if (!module.ok()) {
    CHECK(!module.status().message().empty());
    return false;
  }
  const std::string once = (*module)->ToString();
  auto again = ParseAndReturnUnverifiedModule(once, HloModuleConfig(), options);
  CHECK(again.ok()) << again.status().message() << "\nin the print of\n"
                    << text;
  // The names that short forms hide compete with the others in the order of the
  // text, as in XLA. Printing changes that order, and so perhaps names, once.
  const std::string twice = (*again)->ToString();
  again = ParseAndReturnUnverifiedModule(twice, HloModuleConfig(), options);
  CHECK(again.ok()) << again.status().message() << "\nin the print of\n"
                    << once;
  const std::string thrice = (*again)->ToString();
  CHECK(thrice == twice) << twice << "\n--- prints as ---\n" << thrice;
  return true;
}

}  // namespace xla::hlo_text
