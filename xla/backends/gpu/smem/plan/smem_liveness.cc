#include "xla/backends/gpu/smem/plan/smem_liveness.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

class LifeFinder {
 public:
  LifeFinder(const SmemFlow& flow, const SmemFootprints& footprints,
             std::vector<int> accesses)
      : flow_(flow), footprints_(footprints), accesses_(std::move(accesses)) {
    for (int access : accesses_) {
      std::vector<int> loops = {-1};
      for (int loop : flow_.LoopsAround(flow_.accesses()[access].node)) {
        if (flow_.nodes()[loop].repeats) loops.push_back(loop);
      }
      loops_.push_back(std::move(loops));
    }
  }

  SmemLife Find() {
    for (size_t i = 0; i < accesses_.size(); ++i) {
      const FlowAccess& access = flow_.accesses()[accesses_[i]];
      const FlowNode& node = flow_.nodes()[access.node];
      life_.Add(node.position, node.position);
      if (access.workspace) continue;
      if (access.operand == nullptr) {
        is_barrier_ = true;
      } else if (!access.write) {
        TraceRead(i);
      }
    }
    if (is_barrier_) AddBarrierLife();
    return std::move(life_);
  }

 private:
  // The representative of access `i` in the body of its `level`-th loop:
  // itself, or the repeating loop inside that holds it.
  int Unit(size_t i, size_t level) const {
    return level + 1 < loops_[i].size() ? loops_[i][level + 1]
                                        : flow_.accesses()[accesses_[i]].node;
  }

  bool Inside(size_t i, size_t level, int loop) const {
    return level < loops_[i].size() && loops_[i][level] == loop;
  }

  // Where does what is read come from? From the innermost loop outwards: if
  // writes of the same iteration cover all that is read, the value is alive
  // from the first of the writes that are needed, nearest ones first, to the
  // read. If not, part of it comes from an earlier iteration, and the buffer
  // has to survive the whole loop; the loop as a unit takes the place of the
  // read one level further out.
  void TraceRead(size_t read) {
    for (size_t level = loops_[read].size(); level-- > 0;) {
      const int loop = loops_[read][level];
      const int unit = Unit(read, level);
      // Writes of this iteration before the read's unit, nearest last.
      std::vector<std::pair<int, size_t>> before;  // (unit, access)
      for (size_t i = 0; i < accesses_.size(); ++i) {
        if (!flow_.accesses()[accesses_[i]].write || !Inside(i, level, loop)) {
          continue;
        }
        const int other = Unit(i, level);
        if (other < unit) before.push_back({other, i});
      }
      absl::c_sort(before);
      std::vector<int> writes;
      int start = -1;
      for (size_t k = before.size(); k-- > 0 && start < 0;) {
        writes.push_back(accesses_[before[k].second]);
        if (footprints_.Covers(writes, accesses_[read], loop)) {
          start = before[k].first;
        }
      }
      if (start < 0 && loop < 0) {
        // Nothing earlier exists: all that is read was written in the kernel.
        start = before.empty() ? unit : before[0].first;
        start = std::min(start, unit);
      }
      if (start >= 0) {
        life_.Add(flow_.nodes()[start].position, flow_.nodes()[unit].last);
        return;
      }
    }
  }

  // From the first operation to the last one, without interruption, in the
  // innermost loop that holds them all.
  void AddBarrierLife() {
    size_t level = 0;
    while (absl::c_all_of(loops_, [&](const std::vector<int>& loops) {
      return level + 1 < loops.size() &&
             loops[level + 1] == loops_[0][level + 1];
    })) {
      ++level;
    }
    const FlowAccess& first = flow_.accesses()[accesses_[0]];
    const kir::Async* init =
        flow_.nodes()[first.node].statement->As<kir::Async>();
    if (init == nullptr || init->name != "init") {
      life_.Add(1, flow_.num_positions() - 1);
      return;
    }
    int from = std::numeric_limits<int>::max(), to = 0;
    for (size_t i = 0; i < accesses_.size(); ++i) {
      const FlowNode& unit = flow_.nodes()[Unit(i, level)];
      from = std::min(from, unit.position);
      to = std::max(to, unit.last);
    }
    life_.Add(from, to);
  }

