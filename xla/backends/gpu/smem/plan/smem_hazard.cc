#include "xla/backends/gpu/smem/plan/smem_hazard.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/plan/loop_values.h"

// An arc is a pair of accesses that must be ordered, with all gaps at which a
// barrier would order them. For accesses of one iteration the gaps lie on the
// way up from the first access to the common sequence, across it, and down to
// the second. For a dependence carried by a loop the way goes around the loop's
// back edge. Pairs that a barrier of the kernel orders anyway are left out
// before anybody asks where they meet: a sorting network has hundreds of steps,
// and footprints of as many elements as its rows. Ranges of gaps are half the
// story; whether an existing barrier already lies on the way is answered by
// prefix counts per sequence, in O(1) per range.

namespace xla::gpu {
namespace {

// Kernels up to this size get gaps inside loops listed for arcs that pass them.
constexpr size_t kMaxDeepAccesses = 256;

bool IsMbarrierWait(const kir::Statement& statement, kir::BufferId barrier) {
  const kir::Async* async = statement.As<kir::Async>();
  return async != nullptr && async->op == kir::Async::Op::kMbarrier &&
         async->name == "wait_parity" && async->barrier == barrier;
}

}  // namespace

SmemHazards::SmemHazards(const SmemFlow& flow, const SmemFootprints& footprints)
    : flow_(flow),
      footprints_(footprints),
      deep_(flow.accesses().size() <= kMaxDeepAccesses) {
  accesses_.resize(flow.kernel().buffers.size());
  for (int i = 0; i < static_cast<int>(flow.accesses().size()); ++i) {
    accesses_[flow.accesses()[i].buffer].push_back(i);
    loops_.push_back(flow.LoopsAround(flow.accesses()[i].node));
  }
  SetExtraBarriers({});
}

// Rebuilds the prefix counts of barriers, existing ones (nodes) and planned
// ones (gaps), separately for barriers of the block and of the warp.
void SmemHazards::SetExtraBarriers(const std::vector<int>& block_gaps,
                                   const std::vector<int>& warp_gaps) {
  const absl::flat_hash_set<int> block(block_gaps.begin(), block_gaps.end());
  const absl::flat_hash_set<int> warp(warp_gaps.begin(), warp_gaps.end());
  counts_.assign(flow_.sequences().size(), {});
  for (size_t s = 0; s < flow_.sequences().size(); ++s) {
    const FlowSequence& sequence = flow_.sequences()[s];
    Counts& c = counts_[s];
    for (std::vector<int>* v :
         {&c.block_nodes, &c.warp_nodes, &c.block_gaps, &c.warp_gaps}) {
      v->push_back(0);
    }
    for (size_t i = 0; i <= sequence.nodes.size(); ++i) {
      const int gap = sequence.first_gap + static_cast<int>(i);
      const bool here = block.contains(gap);
      c.block_gaps.push_back(c.block_gaps.back() + here);
      c.warp_gaps.push_back(c.warp_gaps.back() + (here || warp.contains(gap)));
      if (i == sequence.nodes.size()) break;
      const FlowNode& node = flow_.nodes()[sequence.nodes[i]];
      c.block_nodes.push_back(c.block_nodes.back() + node.block_barrier);
      c.warp_nodes.push_back(c.warp_nodes.back() + node.warp_barrier);
    }
  }
}

std::vector<int> SmemHazards::CommonLoops(int a, int b) const {
  const std::vector<int>&p = loops_[a], &q = loops_[b];
  std::vector<int> common;
  for (size_t i = 0; i < std::min(p.size(), q.size()) && p[i] == q[i]; ++i) {
    if (flow_.nodes()[p[i]].repeats) common.push_back(p[i]);
  }
  return common;
}

// The index in `sequence` of what holds `node`; -1 when the sequence does not.
int SmemHazards::IndexIn(int node, int sequence) const {
  while (node >= 0 && flow_.nodes()[node].sequence != sequence) {
    node = flow_.Parent(node);
  }
  return node < 0 ? -1 : flow_.nodes()[node].index;
}

int SmemHazards::CommonSequence(int a, int b) const {
  int sequence = flow_.nodes()[a].sequence;
  while (IndexIn(b, sequence) < 0) {
    a = flow_.Parent(a);
    sequence = flow_.nodes()[a].sequence;
  }
  return sequence;
}

// Adds the gaps first..last of a sequence to the arc, and marks it covered if a
// barrier lies among them. In small kernels gaps inside loops that certainly
// run are offered as well.
void SmemHazards::Pass(SmemArc* arc, int sequence, int first, int last,
                       bool warp, bool inside) const {
  if (first > last) return;
  const int base = flow_.sequences()[sequence].first_gap;
  arc->gaps.push_back({base + first, base + last});
  if (!inside) arc->path.push_back(arc->gaps.back());
  const Counts& c = counts_[sequence];
  const std::vector<int>& nodes = warp ? c.warp_nodes : c.block_nodes;
  const std::vector<int>& gaps = warp ? c.warp_gaps : c.block_gaps;
  arc->covered |= nodes[last] > nodes[first] || gaps[last + 1] > gaps[first];
  if (!deep_) return;
  for (int i = first; i < last; ++i) {
    PassInside(arc, flow_.sequences()[sequence].nodes[i], warp);
  }
}

// The contents of a loop that surely runs are passed as well.
void SmemHazards::PassInside(SmemArc* arc, int node, bool warp) const {
  if (flow_.AsLoop(node) == nullptr || !flow_.nodes()[node].surely_runs) return;
  const int body = flow_.nodes()[node].sequences[0];
  Pass(arc, body, 0, static_cast<int>(flow_.sequences()[body].nodes.size()),
       warp,
       /*inside=*/true);
}

bool SmemHazards::BarrierBetween(int sequence, int first, int last) const {
  const Counts& c = counts_[sequence];
  return c.block_nodes[last] > c.block_nodes[first] ||
         c.block_gaps[last + 1] > c.block_gaps[first];
}

bool SmemHazards::Coverable(const SmemArc& arc) const {
  if (arc.covered || arc.conflict <= ThreadConflict::kSameThread) return true;
  for (const auto& [first, last] : arc.gaps) {
    for (int gap = first; gap <= last; ++gap) {
      const FlowGap& g = flow_.gaps()[gap];
      if (g.block_meets ||
          (arc.conflict == ThreadConflict::kWarp && g.warp_meets)) {
        return true;
      }
    }
  }
  return false;
}

// From behind `node` to the end of the sequences around it, up to (and without)
// `stop_sequence`.
void SmemHazards::PassUp(SmemArc* arc, int node, int stop_sequence,
                         bool warp) const {
  while (flow_.nodes()[node].sequence != stop_sequence) {
    const FlowNode& n = flow_.nodes()[node];
    Pass(arc, n.sequence, n.index + 1,
         static_cast<int>(flow_.sequences()[n.sequence].nodes.size()), warp);
    node = flow_.sequences()[n.sequence].owner;
  }
}

// From the start of the sequences around `node` inside `stop_sequence` to it.
void SmemHazards::PassDown(SmemArc* arc, int node, int stop_sequence,
                           bool warp) const {
  std::vector<int> chain;
  while (flow_.nodes()[node].sequence != stop_sequence) {
    chain.push_back(node);
    node = flow_.Parent(node);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    const FlowNode& n = flow_.nodes()[chain[i]];
    Pass(arc, n.sequence, 0, n.index, warp);
  }
}

// Builds the way from one access to the other; see the top of the file.
// carried: the loop whose back edge is taken, or -1; far: with a whole
// iteration in between.
SmemArc SmemHazards::MakeArc(int from, int to, int carried,
                             ThreadConflict conflict, bool far) const {
  const FlowAccess& a = flow_.accesses()[from];
  const FlowAccess& b = flow_.accesses()[to];
  const bool warp = conflict != ThreadConflict::kBlock;
  SmemArc arc;
  arc.from = from;
  arc.to = to;
  arc.carried = carried;
  arc.conflict = conflict;
  // Inputs of an expression with a barrier come before it, outputs after.
  arc.covered |= a.before_barrier && flow_.nodes()[a.node].block_barrier;
  arc.covered |= b.after_barrier && flow_.nodes()[b.node].block_barrier;
  if (carried >= 0) {
    const int body = flow_.nodes()[carried].sequences[0];
    const int size = static_cast<int>(flow_.sequences()[body].nodes.size());
    PassUp(&arc, a.node, body, warp);
    Pass(&arc, body, IndexIn(a.node, body) + 1, size, warp);
    if (far) Pass(&arc, body, 0, size, warp);
    Pass(&arc, body, 0, IndexIn(b.node, body), warp);
    PassDown(&arc, b.node, body, warp);
  } else {
    const int common = CommonSequence(a.node, b.node);
    PassUp(&arc, a.node, common, warp);
    Pass(&arc, common, IndexIn(a.node, common) + 1, IndexIn(b.node, common),
         warp);
    PassDown(&arc, b.node, common, warp);
  }
  if (!arc.covered && flow_.has_arrivals()) arc.covered = ArrivesAndWaits(arc);
  arc.needs_wait = a.async != kir::AsyncKind::kNone;
  arc.needs_fence = !a.async_proxy() && b.async_proxy();
  if (a.async == kir::AsyncKind::kBulkLoad && a.mbarrier.has_value()) {
    // Waiting on its mbarrier orders the load before everything after the wait.
    for (const Step& step : Walk(arc)) {
      if (IsMbarrierWait(*flow_.nodes()[step.node].statement, *a.mbarrier)) {
        arc.covered = true;
        arc.needs_wait = false;
      }
    }
  }
  return arc;
}

// Whether the whole block arrives at an mbarrier and then waits for it.
bool SmemHazards::ArrivesAndWaits(const SmemArc& arc) const {
  absl::flat_hash_set<int> arrived;
  for (const Step& step : Walk(arc)) {
    const FlowNode& node = flow_.nodes()[step.node];
    const int gap = flow_.sequences()[node.sequence].first_gap + node.index;
    if (!flow_.gaps()[gap].block_meets) continue;
    const kir::Async* async = node.statement->As<kir::Async>();
    const kir::ArriveWait* half = node.statement->As<kir::ArriveWait>();
    const bool arrives = async != nullptr ? async->name == "arrive"
                                          : half != nullptr && !half->is_wait;
    const bool waits = async != nullptr ? async->name == "wait_parity"
                                        : half != nullptr && half->is_wait;
    const int barrier = async != nullptr  ? async->barrier
                        : half != nullptr ? half->barrier
                                          : -1;
    if (arrives && flow_.CountsWholeBlock(barrier)) arrived.insert(barrier);
    if (waits && arrived.contains(barrier)) return true;
  }
  return false;
}

// Whether the second access can follow the first in the same iteration: it
// comes later, and the two are not in different branches of a uniform if.
bool SmemHazards::Forward(int from, int to) const {
  const FlowAccess& a = flow_.accesses()[from];
  const FlowAccess& b = flow_.accesses()[to];
  if (a.node >= b.node) return false;
  // The two branches of an if exclude each other in one iteration.
  for (int node = a.node; node >= 0; node = flow_.Parent(node)) {
    const int parent = flow_.Parent(node);
    if (parent < 0 || flow_.nodes()[parent].sequences.size() != 2) continue;
    const int other = flow_.nodes()[parent].sequences[1];
    if (flow_.nodes()[node].sequence != other && IndexIn(b.node, other) >= 0 &&
        flow_.nodes()[parent].statement->As<kir::If>()->uniformity ==
            kir::Uniformity::kUniform) {
      return false;
    }
  }
  return true;
}

bool SmemHazards::ForEachArc(int from, int to, ThreadConflict conflict,
                             const Visitor& visit) const {
  if (Forward(from, to) && !visit(MakeArc(from, to, -1, conflict))) {
    return false;
  }
  for (int loop : CommonLoops(from, to)) {
    if (!visit(MakeArc(from, to, loop, conflict))) return false;
  }
  return true;
}

bool SmemHazards::MayFollow(int from, int to) const {
  return Forward(from, to) || !CommonLoops(from, to).empty();
}

bool SmemHazards::AllOrdered(int from, int to) const {
  if (Forward(from, to) && !IsOrdered(from, to, -1)) return false;
  return absl::c_all_of(CommonLoops(from, to),
                        [&](int loop) { return IsOrdered(from, to, loop); });
}

void SmemHazards::ForEachPair(
    kir::BufferId x, kir::BufferId y, OrderedPairs ordered,
    const std::function<ThreadConflict(int, int)>& conflict,
    const Visitor& visit) const {
  // Directions in which ordered pairs are of no interest (any more).
  bool done_xy = ordered == OrderedPairs::kSkip, done_yx = done_xy;
  auto note = [&](const SmemArc& arc) {
    (flow_.accesses()[arc.from].buffer == x ? done_xy : done_yx) = true;
    return visit(arc);
  };
  for (int a : accesses_[x]) {
    for (int b : accesses_[y]) {
      const FlowAccess& p = flow_.accesses()[a];
      const FlowAccess& q = flow_.accesses()[b];
      if (!p.write && !q.write) continue;
      if ((done_xy || !MayFollow(a, b)) && (done_yx || !MayFollow(b, a)) &&
          AllOrdered(a, b) && AllOrdered(b, a)) {
        continue;
      }
      const ThreadConflict c = conflict(a, b);
      const bool async =
          p.async != kir::AsyncKind::kNone || q.async != kir::AsyncKind::kNone;
      if (c == ThreadConflict::kApart ||
          (c == ThreadConflict::kSameThread && !async)) {
        continue;
      }
      if (!ForEachArc(a, b, c, note) || !ForEachArc(b, a, c, note)) return;
    }
  }
}

void SmemHazards::Between(kir::BufferId x, int64_t address_x, kir::BufferId y,
                          int64_t address_y, OrderedPairs ordered,
                          const Visitor& visit) const {
  ForEachPair(
      x, y, ordered,
      [&](int a, int b) {
        return footprints_.Between(a, address_x, b, address_y);
      },
      visit);
}

void SmemHazards::BetweenAnywhere(kir::BufferId x, kir::BufferId y,
                                  OrderedPairs ordered,
                                  const Visitor& visit) const {
  const ThreadConflict all = flow_.num_threads() == 1
                                 ? ThreadConflict::kSameThread
                             : flow_.num_warps() == 1 ? ThreadConflict::kWarp
                                                      : ThreadConflict::kBlock;
  ForEachPair(
      x, y, ordered, [&](int, int) { return all; }, visit);
}

bool SmemHazards::Follows(int access, int loop) const {
  const kir::Operand* operand = flow_.accesses()[access].operand;
  if (operand == nullptr) return false;
  if (flow_.StageLoop(flow_.accesses()[access]) == loop) return true;
  for (const AffineExpr& e : operand->indices) {
    if (e.Mentions(flow_.AsLoop(loop)->index)) return true;
  }
  return false;
}

// The conflict within one iteration. If the coarse footprints overlap and
// exactly one common loop influences the indices, footprints are recomputed for
// each of its iterations, which often separates them.
ThreadConflict SmemHazards::InIteration(int a, int b) const {
  const ThreadConflict coarse = footprints_.Between(a, 0, b, 0);
  if (coarse == ThreadConflict::kApart) return coarse;
  std::vector<int> followed;
  for (int loop : CommonLoops(a, b)) {
    if (Follows(a, loop) || Follows(b, loop)) followed.push_back(loop);
  }
  if (followed.size() != 1) return coarse;
  const std::vector<int64_t> values = LoopValuesOf(flow_, followed[0], {a, b});
  if (values.empty()) return coarse;
  ThreadConflict worst = ThreadConflict::kApart;
  for (int64_t value : values) {
    const FixedLoops fixed = {{followed[0], value}};
    worst = std::max(worst, footprints_.Between(footprints_.At(a, fixed),
                                                footprints_.At(b, fixed)));
  }
  return worst;
}

// Whether both accesses name the same element, a different one in each
// iteration: equal indices, one of which is linear in the loop's index with
// otherwise uniform terms. Then no dependence is carried by the loop.
bool SmemHazards::EachIterationItsOwn(int a, int b, int loop) const {
  const FlowAccess& p = flow_.accesses()[a];
  const FlowAccess& q = flow_.accesses()[b];
  if (p.anywhere || q.anywhere || p.operand == nullptr ||
      q.operand == nullptr || p.operand->buffer != q.operand->buffer ||
      p.operand->indices != q.operand->indices) {
    return false;
  }
  absl::flat_hash_set<std::string> names = {flow_.AsLoop(loop)->index};
  for (const kir::Symbol& symbol : flow_.kernel().symbols) {
    names.insert(symbol.name);
  }
  for (int outer : flow_.LoopsAround(loop)) {
    if (kir::ThreadDimension(flow_.AsLoop(outer)->kind) < 0) {
      names.insert(flow_.AsLoop(outer)->index);
    }
  }
  for (const AffineExpr& e : p.operand->indices) {
    const std::optional<AffineExpr::Linear> linear = e.AsLinear();
    if (!linear.has_value() ||
        !linear->coefficients.contains(flow_.AsLoop(loop)->index)) {
      continue;
    }
    bool same = true;
    for (const auto& [name, unused] : linear->coefficients) {
      same &= names.contains(name);
    }
    if (same) return true;
  }
  return false;
}

// The conflict between different iterations. `far`: neighboring iterations do
// not conflict, only ones further apart, so that a whole iteration lies in
// between and a barrier anywhere in the body is enough.
ThreadConflict SmemHazards::AcrossIterations(int a, int b, int loop,
                                             bool* far) const {
  *far = false;
  const ThreadConflict coarse = footprints_.Between(a, 0, b, 0);
  if (coarse == ThreadConflict::kApart) return coarse;
  for (int other : CommonLoops(a, b)) {
    // Several loops at once are not told apart.
    if (other != loop && (Follows(a, other) || Follows(b, other))) {
      return coarse;
    }
  }
  if (!Follows(a, loop) && !Follows(b, loop)) return coarse;
  if (EachIterationItsOwn(a, b, loop)) return ThreadConflict::kApart;
  const std::vector<int64_t> values = LoopValuesOf(flow_, loop, {a, b});
  if (values.empty()) return coarse;
  std::vector<SmemFootprints::Owners> p, q;
  for (int64_t value : values) {
    p.push_back(footprints_.At(a, {{loop, value}}));
    if (a != b) q.push_back(footprints_.At(b, {{loop, value}}));
  }
  const std::vector<SmemFootprints::Owners>& later = a == b ? p : q;
  ThreadConflict near_conflict = ThreadConflict::kApart;
  ThreadConflict far_conflict = ThreadConflict::kApart;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      ThreadConflict& c = j == i + 1 ? near_conflict : far_conflict;
      c = std::max(c, footprints_.Between(p[i], later[j]));
    }
  }
  *far = near_conflict <= ThreadConflict::kSameThread;
  return std::max(near_conflict, far_conflict);
}

