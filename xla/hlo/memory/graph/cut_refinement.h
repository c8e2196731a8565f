#ifndef XLA_HLO_MEMORY_GRAPH_CUT_REFINEMENT_H_
#define XLA_HLO_MEMORY_GRAPH_CUT_REFINEMENT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/memory/graph/memory_cut.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/hlo/memory/graph/memory_lower_bound.h"

namespace xla {

// Lowers the peak of an order by cutting it at its worst steps.
//
//   | …before… P …after… |   ==>   | run with least live | P | the rest |
//
// The step P at the peak of a stretch moves to the point where the fewest bytes
// are live (MemoryCutter); both sides then become stretches of their own.
// Stretches below `target` stay as they are; a cut step that cannot get lower
// raises the target. Other steps may rise: repeat with the result, or from
// elsewhere. O(cuts * (stretch + flow)); ends when `*steps` is used up.
class CutRefiner {
 public:
  explicit CutRefiner(const MemoryGraph& graph)
      : graph_(graph),
        replay_(graph),
        needed_(StepLowerBounds(graph)),
        cutter_(graph, MemoryCutter::Mode::kEstimate) {}

  struct Choices {
    // Among the steps above the target, cut at the one whose own needs are
    // largest rather than at the peak.
    bool by_need = false;
    // For each cut: whether steps that fit on either side go before it.
    absl::FunctionRef<bool()> largest;
  };

  void Refine(std::vector<MemoryGraph::Node>& order, int64_t target,
              const Choices& choices, int64_t* steps);

 private:
  struct Stretch {
    int32_t begin;
    int32_t end;
  };
  // Runs the stretch; returns its worst step, and that one's bytes in `peak`.
  int32_t RunToPeak(const std::vector<MemoryGraph::Node>& order,
                    Stretch stretch, int64_t* peak);
  // The step above `target` whose own needs are largest; replay_ is positioned
  // before the stretch.
  int32_t NeediestAbove(const std::vector<MemoryGraph::Node>& order,
                        Stretch stretch, int64_t target);
  void TakeBack(const std::vector<MemoryGraph::Node>& order, Stretch stretch);

  const MemoryGraph& graph_;
  MemoryReplay replay_;
  std::vector<int64_t> needed_;
  MemoryCutter cutter_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_CUT_REFINEMENT_H_
