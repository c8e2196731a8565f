#include "xla/backends/gpu/smem/baseline/required_syncs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/smem/baseline/async_statements.h"
#include "xla/backends/gpu/smem/baseline/stack_allocator.h"
#include "xla/backends/gpu/smem/baseline/thread_mapping.h"
#include "xla/status_macros.h"

// Two passes over the statements in order of position. RawFinder inserts what a
// read after a write by other threads needs: it keeps a list of pending writes
// and, when a read meets one that travels between threads, puts a barrier at
// the latest place that is still after the write and not inside of a deeper
// loop than necessary (Anchor). WarFinder then looks at each loop and inserts a
// barrier at its end if a buffer is read in one iteration and written in the
// next with no barrier on the way. Asynchronous copies and stores get commits,
// waits and fences in the same way.

namespace xla::gpu {
namespace {

using kir::BufferId;
using Entry = KernelPositions::Entry;

// One access to memory that threads share.
struct Access {
  int position = 0;
  const kir::Expr* expr = nullptr;
  const kir::Operand* operand = nullptr;
  BufferId base = -1;
};

BufferId BaseOf(const kir::Kernel& kernel, BufferId buffer) {
  return kernel.buffers[buffer].alias.value_or(buffer);
}

// How far a value travels from its writer to its reader: not at all, to other
// threads of the block, or to other blocks.
enum class Reach { kThread, kBlock, kGrid };

class SyncFinder {
 public:
  SyncFinder(const kir::Kernel& kernel, const KernelPositions& positions,
             absl::Span<const BufferId> settled)
      : kernel_(kernel),
        positions_(positions),
        mapping_(kernel, positions),
        settled_(settled) {}

 protected:
  bool IsStatement(int position) const {
    return positions_.entries()[position].kind == Entry::Kind::kStatement;
  }
  const kir::Statement& At(int position) const {
    return *positions_.entries()[position].statement;
  }
  kir::Memory MemoryOf(const Access& access) const {
    return kernel_.buffers[access.operand->buffer].memory;
  }
  std::string Name(BufferId buffer) const {
    return absl::StrCat("%", kernel_.buffers[buffer].name);
  }

  // Accesses of an expression to memory that is not a register.
  std::vector<Access> Reads(int position, const kir::Expr& expr) const {
    std::vector<Access> reads;
    for (const kir::Argument& argument : expr.arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        AddAccess(position, expr, *operand, reads);
      }
    }
    return reads;
  }
  std::vector<Access> Writes(int position, const kir::Expr& expr) const {
    std::vector<Access> writes;
    for (const kir::Operand& output : expr.outputs) {
      AddAccess(position, expr, output, writes);
    }
    return writes;
  }

  // Loaded ahead: who waits for what is settled when the loop is split.
  bool IsSettled(BufferId buffer) const {
    const std::optional<kir::CircularBuffer>& circular =
        kernel_.buffers[buffer].circular;
    return absl::c_linear_search(settled_, buffer) ||
           (circular.has_value() && circular->prefetch > 0);
  }

  Reach ReachOf(const Access& write, const Access& read) const {
    if (IsSettled(write.operand->buffer)) return Reach::kThread;
    if (write.expr->async == kir::AsyncKind::kBulkLoad) return Reach::kThread;
    const kir::OpInfo* info = kir::FindOp(write.expr->op);
    bool scatter = info != nullptr && info->op_class == kir::OpClass::kScatter;
    bool global = MemoryOf(write) == kir::Memory::kGlobal;
    Reach reach = Reach::kThread;
    for (int d = 0; d < ThreadMapping::kDimensions; ++d) {
      bool of_thread = d < ThreadMapping::kThreadDimensions;
      if (!of_thread && !global) continue;
      if (!mapping_.Exists(d)) continue;
      if (scatter || mapping_.Passes(write.position, *write.operand,
                                     read.position, *read.operand, d)) {
        reach =
            of_thread && reach != Reach::kGrid ? Reach::kBlock : Reach::kGrid;
      }
    }
    return reach;
  }

  const kir::Kernel& kernel_;
  const KernelPositions& positions_;
  ThreadMapping mapping_;
  absl::Span<const BufferId> settled_;

