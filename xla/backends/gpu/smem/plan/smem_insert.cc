#include "xla/backends/gpu/smem/plan/smem_insert.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/plan/smem_stab.h"

namespace xla::gpu {
namespace {

// Chooses the gaps between statements that get barriers. Every hazard that is
// not covered yet is a set of gap ranges, one gap of which must hold a barrier;
// the weight of a gap is how often it is passed. Minimizing the sum of weights
// is a stabbing problem (SolveStab). Barriers of the block are chosen first,
// since they also order warps. Waits and fences for asynchronous transfers are
// added afterwards along the path of each hazard, where the barriers found so
// far allow.
class Inserter {
 public:
  Inserter(const SmemFlow& flow, const SmemHazards& hazards)
      : flow_(flow), hazards_(hazards) {}

  void AddBarriers(const std::vector<const SmemArc*>& arcs,
                   ThreadConflict conflict, size_t num_within) {
    StabProblem problem;
    for (const FlowGap& gap : flow_.gaps()) {
      const bool usable = conflict == ThreadConflict::kBlock
                              ? gap.block_meets
                              : gap.warp_meets || gap.block_meets;
      problem.weights.push_back(usable ? gap.weight : -1);
    }
    std::vector<size_t> open;  // indices into `arcs`
    for (size_t i = 0; i < arcs.size(); ++i) {
      if (arcs[i]->covered || arcs[i]->conflict != conflict ||
          HitByInsertion(*arcs[i])) {
        continue;
      }
      problem.arcs.push_back(arcs[i]->gaps);
      open.push_back(i);
    }
    if (open.empty()) return;
    const StabSolution solution = SolveStab(problem);
    result_.fewest &= solution.optimal;
    for (int arc : solution.unhit)
      result_.unordered.push_back(*arcs[open[arc]]);
    for (int point : solution.points) {
      SmemGapInsertion& insertion = result_.gaps[point];
      const bool block =
          conflict == ThreadConflict::kBlock || !flow_.gaps()[point].warp_meets;
      (block ? insertion.block : insertion.warp) = true;
      absl::btree_set<std::string> pairs;
      bool within = false;
      for (size_t i : open) {
        if (!Holds(*arcs[i], point)) continue;
        if (i < num_within && !within) {
          within = true;
          insertion.reason =
              arcs[i]->carried >= 0 || flow_.accesses()[arcs[i]->to].write
                  ? SmemSync::Reason::kWar
                  : SmemSync::Reason::kRaw;
        }
        if (i < num_within && flow_.accesses()[arcs[i]->from].write &&
            !flow_.accesses()[arcs[i]->to].write) {
          insertion.reason = SmemSync::Reason::kRaw;
        }
        pairs.insert(Describe(*arcs[i]));
      }
      if (!within) insertion.reason = SmemSync::Reason::kReuse;
      insertion.why = absl::StrJoin(pairs, ", ");
    }
  }

  // Waits and fences of one arc, given the barriers.
  //
  // A transfer in flight is ordered before another thread's access by three
  // things in this order: the thread that issued it waits for it, a fence (if
  // proxies change), and a barrier that tells the other threads. So the way
  // from the one access to the other is walked: a barrier counts only if wait
  // and fence have been passed, and what is missing goes right before the last
  // barrier on the way, as late as it may, to leave the transfer the most time.
  // `keep` of a wait is the number of later groups that were committed by then;
  // these may stay in flight, and a gap that serves several arcs keeps the
  // fewest.
  void Complete(const SmemArc& arc) {
    if (!arc.needs_wait && !arc.needs_fence) return;
    const FlowAccess& from = flow_.accesses()[arc.from];
    bool waited = !arc.needs_wait, fenced = !arc.needs_fence;
    bool barrier = arc.conflict <= ThreadConflict::kSameThread;
    int commits = 0;
    // The last barrier on the way: where what is missing goes.
    int last_gap = -1, commits_there = 0;
    for (const SmemHazards::Step& step : hazards_.Walk(arc)) {
      if (step.gap >= 0) {
        PassGap(step.gap, from.async, arc, &waited, &fenced, &barrier, &commits,
                &last_gap, &commits_there);
        outer_gap_ = step.gap;
      }
      const FlowNode& node = flow_.nodes()[step.node];
      if (const kir::Async* async = node.statement->As<kir::Async>()) {
        if (async->kind == from.async) {
          if (async->op == kir::Async::Op::kCommit) ++commits;
          waited |= async->op == kir::Async::Op::kWait && commits > async->keep;
        }
        fenced |=
            async->op == kir::Async::Op::kFence && async->name == "async_proxy";
      }
      const bool is_sync = node.statement->As<kir::Loop>() == nullptr &&
                           node.statement->As<kir::If>() == nullptr &&
                           node.block_barrier;
      if (is_sync) {
        barrier |= waited && fenced;
        last_gap = step.gap >= 0 ? step.gap : outer_gap_;
        commits_there = commits;
      }
    }
    // The gaps at the ends of ranges have no node behind them.
    for (const auto& [first, last] : arc.path) {
      PassGap(last, from.async, arc, &waited, &fenced, &barrier, &commits,
              &last_gap, &commits_there);
    }
    if (waited && fenced && barrier) return;
    if (from.async == kir::AsyncKind::kBulkLoad && from.mbarrier.has_value() &&
        !waited) {
      result_.notes.push_back(
          absl::StrCat("no mbarrier wait between the bulk load of %",
                       Name(arc.from), " and its next use"));
      return;
    }
    int gap = last_gap;
    // Rather one more barrier than to drain transfers in a loop.
    const int later = CheapestGap(arc);
    if (gap >= 0 && later >= 0 && arc.needs_wait &&
        flow_.gaps()[later].weight < flow_.gaps()[gap].weight) {
      gap = later;
      SmemGapInsertion& barrier_here = result_.gaps[gap];
      if (!barrier_here.block) {
        barrier_here.block = true;
        barrier_here.why = Describe(arc);
      }
      if (waited && fenced) return;
      commits_there = commits;
    }
    if (gap < 0) {
      // No barrier is needed or possible: right before the later access.
      for (const auto& [first, last] : arc.path) {
        if (gap < 0 || flow_.gaps()[last].weight <= flow_.gaps()[gap].weight) {
          gap = last;
        }
      }
      commits_there = commits;
    }
    if (gap < 0) return;
    SmemGapInsertion& insertion = result_.gaps[gap];
    if (!fenced || arc.needs_fence) insertion.fence |= arc.needs_fence;
    if (arc.needs_wait && !(waited && barrier)) {
      auto [it, added] = insertion.waits.try_emplace(from.async);
      const int keep = std::max(0, commits_there - 1);
      it->second.keep = added ? keep : std::min(it->second.keep, keep);
      it->second.commit |= commits_there == 0;
    }
  }

