#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/plan/register_slots.h"
#include "xla/backends/gpu/smem/plan/smem_planner.h"
#include "xla/backends/gpu/smem/plan/smem_split_barriers.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

kir::Statement Statement(decltype(kir::Statement::node) node) {
  return {std::move(node), {}};
}

}  // namespace

void SmemPlanner::Queue(int anchor, int gap, kir::Statement statement,
                        SmemSync::Kind kind, SmemSync::Reason reason,
                        std::string why) {
  SmemSync sync;
  sync.kind = kind;
  sync.reason = reason;
  sync.before_position = anchor;
  sync.why = std::move(why);
  queue_.push_back(
      {gap, {anchor, std::move(statement)}, std::move(sync), true});
}

// Allocations and initializations of the barriers that come in halves.
void SmemPlanner::QueueSetup() {
  bool needs_barrier = false;
  for (size_t k = 0; k < splits_.size(); ++k) {
    kir::Async init;
    init.op = kir::Async::Op::kMbarrier;
    init.name = "init";
    init.barrier = split_buffers_[k];
    init.argument = AffineExpr(flow_->num_threads());
    for (kir::Statement statement :
         {Statement(kir::Alloc{split_buffers_[k]}), Statement(init)}) {
      queue_.push_back({-1, {1, std::move(statement)}, {}, false});
    }
    needs_barrier |= splits_[k].needs_setup;
  }
  if (!needs_barrier) return;
  Queue(1, -1, Statement(kir::Sync{}), SmemSync::Kind::kBlock,
        SmemSync::Reason::kRaw, "the barriers of two halves are set up");
}

// The order matters: a thread waits for its own transfers and fences its own
// writes, and only the barrier behind them tells the others that all threads
// have done so.
void SmemPlanner::QueueGap(int gap, const SmemGapInsertion& insertion) {
  const int anchor = flow_->PositionAfter(gap);
  for (const auto& [kind, wait] : insertion.waits) {
    kir::Async async;
    async.kind = kind;
    if (wait.commit) {
      Queue(anchor, gap, Statement(async), SmemSync::Kind::kAsyncWait,
            SmemSync::Reason::kAsync, "commit");
    }
    async.op = kir::Async::Op::kWait;
    async.keep = wait.keep;
    Queue(anchor, gap, Statement(async), SmemSync::Kind::kAsyncWait,
          SmemSync::Reason::kAsync,
          absl::StrCat(kir::AsyncKindName(kind), " transfers complete"));
  }
  if (insertion.fence) {
    kir::Async fence;
    fence.op = kir::Async::Op::kFence;
    fence.name = "async_proxy";
    Queue(anchor, gap, Statement(fence), SmemSync::Kind::kFence,
          SmemSync::Reason::kAsync, "the async proxy takes over");
  }
  if (!insertion.block && !insertion.warp) return;
  for (size_t k = 0; k < splits_.size(); ++k) {
    if (splits_[k].gap != gap) continue;
    kir::ArriveWait half;
    half.barrier = split_buffers_[k];
    const std::string why =
        absl::StrCat(insertion.why, "; about ", splits_[k].cycles,
                     " cycles between the halves");
    Queue(flow_->PositionAfter(splits_[k].arrive), splits_[k].arrive,
          Statement(half), SmemSync::Kind::kArrive, insertion.reason, why);
    half.is_wait = true;
    Queue(flow_->PositionAfter(splits_[k].wait), gap, Statement(half),
          SmemSync::Kind::kWait, insertion.reason, why);
    return;
  }
  kir::Sync sync;
  sync.scope = insertion.block ? kir::SyncScope::kBlock : kir::SyncScope::kWarp;
  sync.war = insertion.reason == SmemSync::Reason::kWar;
  Queue(anchor, gap, Statement(sync),
        insertion.block ? SmemSync::Kind::kBlock : SmemSync::Kind::kWarp,
        insertion.reason, insertion.why);
}

