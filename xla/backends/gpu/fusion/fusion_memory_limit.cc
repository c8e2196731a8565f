#include "xla/backends/gpu/fusion/fusion_memory_limit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/memory/limit/distinct_bytes.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/status_macros.h"

// Fusion can raise peak memory: a fused kernel keeps operands alive longer or
// writes several outputs at once. This file finds a set of fusions to leave out
// so that the scheduled peak stays within a limit, by trial: fuse a copy,
// schedule it, and look at what is alive at the peak.
//
// First, fusions that hold memory at the peak are taken back, in rounds of
// doubling size. If that does not help, because fusions have changed the
// schedule without being alive at the peak themselves, all fusions are taken
// back and made again in parts, by bisection. If everything else fails, nothing
// is fused; then the peak is that of the module without fusion, which always
// counts as allowed.

namespace xla::gpu {
namespace {

constexpr int kRounds = 6;
constexpr size_t kParts = 4;
constexpr int64_t kMaxTests = 32;
constexpr int64_t kInstructionsOfTests = 200'000;

// The bytes that each group's fusion holds at the peak.
std::vector<int64_t> HeldByGroups(const FusionPeak& peak,
                                  const std::vector<FusionGroup>& groups) {
  absl::flat_hash_map<const HloInstruction*, size_t> group_of;
  for (size_t i = 0; i < groups.size(); ++i) group_of[groups[i].fusion] = i;
  std::vector<int64_t> held(groups.size(), 0);
  for (const FusionPeak::Held& value : peak.held) {
    auto it = group_of.find(value.instruction);
    if (it != group_of.end()) held[it->second] += value.bytes;
  }
  return held;
}

class Limiter {
 public:
  Limiter(HloModule* module, const FusionPeakFunction& peak,
          const FuseFunction& fuse)
      : module_(*module), peak_(peak), fuse_(fuse) {}

  absl::StatusOr<FusionMemoryPlan> Run(const MemoryLimit& limit) {
    TF_ASSIGN_OR_RETURN(const FusionPeak unfused,
                        peak_(&module_, std::numeric_limits<int64_t>::max()));
    plan_.unfused_peak_bytes = unfused.bytes;
    plan_.limit_bytes = limit.BytesOf(plan_.unfused_peak_bytes);
    allowed_ = std::max(plan_.limit_bytes, plan_.unfused_peak_bytes);
    TF_RETURN_IF_ERROR(Fuse());
    if (Met()) return TakePlan();
    const std::vector<FusionGroup> all = groups_;
    const int64_t peak = plan_.fused_peak_bytes;
    TF_RETURN_IF_ERROR(TakeBackHolders());
    if (!Met()) TF_RETURN_IF_ERROR(MakePartsAgain(all, peak));
    while (!Met()) {
      TakeBackAll();
      TF_RETURN_IF_ERROR(Fuse());
    }
    return TakePlan();
  }

 private:
  bool Met() const { return plan_.fused_peak_bytes <= allowed_; }

  FusionMemoryPlan TakePlan() {
    plan_.fused = std::move(copy_);
    return std::move(plan_);
  }

  // Without what is banned, on a copy; what that makes and needs.
  absl::Status Fuse() {
    copy_ = module_.Clone(/*suffix=*/"");
    copy_->clear_schedule();
    groups_.clear();
    TF_RETURN_IF_ERROR(fuse_(copy_.get(), plan_.banned, &groups_));
    if (groups_.empty()) {
      plan_.fused_peak_bytes = plan_.unfused_peak_bytes;
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const FusionPeak fused, peak_(copy_.get(), allowed_));
    plan_.fused_peak_bytes = fused.bytes;
    held_ = HeldByGroups(fused, groups_);
    return absl::OkStatus();
  }

  void TakeBack(const FusionGroup& group, int64_t held_bytes,
                int64_t peak_bytes) {
    plan_.banned.insert(group.members.begin(), group.members.end());
    plan_.undone.push_back({group.members, held_bytes, peak_bytes});
  }

  void TakeBackAll() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      TakeBack(groups_[i], held_[i], plan_.fused_peak_bytes);
    }
  }

