// kir-opt: plans the shared memory of GPU kernels.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/codegen/kir_opt_driver.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"

using xla::gpu::KirOptOptions;

ABSL_FLAG(KirOptOptions::Mode, mode, KirOptOptions::Mode::kPlan,
          "How memory is planned: plan (offsets by search, as few barriers as "
          "possible) or stack (as nvFuser does).");
ABSL_FLAG(std::string, passes, KirOptOptions().passes,
          "Passes to run: circular, matmul, alias, promote, plan, syncs; none: "
          "only read, verify and write.");
ABSL_FLAG(std::optional<KirOptOptions::Emit>, emit, std::nullopt,
          "What to write: kir, cuda, svg or none.");
ABSL_FLAG(KirOptOptions::Report, report, KirOptOptions::Report::kNone,
          "Write what was planned: text or json.");
ABSL_FLAG(bool, annotate, false,
          "Add comments with positions and live ranges.");
ABSL_FLAG(std::string, o, "-", "Output file.");
ABSL_FLAG(std::string, device, KirOptOptions().device,
          "GPU whose limits apply, such as sm_80 or A100.");
ABSL_FLAG(std::string, threads, "",
          "Block dimensions, overriding the kernel's: 32x4x1.");
ABSL_FLAG(std::string, bind, "", "Values of symbols: H=5,W=6.");
ABSL_FLAG(std::optional<int64_t>, min_align, std::nullopt,
          "Alignment in bytes of buffers that do not specify one.");
ABSL_FLAG(bool, allow_divergent_barriers, false,
          "Accept barriers that some threads may not reach.");
ABSL_FLAG(xla::gpu::SmemPlanOptions::ReuseSyncs, reuse_syncs,
          KirOptOptions().reuse_syncs,
          "Barriers inserted to reuse memory: auto, never or min-bytes.");
ABSL_FLAG(std::optional<int>, max_reuse_syncs, std::nullopt,
          "Maximum number of barriers inserted to reuse memory.");
ABSL_FLAG(bool, check_plan, false,
          "Verify that buffers that share memory in the plan do not conflict.");
ABSL_FLAG(
    int, check_races, 0,
    "Number of runs of the planned kernel on the race checker's machine.");
ABSL_FLAG(int64_t, max_steps, KirOptOptions().max_steps,
          "Maximum steps of each run of --check-races, and of the interpreter "
          "of --cuda-main; -1: no limit.");
ABSL_FLAG(
    bool, cuda_main, false,
    "Add a main() to the CUDA source that compares it with the interpreter.");
ABSL_FLAG(int, registers, 0,
          "Registers per thread, which limit occupancy; 0: ignored.");
ABSL_FLAG(int64_t, split_cycles, KirOptOptions().split_cycles,
          "Cycles between arrive and wait that make it worth splitting a "
          "barrier; 0: never.");

namespace {

constexpr char kUsage[] =
    "plans the shared memory of GPU kernels\n\n"
    "  kir-opt kernel.kir                         (addresses and syncs)\n"
    "  kir-opt kernel.kir --report=text           (what was planned, and why)\n"
    "  kir-opt kernel.kir --mode=stack --report=json\n"
    "  kir-opt kernel.kir --emit=cuda -o kernel.cu\n"
    "  kir-opt kernel.kir --emit=svg -o memory.svg\n";

KirOptOptions OptionsFromFlags() {
  KirOptOptions options;
  options.mode = absl::GetFlag(FLAGS_mode);
  options.passes = absl::GetFlag(FLAGS_passes);
  options.emit = absl::GetFlag(FLAGS_emit);
  options.report = absl::GetFlag(FLAGS_report);
  options.annotate = absl::GetFlag(FLAGS_annotate);
  options.output = absl::GetFlag(FLAGS_o);
  options.device = absl::GetFlag(FLAGS_device);
  options.threads = absl::GetFlag(FLAGS_threads);
  options.bind = absl::GetFlag(FLAGS_bind);
  options.min_align = absl::GetFlag(FLAGS_min_align);
  options.allow_divergent_barriers =
      absl::GetFlag(FLAGS_allow_divergent_barriers);
  options.reuse_syncs = absl::GetFlag(FLAGS_reuse_syncs);
  options.max_reuse_syncs = absl::GetFlag(FLAGS_max_reuse_syncs);
  options.check_plan = absl::GetFlag(FLAGS_check_plan);
  options.check_races = absl::GetFlag(FLAGS_check_races);
  options.max_steps = absl::GetFlag(FLAGS_max_steps);
  options.cuda_main = absl::GetFlag(FLAGS_cuda_main);
  options.registers = absl::GetFlag(FLAGS_registers);
  options.split_cycles = absl::GetFlag(FLAGS_split_cycles);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs = xla::InitTool(
      argc, argv, kUsage, /*aliases=*/{},
      {{"Planning",
        {"passes", "mode", "device", "threads", "bind", "min-align",
         "reuse-syncs", "max-reuse-syncs", "registers", "split-cycles"}},
       {"Checks",
        {"check-plan", "check-races", "max-steps", "allow-divergent-barriers"}},
       {"Output", {"emit", "o", "report", "annotate", "cuda-main"}}});
  if (inputs.empty()) {
    std::cerr << "usage: kir-opt INPUT... [flags]; see kir-opt --help\n";
    return xla::kFailed;
  }
  return xla::ExitStatus(xla::gpu::RunKirOpt(OptionsFromFlags(), inputs));
}
