// Buffer assignment on every .hlo file under the folder $HLO_CORPUS, or, where
// that is unset, on the bundled examples: as the file is scheduled, or, where
// it is not, in depth-first order after the pipeline `prepare`; with the copies
// that copy insertion makes. Both checkers look at each result: that no two
// values that live at the same time overlap, and that a run on labeled memory
// reads what it wrote.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/testlib/corpus.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

std::vector<std::string> Files() {
#ifdef ON_CORPUS
  return CorpusFiles("examples");
#else
  return HloFilesBelow("examples");
#endif
}

absl::Status RunPasses(absl::string_view passes, HloModule* module) {
  auto pipeline = AllPasses().ParsePipeline("test", passes);
  if (!pipeline.ok()) return pipeline.status();
  return (*pipeline)->Run(module).status();
}

int64_t CountCopies(const HloModule& module) {
  int64_t count = 0;
  for (const HloComputation* computation : module.computations()) {
    if (computation->IsFusionComputation()) continue;
    for (const HloInstruction* inst : computation->instructions()) {
      count += inst->opcode() == HloOpcode::kCopy;
    }
  }
  return count;
}

// Copies, and an order if there is none.
absl::Status Prepare(HloModule* module) {
  if (module->has_schedule()) return RunPasses("copy-insertion", module);
  auto prepare = MakeNamedPipeline(AllPasses(), "prepare");
  if (!prepare.ok()) return prepare.status();
  absl::Status status = (*prepare)->Run(module).status();
  if (!status.ok()) return status;
  return RunPasses("copy-insertion,hlo-memory-scheduler{algorithm=dfs}",
                   module);
}

TEST(BufferAssignmentCorpusTest, AssignmentsAreValid) {
  const std::vector<std::string> files = Files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    auto module = ReadModuleFromFile(file);
    ASSERT_TRUE(module.ok()) << module.status();
    const int64_t copies = CountCopies(**module);
    const absl::Status prepared = Prepare(module->get());
    ASSERT_TRUE(prepared.ok()) << prepared;
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
      ADD_FAILURE() << missing[i].reader->name() << " reads "
                    << missing[i].value->ToShortString() << " after "
                    << missing[i].written->ToShortString();
    }
    const BufferAssignment::Stats& stats = (*assignment)->GetStats();
    std::printf(
        "%7.3f s, total %15lld, temporary %15lld, fragmentation %.5f, "
        "copies %lld (%lld before)  %s\n",
        seconds, static_cast<long long>(stats.total_allocation_bytes),
        static_cast<long long>(stats.preallocated_temp_allocation_bytes),
        static_cast<double>(stats.preallocated_temp_fragmentation_bytes) /
            std::max<int64_t>(1, stats.preallocated_temp_allocation_bytes),
        static_cast<long long>(CountCopies(**module)),
        static_cast<long long>(copies),
        std::filesystem::path(file).filename().c_str());
    // HeapSimulator's bound on what alignment and packing waste.
    EXPECT_LE(stats.preallocated_temp_fragmentation_bytes,
              0.02 * stats.preallocated_temp_allocation_bytes + 4096);
  }
}

}  // namespace
}  // namespace xla