// Follows the way of MakeArc, but for what lies inside loops on it; that takes
// no footprint and writes nothing down.
bool SmemHazards::IsOrdered(int from, int to, int carried) const {
  const FlowAccess& a = flow_.accesses()[from];
  const FlowAccess& b = flow_.accesses()[to];
  if (a.async != kir::AsyncKind::kNone || b.async != kir::AsyncKind::kNone) {
    return false;
  }
  const int common = carried >= 0 ? flow_.nodes()[carried].sequences[0]
                                  : CommonSequence(a.node, b.node);
  auto size = [&](int sequence) {
    return static_cast<int>(flow_.sequences()[sequence].nodes.size());
  };
  int up = a.node;
  for (; flow_.nodes()[up].sequence != common; up = flow_.Parent(up)) {
    const FlowNode& n = flow_.nodes()[up];
    if (BarrierBetween(n.sequence, n.index + 1, size(n.sequence))) return true;
  }
  int down = b.node;
  for (; flow_.nodes()[down].sequence != common; down = flow_.Parent(down)) {
    const FlowNode& n = flow_.nodes()[down];
    if (BarrierBetween(n.sequence, 0, n.index)) return true;
  }
  const int first = flow_.nodes()[up].index + 1;
  const int last = flow_.nodes()[down].index;
  if (carried < 0) return first <= last && BarrierBetween(common, first, last);
  return BarrierBetween(common, first, size(common)) ||
         BarrierBetween(common, 0, last);
}

