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
    EXPECT_EQ((*pass)->name(), name);
    // The spelling with '_' is another name of the same pass.
    auto same = registry.MakePass(absl::StrReplaceAll(name, {{"-", "_"}}), {});
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ((*same)->name(), name);
    EXPECT_FALSE(entry.help.empty());
  }
}

TEST(PipelinesTest, ReportsDoWithoutWhatIsWrittenDownForPrograms) {
  const PassRegistry registry = AllPasses();
  for (const NamedPipeline& named : NamedPipelines()) {
    const auto all = MakeNamedPipeline(registry, named.name);
    const auto some = MakePipelineForReports(registry, named.name);
    ASSERT_TRUE(all.ok() && some.ok());
    const int last = (*all)->PassesSize() - 1;
    const bool plans = (*all)->GetPass(last).name() == "shared-memory-planning";
    EXPECT_EQ(plans, named.name == "gpu");
    EXPECT_EQ((*some)->PassesSize(), plans ? last : last + 1) << named.name;
  }
}

TEST(PipelinesTest, UnknownNameIsAnError) {
  EXPECT_THAT(
      std::string(MakeNamedPipeline(AllPasses(), "cleanpu").status().message()),
      HasSubstr("did you mean cleanup?"));
}

}  // namespace
}  // namespace xla
