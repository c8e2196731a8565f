// hlo-diff: shows what differs between two HLO modules, and what that costs.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/commands/hlo_diff.h"

ABSL_FLAG(
    std::optional<xla::ScheduleAlgorithm>, schedule, std::nullopt,
    "Schedule whose memory is reported: list, dfs, postorder, bfs, default, "
    "best or as-is. Default: each module's own, or best if it has none.");
ABSL_FLAG(int64_t, effort, xla::BestMemoryScheduler::kDefaultEffort,
          "Search effort of --schedule=best; 0: simple heuristics only.");
ABSL_FLAG(std::optional<std::string>, passes, std::nullopt,
          "Passes to run on both modules before scheduling.");
ABSL_FLAG(std::string, as, "",
          "Compile both modules with a pipeline, such as gpu, and compare the "
          "results.");
ABSL_FLAG(std::string, device, "h100",
          "Device whose kernel times are modeled, a name or the path of a "
          "description.");
ABSL_FLAG(std::string, mesh, "", "Device mesh and its links, such as 2x4.");
ABSL_FLAG(bool, json, false, "Write the comparison as JSON.");
ABSL_FLAG(std::string, html, "",
          "Where to write the comparison as an HTML page: memory over the "
          "program before and after, and what changed.");
ABSL_FLAG(int, max_rows, 10, "Maximum rows of each table.");

int main(int argc, char** argv) {
  const std::vector<std::string> modules = xla::InitTool(
      argc, argv,
      "shows what differs between two modules\n\n"
      "Reports what an update, a flag or a change of the model did to memory, "
      "kernels\n"
      "and collectives, and why the peak changed. Modules that differ only in "
      "names\n"
      "and metadata are equal.\n\n"
      "  hlo-diff before.hlo after.hlo\n"
      "  hlo-diff before.hlo after.hlo --as=gpu --device=h200\n"
      "  hlo-diff before.hlo after.hlo --json\n"
      "  hlo-diff before.hlo after.hlo --html=changes.html\n",
      /*aliases=*/{},
      {{"Input and schedule", {"as", "passes", "schedule", "effort"}},
       {"Device", {"device", "mesh"}},
       {"Output", {"json", "html", "max-rows"}}});
  if (modules.size() != 2) {
    std::cerr << "usage: hlo-diff BEFORE AFTER [flags]; see hlo-diff --help\n";
    return xla::kFailed;
  }
  xla::HloDiffOptions options;
  options.prepare.schedule = absl::GetFlag(FLAGS_schedule);
  options.prepare.effort = absl::GetFlag(FLAGS_effort);
  options.prepare.passes = absl::GetFlag(FLAGS_passes);
  options.prepare.as = absl::GetFlag(FLAGS_as);
  options.device = absl::GetFlag(FLAGS_device);
  options.mesh = absl::GetFlag(FLAGS_mesh);
  options.json = absl::GetFlag(FLAGS_json);
  options.html = absl::GetFlag(FLAGS_html);
  options.max_rows = absl::GetFlag(FLAGS_max_rows);
  const absl::StatusOr<bool> equal = xla::RunHloDiff(
      options, xla::AllPasses(), modules[0], modules[1], std::cout);
  const int status = xla::ExitStatus(equal.status());
  return status == 0 && !*equal ? xla::kDifferent : status;
}