 private:
  void AddAccess(int position, const kir::Expr& expr,
                 const kir::Operand& operand,
                 std::vector<Access>& accesses) const {
    kir::Memory memory = kernel_.buffers[operand.buffer].memory;
    if (memory != kir::Memory::kShared && memory != kir::Memory::kGlobal) {
      return;
    }
    accesses.push_back(
        {position, &expr, &operand, BaseOf(kernel_, operand.buffer)});
  }
};

RequiredSyncs Sorted(std::vector<std::pair<Insertion, SmemSync>> found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) {
                     return a.first.anchor < b.first.anchor;
                   });
  RequiredSyncs result;
  for (auto& [insertion, sync] : found) {
    result.insertions.push_back(std::move(insertion));
    result.syncs.push_back(std::move(sync));
  }
  return result;
}

std::pair<Insertion, SmemSync> MakeSync(int anchor, kir::SyncScope scope,
                                        SmemSync::Reason reason,
                                        std::string why) {
  kir::Sync sync;
  sync.scope = scope;
  sync.war = reason == SmemSync::Reason::kWar;
  Insertion insertion;
  insertion.anchor = anchor;
  insertion.statement.node = sync;
  SmemSync record;
  record.kind = scope == kir::SyncScope::kGrid ? SmemSync::Kind::kGrid
                                               : SmemSync::Kind::kBlock;
  record.reason = reason;
  record.why = std::move(why);
  return {std::move(insertion), std::move(record)};
}

std::pair<Insertion, SmemSync> MakeAsync(int anchor, kir::Async async,
                                         SmemSync::Kind kind, std::string why) {
  Insertion insertion;
  insertion.anchor = anchor;
  insertion.statement.node = std::move(async);
  SmemSync record;
  record.kind = kind;
  record.reason = SmemSync::Reason::kAsync;
  record.why = std::move(why);
  return {std::move(insertion), std::move(record)};
}

class RawFinder : public SyncFinder {
 public:
  using SyncFinder::SyncFinder;

  absl::StatusOr<RequiredSyncs> Run() {
    FindAuthorsCommits();
    for (int p = 1; p < positions_.kernel_end(); ++p) {
      if (!IsStatement(p)) continue;
      if (const auto* async = At(p).As<kir::Async>()) VisitAsync(p, *async);
      if (const auto* half = At(p).As<kir::ArriveWait>()) {
        VisitHalf(p, half->barrier, half->is_wait);
      }
      if (const auto* expr = At(p).As<kir::Expr>()) {
        RETURN_IF_ERROR(CheckRegisters(p, *expr));
        VisitReads(p, *expr);
      }
      if (IsStackBarrier(At(p))) VisitBarrier(At(p));
      if (const auto* expr = At(p).As<kir::Expr>()) VisitWrites(p, *expr);
    }
    for (const Pending& store : pending_) {
      if (store.bulk_store) {
        WaitForStores(positions_.kernel_end(), "the kernel ends");
        break;
      }
    }
    return Sorted(std::move(found_));
  }

 private:
  struct Pending {
    Access access;
    bool block_done = false;  // a block barrier came by
    bool cp = false;          // in flight as cp.async
    bool bulk_store = false;  // in flight, of the result
  };

  // Groups of copies that the text commits itself stay as they are.
  void FindAuthorsCommits() {
    kir::ForEachStatement(kernel_.body, [&](const kir::Statement& s) {
      const auto* async = s.As<kir::Async>();
      authors_commits_ |= async != nullptr &&
                          async->op == kir::Async::Op::kCommit &&
                          async->kind == kir::AsyncKind::kCp;
    });
  }

  // Who waits for a barrier has met what was written before it was arrived at.
  void VisitHalf(int position, BufferId barrier, bool is_wait) {
    if (!is_wait) {
      arrivals_[barrier] = position;
    } else if (auto it = arrivals_.find(barrier); it != arrivals_.end()) {
      Clear(it->second, /*grid=*/false);
    }
  }

  void VisitAsync(int position, const kir::Async& async) {
    last_was_fence_ = async.op == kir::Async::Op::kFence;
    if (async.op == kir::Async::Op::kMbarrier) {
      if (async.name == "arrive") VisitHalf(position, async.barrier, false);
      if (async.name == "wait_parity") {
        VisitHalf(position, async.barrier, true);
      }
    }
    if (async.op != kir::Async::Op::kWait) return;
    for (Pending& pending : pending_) {
      if (async.kind == kir::AsyncKind::kCp) pending.cp = false;
      if (async.kind == kir::AsyncKind::kBulkStore && async.keep == 0) {
        pending.bulk_store = false;
      }
    }
  }

