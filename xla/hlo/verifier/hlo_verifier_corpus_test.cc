// Real modules are well formed.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

TEST(HloVerifierCorpusTest, AllModulesAreGood) {
  const char* corpus = std::getenv("HLO_CORPUS");
  if (corpus == nullptr || *corpus == 0)
    GTEST_SKIP() << "HLO_CORPUS names no folder";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() == ".hlo") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_FALSE(paths.empty());
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.string());
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
