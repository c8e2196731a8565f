// hlo-diff: says what differs between two HLO modules, and what that costs.

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
    "The schedule that memory is reported for: list, dfs, postorder, bfs, "
    "default, best or as-is; else each module's own, or best where it "
    "has none.");
ABSL_FLAG(int64_t, effort, xla::BestMemoryScheduler::kDefaultEffort,
          "How long --schedule=best searches, as hlo-explain does; 0: simple "
          "orders only.");
ABSL_FLAG(std::optional<std::string>, passes, std::nullopt,
          "Passes before scheduling, over both modules.");
ABSL_FLAG(std::string, as, "",
          "Compare the results of a pipeline on the modules, such as gpu.");
ABSL_FLAG(std::string, device, "h100",
          "The device whose rates say how long kernels take, a name or a "
          "file.");
ABSL_FLAG(std::string, mesh, "",
          "The devices as a grid and its links, such as 2x4.");
ABSL_FLAG(bool, json, false, "The comparison as JSON.");
ABSL_FLAG(
    std::string, html, "",
    "Where to write the comparison as one page of HTML to look at: memory "
    "over the program, before and after, and what changed.");
ABSL_FLAG(int, max_rows, 10, "Rows of each table.");

int main(int argc, char** argv) {
  const std::vector<std::string> modules = xla::InitTool(
      argc, argv,
      "says what differs between two modules\n\n"
      "After an update, a flag or a change of a model: what it did to memory, "
      "kernels\nand collectives, and why the peak changed. Modules "
      "that differ only in\nnames and metadata are equal.\n\n"
      "  hlo-diff before.hlo after.hlo\n"
      "  hlo-diff before.hlo after.hlo --as=gpu --device=h200\n"
      "  hlo-diff before.hlo after.hlo --json\n"
      "  hlo-diff before.hlo after.hlo --html=changes.html\n",
      /*aliases=*/{},
      {{"What is looked at", {"as", "passes", "schedule", "effort"}},
       {"What it runs on", {"device", "mesh"}},
       {"What is written", {"json", "html", "max-rows"}}});
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