void SmemHazards::AddWithin(int a, int b, std::vector<SmemArc>* arcs) const {
  const FlowAccess& p = flow_.accesses()[a];
  const FlowAccess& q = flow_.accesses()[b];
  if (!p.write && !q.write) return;
  if (p.operand == nullptr || q.operand == nullptr) return;
  // Results that two threads write are the kernel's own business.
  if (flow_.kernel().buffers[p.buffer].memory == kir::Memory::kGlobal &&
      p.write == q.write) {
    return;
  }
  const bool waits = p.async != kir::AsyncKind::kNone;
  const bool fences = !p.async_proxy() && q.async_proxy();
  // A reader finds what it wrote itself.
  if (Forward(a, b) && !(p.redundant && !q.write) && !IsOrdered(a, b, -1)) {
    const ThreadConflict c = InIteration(a, b);
    if (c > ThreadConflict::kSameThread ||
        (c == ThreadConflict::kSameThread && (waits || fences))) {
      arcs->push_back(MakeArc(a, b, -1, c));
    }
  }
  for (int loop : CommonLoops(a, b)) {
    if (IsOrdered(a, b, loop)) continue;
    bool far = false;
    const ThreadConflict c = AcrossIterations(a, b, loop, &far);
    if (c == ThreadConflict::kApart ||
        (c == ThreadConflict::kSameThread && !waits && !fences)) {
      continue;
    }
    arcs->push_back(MakeArc(a, b, loop, c, far));
  }
}

