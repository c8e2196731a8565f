#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/heap/may_write_over.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {
namespace {

struct Placed {
  const HloValue* value;
  int64_t start, end;    // times, both included
  int64_t offset, size;  // bytes
};

// Overlap in memory at one time is correct in two cases: values of one buffer,
// which alias analysis has shown to be one array, and an instruction that
// writes its result in place of an operand which dies there.
bool MayBeWrittenOver(const BufferAssignment& assignment, const Placed& early,
                      const Placed& late, const AliasInfo* alias_info) {
  if (assignment.alias_analysis().GetBufferContainingValue(*early.value) ==
      assignment.alias_analysis().GetBufferContainingValue(*late.value)) {
    return true;
  }
  if (early.end != late.start || early.offset != late.offset) return false;
  return MayWriteOver(assignment.dataflow_analysis(), *late.value, *early.value,
                      alias_info);
}

absl::Status Overlap(const HloValue& early, const HloValue& late,
                     const BufferAllocation& allocation) {
  return absl::InternalError(absl::StrCat(
      "buffer assignment: ", early.ToShortString(), " and ",
      late.ToShortString(), " overlap in ", allocation.ToShortString()));
}

// A sweep over values by offset, with the set of those that reach as far: each
// new value is compared with all of these. Quadratic only in the number of
// values that share bytes.
absl::Status CheckWithoutSchedule(const BufferAssignment& assignment,
                                  const BufferAllocation& allocation,
                                  const AliasInfo* alias_info) {
  auto placed = allocation.SortedBuffers();
  absl::c_stable_sort(placed, [](const auto& a, const auto& b) {
    return a.second.offset < b.second.offset;
  });
  const HloAliasAnalysis& alias = assignment.alias_analysis();
  std::vector<std::pair<const HloValue*, int64_t>> open;  // with its end
  for (const auto& [value, place] : placed) {
    if (place.size == 0) continue;
    const int64_t offset = place.offset;
    open.erase(
        std::remove_if(open.begin(), open.end(),
                       [=](const auto& low) { return low.second <= offset; }),
        open.end());
    for (const auto& [low, end] : open) {
      if (alias.GetBufferContainingValue(*low) !=
              alias.GetBufferContainingValue(*value) &&
          assignment.hlo_ordering().MayInterfere(
              *low, *value, assignment.dataflow_analysis(), alias_info)) {
        return Overlap(*low, *value, allocation);
      }
    }
    open.emplace_back(value, offset + place.size);
  }
  return absl::OkStatus();
}

// A sweep over values by start of their live range, with the set of values
// alive: each new value is compared with all of these. Quadratic only in the
// number of values that are alive at once.
absl::Status CheckAllocation(const BufferAssignment& assignment,
                             const BufferAllocation& allocation,
                             const AliasInfo* alias_info) {
  std::vector<Placed> placed;
  for (const auto& [value, place] : allocation.SortedBuffers()) {
    if (place.offset < 0 || place.size < 0 ||
        place.offset + place.size > allocation.size()) {
      return absl::InternalError(
          absl::StrCat("buffer assignment: ", value->ToShortString(),
                       " is not inside ", allocation.ToShortString()));
    }
    if (!assignment.HasHloLiveRange() || place.size == 0) continue;
    const auto& ranges = assignment.hlo_live_range().buffer_live_ranges();
    auto range = ranges.find(value);
    if (range == ranges.end()) continue;
    placed.push_back({value, range->second.start, range->second.end,
                      place.offset, place.size});
  }
  if (!assignment.HasHloLiveRange()) {
    return CheckWithoutSchedule(assignment, allocation, alias_info);
  }
  std::stable_sort(
      placed.begin(), placed.end(),
      [](const Placed& a, const Placed& b) { return a.start < b.start; });
  std::vector<const Placed*> live;
  for (const Placed& late : placed) {
    live.erase(
        std::remove_if(live.begin(), live.end(),
                       [&](const Placed* p) { return p->end < late.start; }),
        live.end());
    for (const Placed* early : live) {
      if (early->offset < late.offset + late.size &&
          late.offset < early->offset + early->size &&
          !MayBeWrittenOver(assignment, *early, late, alias_info)) {
        return Overlap(*early->value, *late.value, allocation);
      }
    }
    live.push_back(&late);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckBufferAssignment(const BufferAssignment& assignment,
                                   const AliasInfo* alias_info) {
  for (const BufferAllocation& allocation : assignment.Allocations()) {
    absl::Status status = CheckAllocation(assignment, allocation, alias_info);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace xla
