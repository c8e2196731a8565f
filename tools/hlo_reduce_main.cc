// hlo-reduce: reduces a module to a small one that still shows a failure.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/commands/hlo_reduce.h"

using xla::HloReduceOptions;

ABSL_FLAG(std::string, passes, "", "Passes that fail, written as for hlo-opt.");
ABSL_FLAG(std::string, pipeline, "", "Named pipeline that fails.");
ABSL_FLAG(HloReduceOptions::Property, property,
          HloReduceOptions::Property::kFails,
          "What to look for in the result of the passes: fails, or differs "
          "(computes something else).");
ABSL_FLAG(std::string, match, "", "Text that the error must contain.");
ABSL_FLAG(
    std::string, command, "",
    "Shell command that fails on the module; {} stands for the module's file.");
ABSL_FLAG(int64_t, seeds, 2,
          "Number of seeds of inputs on which results are compared.");
ABSL_FLAG(int64_t, max_attempts, 5000, "Maximum number of candidates to try.");
ABSL_FLAG(
    double, seconds, HloReduceOptions().seconds,
    "Stop after this many seconds with the best module so far; 0: no limit.");
ABSL_FLAG(double, max_flops, HloReduceOptions().max_flops,
          "For differs: maximum operations of a run; -1: no limit.");
ABSL_FLAG(int64_t, max_memory_mib, HloReduceOptions().max_memory_mib,
          "For differs: maximum memory for values, in MiB.");
ABSL_FLAG(std::string, o, "-", "Output file.");

int main(int argc, char** argv) {
  const std::vector<std::string> inputs = xla::InitTool(
      argc, argv,
      "reduces a module to a small one that still shows a failure\n\n"
      "For modules on which a pass fails, or changes what they compute, and "
      "that are\n"
      "too large to inspect or to report.\n\n"
      "  hlo-reduce big.hlo --passes=my-pass -o small.hlo\n"
      "  hlo-reduce big.hlo --passes=my-pass --property=differs\n"
      "  hlo-reduce big.hlo --command='hlo-opt {} --passes=my-pass'\n",
      /*aliases=*/{},
      {{"Failure",
        {"passes", "pipeline", "property", "match", "command", "seeds"}},
       {"Limits", {"seconds", "max-attempts", "max-flops", "max-memory-mib"}},
       {"Output", {"o"}}});
  if (inputs.size() != 1) {
    std::cerr << "usage: hlo-reduce MODULE [flags]; see hlo-reduce --help\n";
    return xla::kFailed;
  }
  HloReduceOptions options;
  options.passes = absl::GetFlag(FLAGS_passes);
  options.pipeline = absl::GetFlag(FLAGS_pipeline);
  options.property = absl::GetFlag(FLAGS_property);
  options.match = absl::GetFlag(FLAGS_match);
  options.command = absl::GetFlag(FLAGS_command);
  options.seeds = absl::GetFlag(FLAGS_seeds);
  options.max_attempts = absl::GetFlag(FLAGS_max_attempts);
  options.seconds = absl::GetFlag(FLAGS_seconds);
  options.max_flops = absl::GetFlag(FLAGS_max_flops);
  options.max_memory_mib = absl::GetFlag(FLAGS_max_memory_mib);
  options.output = absl::GetFlag(FLAGS_o);
  return xla::ExitStatus(
      xla::RunHloReduce(options, xla::AllPasses(), inputs[0], std::cerr));
}
