// How good plans of random kernels are, against what is recorded.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/random_kernel.h"
#include "xla/backends/gpu/smem/baseline/stack_planner.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"
#include "xla/hlo/testlib/recorded.h"

namespace xla::gpu {
namespace {

// Bytes, barriers for reuse, new ones, all, and how often one block meets them.
std::string Figures(const absl::StatusOr<SmemPlan>& plan) {
  if (!plan.ok()) return std::string(plan.status().message());
  int others = 0, positions = 0;
  for (const SmemSync& sync : plan->syncs) {
    others += sync.kind != SmemSync::Kind::kBlock;
    positions += sync.before_position;
  }
  int64_t shared = 0, ends = 0;
  for (const SmemBufferPlan& buffer : plan->buffers) {
    shared += static_cast<int64_t>(buffer.shares_with.size());
    ends += buffer.first + buffer.last;
  }
  return absl::StrFormat(
      "%d B >= %d, %d %d %d %d %d at %d, %d shared %d", plan->total_bytes,
      plan->lower_bound_bytes, plan->syncs_inserted(), plan->NewBlockSyncs(),
      plan->syncs_total, plan->dynamic_syncs, others, positions, shared, ends);
}

TEST(SmemRecordTest, AsRecorded) {
  const GpuDevice device = *FindGpuDevice("sm_90");
  std::vector<std::string> lines;
  for (uint64_t seed = 1000; seed < 1070; ++seed) {
    RandomKernelOptions random;
    random.max_buffers = 4 + static_cast<int>(seed % 12);
    random.chain = seed % 7 == 0;
    const kir::Kernel kernel = MakeRandomKernel(seed, random);
    std::string line = absl::StrFormat(
        "kernel %d: stack %s", seed, Figures(PlanSharedMemoryAsStack(kernel)));
    SmemPlanOptions options;
    options.allow_divergent_barriers = true;
    line += "; plan " + Figures(PlanSharedMemory(kernel, device, options));
    options.reuse_syncs = SmemPlanOptions::ReuseSyncs::kMinBytes;
    options.split_cycles = 0;
    line += "; least " + Figures(PlanSharedMemory(kernel, device, options));
    options.reuse_syncs = SmemPlanOptions::ReuseSyncs::kNever;
    options.min_align = 16;
    options.exact_up_to = 3;
    line += "; never " + Figures(PlanSharedMemory(kernel, device, options));
    lines.push_back(line);
  }
  ExpectRecorded("xla/backends/gpu/smem/plan/testdata/record.txt", lines);
}

}  // namespace
}  // namespace xla::gpu
