// Figures of the shared-memory planners:
//
//   smem_figures --random=1000 --time xla/backends/gpu/smem/testdata/*.kir
//
// prints a table of the given kernels in both modes, what random kernels need
// in both, and how long planning takes.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/kernel_ir/random_kernel.h"
#include "xla/backends/gpu/smem/plan_shared_memory.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/stack_planner.h"
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

std::string Optimum(const SmemPlan& plan) {
  return plan.optimum_bytes.has_value() ? absl::StrCat(*plan.optimum_bytes)
                                        : "-";
}

void PrintTable(const std::vector<std::string>& paths) {
  std::printf("%-16s | %7s %4s %6s %8s %5s | %7s %7s %7s %4s %6s %8s %5s\n",
              "kernel", "stack", "ins", "syncs", "dynamic", "races", "plan",
              "bound", "optimum", "ins", "syncs", "dynamic", "races");
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> text = ReadFileOrStdin(path);
    if (!text.ok()) continue;
    absl::StatusOr<std::vector<kir::Kernel>> kernels =
        kir::ParseKernels(*text, path);
    if (!kernels.ok()) continue;
    for (const kir::Kernel& kernel : *kernels) {
      absl::StatusOr<SmemPlan> stack = PlanSharedMemoryAsStack(kernel);
      absl::StatusOr<SmemPlan> plan =
          PlanSharedMemory(kernel, Device(), PlanOptions());
      if (!stack.ok() || !plan.ok() || plan->buffers.empty()) continue;
      auto races = [](const SmemPlan& p) {
        return CheckRaces(p.planned).ok() ? "no" : "YES";
      };
      std::printf(
          "%-16s | %7lld %4d %6d %8lld %5s | %7lld %7lld %7s %4d %6d %8lld "
          "%5s\n",
          kernel.name.c_str(), static_cast<long long>(stack->total_bytes),
          stack->syncs_inserted(), stack->syncs_total,
          static_cast<long long>(stack->dynamic_syncs), races(*stack),
          static_cast<long long>(plan->total_bytes),
          static_cast<long long>(plan->lower_bound_bytes),
          Optimum(*plan).c_str(), plan->syncs_inserted(), plan->syncs_total,
          static_cast<long long>(plan->dynamic_syncs), races(*plan));
    }
  }
}

void PrintRandom(int count) {
  int planned = 0, optimal = 0, worse = 0, at_bound = 0;
  double stack_ratio = 0, plan_ratio = 0;
  for (int seed = 0; seed < count; ++seed) {
    const kir::Kernel kernel = MakeRandomKernel(seed);
    StackPlanOptions stack_options;
    stack_options.min_align = 16;
    SmemPlanOptions options = PlanOptions();
    options.min_align = 16;
    absl::StatusOr<SmemPlan> stack =
        PlanSharedMemoryAsStack(kernel, stack_options);
    absl::StatusOr<SmemPlan> plan = PlanSharedMemory(kernel, Device(), options);
    if (!stack.ok() || !plan.ok() || plan->lower_bound_bytes == 0) continue;
    ++planned;
    optimal += plan->optimum_bytes == plan->total_bytes;
    at_bound += plan->total_bytes == plan->lower_bound_bytes;
    worse += plan->total_bytes > stack->total_bytes;
    const double bound = static_cast<double>(plan->lower_bound_bytes);
    stack_ratio += static_cast<double>(stack->total_bytes) / bound;
    plan_ratio += static_cast<double>(plan->total_bytes) / bound;
  }
  std::printf(
      "%d random kernels (up to 8 buffers, alignment 16): %.2f %% at the "
      "optimum for their barriers, %.1f %% at the lower bound; bytes / lower "
      "bound: stack %.3f, plan %.3f; plan larger than stack: %d\n",
      planned, 100.0 * optimal / std::max(1, planned),
      100.0 * at_bound / std::max(1, planned),
      stack_ratio / std::max(1, planned), plan_ratio / std::max(1, planned),
      worse);
}

void PrintTimes() {
  for (int buffers : {10, 100, 1000}) {
    RandomKernelOptions random;
    random.chain = true;
    random.max_buffers = buffers;
    const kir::Kernel kernel = MakeRandomKernel(7, random);
    const auto start = std::chrono::steady_clock::now();
    SmemPlanOptions options = PlanOptions();
    options.allow_divergent_barriers = true;
    absl::StatusOr<SmemPlan> plan = PlanSharedMemory(kernel, Device(), options);
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    std::printf("%d buffers: %.1f ms, %s\n", buffers, time.count(),
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
