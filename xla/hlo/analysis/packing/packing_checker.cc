#include "xla/hlo/analysis/packing/packing_checker.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {
namespace {

template <typename... Text>
absl::Status Bad(const Text&... text) {
  return absl::FailedPreconditionError(absl::StrCat("packing: ", text...));
}

absl::Status CheckPlace(const PackingProblem& problem, int64_t index,
                        int64_t offset, int64_t capacity) {
  const PackingBuffer& buffer = problem.buffers[index];
  const std::string name = BufferName(problem, index);
  if (offset < 0) return Bad(name, " has the negative offset ", offset);
  if (offset > capacity || buffer.size > capacity - offset) {
    return Bad(name, " at ", offset, " with ", buffer.size,
               " bytes ends above the capacity of ", capacity);
  }
  if (offset % buffer.alignment != 0) {
    return Bad(name, " at ", offset, " is not aligned to ", buffer.alignment);
  }
  if (buffer.fixed_offset.value_or(offset) != offset) {
    return Bad(name, " is at ", offset, ", not where it is fixed");
  }
  return absl::OkStatus();
}

}  // namespace

// Sweep over time with the live buffers in a map by offset: a buffer that
// starts can only collide with its neighbors above and below. Independent of
// the packers, O(n log n).
absl::Status CheckPacking(const PackingProblem& problem,
                          const PackingSolution& solution, int64_t capacity) {
  const auto& buffers = problem.buffers;
  const auto& offsets = solution.offsets;
  if (offsets.size() != buffers.size()) {
    return Bad(offsets.size(), " offsets for ", buffers.size(), " buffers");
  }
  int64_t height = 0;
  std::map<int64_t, int64_t> group_offset;
  // (time, starts, index): at equal times, ends come before starts.
  std::vector<std::tuple<int64_t, bool, int64_t>> events;
  for (int64_t i = 0; i < buffers.size(); ++i) {
    absl::Status placed = CheckPlace(problem, i, offsets[i], capacity);
    if (!placed.ok()) return placed;
    height = std::max(height, offsets[i] + buffers[i].size);
    if (buffers[i].colocation >= 0 &&
        group_offset.emplace(buffers[i].colocation, offsets[i]).first->second !=
            offsets[i]) {
      return Bad(BufferName(problem, i), " is not where its group is");
    }
    if (buffers[i].size == 0) continue;
    events.emplace_back(buffers[i].lower, true, i);
    events.emplace_back(buffers[i].upper, false, i);
  }
  if (height != solution.height) {
    return Bad("its height is ", height, ", not ", solution.height);
  }
  std::sort(events.begin(), events.end());
  std::map<int64_t, int64_t> live;  // offset → index
  for (const auto& [time, starts, i] : events) {
    if (!starts) {
      live.erase(offsets[i]);
      continue;
    }
    auto above = live.lower_bound(offsets[i]);
    int64_t other = -1;
    if (above != live.end() && above->first < offsets[i] + buffers[i].size) {
      other = above->second;
    } else if (above != live.begin()) {
      const auto below = std::prev(above);
      if (below->first + buffers[below->second].size > offsets[i]) {
        other = below->second;
      }
    }
    if (other >= 0) {
      return Bad(BufferName(problem, other), " and ", BufferName(problem, i),
                 " overlap at time ", time);
    }
    live[offsets[i]] = i;
  }
  return absl::OkStatus();
}

}  // namespace xla::packing