// Inserts all synchronization at once. Insertions are queued with the position
// they precede in the original kernel and sorted by it, so positions in the
// result follow from the number of insertions before each position, and live
// ranges and reports are shifted accordingly.
void SmemPlanner::Build(const SmemInsertions& insertions,
                        const SmemChoice& choice,
                        const std::vector<SmemArc>& between) {
  QueueSetup();
  for (const auto& [gap, insertion] : insertions.gaps) QueueGap(gap, insertion);
  absl::c_stable_sort(queue_, [](const Queued& a, const Queued& b) {
    return a.insertion.anchor < b.insertion.anchor;
  });
  std::vector<Insertion> statements;
  std::vector<int> barrier_of_gap(flow_->gaps().size(), -1);
  for (const Queued& queued : queue_) {
    const int index = static_cast<int>(statements.size());
    statements.push_back(queued.insertion);
    if (!queued.listed) continue;
    plan_.syncs.push_back(queued.sync);
    plan_.syncs.back().position = index;  // for now
    const SmemSync::Kind kind = queued.sync.kind;
    if (queued.gap >= 0 &&
        (kind == SmemSync::Kind::kBlock || kind == SmemSync::Kind::kWarp ||
         kind == SmemSync::Kind::kWait)) {
      barrier_of_gap[queued.gap] = index;
    }
  }
  const KernelPositions positions(kernel_);
  plan_.planned = InsertStatements(kernel_, positions, statements);
  for (SmemSync& sync : plan_.syncs) {
    sync.position = InsertedPosition(statements, sync.position);
  }
  for (const SmemItem& item : items_) {
    SmemBufferPlan* buffer = nullptr;
    for (SmemBufferPlan& b : plan_.buffers) {
      if (b.buffer == item.buffer) buffer = &b;
    }
    if (item.life.empty()) continue;
    buffer->first = ShiftedPosition(statements, item.life.first());
    buffer->last = ShiftedPosition(statements, item.life.last());
  }
  for (SmemBufferPlan& buffer : plan_.buffers) {
    if (!absl::c_linear_search(split_buffers_, buffer.buffer)) continue;
    buffer.first = 1;
    buffer.last = positions.kernel_end() + static_cast<int>(statements.size());
  }
  CountBarriers();
  if (items_.size() <= kMaxDescribedItems) {
    DescribeHazards(insertions, choice, between, statements, barrier_of_gap);
  }
}

// Which barriers come in halves; their words lie above everything else, so that
// no address that is planned already changes, and no hazard appears. A block
// that loses its place on the processor by these few bytes loses more than the
// halves could hide: then none are split.
void SmemPlanner::SplitBarriers(const std::vector<SmemArc>& within,
                                const std::vector<SmemArc>& between,
                                const SmemInsertions& insertions) {
  if (options_.split_cycles <= 0) return;
  std::vector<SmemSplit> splits = FindSplitBarriers(
      *flow_, within, between, insertions, options_.split_cycles);
  if (splits.empty()) return;
  const int64_t words = static_cast<int64_t>(splits.size()) * 8;
  const int64_t total = (plan_.total_bytes + 7) / 8 * 8 + words;
  if (total > AvailableBytes() ||
      device_.BlocksPerSm(total, flow_->num_threads(), options_.registers) <
          device_.BlocksPerSm(plan_.total_bytes, flow_->num_threads(),
                              options_.registers)) {
    return;
  }
  for (size_t k = 0; k < splits.size(); ++k) {
    kir::Buffer buffer;
    int number = 0;
    do {
      buffer.name = absl::StrCat("split", number++);
    } while (kernel_.FindBuffer(buffer.name).has_value());
    buffer.memory = kir::Memory::kShared;
    buffer.type = kir::ElementType::kU64;
    buffer.extents = {1};
    buffer.align = 8;
    buffer.address = AffineExpr::AlignUp(plan_.total, 8);
    SmemBufferPlan word;
    word.buffer = static_cast<int>(kernel_.buffers.size());
    word.name = buffer.name;
    word.address = *buffer.address;
    word.address_bytes = (plan_.total_bytes + 7) / 8 * 8;
    word.bytes = 8;
    plan_.total = *buffer.address + 8;
    plan_.total_bytes = word.address_bytes + 8;
    split_buffers_.push_back(word.buffer);
    plan_.buffers.push_back(std::move(word));
    kernel_.buffers.push_back(std::move(buffer));
  }
  if (plan_.optimum_bytes.has_value()) {
    *plan_.optimum_bytes = plan_.total_bytes;
  }
  splits_ = std::move(splits);
}

