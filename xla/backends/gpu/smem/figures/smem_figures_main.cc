// Figures of the shared-memory planners:
//
//   smem_figures --random=1000 --time xla/backends/gpu/smem/testdata/*.kir
//
// prints a table of the given kernels in both modes, what random kernels need
// in both, and how long planning takes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/kernel_ir/random_kernel.h"
#include "xla/backends/gpu/smem/baseline/stack_planner.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"
#include "xla/hlo/utils/file_util.h"

ABSL_FLAG(int, random, 0, "random kernels to plan in both modes");
ABSL_FLAG(bool, time, false, "time planning of 10, 100 and 1,000 buffers");

namespace xla::gpu {
namespace {

const GpuDevice& Device() {
  static const auto* device = new GpuDevice(FindGpuDevice("sm_90").value());
  return *device;
}

SmemPlanOptions PlanOptions() {
  SmemPlanOptions options;
  options.allow_divergent_barriers = true;
  return options;
}

std::string OrDash(std::optional<int64_t> value) {
  return value.has_value() ? absl::StrCat(*value) : "-";
}

int Count(const SmemPlan& plan, SmemSync::Kind kind) {
  return static_cast<int>(
      std::count_if(plan.syncs.begin(), plan.syncs.end(),
                    [&](const SmemSync& sync) { return sync.kind == kind; }));
}

// bytes, barriers inserted for reuse, new ones, all, met, races
std::string Columns(const SmemPlan& plan) {
  return absl::StrFormat("%7d %3d %3d %3d %6d %5s", plan.total_bytes,
                         plan.syncs_inserted(), plan.NewBlockSyncs(),
                         plan.syncs_total, plan.dynamic_syncs,
                         CheckRaces(plan.planned).ok() ? "no" : "YES");
}

void PrintKernelRow(const kir::Kernel& kernel) {
  absl::StatusOr<SmemPlan> stack = PlanSharedMemoryAsStack(kernel);
  absl::StatusOr<SmemPlan> plan =
      PlanSharedMemory(kernel, Device(), PlanOptions());
  SmemPlanOptions least = PlanOptions();
  least.reuse_syncs = SmemPlanOptions::ReuseSyncs::kMinBytes;
  absl::StatusOr<SmemPlan> least_plan =
      PlanSharedMemory(kernel, Device(), least);
  if (!stack.ok() || !plan.ok() || !least_plan.ok() || plan->buffers.empty()) {
    return;
  }
  std::printf(
      "%-17s | %s | %s | %7lld %7s %3s %3d %3d | %7lld %3d\n",
      kernel.name.c_str(), Columns(*stack).c_str(), Columns(*plan).c_str(),
      static_cast<long long>(plan->lower_bound_bytes),
      OrDash(plan->optimum_bytes).c_str(), OrDash(plan->optimum_syncs).c_str(),
      Count(*plan, SmemSync::Kind::kWarp),
      Count(*plan, SmemSync::Kind::kArrive),
      static_cast<long long>(least_plan->total_bytes),
      least_plan->syncs_inserted());
}

void PrintTable(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  std::printf(
      "syncs: of the block; `re` inserted for reuse, `new` for any reason, "
      "`all` with those given, `met` by one block\n"
      "%-17s | %-32s | %-32s | %-27s | %s\n"
      "%-17s | %7s %3s %3s %3s %6s %5s | %7s %3s %3s %3s %6s %5s | "
      "%7s %7s %3s %3s %3s | %7s %3s\n",
      "", "stack", "plan", "bound, optimum, syncs", "min-bytes", "kernel",
      "bytes", "re", "new", "all", "met", "races", "bytes", "re", "new", "all",
      "met", "races", "bound", "optimum", "new", "wrp", "a/w", "bytes", "re");
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> text = ReadFileOrStdin(path);
    if (!text.ok()) continue;
    absl::StatusOr<std::vector<kir::Kernel>> kernels =
        kir::ParseKernels(*text, path);
    if (!kernels.ok()) continue;
    for (const kir::Kernel& kernel : *kernels) PrintKernelRow(kernel);
  }
}

void PrintRandom(int count) {
  int planned = 0, small = 0, optimal = 0, worse = 0, racy = 0, at_bound = 0;
  int without_memory = 0;
  absl::btree_map<std::string, int> refused;
  double stack_ratio = 0, plan_ratio = 0, least_ratio = 0;
  for (int seed = 0; seed < count; ++seed) {
    const kir::Kernel kernel = MakeRandomKernel(seed);
    StackPlanOptions stack_options;
    stack_options.min_align = 16;
    SmemPlanOptions options = PlanOptions();
    options.min_align = 16;
    absl::StatusOr<SmemPlan> stack =
        PlanSharedMemoryAsStack(kernel, stack_options);
    absl::StatusOr<SmemPlan> plan = PlanSharedMemory(kernel, Device(), options);
    options.reuse_syncs = SmemPlanOptions::ReuseSyncs::kMinBytes;
    absl::StatusOr<SmemPlan> least =
        PlanSharedMemory(kernel, Device(), options);
    for (const absl::Status& status :
         {stack.status(), plan.status(), least.status()}) {
      if (!status.ok()) ++refused[std::string(status.message())];
    }
    if (!stack.ok() || !plan.ok() || !least.ok()) continue;
    if (plan->lower_bound_bytes == 0) {
      ++without_memory;
      continue;
    }
    ++planned;
    if (plan->buffers.size() <= 8) {
      ++small;
      optimal += plan->optimum_bytes == plan->total_bytes;
    }
    at_bound += least->total_bytes == least->lower_bound_bytes;
    if (plan->total_bytes > stack->total_bytes) {
      ++worse;
      racy += !CheckRaces(stack->planned).ok();
    }
    const double bound = static_cast<double>(plan->lower_bound_bytes);
    stack_ratio += static_cast<double>(stack->total_bytes) / bound;
    plan_ratio += static_cast<double>(plan->total_bytes) / bound;
    least_ratio += static_cast<double>(least->total_bytes) / bound;
  }
  const int n = std::max(1, planned);
  std::printf(
      "%d random kernels, alignment 16: %.2f %% of the %d with up to 8 buffers "
      "at the optimum for their barriers; bytes / lower bound: stack %.3f, "
      "plan %.3f, min-bytes %.3f (%.1f %% at the bound); plan larger than "
      "stack: %d, of which the stack's races: %d\n",
      planned, 100.0 * optimal / std::max(1, small), small, stack_ratio / n,
      plan_ratio / n, least_ratio / n, 100.0 * at_bound / n, worse, racy);
  std::printf("%d kernels need no shared memory\n", without_memory);
  for (const auto& [reason, times] : refused) {
    std::printf("%d refused: %s\n", times, reason.c_str());
  }
}

void PrintTimes() {
  for (int buffers : {10, 100, 1000}) {
    RandomKernelOptions random;
    random.chain = true;
    random.max_buffers = buffers;
    const kir::Kernel kernel = MakeRandomKernel(7, random);
    SmemPlanOptions options = PlanOptions();
    const std::clock_t start = std::clock();
    absl::StatusOr<SmemPlan> plan = PlanSharedMemory(kernel, Device(), options);
    const double ms = 1000.0 * static_cast<double>(std::clock() - start) /
                      static_cast<double>(CLOCKS_PER_SEC);
    std::printf("%d buffers: %.1f ms of processor time, %s\n", buffers, ms,
                plan.ok() ? absl::StrCat(plan->total_bytes, " bytes, bound ",
                                         plan->lower_bound_bytes)
                                .c_str()
                          : plan.status().ToString().c_str());
  }
}

}  // namespace
}  // namespace xla::gpu

int main(int argc, char** argv) {
  std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  xla::gpu::PrintTable(std::vector<std::string>(rest.begin() + 1, rest.end()));
  if (absl::GetFlag(FLAGS_random) > 0) {
    xla::gpu::PrintRandom(absl::GetFlag(FLAGS_random));
  }
  if (absl::GetFlag(FLAGS_time)) xla::gpu::PrintTimes();
  return 0;
}