  void VisitBarrier(const kir::Statement& statement) {
    const auto* sync = statement.As<kir::Sync>();
    bool grid = sync != nullptr && sync->scope == kir::SyncScope::kGrid;
    Clear(positions_.kernel_end(), grid);
  }

  // Writes pending before `end` have met a barrier.
  void Clear(int end, bool grid) {
    std::vector<Pending> left;
    for (Pending& pending : pending_) {
      bool stays = pending.access.position >= end || pending.bulk_store ||
                   (!grid && MemoryOf(pending.access) == kir::Memory::kGlobal);
      if (!stays) continue;
      // A store in flight is not there for others, barrier or not.
      pending.block_done |=
          pending.access.position < end && !pending.bulk_store;
      left.push_back(pending);
    }
    pending_ = std::move(left);
  }

  // The statement in front of which a barrier must stand that comes after the
  // writes and before the reader: the child, around the reader, of the
  // innermost block that also holds one of the writes. Hoisting it out of loops
  // that hold only the reader saves executions.
  int Anchor(int reader, const std::vector<int>& writers) const {
    const std::vector<int>& around = positions_.entries()[reader].parents;
    size_t depth = 0;
    for (int writer : writers) {
      const std::vector<int>& other = positions_.entries()[writer].parents;
      size_t common = 0;
      while (common < around.size() && common < other.size() &&
             around[common] == other[common]) {
        ++common;
      }
      depth = std::max(depth, common);
    }
    return depth < around.size() ? around[depth] : reader;
  }

  // All reads of a statement are satisfied by one barrier of the widest scope
  // that any of them needs.
  void VisitReads(int position, const kir::Expr& expr) {
    std::vector<int> writers, stores;
    bool grid = false, cp = false;
    std::vector<std::string> names;
    for (const Access& read : Reads(position, expr)) {
      for (const Pending& pending : pending_) {
        if (pending.access.base != read.base) continue;
        if (pending.bulk_store) stores.push_back(pending.access.position);
        Reach reach = ReachOf(pending.access, read);
        if (reach == Reach::kThread && !pending.cp) continue;
        if (reach == Reach::kBlock && pending.block_done) continue;
        writers.push_back(pending.access.position);
        grid |= reach == Reach::kGrid;
        cp |= pending.cp;
        if (!absl::c_linear_search(names, Name(read.operand->buffer))) {
          names.push_back(Name(read.operand->buffer));
        }
      }
    }
    if (!stores.empty()) {
      WaitForStores(Anchor(position, stores), "its result is read");
      for (Pending& pending : pending_) pending.bulk_store = false;
    }
    if (writers.empty()) return;
    int anchor = Anchor(position, writers);
    if (cp) WaitForCopies(anchor);
    found_.push_back(MakeSync(
        anchor, grid ? kir::SyncScope::kGrid : kir::SyncScope::kBlock,
        SmemSync::Reason::kRaw,
        absl::StrCat(absl::StrJoin(names, ", "), " written before, read by ",
                     "other threads after")));
    Clear(anchor, grid);
  }

  void WaitForCopies(int anchor) {
    if (!authors_commits_) {
      found_.push_back(MakeAsync(anchor, CommitOf(kir::AsyncKind::kCp),
                                 SmemSync::Kind::kAsyncWait,
                                 "closes the group of copies"));
    }
    found_.push_back(MakeAsync(anchor, WaitOf(kir::AsyncKind::kCp, 0),
                               SmemSync::Kind::kAsyncWait,
                               "copies must have arrived"));
    for (Pending& pending : pending_) pending.cp = false;
  }

  void WaitForStores(int anchor, absl::string_view why) {
    found_.push_back(MakeAsync(anchor, CommitOf(kir::AsyncKind::kBulkStore),
                               SmemSync::Kind::kAsyncWait,
                               "closes the group of stores"));
    found_.push_back(MakeAsync(anchor, WaitOf(kir::AsyncKind::kBulkStore, 0),
                               SmemSync::Kind::kAsyncWait, std::string(why)));
  }

