#include "xla/hlo/pipeline/commands/hlo_pack.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/analysis/packing/packing_checker.h"
#include "xla/hlo/analysis/packing/packing_csv.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/foreign_format.h"

namespace xla {

absl::Status RunHloPack(const HloPackOptions& options, std::string* summary) {
  constexpr double kMostSeconds = 1e9;
  absl::Status numbers =
      CheckFlag("seconds", options.seconds.value_or(0), 0, kMostSeconds);
  if (numbers.ok())
    numbers = CheckFlag("capacity", options.capacity.value_or(0), int64_t{0});
  if (!numbers.ok()) return numbers;
  const absl::Time start = absl::Now();
  absl::StatusOr<std::string> text = ReadFileOrStdin(options.input);
  if (!text.ok()) return text.status();
  const std::string name = options.input == "-" ? "<stdin>" : options.input;
  if (const std::string other = NameOfUnwantedFile(*text); !other.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": error: ", other,
        "; hlo-pack reads tables of buffers, as hlo-explain MODULE "
        "--buffers=buffers.csv writes them"));
  }
  absl::StatusOr<packing::PackingProblem> problem =
      packing::ParsePackingCsv(*text, name);
  if (!problem.ok()) return problem.status();

  packing::OffsetPlannerOptions planner_options;
  planner_options.capacity = options.capacity;
  if (options.seconds.has_value()) {
    planner_options.max_steps = std::numeric_limits<int64_t>::max() / 4;
    planner_options.deadline = start + absl::Seconds(*options.seconds);
  }
  absl::StatusOr<packing::OffsetPlan> plan =
      packing::PlanOffsets(*problem, planner_options);
  if (!plan.ok()) return plan.status();
  absl::Status valid = packing::CheckPacking(*problem, plan->solution);
  if (!valid.ok()) return absl::InternalError(valid.message());

  if (!options.output.empty()) {
    absl::Status written = WriteFileOrStdout(
        options.output, packing::PackingToCsv(*problem, plan->solution));
    if (!written.ok()) return written;
  }
  const int64_t height = plan->solution.height;
  *summary = absl::StrFormat(
      "%d buffers: height %d bytes, lower bound %d bytes (ratio %.4f), %.3f s",
      problem->buffers.size(), height, plan->lower_bound,
      plan->lower_bound > 0 ? 1.0 * height / plan->lower_bound : 1.0,
      absl::ToDoubleSeconds(absl::Now() - start));
  if (options.capacity.has_value() && height > *options.capacity) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the packing takes ", height, " bytes, the capacity is ",
        *options.capacity,
        *options.capacity < plan->lower_bound
            ? absl::StrCat("; no packing takes less than ", plan->lower_bound)
            : ""));
  }
  return absl::OkStatus();
}

}  // namespace xla
