#include "xla/backends/gpu/transforms/mof/mof_memory_limit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/report/byte_size.h"
#include "xla/hlo/transforms/memory/memory_timeline.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr int kRounds = 6;

// Peak of a schedule, and if it is above `limit`, what each group's fusion
// holds then, as its results or as what it is the last to read.
absl::StatusOr<int64_t> PeakAndHeld(HloModule* module,
                                    const ScheduleOptions& options,
                                    int64_t limit,
                                    const std::vector<MofGroup>& groups,
                                    std::vector<int64_t>* held) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module, options.alias_info));
  TF_ASSIGN_OR_RETURN(ScheduleResult result,
                      ComputeSchedule(module, *alias_analysis, options));
  held->assign(groups.size(), 0);
  if (result.peak_bytes <= limit) return result.peak_bytes;
  TF_ASSIGN_OR_RETURN(
      MemoryTimeline timeline,
      BuildMemoryTimeline(result.schedule, *alias_analysis, options.alias_info,
                          DefaultSizeFunction()));
  absl::flat_hash_map<const HloInstruction*, size_t> group_of;
  for (size_t i = 0; i < groups.size(); ++i) group_of[groups[i].fusion] = i;
  const auto blame = [&](const HloInstruction* instruction, int64_t bytes) {
    auto it = group_of.find(instruction);
    if (it != group_of.end()) (*held)[it->second] += bytes;
  };
  for (const MemoryTimeline::Interval& interval : timeline.intervals) {
    if (interval.begin > timeline.peak_tick ||
        interval.end <= timeline.peak_tick) {
      continue;
    }
    const HloInstruction* last = timeline.ticks[interval.end - 1];
    if (interval.value != nullptr) {
      const HloInstruction* made_by = interval.value->instruction();
      if (made_by != last) blame(made_by, interval.bytes);
    }
    blame(last, interval.bytes);
  }
  return result.peak_bytes;
}

}  // namespace

absl::StatusOr<int64_t> ParseMofMemoryLimit(absl::string_view text,
                                            int64_t peak_bytes) {
  absl::string_view number = text;
  if (!absl::ConsumeSuffix(&number, "%")) {
    absl::StatusOr<int64_t> bytes = ParseByteSize(text);
    if (bytes.ok()) return bytes;
    return absl::InvalidArgumentError(
        absl::StrCat("memory-limit=", text, ": ", bytes.status().message()));
  }
  double percent;
  if (!absl::SimpleAtod(number, &percent) || !std::isfinite(percent) ||
      percent < 0 || percent > 1e6) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory-limit=", text, " is no share of the peak"));
  }
  return static_cast<int64_t>(
      std::min(percent / 100 * static_cast<double>(peak_bytes), 9.2e18));
}

absl::StatusOr<MofMemoryPlan> PlanForMemoryLimit(HloModule* module,
                                                 absl::string_view limit,
                                                 const ScheduleOptions& options,
                                                 const MofFuseFunction& fuse) {
  MofMemoryPlan plan;
  // The text first: its errors do not depend on the module.
  TF_RETURN_IF_ERROR(ParseMofMemoryLimit(limit, 0).status());
  std::vector<int64_t> held;
  TF_ASSIGN_OR_RETURN(
      plan.unfused_peak_bytes,
      PeakAndHeld(module, options, std::numeric_limits<int64_t>::max(), {},
                  &held));
  TF_ASSIGN_OR_RETURN(plan.limit_bytes,
                      ParseMofMemoryLimit(limit, plan.unfused_peak_bytes));
  const int64_t allowed = std::max(plan.limit_bytes, plan.unfused_peak_bytes);

  for (int round = 0;; ++round) {
    std::unique_ptr<HloModule> copy = module->Clone(/*suffix=*/"");
    copy->clear_schedule();
    std::vector<MofGroup> groups;
    TF_RETURN_IF_ERROR(fuse(copy.get(), plan.banned, &groups));
    if (groups.empty()) {
      plan.fused_peak_bytes = plan.unfused_peak_bytes;
      return plan;
    }
    TF_ASSIGN_OR_RETURN(
        plan.fused_peak_bytes,
        PeakAndHeld(copy.get(), options, allowed, groups, &held));
    if (plan.fused_peak_bytes <= allowed) return plan;

    std::vector<size_t> order(groups.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    absl::c_stable_sort(order,
                        [&](size_t a, size_t b) { return held[a] > held[b]; });
    double wanted =
        std::ldexp(static_cast<double>(plan.fused_peak_bytes - allowed), round);
    const bool all = round + 1 >= kRounds || held[order[0]] == 0;
    for (size_t i : order) {
      if (!all && (wanted <= 0 || held[i] == 0)) break;
      wanted -= static_cast<double>(held[i]);
      plan.banned.insert(groups[i].members.begin(), groups[i].members.end());
      plan.undone.push_back(
          {std::move(groups[i].members), held[i], plan.fused_peak_bytes});
    }
  }
}

}  // namespace xla::gpu
