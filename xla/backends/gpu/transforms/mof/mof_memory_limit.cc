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
#include "xla/hlo/analysis/report/byte_size.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr int kRounds = 8;

// What each group's fusion holds at the peak.
std::vector<int64_t> HeldByGroups(const MofPeak& peak,
                                  const std::vector<MofGroup>& groups) {
  absl::flat_hash_map<const HloInstruction*, size_t> group_of;
  for (size_t i = 0; i < groups.size(); ++i) group_of[groups[i].fusion] = i;
  std::vector<int64_t> held(groups.size(), 0);
  for (const MofPeak::Held& value : peak.held) {
    auto it = group_of.find(value.instruction);
    if (it != group_of.end()) held[it->second] += value.bytes;
  }
  return held;
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

void ExplainUndone(const MofMemoryPlan& plan, FusionExplanation* explanation) {
  for (const MofMemoryPlan::Undone& undone : plan.undone) {
    FusionRecord record;
    record.kind = FusionRecord::Kind::kUndone;
    record.producer = undone.members.front();
    record.consumers.assign(undone.members.begin() + 1, undone.members.end());
    record.reason =
        absl::StrCat("peak ", undone.peak_bytes, " > ",
                     std::max(plan.limit_bytes, plan.unfused_peak_bytes), " B");
    record.held_bytes = undone.held_bytes;
    explanation->Record(std::move(record));
  }
}

absl::StatusOr<MofMemoryPlan> PlanForMemoryLimit(HloModule* module,
                                                 absl::string_view limit,
                                                 const MofPeakFunction& peak,
                                                 const MofFuseFunction& fuse) {
  MofMemoryPlan plan;
  // The text first: its errors do not depend on the module.
  TF_RETURN_IF_ERROR(ParseMofMemoryLimit(limit, 0).status());
  if (peak == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory-limit=", limit, ": the pass was given nothing to schedule by"));
  }
  TF_ASSIGN_OR_RETURN(const MofPeak unfused,
                      peak(module, std::numeric_limits<int64_t>::max()));
  plan.unfused_peak_bytes = unfused.bytes;
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
    TF_ASSIGN_OR_RETURN(const MofPeak fused, peak(copy.get(), allowed));
    plan.fused_peak_bytes = fused.bytes;
    if (plan.fused_peak_bytes <= allowed) return plan;
    const std::vector<int64_t> held = HeldByGroups(fused, groups);

    // If nothing is to blame, the larger half.
    const bool blamed =
        absl::c_any_of(held, [](int64_t bytes) { return bytes > 0; });
    std::vector<int64_t> weight = held;
    for (size_t i = 0; !blamed && i < weight.size(); ++i) {
      weight[i] =
          ShapeUtil::ByteSizeOfElementsRecursive(groups[i].fusion->shape());
    }
    std::vector<size_t> order(groups.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    absl::c_stable_sort(
        order, [&](size_t a, size_t b) { return weight[a] > weight[b]; });
    double wanted =
        blamed
            ? std::ldexp(static_cast<double>(plan.fused_peak_bytes - allowed),
                         round)
            : 0;
    size_t count = blamed ? order.size() : (order.size() + 1) / 2;
    const bool all = round + 1 >= kRounds;
    if (all) count = order.size();
    order.resize(count);
    for (size_t i : order) {
      if (!all && blamed && (wanted <= 0 || held[i] == 0)) break;
      wanted -= static_cast<double>(held[i]);
      plan.banned.insert(groups[i].members.begin(), groups[i].members.end());
      plan.undone.push_back(
          {std::move(groups[i].members), held[i], plan.fused_peak_bytes});
    }
  }
}

}  // namespace xla::gpu
