#include "xla/hlo/pass/instrumentation/dump_hlo.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/module_io.h"

namespace xla {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<HloModule> Module(const std::string& name) {
  auto module = ParseAndReturnUnverifiedModule("HloModule " + name + R"(
ENTRY main {
  p = f32[4]{0} parameter(0)
  n = f32[4]{0} negate(p), metadata={op_name="minus"}
  ROOT r = f32[4]{0} add(n, p)
})");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// Names the root after itself, or leaves everything alone.
class Rename : public HloModulePass {
 public:
  Rename(std::string name, bool changes)
      : name_(std::move(name)), changes_(changes) {}
  absl::string_view name() const override { return name_; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>&) override {
    if (changes_) {
      module->entry_computation()->root_instruction()->SetAndSanitizeName(
          name_);
    }
    return changes_;
  }

 private:
  std::string name_;
  bool changes_;
};

class DumpHloTest : public ::testing::Test {
 protected:
  DumpHloTest() : folder_(testing::TempDir() + "/dump_hlo/a/b") {
    std::filesystem::remove_all(folder_);
  }

  // Runs pipeline outer: one (changes), idle, inner: two (changes), last.
  absl::Status Run(const DebugOptions& options,
                   const std::vector<std::string>& modules = {"m/x"}) {
    sunk_.clear();
    auto made = DumpHlo::Create(
        options, [this](absl::string_view text) { sunk_.append(text); });
    if (!made.ok()) return made.status();
    std::shared_ptr<DumpHlo> dump = *std::move(made);
    if (dump == nullptr) return absl::NotFoundError("nothing is asked for");
    HloPassPipeline pipeline("outer");
    pipeline.AddPass<Rename>("one", true);
    pipeline.AddPass<Rename>("idle", false);
    auto inner = std::make_unique<HloPassPipeline>("inner");
    inner->AddPass<Rename>("two", true);
    pipeline.AddPass(std::move(inner));
    pipeline.AddPass<Rename>("last-one", true);
    pipeline.AddInstrumentation(dump);
    for (const std::string& name : modules) {
      std::unique_ptr<HloModule> module = Module("m");
      module->set_name(name);
      absl::Status status = dump->Start(*module, "outer");
      if (!status.ok()) return status;
      status = pipeline.Run(module.get()).status();
      if (!status.ok()) return status;
      status = dump->Finish(*module);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files.push_back(entry.path().filename().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string Contents(const std::string& file) const {
    auto contents = ReadFileOrStdin(folder_ + "/" + file);
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() ? *contents : "";
  }

  const std::string folder_;
  std::string sunk_;
};

TEST_F(DumpHloTest, NothingIsAskedFor) {
  EXPECT_TRUE(absl::IsNotFound(Run(DebugOptions())));
}

TEST_F(DumpHloTest, AFolderTakesTheModuleBeforeAndAfter) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  ASSERT_TRUE(Run(options, {"m/x", "n"}).ok());
  EXPECT_THAT(Files(), ElementsAre("module_0001.m_x.after_optimizations.txt",
                                   "module_0001.m_x.before_optimizations.txt",
                                   "module_0002.n.after_optimizations.txt",
                                   "module_0002.n.before_optimizations.txt"));
  EXPECT_THAT(Contents("module_0001.m_x.before_optimizations.txt"),
              HasSubstr("ROOT r ="));
  EXPECT_THAT(Contents("module_0001.m_x.after_optimizations.txt"),
              HasSubstr("ROOT last-one ="));
}

TEST_F(DumpHloTest, PassesThatChangeAndStartsOfPipelines) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  options.set_xla_dump_hlo_pass_re(".*");
  ASSERT_TRUE(Run(options).ok());
  EXPECT_THAT(
      Files(),
      ElementsAre("module_0001.m_x.0000.outer.after_pipeline-start.before_one"
                  ".txt",
                  "module_0001.m_x.0001.outer.after_one.before_idle.txt",
                  "module_0001.m_x.0002.inner.after_pipeline-start.before_two"
                  ".txt",
                  "module_0001.m_x.0003.inner.after_two.before_pipeline-end"
                  ".txt",
                  "module_0001.m_x.0004.outer.after_last-one.before_pipeline-"
                  "end.txt",
                  "module_0001.m_x.after_optimizations.txt",
                  "module_0001.m_x.before_optimizations.txt"));
  EXPECT_THAT(Contents(Files()[3]), HasSubstr("ROOT two ="));
}

TEST_F(DumpHloTest, ExpressionsPickModulesAndPassesByAPartOfTheirNames) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  options.set_xla_dump_hlo_module_re("^n");
  options.set_xla_dump_hlo_pass_re("last_");
  ASSERT_TRUE(Run(options, {"m", "n", "nn"}).ok());
  EXPECT_THAT(
      Files(),
      ElementsAre("module_0002.n.0000.outer.after_last-one.before_pipeline-end"
                  ".txt",
                  "module_0002.n.after_optimizations.txt",
                  "module_0002.n.before_optimizations.txt",
                  "module_0003.nn.0000.outer.after_last-one.before_pipeline-"
                  "end.txt",
                  "module_0003.nn.after_optimizations.txt",
                  "module_0003.nn.before_optimizations.txt"));
}

TEST_F(DumpHloTest, AtMostSoManyModules) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  options.set_xla_dump_max_hlo_modules(1);
  ASSERT_TRUE(Run(options, {"m", "n"}).ok());
  EXPECT_THAT(Files(), ElementsAre("module_0001.m.after_optimizations.txt",
                                   "module_0001.m.before_optimizations.txt"));
}

TEST_F(DumpHloTest, Forms) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  options.set_xla_dump_hlo_as_proto(true);
  options.set_xla_dump_hlo_as_dot(true);
  options.set_xla_dump_module_metadata(true);
  ASSERT_TRUE(Run(options).ok());
  EXPECT_THAT(Files(),
              ElementsAre("module_0001.m_x.after_optimizations.dot",
                          "module_0001.m_x.after_optimizations.hlo.pb",
                          "module_0001.m_x.before_optimizations.dot",
                          "module_0001.m_x.before_optimizations.hlo.pb",
                          "module_0001.m_x.metadata.textproto"));
  EXPECT_THAT(Contents(Files()[0]), HasSubstr("digraph"));
  EXPECT_TRUE(ReadModule(Contents(Files()[1])).ok());
  EXPECT_THAT(Contents(Files()[4]),
              AllOf(HasSubstr("pipeline-start"), HasSubstr("last-one")));
}

