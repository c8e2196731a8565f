// Real modules: parsing and printing reach a fixed point after one round.
// HLO_CORPUS names a folder of *.hlo files, searched with its subfolders;
// without it, the modules in testdata/ are read.

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"

namespace xla {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::StatusOr<std::unique_ptr<HloModule>> Parse(absl::string_view text,
                                                 const std::string& name) {
  return ParseAndReturnUnverifiedModule(text, HloModuleConfig(),
                                        HloParserOptions().set_file_name(name));
}

bool HasControlDependencies(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!instruction->control_predecessors().empty()) return true;
    }
  }
  return false;
}

// Printed in the way of `options`, the module is read as what prints the same.
void ExpectFixedPoint(const HloModule& module, const HloPrintOptions& options) {
  const std::string once = module.ToString(options);
  auto again = Parse(once, "<printed>");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->instruction_count(), module.instruction_count());
  if (!options.print_control_dependencies() && HasControlDependencies(module)) {
    // The order of printing follows dependencies that the text leaves out: what
    // was read has none, and is a fixed point.
    ExpectFixedPoint(**again, options);
    return;
  }
  // Not EXPECT_EQ: it would print megabytes.
  EXPECT_TRUE((*again)->ToString(options) == once);
}

TEST(HloParserCorpusTest, PrintedModulesAreAFixedPoint) {
  std::vector<std::string> files = CorpusFiles("xla/hlo/parser/testdata");
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::string text = Read(file);
    for (const HloTextPiece& piece : SplitInput(text)) {
      auto module = Parse(piece.text, file);
      ASSERT_TRUE(module.ok()) << module.status().message();
      ExpectFixedPoint(**module, HloPrintOptions::Default());
      ExpectFixedPoint(**module, HloPrintOptions::ShortParsable());
    }
  }
}

}  // namespace
}  // namespace xla
