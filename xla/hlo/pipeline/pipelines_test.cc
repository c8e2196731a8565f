#include "xla/hlo/pipeline/pipelines.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/pipeline/all_passes.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

TEST(PipelinesTest, TablesHold) {
  absl::Status status = CheckPipelines(AllPasses());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PipelinesTest, EveryPipelineListsItsStepsAndReasons) {
  for (const NamedPipeline& pipeline : NamedPipelines()) {
    auto text = PipelineToText(pipeline.name);
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, HasSubstr(std::string(pipeline.steps.back())));
  }
  EXPECT_THAT(*PipelineToText("cleanup"),
              HasSubstr("hlo-cse before hlo-dce: "));
}

TEST(PipelinesTest, PassNamesAreWhatThePassesSay) {
  PassRegistry registry = AllPasses();
  for (const auto& [name, entry] : registry.entries()) {
    auto pass = registry.MakePass(name, {});
    ASSERT_TRUE(pass.ok()) << pass.status();
    // Some have the names of their originals, with '_'.
    EXPECT_EQ(absl::StrReplaceAll((*pass)->name(), {{"_", "-"}}), name);
    EXPECT_FALSE(entry.help.empty());
  }
}

TEST(PipelinesTest, UnknownNameIsAnError) {
  EXPECT_THAT(
      std::string(MakeNamedPipeline(AllPasses(), "cleanpu").status().message()),
      HasSubstr("did you mean cleanup?"));
}

}  // namespace
}  // namespace xla
