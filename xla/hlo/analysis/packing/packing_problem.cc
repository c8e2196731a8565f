#include "xla/hlo/analysis/packing/packing_problem.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace xla::packing {
namespace {

constexpr int64_t kMaxTotalBytes = int64_t{1} << 62;

absl::Status ValidateBuffer(const PackingProblem& problem, int64_t index) {
  const PackingBuffer& buffer = problem.buffers[index];
  auto error = [&](auto... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("buffer ", BufferName(problem, index), ": ", text...));
  };
  if (buffer.lower >= buffer.upper) {
    return error("lower (", buffer.lower, ") must be below upper (",
                 buffer.upper, ")");
  }
  if (buffer.size < 0) return error("size ", buffer.size, " is negative");
  if (buffer.alignment < 1) {
    return error("alignment ", buffer.alignment, " is not positive");
  }
  if (buffer.fixed_offset.has_value()) {
    if (*buffer.fixed_offset < 0) return error("its offset is negative");
    if (*buffer.fixed_offset > kMaxTotalBytes) {
      return error("its offset exceeds 2^62");
    }
    if (*buffer.fixed_offset % buffer.alignment != 0) {
      return error("its offset is not a multiple of its alignment");
    }
  }
  return absl::OkStatus();
}

// In the order of their starts, members of a group are apart if each one ends
// before the next begins; other pairs then need no look.
absl::Status ValidateColocations(const PackingProblem& problem) {
  // (group, lower) → index, so that neighbors in time are neighbors here.
  std::vector<std::tuple<int64_t, int64_t, int64_t>> members;
  for (int64_t i = 0; i < problem.buffers.size(); ++i) {
    const PackingBuffer& buffer = problem.buffers[i];
    if (buffer.colocation < 0) continue;
    members.emplace_back(buffer.colocation, buffer.lower, i);
  }
  std::sort(members.begin(), members.end());
  // The offset of a group is a multiple of all its alignments.
  int64_t common = 1;
  for (int64_t m = 0; m < members.size(); ++m) {
    const auto [group, lower, index] = members[m];
    if (m > 0 && group != std::get<0>(members[m - 1])) common = 1;
    const int64_t alignment = problem.buffers[index].alignment;
    const int64_t factor = alignment / std::gcd(common, alignment);
    if (factor > kMaxTotalBytes / common) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer ", BufferName(problem, index),
                       ": the alignments of colocation group ", group,
                       " have no common multiple up to 2^62"));
    }
    common *= factor;
  }
  for (int64_t m = 1; m < members.size(); ++m) {
    const auto [group, lower, index] = members[m];
    const auto [last_group, last_lower, last_index] = members[m - 1];
    if (group != last_group) continue;
    const PackingBuffer& last = problem.buffers[last_index];
    if (lower < last.upper ||
        problem.buffers[index].fixed_offset != last.fixed_offset) {
      return absl::InvalidArgumentError(absl::StrCat(
          "buffers ", BufferName(problem, last_index), " and ",
          BufferName(problem, index), " of colocation group ", group,
          lower < last.upper ? " are live at the same time"
                             : " have different fixed offsets"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string BufferName(const PackingProblem& problem, int64_t index) {
  const std::string& id = problem.buffers[index].id;
  return id.empty() ? absl::StrCat("#", index) : absl::StrCat("'", id, "'");
}

absl::Status ValidatePackingProblem(const PackingProblem& problem) {
  int64_t room = kMaxTotalBytes;
  for (int64_t i = 0; i < problem.buffers.size(); ++i) {
    absl::Status status = ValidateBuffer(problem, i);
    if (!status.ok()) return status;
    const PackingBuffer& buffer = problem.buffers[i];
    // Alignment can waste as much again below each buffer.
    if (buffer.size > room || buffer.alignment > room - buffer.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer ", BufferName(problem, i),
                       ": the sizes up to here sum to more than 2^62 bytes"));
    }
    room -= buffer.size + buffer.alignment;
  }
  return ValidateColocations(problem);
}

// A sweep over time, and a lower bound of the height of every packing: what is
// live together lies side by side.
int64_t MaxLoad(const PackingProblem& problem) {
  // (time, change in bytes): at equal times, ends come before starts.
  std::vector<std::pair<int64_t, int64_t>> events;
  events.reserve(2 * problem.buffers.size());
  for (const PackingBuffer& buffer : problem.buffers) {
    events.emplace_back(buffer.lower, buffer.size);
    events.emplace_back(buffer.upper, -buffer.size);
  }
  std::sort(events.begin(), events.end());
  int64_t load = 0;
  int64_t max_load = 0;
  for (const auto& [time, bytes] : events) {
    load += bytes;
    max_load = std::max(max_load, load);
  }
  return max_load;
}

int64_t HeightOf(const PackingProblem& problem,
                 const std::vector<int64_t>& offsets) {
  int64_t height = 0;
  for (int64_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + problem.buffers[i].size);
  }
  return height;
}

}  // namespace xla::packing