  // Those that hold the most at the peak, more in each round; gives up where
  // that does not lower it.
  absl::Status TakeBackHolders() {
    for (int round = 0; round < kRounds && !Met(); ++round) {
      const int64_t peak = plan_.fused_peak_bytes;
      std::vector<size_t> order(groups_.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      absl::c_stable_sort(
          order, [&](size_t a, size_t b) { return held_[a] > held_[b]; });
      double wanted = std::ldexp(static_cast<double>(peak - allowed_), round);
      for (size_t i : order) {
        if (wanted <= 0 || held_[i] == 0) break;
        wanted -= static_cast<double>(held_[i]);
        TakeBack(groups_[i], held_[i], peak);
      }
      if (held_[order.front()] == 0) return absl::OkStatus();
      TF_RETURN_IF_ERROR(Fuse());
      if (round > 0 && plan_.fused_peak_bytes >= peak) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // Nobody at the peak is to blame: some fusions have changed the schedule.
  // Takes back all fusions and makes parts of them again, smaller and smaller
  // ones, as long as the limit holds. `all` of them need `peak_bytes`.
  absl::Status MakePartsAgain(std::vector<FusionGroup> all,
                              int64_t peak_bytes) {
    std::vector<bool> made(all.size(), false);
    std::deque<std::pair<size_t, size_t>> parts;
    for (size_t i = 0; i < kParts; ++i) {
      const size_t begin = all.size() * i / kParts;
      const size_t end = all.size() * (i + 1) / kParts;
      if (begin < end) parts.emplace_back(begin, end);
    }
    const auto make = [&](std::pair<size_t, size_t> part, bool value) {
      std::fill(made.begin() + part.first, made.begin() + part.second, value);
    };
    const auto fuse = [&] {
      plan_.banned.clear();
      plan_.undone.clear();
      for (size_t i = 0; i < all.size(); ++i) {
        if (!made[i]) TakeBack(all[i], 0, peak_bytes);
      }
      return Fuse();
    };
    int64_t tests = std::min(
        kMaxTests, kInstructionsOfTests /
                       std::max<int64_t>(module_.instruction_count(), 1));
    for (; tests > 0 && !parts.empty(); --tests) {
      const std::pair<size_t, size_t> part = parts.front();
      parts.pop_front();
      make(part, true);
      TF_RETURN_IF_ERROR(fuse());
      if (Met()) continue;
      make(part, false);
      const size_t middle = (part.first + part.second) / 2;
      if (middle == part.first) continue;
      parts.emplace_back(part.first, middle);
      parts.emplace_back(middle, part.second);
    }
    return Met() ? absl::OkStatus() : fuse();
  }

  HloModule& module_;
  const FusionPeakFunction& peak_;
  const FuseFunction& fuse_;
  FusionMemoryPlan plan_;
  int64_t allowed_ = 0;
  // The fusions of the last attempt, in `copy_`, and the bytes each holds at
  // the peak.
  std::unique_ptr<HloModule> copy_;
  std::vector<FusionGroup> groups_;
  std::vector<int64_t> held_;
};

}  // namespace

void ExplainUndone(const FusionMemoryPlan& plan,
                   FusionExplanation* explanation) {
  for (const FusionMemoryPlan::Undone& undone : plan.undone) {
    FusionRecord record;
    record.kind = FusionRecord::Kind::kUndone;
    record.producer = undone.members.front();
    record.consumers.assign(undone.members.begin() + 1, undone.members.end());
    const auto [peak, limit] =
        DistinctBytes(static_cast<double>(undone.peak_bytes),
                      static_cast<double>(
                          std::max(plan.limit_bytes, plan.unfused_peak_bytes)));
    record.reason = absl::StrCat("peak ", peak, " > ", limit);
    record.held_bytes = undone.held_bytes;
    explanation->Record(std::move(record));
  }
}

absl::StatusOr<FusionMemoryPlan> PlanForMemoryLimit(
    HloModule* module, absl::string_view limit, const FusionPeakFunction& peak,
    const FuseFunction& fuse) {
  // The text first: its errors do not depend on the module.
  TF_ASSIGN_OR_RETURN(const MemoryLimit parsed, MemoryLimit::Parse(limit));
  return Limiter(module, peak, fuse).Run(parsed);
}

}  // namespace xla::gpu
