#include "xla/hlo/memory/graph/cut_refinement.h"

#include <algorithm>

#include "absl/types/span.h"

namespace xla {

using Node = MemoryGraph::Node;

int32_t CutRefiner::RunToPeak(const std::vector<Node>& order, Stretch stretch,
                              int64_t* peak) {
  int32_t worst = stretch.begin;
  *peak = -1;
  for (int32_t i = stretch.begin; i < stretch.end; ++i) {
    int64_t bytes = replay_.Run(order[i]);
    if (bytes > *peak) {
      *peak = bytes;
      worst = i;
    }
  }
  return worst;
}

int32_t CutRefiner::NeediestAbove(const std::vector<Node>& order,
                                  Stretch stretch, int64_t target) {
  int32_t neediest = -1;
  for (int32_t i = stretch.begin; i < stretch.end; ++i) {
    if (replay_.Run(order[i]) <= target) continue;
    if (neediest < 0 || needed_[order[i]] > needed_[order[neediest]]) {
      neediest = i;
    }
  }
  TakeBack(order, stretch);
  return neediest;
}

void CutRefiner::TakeBack(const std::vector<Node>& order, Stretch stretch) {
  for (int32_t i = stretch.end; i-- > stretch.begin;) replay_.Undo(order[i]);
}

// Depth first over stretches with an explicit stack. Invariant: when a stretch
// is popped, replay_ has run exactly the steps in front of it. A stretch that
// is finished stays run; one that is divided is taken back, cut, and its three
// parts are pushed so that the first is popped next.
void CutRefiner::Refine(std::vector<Node>& order, int64_t target,
                        const Choices& choices, int64_t* steps) {
  replay_.Reset();
  std::vector<Stretch> stretches = {{0, static_cast<int32_t>(order.size())}};
  while (!stretches.empty()) {
    Stretch stretch = stretches.back();
    stretches.pop_back();
    int32_t length = stretch.end - stretch.begin;
    *steps -= length;
    int64_t peak = 0;
    // What comes before the stretch has run; so has the stretch now.
    int32_t worst = RunToPeak(order, stretch, &peak);
    if (peak <= target || length <= 1 || *steps < 0) continue;
    TakeBack(order, stretch);
    if (choices.by_need) worst = NeediestAbove(order, stretch, target);
    int32_t cut = cutter_.Cut(
        replay_, absl::MakeSpan(order).subspan(stretch.begin, length),
        worst - stretch.begin, choices.largest(), steps);
    if (cut < 0) {
      RunToPeak(order, stretch, &peak);
      continue;
    }
    Stretch first = {stretch.begin, stretch.begin + cut};
    Stretch at = {first.end, first.end + 1};
    int64_t least = 0;
    RunToPeak(order, first, &peak);
    RunToPeak(order, at, &least);
    TakeBack(order, {first.begin, at.end});
    target = std::max(target, least);
    stretches.push_back({at.end, stretch.end});
    stretches.push_back(at);
    if (cut > 0) stretches.push_back(first);
  }
}

}  // namespace xla
