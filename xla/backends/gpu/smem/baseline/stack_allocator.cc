#include "xla/backends/gpu/smem/baseline/stack_allocator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

namespace xla::gpu {
namespace {

using kir::BufferId;

constexpr int64_t kDefaultAlignment = 128;

bool IsSharedBase(const kir::Buffer& buffer) {
  return buffer.memory == kir::Memory::kShared && !buffer.alias.has_value();
}

// A stack of live allocations. Buffers wait until some barrier comes after
// which memory may be reclaimed; the waiting ones are then pushed in order of
// descending end, so that whatever ends first is on top. At a barrier
// everything on top that has ended is popped. A buffer below a live one stays
// allocated: the price of a stack.
class StackAllocator {
 public:
  StackAllocator(const std::vector<LiveInterval>& lives, kir::Kernel& kernel)
      : lives_(lives), kernel_(kernel) {}

  void Wait(BufferId buffer) { waiting_.push_back(buffer); }

  void Flush() {
    std::sort(waiting_.begin(), waiting_.end(), [&](BufferId a, BufferId b) {
      return std::pair(lives_[a].last, a) > std::pair(lives_[b].last, b);
    });
    for (BufferId buffer : waiting_) {
      Assign(buffer);
      stack_.push_back(buffer);
    }
    waiting_.clear();
  }

  void Reclaim(int position) {
    if (!waiting_.empty()) {
      bool ended = false;
      for (BufferId buffer : waiting_) ended |= lives_[buffer].last <= position;
      if (!ended) return;
      Flush();
    }
    while (!stack_.empty() && lives_[stack_.back()].last <= position) {
      stack_.pop_back();
    }
  }

 private:
  void Assign(BufferId buffer) {
    kir::Buffer& b = kernel_.buffers[buffer];
    if (stack_.empty()) {
      b.address = AffineExpr(0);
      return;
    }
    const kir::Buffer& top = kernel_.buffers[stack_.back()];
    b.address = AffineExpr::AlignUp(*top.address + top.Bytes(),
                                    StackAlignment(kernel_, b));
  }

  const std::vector<LiveInterval>& lives_;
  kir::Kernel& kernel_;
  std::vector<BufferId> stack_, waiting_;
};

}  // namespace

bool IsStackBarrier(const kir::Statement& statement) {
  if (const auto* sync = statement.As<kir::Sync>()) {
    return sync->scope == kir::SyncScope::kBlock ||
           sync->scope == kir::SyncScope::kGrid;
  }
  const auto* expr = statement.As<kir::Expr>();
  if (expr == nullptr) return false;
  const kir::OpInfo* info = kir::FindOp(expr->op);
  return expr->sync ||
         (info != nullptr && info->op_class == kir::OpClass::kScan);
}

std::vector<LiveInterval> EffectiveLives(const StackLiveness& liveness,
                                         const AliasResult& aliases,
                                         const kir::Kernel& kernel) {
  std::vector<LiveInterval> lives(kernel.buffers.size());
  for (const AllocLiveness& alloc : liveness.allocs()) {
    if (!IsSharedBase(kernel.buffers[alloc.buffer])) continue;
    LiveInterval life = alloc.outer;
    for (const LiveInterval& o : aliases.groups[alloc.buffer].outer) {
      life.last = std::max(life.last, o.last);
    }
    lives[alloc.buffer] = life;
  }
  return lives;
}

// Finds the fewest places for barriers that let promoted buffers be reclaimed:
// each one opens an interval from its last read to the first write that follows
// it, an existing barrier inside satisfies the interval, and otherwise one is
// put at its end. This is the greedy solution of interval stabbing, which is
// optimal.
std::vector<int> PromotionBarriers(const kir::Kernel& kernel,
                                   const KernelPositions& positions,
                                   const StackLiveness& liveness,
                                   const AliasResult& aliases) {
  std::vector<LiveInterval> lives = EffectiveLives(liveness, aliases, kernel);
  absl::btree_set<int> first_writes;
  for (const LiveInterval& life : lives) {
    if (life.first >= 0) first_writes.insert(life.first);
  }
  // Open intervals that need a barrier, by their lower ends.
  absl::flat_hash_map<int, std::vector<int>> upper_ends;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (!kernel.buffers[b].promote || lives[b].first < 0) continue;
    auto nearest = first_writes.upper_bound(lives[b].last);
    if (nearest != first_writes.end()) {
      upper_ends[lives[b].last].push_back(*nearest);
    }
  }
  std::vector<int> barriers;
  absl::btree_set<int> active;
  for (int p = 1; p < positions.kernel_end(); ++p) {
    auto opened = upper_ends.find(p - 1);
    if (opened != upper_ends.end()) {
      active.insert(opened->second.begin(), opened->second.end());
    }
    const KernelPositions::Entry& entry = positions.entries()[p];
    if (active.contains(p)) {
      barriers.push_back(p);
      active.clear();
    } else if (entry.kind == KernelPositions::Entry::Kind::kStatement &&
               IsStackBarrier(*entry.statement)) {
      active.clear();
    }
  }
  return barriers;
}

int64_t StackAlignment(const kir::Kernel& kernel, const kir::Buffer& buffer) {
  if (buffer.swizzle.has_value()) {
    return *buffer.swizzle == 0 ? 128 : *buffer.swizzle * 8;
  }
  if (buffer.align.has_value()) return *buffer.align;
  int64_t alignment;
  std::optional<std::string> option = kernel.FindOption("min_align");
  if (option.has_value() && absl::SimpleAtoi(*option, &alignment) &&
      alignment > 0) {
    return alignment;
  }
  return kDefaultAlignment;
}

// Buffers are handed to the allocator at their first write; only block and grid
// barriers reclaim.
absl::Status StackAllocate(const KernelPositions& positions,
                           const std::vector<LiveInterval>& lives,
                           kir::Kernel& kernel) {
  std::vector<std::vector<BufferId>> written(positions.kernel_end() + 1);
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (!IsSharedBase(kernel.buffers[b])) continue;
    if (lives[b].first < 0) {
      return kernel.ErrorAt(
          kernel.buffers[b].location,
          absl::StrCat("nothing is written to %", kernel.buffers[b].name));
    }
    written[lives[b].first].push_back(static_cast<BufferId>(b));
  }
  StackAllocator allocator(lives, kernel);
  for (int p = 1; p < positions.kernel_end(); ++p) {
    for (BufferId buffer : written[p]) allocator.Wait(buffer);
    const KernelPositions::Entry& entry = positions.entries()[p];
    if (entry.kind == KernelPositions::Entry::Kind::kStatement &&
        IsStackBarrier(*entry.statement)) {
      allocator.Reclaim(p);
    }
  }
  allocator.Flush();
  return absl::OkStatus();
}

}  // namespace xla::gpu