  const SmemFlow& flow_;
  const SmemFootprints& footprints_;
  const std::vector<int> accesses_;      // in program order
  std::vector<std::vector<int>> loops_;  // per access: -1, repeating loops
  SmemLife life_;
  bool is_barrier_ = false;
};

}  // namespace

bool SmemLife::Meets(const SmemLife& other) const {
  size_t i = 0, j = 0;
  while (i < intervals.size() && j < other.intervals.size()) {
    const Interval &a = intervals[i], &b = other.intervals[j];
    if (std::max(a.first, b.first) <= std::min(a.last, b.last)) return true;
    a.last < b.last ? ++i : ++j;
  }
  return false;
}

void SmemLife::Add(int first, int last) {
  std::vector<Interval> merged;
  for (const Interval& i : intervals) {
    if (i.last < first || i.first > last) {
      merged.push_back(i);
    } else {
      first = std::min(first, i.first);
      last = std::max(last, i.last);
    }
  }
  merged.push_back({first, last});
  absl::c_sort(merged, [](const Interval& a, const Interval& b) {
    return a.first < b.first;
  });
  intervals = std::move(merged);
}

std::vector<SmemLife> ComputeSmemLives(const SmemFlow& flow,
                                       const SmemFootprints& footprints) {
  const size_t n = flow.kernel().buffers.size();
  std::vector<std::vector<int>> accesses(n);
  for (int i = 0; i < static_cast<int>(flow.accesses().size()); ++i) {
    accesses[flow.accesses()[i].buffer].push_back(i);
  }
  std::vector<SmemLife> lives(n);
  for (size_t b = 0; b < n; ++b) {
    if (accesses[b].empty() ||
        flow.kernel().buffers[b].memory != kir::Memory::kShared) {
      continue;
    }
    lives[b] = LifeFinder(flow, footprints, std::move(accesses[b])).Find();
    const kir::Buffer& buffer = flow.kernel().buffers[b];
    // Filled when it is allocated; handed back filled at the end.
    if (buffer.zero_init) lives[b].Add(1, lives[b].last());
    if (buffer.reset_to_zero) {
      lives[b].Add(lives[b].first(), flow.num_positions() - 1);
    }
  }
  return lives;
}

// Buffers that are live together lie one above the other at multiples of the
// least of their alignments. Each but the topmost thus takes its size rounded
// up to that multiple; which one is topmost is not known, so the largest
// rounding is taken off again.
int64_t LiveBytesLowerBound(const std::vector<SmemLife>& lives,
                            const std::vector<int64_t>& bytes,
                            const std::vector<int64_t>& alignments) {
  // The live set only grows at a start, so the starts are worth looking at.
  struct Event {
    int position;
    bool start;
    int buffer;
  };
  std::vector<Event> events;
  for (int b = 0; b < static_cast<int>(lives.size()); ++b) {
    if (bytes[b] <= 0) continue;
    for (const SmemLife::Interval& i : lives[b].intervals) {
      events.push_back({i.first, true, b});
      events.push_back({i.last + 1, false, b});
    }
  }
  absl::c_sort(events, [](const Event& a, const Event& b) {
    return std::tie(a.position, a.start, a.buffer) <
           std::tie(b.position, b.start, b.buffer);
  });
  int64_t bound = 0;
  std::vector<int> live;
  for (size_t e = 0; e < events.size(); ++e) {
    if (!events[e].start) {
      live.erase(absl::c_find(live, events[e].buffer));
      continue;
    }
    live.push_back(events[e].buffer);
    if (e + 1 < events.size() && events[e + 1].start &&
        events[e + 1].position == events[e].position) {
      continue;
    }
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int b : live) least = std::min(least, alignments[b]);
    int64_t sum = 0, most_padding = 0;
    for (int b : live) {
      const int64_t padded = (bytes[b] + least - 1) / least * least;
      sum += padded;
      most_padding = std::max(most_padding, padded - bytes[b]);
    }
    bound = std::max(bound, sum - most_padding);
  }
  return bound;
}

}  // namespace xla::gpu
