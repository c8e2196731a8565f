#include "xla/hlo/analysis/packing/packing_items.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

// Reduces a problem before packing: time is compressed to the sections that
// matter, groups become single items, and all sizes are divided by their
// greatest common divisor, so that offsets become small integers.

namespace xla::packing {
namespace {

int IndexOf(const std::vector<int64_t>& sorted, int64_t value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

// Where the kept sections start, ascending. A section is kept if a buffer ends
// right after it and one has started since the section kept before: the live
// buffers of any other are among those of a neighbor.
std::vector<int64_t> KeptSections(const PackingProblem& problem) {
  std::vector<int64_t> times;
  times.reserve(2 * problem.buffers.size());
  for (const PackingBuffer& buffer : problem.buffers) {
    if (buffer.size == 0) continue;
    times.push_back(buffer.lower);
    times.push_back(buffer.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<bool> starts(times.size());
  std::vector<bool> ends(times.size());
  for (const PackingBuffer& buffer : problem.buffers) {
    if (buffer.size == 0) continue;
    starts[IndexOf(times, buffer.lower)] = true;
    ends[IndexOf(times, buffer.upper)] = true;
  }
  std::vector<int64_t> kept;
  bool started = false;
  for (int64_t s = 0; s + 1 < times.size(); ++s) {
    started = started || starts[s];
    if (!started || !ends[s + 1]) continue;
    kept.push_back(times[s]);
    started = false;
  }
  return kept;
}

void AddBuffer(const PackingProblem& problem, int index,
               const std::vector<int64_t>& kept, PackingItem& item) {
  const PackingBuffer& buffer = problem.buffers[index];
  item.size = std::max(item.size, buffer.size);
  // Validation bounds it.
  item.alignment = std::lcm(item.alignment, buffer.alignment);
  if (buffer.fixed_offset.has_value()) item.fixed_offset = buffer.fixed_offset;
  item.ranges.push_back(
      {IndexOf(kept, buffer.lower), IndexOf(kept, buffer.upper)});
  item.buffers.push_back(index);
  item.duration += buffer.upper - buffer.lower;
}

// Ranges without a kept section between them are one.
void JoinNeighbors(absl::InlinedVector<SectionRange, 1>& ranges) {
  size_t last = 0;
  for (size_t r = 1; r < ranges.size(); ++r) {
    if (ranges[r].lo <= ranges[last].hi) {
      ranges[last].hi = std::max(ranges[last].hi, ranges[r].hi);
    } else {
      ranges[++last] = ranges[r];
    }
  }
  ranges.resize(last + 1);
}

// The unit must divide all sizes and fixed offsets, and must be compatible with
// alignments: those that divide the unit hold automatically.
void ScaleToUnits(PackingItems& items) {
  int64_t unit = 0;
  for (const PackingItem& item : items.items) {
    unit = std::gcd(unit, item.size);
    unit = std::gcd(unit, item.fixed_offset.value_or(0));
  }
  // Alignments that divide the sizes come for free.
  for (const PackingItem& item : items.items) {
    if (unit % item.alignment != 0) unit = std::gcd(unit, item.alignment);
  }
  items.unit = std::max<int64_t>(unit, 1);
  for (PackingItem& item : items.items) {
    item.size /= items.unit;
    item.alignment /= std::gcd(item.alignment, items.unit);
    if (item.fixed_offset.has_value()) *item.fixed_offset /= items.unit;
  }
}

}  // namespace

PackingItems MakePackingItems(const PackingProblem& problem) {
  const std::vector<int64_t> kept = KeptSections(problem);
  PackingItems result;
  result.num_sections = kept.size();
  absl::flat_hash_map<int64_t, int> group_item;
  for (int i = 0; i < problem.buffers.size(); ++i) {
    const PackingBuffer& buffer = problem.buffers[i];
    if (buffer.size == 0) continue;
    int item = result.items.size();
    if (buffer.colocation >= 0) {
      item = group_item.emplace(buffer.colocation, item).first->second;
    }
    if (item == result.items.size()) result.items.emplace_back();
    AddBuffer(problem, i, kept, result.items[item]);
  }
  for (PackingItem& item : result.items) {
    std::sort(item.ranges.begin(), item.ranges.end(),
              [](const SectionRange& a, const SectionRange& b) {
                return a.lo < b.lo;
              });
    JoinNeighbors(item.ranges);
  }
  ScaleToUnits(result);
  return result;
}

std::vector<int64_t> SectionLoads(const PackingItems& items) {
  std::vector<int64_t> change(items.num_sections + 1);
  for (const PackingItem& item : items.items) {
    for (const SectionRange& range : item.ranges) {
      change[range.lo] += item.size;
      change[range.hi] -= item.size;
    }
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  return change;
}

PackingSolution ToSolution(const PackingProblem& problem,
                           const PackingItems& items,
                           const std::vector<int64_t>& item_offsets) {
  PackingSolution solution;
  solution.offsets.resize(problem.buffers.size());
  for (int i = 0; i < problem.buffers.size(); ++i) {
    solution.offsets[i] = problem.buffers[i].fixed_offset.value_or(0);
  }
  absl::flat_hash_map<int64_t, int64_t> group_offset;
  for (int i = 0; i < items.items.size(); ++i) {
    for (int buffer : items.items[i].buffers) {
      const int64_t offset = item_offsets[i] * items.unit;
      solution.offsets[buffer] = offset;
      if (problem.buffers[buffer].colocation >= 0) {
        group_offset[problem.buffers[buffer].colocation] = offset;
      }
    }
  }
  // Members of no bytes follow the rest of their group.
  for (int i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].size > 0) continue;
    auto it = group_offset.find(problem.buffers[i].colocation);
    if (it != group_offset.end()) solution.offsets[i] = it->second;
  }
  solution.height = HeightOf(problem, solution.offsets);
  return solution;
}

}  // namespace xla::packing
