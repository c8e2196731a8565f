// What the kernels of compiled modules execute, a line of JSON each: to fit
// prices to what was measured.

#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/lowering/kernel_prices.h"
#include "xla/backends/gpu/lowering/kernel_work.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/status_macros.h"

ABSL_FLAG(std::string, device, "h200", "The GPU, by name or file.");

namespace {

absl::Status Print(const std::string& path) {
  TF_ASSIGN_OR_RETURN(const auto device,
                      xla::gpu::LoadGpuDevice(absl::GetFlag(FLAGS_device)));
  TF_ASSIGN_OR_RETURN(auto module, xla::ReadModuleFromFile(path));
  xla::gpu::GpuPerformanceModel model(device);
  xla::gpu::KernelPrices prices(device);
  xla::gpu::KernelPlannerOptions options;
  options.lowering = xla::gpu::LoweringOptionsFor(device);
  xla::gpu::KernelPlanner planner(xla::gpu::GpuDeviceOf(device), options);
  for (const xla::HloInstruction* hlo : xla::gpu::FindKernels(*module)) {
    const auto& cost = model.EstimateRunTime(*hlo);
    std::cout << absl::StrFormat(
        "{\"module\": \"%s\", \"name\": \"%s\", \"opcode\": \"%s\", "
        "\"flops\": %g, \"bytes_read\": %g, \"bytes_written\": %g, "
        "\"model_us\": %g, \"us\": %g",
        module->name(), hlo->name(),
        std::string(xla::HloOpcodeString(hlo->opcode())), cost.flops,
        cost.bytes_read, cost.bytes_written,
        absl::ToDoubleMicroseconds(cost.time),
        absl::ToDoubleMicroseconds(prices.Of(*hlo).time));
    const auto lowered = xla::gpu::LowerFusion(*hlo, options.lowering);
    if (lowered.ok()) {
      const auto& plan = planner.Plan(*hlo);
      TF_ASSIGN_OR_RETURN(const xla::gpu::KernelWork work,
                          xla::gpu::WorkOfKernel(lowered->kernel));
      const auto& c = work.chain;
      std::cout << absl::StrFormat(
          ", \"kind\": \"%s\", \"shared_bytes\": %d, \"blocks_per_sm\": %d, "
          "\"blocks\": %d, \"threads\": %d, \"instructions\": %g, "
          "\"sectors_read\": %g, \"sectors_again\": %g, \"sectors_written\": "
          "%g, \"loads\": %g, "
          "\"stores\": %g, \"atomics\": %g, \"shared_accesses\": %g, "
          "\"c_memory\": %g, \"c_shared\": %g, \"c_barriers\": %g, "
          "\"c_shuffles\": %g, \"c_cycles\": %g, \"c_instructions\": %g, "
          "\"products\": %g",
          plan.kind, plan.shared_bytes, plan.blocks_per_sm, work.blocks,
          work.threads, work.instructions, work.sectors_read,
          work.sectors_again, work.sectors_written, work.loads, work.stores,
          work.atomics, work.shared_accesses, c.memory, c.shared, c.barriers,
          c.shuffles, c.instructions, work.chain_instructions, work.products);
    }
    std::cout << "}\n";
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string& file :
       xla::InitTool(argc, argv,
                     "kernel_work FILE...: what kernels execute, as JSON\n")) {
    const absl::Status status = Print(file);
    if (!status.ok()) return xla::ExitStatus(status);
  }
  return 0;
}
