#ifndef XLA_HLO_PARSER_PARSER_TEST_UTIL_H_
#define XLA_HLO_PARSER_PARSER_TEST_UTIL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"

// What the tests of the parser share.
namespace xla {

// What follows the header of a module.
inline constexpr absl::string_view kBody = R"(
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  ROOT t = (f32[4], f32[4]) tuple(p, q)
}
)";

// The module; text that is wrong fails the test, and is null.
std::unique_ptr<HloModule> Parse(
    absl::string_view text,
    const HloParserOptions& options = HloParserOptions(),
    const HloModuleConfig& config = HloModuleConfig());

// The names of the instructions, in their order.
std::vector<std::string> Names(const HloComputation& computation);

}  // namespace xla

#endif  // XLA_HLO_PARSER_PARSER_TEST_UTIL_H_