  void VisitWrites(int position, const kir::Expr& expr) {
    bool bulk_store = expr.async == kir::AsyncKind::kBulkStore;
    if (bulk_store && !last_was_fence_) {
      kir::Async fence;
      fence.op = kir::Async::Op::kFence;
      fence.name = "async_proxy";
      found_.push_back(
          MakeAsync(position, fence, SmemSync::Kind::kFence,
                    "ordinary writes become visible to the bulk store"));
    }
    last_was_fence_ = false;
    for (const Access& write : Writes(position, expr)) {
      Pending pending;
      pending.access = write;
      pending.cp = expr.async == kir::AsyncKind::kCp &&
                   !IsSettled(write.operand->buffer);
      pending.bulk_store = bulk_store;
      pending_.push_back(pending);
    }
    for (const kir::Operand& output : expr.outputs) {
      if (kernel_.buffers[output.buffer].memory == kir::Memory::kLocal) {
        register_writes_.emplace(output.buffer, position);
      }
    }
  }

  // A register cannot pass between threads.
  absl::Status CheckRegisters(int position, const kir::Expr& expr) const {
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      if (operand == nullptr) continue;
      auto written = register_writes_.find(operand->buffer);
      if (written == register_writes_.end()) continue;
      for (int d = 0; d < ThreadMapping::kDimensions; ++d) {
        if (!mapping_.Exists(d) ||
            !mapping_.AxesDiffer(written->second, position, d)) {
          continue;
        }
        return kernel_.ErrorAt(
            operand->location,
            absl::StrCat(
                Name(operand->buffer), " is split over ",
                ThreadMapping::DimensionName(d),
                " by another axis where it is written: a register cannot pass "
                "between ",
                d < 3 ? "threads; it needs shared memory"
                      : "blocks; it needs global memory"));
      }
    }
    return absl::OkStatus();
  }

  std::vector<std::pair<Insertion, SmemSync>> found_;
  std::vector<Pending> pending_;
  absl::flat_hash_map<BufferId, int> register_writes_;
  absl::flat_hash_map<BufferId, int> arrivals_;  // the last at each barrier
  bool last_was_fence_ = false;
  bool authors_commits_ = false;
};

// A barrier anywhere between the last read of an iteration and the first write
// of the next one, around the loop's back edge, is enough. Inner loops are
// visited first, and a barrier at their end counts for the outer ones.
class WarFinder : public SyncFinder {
 public:
  using SyncFinder::SyncFinder;

  RequiredSyncs Run() {
    Collect();
    for (int p = 1; p < positions_.kernel_end(); ++p) {
      const Entry& entry = positions_.entries()[p];
      // Loops end after those inside them, which go first.
      if (entry.kind != Entry::Kind::kLoopEnd) continue;
      const kir::Loop& loop = *entry.statement->As<kir::Loop>();
      if (IsTrivialLoop(kernel_, loop)) continue;
      VisitLoop(positions_.PositionOf(*entry.statement), p);
    }
    return Sorted(std::move(found_));
  }

 private:
  void Collect() {
    for (int p = 1; p < positions_.kernel_end(); ++p) {
      if (!IsStatement(p)) continue;
      if (IsStackBarrier(At(p))) barriers_.push_back(p);
      if (const auto* async = At(p).As<kir::Async>()) {
        if (async->op == kir::Async::Op::kMbarrier && async->name == "arrive") {
          releases_.push_back(p);
        }
        if (async->kind == kir::AsyncKind::kBulkStore &&
            async->op == kir::Async::Op::kWait) {
          store_waits_.push_back(p);
        }
      }
      const auto* expr = At(p).As<kir::Expr>();
      if (expr == nullptr) continue;
      for (const Access& read : Reads(p, *expr)) {
        if (MemoryOf(read) == kir::Memory::kShared) {
          reads_[read.base].push_back(read);
        }
      }
      for (const Access& write : Writes(p, *expr)) {
        if (MemoryOf(write) == kir::Memory::kShared) {
          writes_[write.base].push_back(write);
        }
      }
    }
    for (const auto& [base, writes] : writes_) {
      if (PassesAnywhere(base, writes)) hazardous_.push_back(base);
      bases_.push_back(base);
    }
    absl::c_sort(hazardous_);
    absl::c_sort(bases_);
  }

