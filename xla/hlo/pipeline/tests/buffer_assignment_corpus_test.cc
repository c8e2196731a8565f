// Buffer assignment on every .hlo file under the folder $HLO_CORPUS, or, where
// that is unset, on the bundled examples: as the file is scheduled, or, where
// it is not, in depth-first order after the pipeline `prepare`. Both checkers
// look at each result: that no two values that live at the same time overlap,
// and that a run on labelled memory reads what it wrote. Modules that need
// copies before buffers can be assigned are no failures; the first few places
// are printed.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

std::vector<std::string> Files() {
  std::string folder = "examples";
#ifdef ON_CORPUS
  const char* corpus = std::getenv("HLO_CORPUS");
  if (corpus != nullptr && *corpus) folder = corpus;
#endif
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() == ".hlo") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status Schedule(HloModule* module) {
  if (module->has_schedule()) return absl::OkStatus();
  auto pipeline = MakeNamedPipeline(AllPasses(), "prepare");
  if (!pipeline.ok()) return pipeline.status();
  absl::Status status = (*pipeline)->Run(module).status();
  if (!status.ok()) return status;
  auto scheduler =
      AllPasses().ParsePipeline("order", "hlo-memory-scheduler{algorithm=dfs}");
  if (!scheduler.ok()) return scheduler.status();
  return (*scheduler)->Run(module).status();
}

TEST(BufferAssignmentCorpusTest, AssignmentsAreValid) {
  const std::vector<std::string> files = Files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    auto module = ReadModuleFromFile(file);
    ASSERT_TRUE(module.ok()) << module.status();
    const absl::Status scheduled = Schedule(module->get());
    ASSERT_TRUE(scheduled.ok()) << scheduled;
    AliasInfo alias_info;
    const absl::Time start = absl::Now();
    auto assignment = BufferAssigner::Run(
        module->get(),
        std::make_unique<SequentialHloOrdering>((*module)->schedule()),
        [](const BufferValue& value) {
          return ShapeUtil::ByteSizeOf(value.shape(), 8);
        },
        &alias_info, [](BufferValue::Color) { return 64; }, {});
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    const absl::Status checked =
        CheckBufferAssignment(**assignment, &alias_info);
    EXPECT_TRUE(checked.ok()) << checked;
    std::vector<MissingCopy> missing;
    const absl::Status replayed =
        ReplayBufferAssignment(**assignment, (*module)->schedule(), &missing);
    EXPECT_TRUE(replayed.ok()) << replayed;
    for (size_t i = 0; i < std::min<size_t>(missing.size(), 3); ++i) {
      std::printf("  %s reads %s after %s\n",
                  std::string(missing[i].reader->name()).c_str(),
                  missing[i].value->ToShortString().c_str(),
                  missing[i].written->ToShortString().c_str());
    }
    const BufferAssignment::Stats& stats = (*assignment)->GetStats();
    std::printf(
        "%7.3f s, total %15lld, temporary %15lld, fragmentation %.5f, "
        "missing copies %3zu  %s\n",
        seconds, static_cast<long long>(stats.total_allocation_bytes),
        static_cast<long long>(stats.preallocated_temp_allocation_bytes),
        static_cast<double>(stats.preallocated_temp_fragmentation_bytes) /
            std::max<int64_t>(1, stats.preallocated_temp_allocation_bytes),
        missing.size(), std::filesystem::path(file).filename().c_str());
    // HeapSimulator's bound on what alignment and packing waste.
    EXPECT_LE(stats.preallocated_temp_fragmentation_bytes,
              0.02 * stats.preallocated_temp_allocation_bytes + 4096);
  }
}

}  // namespace
}  // namespace xla