  SmemInsertions Take() { return std::move(result_); }

 private:
  std::string Name(int access) const {
    return flow_.kernel().buffers[flow_.accesses()[access].buffer].name;
  }

  std::string Describe(const SmemArc& arc) const {
    auto kind = [&](int access) {
      return flow_.accesses()[access].write ? "write" : "read";
    };
    return absl::StrCat(kind(arc.from), " %", Name(arc.from), " -> ",
                        kind(arc.to), " %", Name(arc.to),
                        arc.carried >= 0 ? " (next iteration)" : "");
  }

  static bool Holds(const SmemArc& arc, int gap) {
    return absl::c_any_of(arc.gaps, [&](const std::pair<int, int>& range) {
      return range.first <= gap && gap <= range.second;
    });
  }

  // The last of the least frequent gaps on the way where the block meets.
  int CheapestGap(const SmemArc& arc) const {
    int best = -1;
    for (const auto& [first, last] : arc.path) {
      for (int gap = first; gap <= last; ++gap) {
        if (flow_.gaps()[gap].block_meets &&
            (best < 0 ||
             flow_.gaps()[gap].weight <= flow_.gaps()[best].weight)) {
          best = gap;
        }
      }
    }
    return best;
  }

  bool HitByInsertion(const SmemArc& arc) const {
    for (const auto& [first, last] : arc.gaps) {
      for (auto it = result_.gaps.lower_bound(first);
           it != result_.gaps.end() && it->first <= last; ++it) {
        if (it->second.block ||
            (arc.conflict == ThreadConflict::kWarp && it->second.warp)) {
          return true;
        }
      }
    }
    return false;
  }

  void PassGap(int gap, kir::AsyncKind kind, const SmemArc& arc, bool* waited,
               bool* fenced, bool* barrier, int* commits, int* last_gap,
               int* commits_there) const {
    auto it = result_.gaps.find(gap);
    if (it == result_.gaps.end()) return;
    const SmemGapInsertion& insertion = it->second;
    auto wait = insertion.waits.find(kind);
    if (wait != insertion.waits.end()) {
      *commits += wait->second.commit;
      *waited |= *commits > wait->second.keep;
    }
    *fenced |= insertion.fence;
    if (insertion.block ||
        (insertion.warp && arc.conflict == ThreadConflict::kWarp)) {
      *barrier |= *waited && *fenced;
      *last_gap = gap;
      *commits_there = *commits;
    }
  }

  const SmemFlow& flow_;
  const SmemHazards& hazards_;
  SmemInsertions result_;
  int outer_gap_ = -1;
};

}  // namespace

SmemInsertions FindInsertions(const SmemFlow& flow, const SmemHazards& hazards,
                              const std::vector<SmemArc>& within,
                              const std::vector<SmemArc>& between) {
  Inserter inserter(flow, hazards);
  std::vector<const SmemArc*> arcs;
  for (const SmemArc& arc : within) arcs.push_back(&arc);
  for (const SmemArc& arc : between) arcs.push_back(&arc);
  inserter.AddBarriers(arcs, ThreadConflict::kBlock, within.size());
  inserter.AddBarriers(arcs, ThreadConflict::kWarp, within.size());
  std::vector<const SmemArc*> async;
  for (const SmemArc* arc : arcs) {
    if (arc->needs_wait || arc->needs_fence) async.push_back(arc);
  }
  // Those that end first: what is put in for them serves the later ones.
  absl::c_stable_sort(async, [&](const SmemArc* a, const SmemArc* b) {
    return flow.accesses()[a->to].node < flow.accesses()[b->to].node;
  });
  for (const SmemArc* arc : async) inserter.Complete(*arc);
  return inserter.Take();
}

}  // namespace xla::gpu