void SmemPlanner::ShareRegisters() {
  if (!options_.register_slots) return;
  const RegisterSlots slots = AssignRegisterSlots(plan_.planned);
  if (slots.aliases.empty()) return;
  const std::vector<RegisterLife> lives = ComputeRegisterLives(plan_.planned);
  const AffineExpr::Binding binding = plan_.planned.Bindings();
  for (kir::BufferId id : slots.aliases) {
    const kir::Buffer& buffer = plan_.planned.buffers[id];
    SmemBufferPlan alias;
    alias.buffer = id;
    alias.name = buffer.name;
    alias.alias_of = buffer.alias;
    alias.bytes = buffer.Bytes().Evaluate(binding).value_or(0);
    alias.first = lives[id].first;
    alias.last = lives[id].last;
    plan_.buffers.push_back(std::move(alias));
  }
  plan_.notes.push_back(absl::StrCat(
      "registers: ", slots.arrays, " arrays of ", slots.bytes_before,
      " bytes in ", slots.slots, " slots of ", slots.bytes_after));
}

// Addresses over the launch symbols, right for all their values: each buffer
// stands above all that it shares no byte with and that lie below it now.
//
// Two buffers that are apart now stay apart, since the higher one begins at or
// above the end of the lower, whatever the sizes are; and no buffer that shares
// bytes with another is pushed away by it. Quadratic in the buffers.
std::vector<AffineExpr> SmemPlanner::SymbolicAddresses(
    const SmemChoice& choice) const {
  const size_t n = items_.size();
  std::vector<AffineExpr> addresses(n);
  for (size_t i = 0; i < n; ++i) addresses[i] = choice.addresses[i];
  if (!symbolic_) return addresses;
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return choice.addresses[a] < choice.addresses[b];
  });
  for (size_t at = 0; at < n;) {
    // Those that must keep a common base move together.
    std::vector<size_t> group = {order[at]};
    while (at + group.size() < n &&
           SharesBase(choice.addresses, group[0], order[at + group.size()])) {
      group.push_back(order[at + group.size()]);
    }
    AffineExpr lowest;
    int64_t alignment = 1;
    for (size_t i : group) {
      alignment = std::max(alignment, items_[i].alignment);
      for (size_t below = 0; below < at; ++below) {
        const size_t j = order[below];
        if (Overlap(choice, i, j)) continue;
        lowest = AffineExpr::Max(
            lowest, addresses[j] + kernel_.buffers[items_[j].buffer].Bytes());
      }
    }
    for (size_t i : group) {
      addresses[i] = AffineExpr::AlignUp(lowest, alignment);
    }
    at += group.size();
  }
  return addresses;
}

absl::Status SmemPlanner::SetAddresses(SmemChoice& choice) {
  const AffineExpr::Binding binding = kernel_.Bindings();
  const std::vector<AffineExpr> addresses = SymbolicAddresses(choice);
  choice.total = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    ASSIGN_OR_RETURN(choice.addresses[i], addresses[i].Evaluate(binding));
    choice.total =
        std::max(choice.total, choice.addresses[i] + items_[i].bytes);
    plan_.total = AffineExpr::Max(
        plan_.total, addresses[i] + kernel_.buffers[items_[i].buffer].Bytes());
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    SmemBufferPlan buffer;
    buffer.buffer = items_[i].buffer;
    buffer.name = kernel_.buffers[items_[i].buffer].name;
    buffer.address = addresses[i];
    buffer.address_bytes = choice.addresses[i];
    buffer.bytes = items_[i].bytes;
    for (size_t j = 0; j < items_.size(); ++j) {
      if (i != j && Overlap(choice, i, j)) {
        buffer.shares_with.push_back(items_[j].buffer);
      }
    }
    kernel_.buffers[items_[i].buffer].address = addresses[i];
    plan_.buffers.push_back(std::move(buffer));
  }
  plan_.total_bytes = choice.total;
  return absl::OkStatus();
}

// Static barriers count once; dynamic ones count with the weight of their gap,
// the number of times a block passes it.
void SmemPlanner::CountBarriers() {
  for (const FlowNode& node : flow_->nodes()) {
    const kir::Sync* sync = node.statement->As<kir::Sync>();
    const kir::Expr* expr = node.statement->As<kir::Expr>();
    if (sync != nullptr ? sync->scope == kir::SyncScope::kWarp
                        : expr == nullptr || !expr->sync) {
      continue;
    }
    ++plan_.syncs_total;
    const int gap = flow_->sequences()[node.sequence].first_gap + node.index;
    plan_.dynamic_syncs += flow_->gaps()[gap].weight;
  }
  for (size_t g = 0; g < flow_->gaps().size(); ++g) {
    for (const SmemSync& sync : plan_.syncs) {
      if (sync.kind == SmemSync::Kind::kBlock && flow_->gaps()[g].block_meets &&
          flow_->PositionAfter(static_cast<int>(g)) == sync.before_position) {
        ++plan_.syncs_total;
        plan_.dynamic_syncs += flow_->gaps()[g].weight;
      }
    }
  }
}

