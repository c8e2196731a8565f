#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_HAZARD_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_HAZARD_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"

// Pairs of accesses that need an order, and the places where a barrier would
// give them one.
//
//   for %i {        gap 2        carried by %i: the read of one iteration and
//     %A[x] = ...                the write of the next. A barrier at gap 4 or
//     sync block    gap 3        gap 2 orders them; the sync stands between
//     ... = %A[y]                neither.
//   }               gap 4
//
// An arc runs from one access to a later one: in the same iteration of all
// common loops, or around the back edge of one of them. Every path along the
// arc passes each gap that it lists, and each barrier that it counts: barriers
// in a branch, in a loop that may not run or of a part of the block do not
// count.

namespace xla::gpu {

struct SmemArc {
  int from = 0, to = 0;  // accesses
  int carried = -1;      // repeating loop (node), or -1: same iteration
  ThreadConflict conflict = ThreadConflict::kApart;
  // Gaps passed, as closed ranges: those of the statements on the way, in
  // order, and with what lies inside loops on the way that surely run.
  std::vector<std::pair<int, int>> path, gaps;
  // A barrier of the kernel orders the two.
  bool covered = false;
  // `from` may still be under way: a wait must come before the barrier.
  bool needs_wait = false;
  // From ordinary accesses to the async proxy: a fence must come before it.
  bool needs_fence = false;
};

// Pairs of accesses that a barrier orders on every way from one to the other,
// with nothing to wait for or to fence: whoever looks for barriers that are
// missing does not ask for them, whoever describes an order is content with
// one.
enum class OrderedPairs {
  kSkip,
  kFirst,  // until an arc was found in their direction
};

class SmemHazards {
 public:
  SmemHazards(const SmemFlow& flow, const SmemFootprints& footprints);

  // Counts barriers, too, that the kernel does not have yet but will get.
  void SetExtraBarriers(const std::vector<int>& block_gaps,
                        const std::vector<int>& warp_gaps = {});

  // Arcs between accesses of one buffer that threads race on, covered or not;
  // but none of pairs that a barrier orders with nothing to wait for or to
  // fence.
  // Pairs in one statement, which nothing can order, go to `unordered`.
  std::vector<SmemArc> WithinBuffers(
      std::vector<std::pair<int, int>>* unordered) const;

  // Arcs, in both directions, between accesses of two buffers at these
  // addresses; `visit` returns false to stop.
  void Between(kir::BufferId x, int64_t address_x, kir::BufferId y,
               int64_t address_y, OrderedPairs ordered,
               const std::function<bool(const SmemArc&)>& visit) const;
  // The same if any two threads may meet: for buffers without addresses yet.
  void BetweenAnywhere(kir::BufferId x, kir::BufferId y, OrderedPairs ordered,
                       const std::function<bool(const SmemArc&)>& visit) const;

  // Whether a barrier of the block stands between gaps `first` and `last` of a
  // sequence, or in one of them.
  bool BarrierBetween(int sequence, int first, int last) const;

  // Whether some gap of the arc admits a barrier of the kind it asks for.
  bool Coverable(const SmemArc& arc) const;

  const std::vector<int>& AccessesOf(kir::BufferId buffer) const {
    return accesses_[buffer];
  }

  // The steps along an arc, in order: nodes, and the gaps before them (gap < 0
  // for what lies inside a nested node).
  struct Step {
    int node;
    int gap;
  };
  std::vector<Step> Walk(const SmemArc& arc) const;

 private:
  using Visitor = std::function<bool(const SmemArc&)>;
  std::vector<int> CommonLoops(int a, int b) const;
  SmemArc MakeArc(int from, int to, int carried, ThreadConflict conflict,
                  bool far = false) const;
  void Pass(SmemArc* arc, int sequence, int first, int last, bool warp,
            bool inside = false) const;
  void PassInside(SmemArc* arc, int node, bool warp) const;
  void PassUp(SmemArc* arc, int node, int stop_sequence, bool warp) const;
  void PassDown(SmemArc* arc, int node, int stop_sequence, bool warp) const;
  int IndexIn(int node, int sequence) const;
  int CommonSequence(int a, int b) const;  // innermost that holds both nodes
  bool ArrivesAndWaits(const SmemArc& arc) const;
  bool Forward(int from, int to) const;
  // Whether some arc leads from one to the other.
  bool MayFollow(int from, int to) const;
  bool ForEachArc(int from, int to, ThreadConflict conflict,
                  const Visitor& visit) const;
  void ForEachPair(kir::BufferId x, kir::BufferId y, OrderedPairs ordered,
                   const std::function<ThreadConflict(int, int)>& conflict,
                   const Visitor& visit) const;
  // The conflict in one iteration of all common loops.
  ThreadConflict InIteration(int a, int b) const;
  // The conflict between an iteration of `loop` and a later one; `*far`: only
  // with an iteration at least two later.
  ThreadConflict AcrossIterations(int a, int b, int loop, bool* far) const;
  bool Follows(int access, int loop) const;
  bool EachIterationItsOwn(int a, int b, int loop) const;
  // Whether a barrier, old or planned, that the whole block meets at stands
  // between the two on the way of one iteration (carried < 0), or around that
  // loop, and neither is asynchronous: then no arc of theirs asks for anything.
  bool IsOrdered(int from, int to, int carried) const;
  // The same of every arc from one to the other.
  bool AllOrdered(int from, int to) const;
  void AddWithin(int a, int b, std::vector<SmemArc>* arcs) const;

  const SmemFlow& flow_;
  const SmemFootprints& footprints_;
  const bool deep_;
  std::vector<std::vector<int>> accesses_;  // by buffer
  std::vector<std::vector<int>> loops_;     // around each access
  // Barriers before node i (or gap i) of each sequence: prefix counts.
  struct Counts {
    std::vector<int> block_nodes, warp_nodes, block_gaps, warp_gaps;
  };
  std::vector<Counts> counts_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_HAZARD_H_
