// hlo-explain: says where the memory of an HLO module goes.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/hlo_explain.h"

using xla::HloExplainOptions;

ABSL_FLAG(std::optional<xla::ScheduleAlgorithm>, schedule, std::nullopt,
          "The order to explain: list, dfs, postorder, bfs, default, best or "
          "as-is; else the module's own, or best where it has none.");
ABSL_FLAG(int64_t, effort, xla::BestMemoryScheduler::kDefaultEffort,
          "How long --schedule=best searches; 0: simple orders only.");
ABSL_FLAG(std::optional<std::string>, passes, std::nullopt,
          "Passes before scheduling; else those of the pipeline 'prepare', and "
          "none for a module with a schedule.");
ABSL_FLAG(std::string, limit, "",
          "Memory that there is, such as 16GiB; exit status 3 where it does "
          "not suffice.");
ABSL_FLAG(bool, json, false, "Report as JSON.");
ABSL_FLAG(bool, curve, false, "Live bytes at every program point (JSON).");
ABSL_FLAG(int, max_buffers, 20, "Buffers to list.");
ABSL_FLAG(bool, seconds, true, "Say how long scheduling took.");
ABSL_FLAG(std::string, o, "", "Where to write the scheduled module.");

namespace {

constexpr char kUsage[] =
    "says where the memory of a module goes\n\n"
    "  hlo-explain model.hlo\n"
    "  hlo-explain model.hlo --limit=16GiB\n"
    "  hlo-explain model.hlo --schedule=default --json\n"
    "  hlo-explain model.hlo -o scheduled.hlo\n";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs = xla::InitTool(argc, argv, kUsage);
  if (inputs.size() != 1) {
    std::cerr << "usage: hlo-explain MODULE [flags]; see hlo-explain --help\n";
    return 2;
  }
  HloExplainOptions options;
  options.schedule = absl::GetFlag(FLAGS_schedule);
  options.effort = absl::GetFlag(FLAGS_effort);
  options.passes = absl::GetFlag(FLAGS_passes);
  options.limit = absl::GetFlag(FLAGS_limit);
  options.json = absl::GetFlag(FLAGS_json);
  options.curve = absl::GetFlag(FLAGS_curve);
  options.max_buffers = absl::GetFlag(FLAGS_max_buffers);
  options.seconds = absl::GetFlag(FLAGS_seconds);
  options.output = absl::GetFlag(FLAGS_o);
  return xla::ExitStatus(
      xla::RunHloExplain(options, xla::AllPasses(), inputs.front(), std::cout));
}
