#include "xla/backends/gpu/smem/plan/smem_split_barriers.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

constexpr int64_t kMaxCycles = int64_t{1} << 40;
// Times a barrier must run to be worth another one at the start.
constexpr int64_t kMinWeightForSetup = 8;

constexpr absl::string_view kSlowOps[] = {"exp",  "log", "sqrt", "rsqrt",
                                          "tanh", "sin", "cos",  "sigmoid",
                                          "pow",  "div", "rcp",  "rem"};

bool Contains(const std::pair<int, int>& range, int gap) {
  return range.first <= gap && gap <= range.second;
}

class Splitter {
 public:
  Splitter(const SmemFlow& flow, const SmemInsertions& insertions,
           int64_t min_cycles)
      : flow_(flow), insertions_(insertions), min_cycles_(min_cycles) {}

  void Add(const std::vector<SmemArc>& arcs) {
    for (const SmemArc& arc : arcs) arcs_.push_back(&arc);
  }

  std::vector<SmemSplit> Find() {
    std::vector<SmemSplit> splits;
    for (const auto& [gap, insertion] : insertions_.gaps) {
      if (!insertion.block || !insertion.waits.empty() || insertion.fence) {
        continue;
      }
      SmemSplit split;
      if (!FindRange(gap, split)) continue;
      if (split.cycles < min_cycles_) continue;
      split_.insert(gap);
      split.needs_setup = !BarrierBefore(split.arrive);
      if (split.needs_setup && flow_.gaps()[gap].weight < kMinWeightForSetup) {
        split_.erase(gap);
        continue;
      }
      splits.push_back(split);
    }
    // A barrier that one of them counted on may have been split since.
    for (SmemSplit& split : splits) {
      split.needs_setup |= !BarrierBefore(split.arrive);
    }
    return splits;
  }

 private:
  // Whether a barrier that stays whole covers the arc.
  bool CoveredWithout(const SmemArc& arc, int gap) const {
    if (arc.covered || arc.conflict <= ThreadConflict::kSameThread) return true;
    for (const auto& [first, last] : arc.gaps) {
      for (auto it = insertions_.gaps.lower_bound(first);
           it != insertions_.gaps.end() && it->first <= last; ++it) {
        const bool counts =
            it->second.block ||
            (it->second.warp && arc.conflict == ThreadConflict::kWarp);
        if (counts && it->first != gap && !split_.contains(it->first)) {
          return true;
        }
      }
    }
    return false;
  }

  // The run of gaps that all arcs needing the barrier at `gap` have in common,
  // with the most work inside. No split if an arc needs a wait or a fence
  // there, or if all threads execute both of its ends: then no thread arrives
  // earlier than the others and there is nothing to gain.
  bool FindRange(int gap, SmemSplit& split) const {
    std::vector<const SmemArc*> needing;
    for (const SmemArc* arc : arcs_) {
      if (absl::c_none_of(arc->gaps,
                          [&](const auto& r) { return Contains(r, gap); })) {
        continue;
      }
      if (arc->needs_wait || arc->needs_fence) return false;
      if (CoveredWithout(*arc, gap)) continue;
      if (flow_.RunByAllThreads(flow_.accesses()[arc->from].node) &&
          flow_.RunByAllThreads(flow_.accesses()[arc->to].node)) {
        return false;
      }
      needing.push_back(arc);
    }
    if (needing.empty()) return false;
    split.gap = gap;
    for (std::pair<int, int> common : needing[0]->gaps) {
      for (const SmemArc* arc : needing) common = Meet(common, *arc);
      // Barriers of parts of the block or deeper in loops are no bargain.
      if (common.first >= common.second ||
          !flow_.gaps()[common.first].block_meets ||
          !flow_.gaps()[common.second].block_meets ||
          flow_.gaps()[common.first].weight > flow_.gaps()[gap].weight) {
        continue;
      }
      const FlowSequence& sequence =
          flow_.sequences()[flow_.gaps()[common.first].sequence];
      int64_t cycles = 0;
      for (int g = common.first; g < common.second; ++g) {
        cycles += EstimateCycles(flow_, sequence.nodes[g - sequence.first_gap]);
      }
      if (cycles <= split.cycles) continue;
      split.arrive = common.first;
      split.wait = common.second;
      split.cycles = cycles;
    }
    return split.cycles > 0;
  }