  // Buffers through which each thread passes values to itself only need no
  // barriers at all.
  bool PassesAnywhere(BufferId base, const std::vector<Access>& writes) const {
    auto reads = reads_.find(base);
    if (reads == reads_.end()) return false;
    for (const Access& write : writes) {
      for (const Access& read : reads->second) {
        if (write.position < read.position &&
            ReachOf(write, read) != Reach::kThread) {
          return true;
        }
      }
    }
    return false;
  }

  static bool AnyInside(const std::vector<int>& places, int after, int before) {
    return absl::c_any_of(places,
                          [&](int p) { return p > after && p < before; });
  }

  void VisitLoop(int start, int end) {
    WaitForStoreSources(start, end);
    if (AnyInside(releases_, start, end)) return;
    std::vector<std::string> names;
    for (BufferId base : hazardous_) {
      int first_write = end, last_read = start;
      for (const Access& write : writes_[base]) {
        if (write.position > start && write.position < end) {
          first_write = std::min(first_write, write.position);
        }
      }
      for (const Access& read : reads_[base]) {
        if (read.position > start && read.position < end) {
          last_read = std::max(last_read, read.position);
        }
      }
      if (first_write == end || last_read == start) continue;
      if (AnyInside(barriers_, start, first_write) ||
          AnyInside(barriers_, last_read, end)) {
        continue;
      }
      names.push_back(Name(base));
    }
    if (names.empty()) return;
    found_.push_back(
        MakeSync(end, kir::SyncScope::kBlock, SmemSync::Reason::kWar,
                 absl::StrCat(absl::StrJoin(names, ", "),
                              " read before, written in the next iteration")));
    // A loop ends after all of its statements and before what follows.
    barriers_.push_back(end);
  }

  // A bulk store reads its source until it is waited for.
  void WaitForStoreSources(int start, int end) {
    if (AnyInside(store_waits_, start, end)) return;
    for (BufferId base : bases_) {
      bool written = absl::c_any_of(writes_[base], [&](const Access& write) {
        return write.position > start && write.position < end;
      });
      if (!written) continue;
      for (const Access& read : reads_[base]) {
        if (read.position < start || read.position > end ||
            read.expr->async != kir::AsyncKind::kBulkStore) {
          continue;
        }
        const kir::Buffer& buffer = kernel_.buffers[read.operand->buffer];
        int keep = buffer.circular.has_value()
                       ? buffer.circular->stages - buffer.circular->prefetch - 1
                       : 0;
        found_.push_back(MakeAsync(end, CommitOf(kir::AsyncKind::kBulkStore),
                                   SmemSync::Kind::kAsyncWait,
                                   "closes the group of stores"));
        found_.push_back(MakeAsync(end,
                                   WaitOf(kir::AsyncKind::kBulkStore, keep),
                                   SmemSync::Kind::kAsyncWait,
                                   absl::StrCat("the store reads ", Name(base),
                                                ", which is written again")));
        store_waits_.push_back(end);
        return;
      }
    }
  }

  std::vector<std::pair<Insertion, SmemSync>> found_;
  std::vector<int> barriers_, releases_, store_waits_;
  absl::flat_hash_map<BufferId, std::vector<Access>> reads_, writes_;
  std::vector<BufferId> hazardous_, bases_;
};

}  // namespace

absl::StatusOr<RequiredSyncs> RawSyncs(
    const kir::Kernel& kernel, const KernelPositions& positions,
    absl::Span<const kir::BufferId> settled) {
  return RawFinder(kernel, positions, settled).Run();
}

RequiredSyncs WarSyncs(const kir::Kernel& kernel,
                       const KernelPositions& positions,
                       absl::Span<const kir::BufferId> settled) {
  return WarFinder(kernel, positions, settled).Run();
}

absl::StatusOr<kir::Kernel> InsertGlobalSyncs(const kir::Kernel& kernel) {
  std::vector<BufferId> settled;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].memory == kir::Memory::kShared) {
      settled.push_back(static_cast<BufferId>(b));
    }
  }
  for (BufferId own : kernel.OwnArrays()) settled.push_back(own);
  KernelPositions positions(kernel);
  ASSIGN_OR_RETURN(RequiredSyncs raw, RawSyncs(kernel, positions, settled));
  std::vector<Insertion> barriers;
  for (Insertion& insertion : raw.insertions) {
    if (insertion.statement.As<kir::Sync>() != nullptr) {
      barriers.push_back(std::move(insertion));
    }
  }
  return InsertStatements(kernel, positions, barriers);
}

}  // namespace xla::gpu