TEST_F(DumpHloTest, TextsGoToTheSinkWithoutAFolder) {
  DebugOptions options;
  options.set_xla_dump_hlo_as_text(true);
  ASSERT_TRUE(Run(options).ok());
  EXPECT_THAT(sunk_, StartsWith("*** Begin module_0001.m_x.before_"
                                "optimizations.txt ***\nHloModule"));
  EXPECT_THAT(sunk_, HasSubstr("op_name=\"minus\""));
  options.set_xla_dump_disable_metadata(true);
  options.set_xla_dump_to("-");
  ASSERT_TRUE(Run(options).ok());
  EXPECT_THAT(sunk_, AllOf(HasSubstr("negate"), Not(HasSubstr("op_name"))));
}

TEST_F(DumpHloTest, SaysWhatIsWrong) {
  DebugOptions options;
  options.set_xla_dump_hlo_pass_re("(");
  EXPECT_THAT(Run(options).message(),
              StartsWith("--xla_dump_hlo_pass_re: not a regular expression"));
  options.set_xla_dump_hlo_pass_re("");
  options.set_xla_dump_hlo_as_proto(true);
  EXPECT_THAT(Run(options).message(),
              StartsWith("--xla_dump_hlo_as_proto needs a folder"));
  options.set_xla_dump_to("/dev/null/x");
  EXPECT_THAT(Run(options).message(),
              StartsWith("--xla_dump_to=/dev/null/x: "));
}

TEST_F(DumpHloTest, NamesAreShortEnoughForFiles) {
  DebugOptions options;
  options.set_xla_dump_to(folder_);
  ASSERT_TRUE(Run(options, {std::string(5000, 'x')}).ok());
  EXPECT_EQ(Files().size(), 2);
}

}  // namespace
}  // namespace xla