std::vector<SmemArc> SmemHazards::WithinBuffers(
    std::vector<std::pair<int, int>>* unordered) const {
  std::vector<SmemArc> arcs;
  for (const std::vector<int>& accesses : accesses_) {
    for (int a : accesses) {
      for (int b : accesses) {
        const FlowAccess& p = flow_.accesses()[a];
        const FlowAccess& q = flow_.accesses()[b];
        AddWithin(a, b, &arcs);
        if (p.node != q.node || b < a || p.operand == nullptr ||
            q.operand == nullptr || p.before_barrier || p.after_barrier) {
          continue;
        }
        // One statement: a race that no barrier mends, unless all write alike.
        if ((a == b ? p.write && !p.redundant && !p.async_proxy()
                    : (p.write || q.write)) &&
            InIteration(a, b) > ThreadConflict::kSameThread) {
          unordered->push_back({a, b});
        }
      }
    }
  }
  return arcs;
}

// The statements that are certainly executed on the way, in order.
std::vector<SmemHazards::Step> SmemHazards::Walk(const SmemArc& arc) const {
  std::vector<Step> steps;
  for (const auto& [first, last] : arc.path) {
    const FlowSequence& sequence =
        flow_.sequences()[flow_.gaps()[first].sequence];
    for (int gap = first; gap < last; ++gap) {
      const int node = sequence.nodes[gap - sequence.first_gap];
      steps.push_back({node, gap});
      // The contents that surely run, too.
      std::vector<int> inside = {node};
      while (!inside.empty()) {
        const int outer = inside.back();
        inside.pop_back();
        if (outer != node) steps.push_back({outer, -1});
        if (flow_.AsLoop(outer) == nullptr ||
            !flow_.nodes()[outer].surely_runs) {
          continue;
        }
        const std::vector<int>& nodes =
            flow_.sequences()[flow_.nodes()[outer].sequences[0]].nodes;
        inside.insert(inside.end(), nodes.rbegin(), nodes.rend());
      }
    }
  }
  return steps;
}

}  // namespace xla::gpu
