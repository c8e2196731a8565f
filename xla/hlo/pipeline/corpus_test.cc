// Runs on every .hlo file under the folder $HLO_CORPUS, or, where that is
// unset, on the bundled examples: round trips through text and proto, and the
// cleanup pipeline with the verifier after each pass.

#include "xla/hlo/testlib/corpus.h"

#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

std::string Name(const ::testing::TestParamInfo<std::string>& info) {
  std::filesystem::path path(info.param);
  std::string name =
      path.parent_path().filename().string() + "_" + path.stem().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class CorpusTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<HloModule> Read() {
    auto module = ReadModuleFromFile(GetParam());
    EXPECT_TRUE(module.ok()) << module.status();
    return module.ok() ? *std::move(module) : nullptr;
  }
};

HloVerifierOpts VerifierOptions() {
  HloVerifierOpts options;
  options.allow_mixed_precision = true;
  return options;
}

// The short form is the parser's own corpus test's.
TEST_P(CorpusTest, TextAndProtoAreFixedPoints) {
  auto module = Read();
  ASSERT_NE(module, nullptr);
  absl::Status status = VerifyHloModule(module.get(), VerifierOptions());
  ASSERT_TRUE(status.ok()) << status;
  const std::string text = module->ToString();
  auto again = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(again.ok()) << again.status();
  // EXPECT_EQ would print megabytes.
  EXPECT_TRUE((*again)->ToString() == text);

  const std::string bytes = ModuleToProtoBytes(*module);
  EXPECT_EQ(DetectModuleFormat(bytes), ModuleFormat::kProto);
  again = ReadModule(bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  // Text may repeat a name in another computation, a proto does not: names
  // aside the modules are the same, and the next proto changes nothing.
  const HloPrintOptions canonical = HloPrintOptions::Canonical();
  EXPECT_TRUE((*again)->ToString(canonical) == module->ToString(canonical));
  auto third = ReadModule(ModuleToProtoBytes(**again));
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE((*third)->ToString() == (*again)->ToString());
}

TEST_P(CorpusTest, CleanupIsVerifiedAfterEachPass) {
  auto module = Read();
  ASSERT_NE(module, nullptr);
  for (const char* name : {"cleanup", "inline"}) {
    auto pipeline = MakeNamedPipeline(AllPasses(), name);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    (*pipeline)->AddInstrumentation(
        std::make_shared<VerifyEach>(VerifierOptions()));
    (*pipeline)->AddInstrumentation(
        std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
    absl::Status status = (*pipeline)->Run(module.get()).status();
    ASSERT_TRUE(status.ok()) << status;
    // There is nothing left to do.
    auto changed = (*pipeline)->Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_FALSE(*changed) << name;
  }
  std::string text = module->ToString();
  auto again = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->ToString() == text);
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest,
                         ::testing::ValuesIn(CorpusFiles("examples")), Name);

TEST(CorpusFilesTest, ThereAreSome) {
  EXPECT_FALSE(CorpusFiles("examples").empty());
}

}  // namespace
}  // namespace xla