  // The longest part of a range that lies in one of the arc's.
  static std::pair<int, int> Meet(const std::pair<int, int>& range,
                                  const SmemArc& arc) {
    std::pair<int, int> best = {0, -1};
    for (const auto& [first, last] : arc.gaps) {
      const std::pair<int, int> part = {std::max(first, range.first),
                                        std::min(last, range.second)};
      if (part.second - part.first > best.second - best.first) best = part;
    }
    return best;
  }

  // Whether the whole block meets at top level before this gap on every path,
  // which makes the set-up of the mbarrier visible to all threads.
  bool BarrierBefore(int gap) const {
    const FlowSequence& top = flow_.sequences()[0];
    const int owner = flow_.sequences()[flow_.gaps()[gap].sequence].owner;
    int index = flow_.gaps()[gap].index;
    for (int node = owner; node >= 0; node = flow_.Parent(node)) {
      index = flow_.nodes()[node].index;
    }
    for (int i = 0; i < index; ++i) {
      if (flow_.nodes()[top.nodes[i]].block_barrier) return true;
    }
    for (int i = 0; i < index; ++i) {
      const auto it = insertions_.gaps.find(top.first_gap + i);
      if (it != insertions_.gaps.end() && it->second.block &&
          !split_.contains(it->first)) {
        return true;
      }
    }
    return false;
  }

  const SmemFlow& flow_;
  const SmemInsertions& insertions_;
  const int64_t min_cycles_;
  std::vector<const SmemArc*> arcs_;
  absl::btree_set<int> split_;
};

int64_t ExprCycles(const kir::Kernel& kernel, const kir::Expr& expr) {
  int64_t cycles = absl::c_linear_search(kSlowOps, expr.op) ? 20 : 4;
  if (expr.sync) cycles += 100;
  auto add = [&](const kir::Operand& operand) {
    const kir::Memory memory = kernel.buffers[operand.buffer].memory;
    if (memory == kir::Memory::kShared) cycles += 25;
    if (memory == kir::Memory::kGlobal) cycles += 200;
  };
  for (const kir::Argument& argument : expr.arguments) {
    if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
      add(*operand);
    }
  }
  // Stores go their way by themselves.
  return cycles;
}

}  // namespace

// A rough static estimate: fixed costs per operation and per memory access,
// branches by their longer side, loops times the estimated trips, saturated at
// kMaxCycles.
int64_t EstimateCycles(const SmemFlow& flow, int node) {
  const FlowNode& n = flow.nodes()[node];
  if (const kir::Expr* expr = n.statement->As<kir::Expr>()) {
    return ExprCycles(flow.kernel(), *expr);
  }
  int64_t cycles = 0;
  for (int sequence : n.sequences) {
    int64_t body = 0;
    for (int inner : flow.sequences()[sequence].nodes) {
      body = std::min(kMaxCycles, body + EstimateCycles(flow, inner));
    }
    cycles = std::max(cycles, body);
  }
  const kir::Loop* loop = flow.AsLoop(node);
  if (loop == nullptr || kir::ThreadDimension(loop->kind) >= 0 ||
      kir::BlockDimension(loop->kind) >= 0) {
    return cycles;
  }
  const int64_t trips = std::max<int64_t>(1, n.estimated_trips);
  return cycles > kMaxCycles / trips ? kMaxCycles : cycles * trips;
}

std::vector<SmemSplit> FindSplitBarriers(const SmemFlow& flow,
                                         const std::vector<SmemArc>& within,
                                         const std::vector<SmemArc>& between,
                                         const SmemInsertions& insertions,
                                         int64_t min_cycles) {
  Splitter splitter(flow, insertions, min_cycles);
  splitter.Add(within);
  splitter.Add(between);
  return splitter.Find();
}

}  // namespace xla::gpu
