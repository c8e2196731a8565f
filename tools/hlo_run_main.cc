// hlo-run: evaluates HLO modules and compares what they compute.

#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/commands/hlo_run.h"

ABSL_FLAG(std::string, inputs, "random:0",
          "Arguments: random:SEED, small:SEED (small integers), zeros, or a "
          ".npz file with arrays arg0, arg1, ...");
ABSL_FLAG(int64_t, devices, 0,
          "Number of devices; 0: the module's replicas x partitions.");
ABSL_FLAG(int64_t, replicas, 0, "Number of replicas; 0: as in the module.");
ABSL_FLAG(int64_t, partitions, 0, "Number of partitions; 0: as in the module.");
ABSL_FLAG(std::string, compare, "",
          "A second module to run on the same arguments.");
ABSL_FLAG(std::string, tolerance, "",
          "Tolerance for results: exact, a number, or abs=..,rel=..,ulps=... "
          "Default: by element type.");
ABSL_FLAG(std::string, cuda, "",
          "Folder of a CUDA program (hlo-opt --emit=cuda) to compile, run and "
          "compare; without a GPU, it runs on the host.");
ABSL_FLAG(bool, print, false, "Print the results.");
ABSL_FLAG(std::string, o, "", "Write the results to this .npz file.");
ABSL_FLAG(std::string, save_inputs, "",
          "Write the arguments to this .npz file.");
ABSL_FLAG(int64_t, max_steps, 100'000'000,
          "Maximum instructions executed per device; -1: no limit.");
ABSL_FLAG(double, max_flops, xla::HloRunOptions().max_flops,
          "Maximum operations of a run: FLOPs, transcendentals and "
          "one per 8 bytes read or written; -1: no limit.");
ABSL_FLAG(int64_t, max_memory_mib, xla::HloRunOptions().max_memory_mib,
          "Maximum memory for the values of all devices, in MiB.");
ABSL_FLAG(std::string, memory_limit, "",
          "The same, as a size (16GiB) or a device (h100).");
ABSL_FLAG(bool, progress, isatty(STDERR_FILENO) != 0,
          "Report the estimated time and the progress of long runs on standard "
          "error; on by default if that is a terminal.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of rng instructions.");
ABSL_FLAG(bool, fill_elided_constants, false,
          "Fill constants that the text elides ('{...}') with made-up values.");

int main(int argc, char** argv) {
  const std::vector<std::string> modules = xla::InitTool(
      argc, argv,
      "evaluates HLO modules\n\n"
      "Computes the results of a module, on one device or on all devices that "
      "it was\n"
      "partitioned for, and checks whether those of another module are "
      "equal.\n\n"
      "  hlo-run model.hlo --print\n"
      "  hlo-run model.hlo --inputs=real.npz -o results.npz\n"
      "  hlo-run before.hlo --compare=after.hlo --tolerance=1e-5\n"
      "  hlo-run partitioned.hlo --devices=8\n",
      /*aliases=*/{},
      {{"Input",
        {"inputs", "seed", "fill-elided-constants", "devices", "replicas",
         "partitions"}},
       {"Comparison", {"compare", "cuda", "tolerance"}},
       {"Output", {"print", "o", "save-inputs", "progress"}},
       {"Limits",
        {"max-steps", "max-flops", "max-memory-mib", "memory-limit"}}});
  if (modules.size() != 1) {
    std::cerr << "usage: hlo-run MODULE [flags]; see hlo-run --help\n";
    return xla::kFailed;
  }
  xla::HloRunOptions options;
  options.inputs = absl::GetFlag(FLAGS_inputs);
  options.devices = absl::GetFlag(FLAGS_devices);
  options.replicas = absl::GetFlag(FLAGS_replicas);
  options.partitions = absl::GetFlag(FLAGS_partitions);
  options.compare = absl::GetFlag(FLAGS_compare);
  options.tolerance = absl::GetFlag(FLAGS_tolerance);
  options.cuda = absl::GetFlag(FLAGS_cuda);
  options.print = absl::GetFlag(FLAGS_print);
  options.output = absl::GetFlag(FLAGS_o);
  options.save_inputs = absl::GetFlag(FLAGS_save_inputs);
  options.max_steps = absl::GetFlag(FLAGS_max_steps);
  options.max_flops = absl::GetFlag(FLAGS_max_flops);
  options.max_memory_mib = absl::GetFlag(FLAGS_max_memory_mib);
  options.memory_limit = absl::GetFlag(FLAGS_memory_limit);
  if (absl::GetFlag(FLAGS_progress)) options.progress = &std::cerr;
  options.seed = absl::GetFlag(FLAGS_seed);
  options.fill_elided_constants = absl::GetFlag(FLAGS_fill_elided_constants);
  const absl::Status status = xla::RunHloRun(options, modules[0], std::cout);
  const int failed = xla::ExitStatus(status);
  return absl::IsAborted(status) ? xla::kDifferent : failed;
}
