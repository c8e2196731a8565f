// Real modules are well formed.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

TEST(HloVerifierCorpusTest, AllModulesAreGood) {
  const std::string corpus = CorpusFolder();
  if (corpus.empty()) GTEST_SKIP() << "HLO_CORPUS names no folder";
  const std::vector<std::string> paths = HloFilesBelow(corpus);
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto module = ParseAndReturnUnverifiedModule(text.str());
    ASSERT_TRUE(module.ok()) << module.status();
    HloVerifierOpts opts;
    opts.allow_mixed_precision = true;
    EXPECT_EQ(VerifyHloModule(module->get(), opts), absl::OkStatus());
  }
}

}  // namespace
}  // namespace xla
