#include "xla/hlo/parser/parser_test_util.h"

#include <utility>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

std::unique_ptr<HloModule> Parse(absl::string_view text,
                                 const HloParserOptions& options,
                                 const HloModuleConfig& config) {
  auto module = ParseAndReturnUnverifiedModule(text, config, options);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? *std::move(module) : nullptr;
}

std::vector<std::string> Names(const HloComputation& computation) {
  std::vector<std::string> names;
  for (const HloInstruction* instruction : computation.instructions()) {
    names.emplace_back(instruction->name());
  }
  return names;
}

}  // namespace xla