void SmemPlanner::DescribeHazards(const SmemInsertions& insertions,
                                  const SmemChoice& choice,
                                  const std::vector<SmemArc>& between,
                                  const std::vector<Insertion>& statements,
                                  const std::vector<int>& barrier_of_gap) {
  absl::btree_map<std::pair<int, int>, std::string> described;
  for (const SmemArc& arc : between) {
    const std::pair<int, int> pair = {flow_->accesses()[arc.from].buffer,
                                      flow_->accesses()[arc.to].buffer};
    if (described.contains(pair)) continue;
    std::string by, by_halves;
    for (const auto& [first, last] : arc.gaps) {
      for (auto it = insertions.gaps.lower_bound(first);
           it != insertions.gaps.end() && it->first <= last; ++it) {
        if (barrier_of_gap[it->first] < 0 || !by.empty()) continue;
        const bool halves = absl::c_any_of(
            splits_, [&](const SmemSplit& s) { return s.gap == it->first; });
        (halves ? by_halves : by) = absl::StrCat(
            halves             ? "arrive, and wait at "
            : it->second.block ? "sync block at "
                               : "sync warp at ",
            InsertedPosition(statements, barrier_of_gap[it->first]));
      }
      const FlowSequence& sequence =
          flow_->sequences()[flow_->gaps()[first].sequence];
      for (int gap = first; gap < last && by.empty(); ++gap) {
        const FlowNode& node =
            flow_->nodes()[sequence.nodes[gap - sequence.first_gap]];
        if (node.block_barrier ||
            (arc.conflict == ThreadConflict::kWarp && node.warp_barrier)) {
          by = absl::StrCat("barrier at ",
                            ShiftedPosition(statements, node.position));
        }
      }
    }
    if (by.empty()) by = by_halves;
    if (by.empty() && arc.conflict <= ThreadConflict::kSameThread) {
      by = "same thread";
    }
    if (by.empty()) by = "barrier inside the statement";
    described[pair] = by;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < items_.size(); ++j) {
      if (i == j || !Overlap(choice, i, j)) continue;
      const std::pair<int, int> pair = {items_[i].buffer, items_[j].buffer};
      auto it = described.find(pair);
      if (it != described.end()) {
        plan_.hazards.push_back({pair.first, pair.second, it->second});
      } else if (items_[i].life.first() < items_[j].life.first()) {
        plan_.hazards.push_back({pair.first, pair.second, "same thread"});
      }
    }
  }
}

int64_t SmemPlanner::AvailableBytes() const {
  return std::max<int64_t>(device_.shared_per_block_max - kSharedSetAside, 0);
}

absl::Status SmemPlanner::CheckLimit() const {
  const int64_t available = AvailableBytes();
  if (plan_.total_bytes <= available) return absl::OkStatus();
  std::vector<const SmemBufferPlan*> largest;
  for (const SmemBufferPlan& buffer : plan_.buffers) {
    if (!buffer.alias_of.has_value()) largest.push_back(&buffer);
  }
  absl::c_stable_sort(largest,
                      [](const SmemBufferPlan* a, const SmemBufferPlan* b) {
                        return a->bytes > b->bytes;
                      });
  largest.resize(std::min<size_t>(3, largest.size()));
  std::string names;
  for (const SmemBufferPlan* buffer : largest) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", "%", buffer->name, " ",
                    buffer->bytes);
  }
  return kernel_.ErrorAt(
      largest.empty() ? kernel_.location
                      : kernel_.buffers[largest[0]->buffer].location,
      absl::StrCat("@", kernel_.name, " needs ", plan_.total_bytes,
                   " bytes of shared memory and ", kSharedSetAside,
                   " static ones, and a block of ", device_.name, " has ",
                   available, " available; largest buffers: ", names, " bytes"),
      absl::StatusCode::kResourceExhausted);
}

}  // namespace xla::gpu
