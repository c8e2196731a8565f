// hlo-pack: plans offsets for buffers with given live ranges.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/commands/hlo_pack.h"

ABSL_FLAG(
    std::optional<int64_t>, capacity, std::nullopt,
    "Capacity in bytes. Default: the packing is made as small as possible.");
ABSL_FLAG(
    std::optional<double>, seconds, std::nullopt,
    "Seconds to search. Default: a fixed number of steps (about a second).");
ABSL_FLAG(std::string, o, "", "Output file; '-' is standard output.");

namespace {

constexpr char kUsage[] =
    "plans offsets for buffers with given live ranges\n\n"
    "  hlo-pack FILE.csv --capacity=1048576 -o OUT.csv\n"
    "  hlo-pack FILE.csv --seconds=60 -o OUT.csv\n\n"
    "FILE.csv: id,lower,upper,size, live in [lower, upper); OUT.csv has the\n"
    "column offset too. Exit status 3: the capacity is exceeded.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> inputs =
      xla::InitTool(argc, argv, kUsage, /*aliases=*/{},
                    {{"Search", {"capacity", "seconds"}}, {"Output", {"o"}}});
  if (inputs.size() != 1) {
    return xla::ExitStatus(absl::InvalidArgumentError(
        "usage: hlo-pack FILE.csv [flags]; see hlo-pack --help"));
  }
  xla::HloPackOptions options;
  options.input = inputs[0];
  options.output = absl::GetFlag(FLAGS_o);
  options.capacity = absl::GetFlag(FLAGS_capacity);
  options.seconds = absl::GetFlag(FLAGS_seconds);
  std::string summary;
  const absl::Status status = xla::RunHloPack(options, &summary);
  if (!summary.empty()) {
    (options.output == "-" ? std::cerr : std::cout) << summary << "\n";
  }
  return xla::ExitStatus(status);
}
