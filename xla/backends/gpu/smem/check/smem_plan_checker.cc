#include "xla/backends/gpu/smem/check/smem_plan_checker.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/smem/check/smem_plan_tree.h"
#include "xla/status_macros.h"

// Checks a finished plan from first principles, without using the planner's own
// analyses. For every pair of accesses whose buffers overlap in bytes, one of
// them a write:
//  - P1: addresses are aligned and inside of the allocation;
//  - P2: on every path from the first to the second access the right group of
//    threads meets (nobody, the warp or the block, by who touches common
//    bytes), after asynchronous copies were waited for and proxies fenced;
//  - P3: a read after an overlapping write finds its own data, that is,
//    everything it reads is written again on the way.
//
// Paths are within one iteration or from one iteration of a common loop to a
// later one. The check enumerates threads and indices explicitly and gives up
// on the safe side when bounds are not constant.

namespace xla::gpu {
namespace smem_check {
namespace {

// Values of one loop that reads and writes are compared at.
constexpr int64_t kMaxValues = 8;
// Elements of answers that are kept.
constexpr int64_t kMaxRemembered = int64_t{1} << 28;

class Checker : SmemPlanTree {
 public:
  explicit Checker(const SmemPlan& plan)
      : SmemPlanTree(plan.planned), plan_(plan) {
    FindBarriers();
    FindRegions();
  }

  absl::Status Check() {
    RETURN_IF_ERROR(CheckAddresses());
    std::vector<std::optional<std::vector<int>>> others(kernel_.buffers.size());
    for (int a = 0; a < static_cast<int>(accesses_.size()); ++a) {
      std::optional<std::vector<int>>& overlapping =
          others[accesses_[a].buffer];
      if (!overlapping.has_value()) {
        overlapping = Overlapping(accesses_[a].buffer);
      }
      const std::vector<int> loops = LoopsAround(accesses_[a]);
      const int met = MetBefore(a);
      for (int b : *overlapping) {
        if (!accesses_[a].write && !accesses_[b].write) continue;
        if (accesses_[a].node < accesses_[b].node && !Excluded(a, b)) {
          RETURN_IF_ERROR(CheckStraight(a, b, met));
        }
        for (int loop : loops) {
          if (!Holds(loop, accesses_[b].node)) continue;
          RETURN_IF_ERROR(CheckWay(a, b, loop));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  // What is written of one buffer, and where it is used.
  struct Region {
    std::vector<int> writes;  // accesses, in program order
    // The first statement, of the row that holds all uses, with one inside.
    int begin = 0;
  };

  // Accesses of other buffers with common bytes, in program order.
  std::vector<int> Overlapping(kir::BufferId buffer) const {
    std::vector<int> result;
    for (int b = 0; b < static_cast<int>(accesses_.size()); ++b) {
      if (Overlap(buffer, accesses_[b].buffer)) result.push_back(b);
    }
    return result;
  }

  // barriers_: by statement, how many of its row up to it, with what surely
  // runs inside of them, make the block meet.
  void FindBarriers() {
    barriers_.assign(nodes_.size(), 0);
    std::vector<int> flat;
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const std::vector<int>& row = Siblings(n);
      const int index = nodes_[n].index;
      flat.clear();
      Flatten({&row, index, index + 1}, flat);
      barriers_[n] = (index > 0 ? barriers_[row[index - 1]] : 0) +
                     (Meets({}, {}, flat) == 2 ? 1 : 0);
    }
  }

  void FindRegions() {
    regions_.resize(kernel_.buffers.size());
    std::vector<int> first(kernel_.buffers.size(), -1), last = first;
    for (int a = 0; a < static_cast<int>(accesses_.size()); ++a) {
      const Access& access = accesses_[a];
      if (access.write) regions_[access.buffer].writes.push_back(a);
      if (first[access.buffer] < 0) first[access.buffer] = access.node;
      last[access.buffer] = access.node;
    }
    for (size_t b = 0; b < regions_.size(); ++b) {
      int n = first[b];
      if (n < 0) continue;
      while (nodes_[n].parent >= 0 && !SameRow(n, last[b])) {
        n = nodes_[n].parent;
      }
      regions_[b].begin = n;
    }
  }

  // Whether `inner` is in the row of `n`, or inside of a statement there.
  bool SameRow(int n, int inner) const {
    const int parent = nodes_[n].parent;
    if (parent < 0) return true;
    const std::vector<int>& row = Siblings(n);
    return inner >= row.front() && inner < nodes_[row.back()].end;
  }

  // All ways from an access to statements from this number on, and not around
  // a loop, pass a statement where the whole block surely meets.
  int MetBefore(int a) const {
    for (int n = accesses_[a].node; n >= 0; n = nodes_[n].parent) {
      const std::vector<int>& row = Siblings(n);
      const auto met = std::partition_point(
          row.begin() + nodes_[n].index, row.end(),
          [&](int m) { return barriers_[m] == barriers_[n]; });
      if (met != row.end()) return nodes_[*met].end;
    }
    return static_cast<int>(nodes_.size());
  }

  absl::Status CheckAddresses() const {
    for (const SmemBufferPlan& b : plan_.buffers) {
      const kir::Buffer& buffer = kernel_.buffers[b.buffer];
      if (buffer.memory != kir::Memory::kShared || b.alias_of.has_value()) {
        continue;
      }
      int64_t align = std::max<int64_t>(buffer.align.value_or(1),
                                        kir::ElementBytes(buffer.type));
      if (buffer.vector_width.has_value()) {
        align = std::max<int64_t>(
            align, *buffer.vector_width * kir::ElementBytes(buffer.type));
      }
      if (buffer.swizzle.value_or(0) > 0) {
        align = std::max<int64_t>(align, *buffer.swizzle * 8);
      }
      const int64_t address = AddressOf(b.buffer);
      if (address < 0 || address % align != 0 ||
          address + BytesOf(b.buffer) > plan_.total_bytes) {
        return kernel_.ErrorAt(
            buffer.location,
            absl::StrCat("P1: %", buffer.name, " of ", BytesOf(b.buffer),
                         " bytes at ", address, ", alignment ", align,
                         ", total ", plan_.total_bytes),
            absl::StatusCode::kFailedPrecondition);
      }
    }
    return absl::OkStatus();
  }

  // Simulates the statements on a path from a to b and returns who has met in a
  // way that orders the two: 0 nobody, 1 the warp, 2 the block; -1 if not even
  // a thread's own accesses are ordered, because a copy was not waited for or a
  // proxy fence is missing. A barrier counts only once both conditions hold.
  // Uniform branches count as the weaker of their sides.
  int Meets(const Access& a, const Access& b,
            const std::vector<int>& flat) const {
    bool waited = a.async == kir::AsyncKind::kNone;
    bool fenced = a.proxy() || !b.proxy();
    int commits = 0, meets = 0;
    absl::flat_hash_set<int> arrived;
    auto meet = [&](int how) {
      if (waited && fenced) meets = std::max(meets, how);
    };
    for (int n : flat) {
      const kir::Statement& s = *nodes_[n].statement;
      if (const kir::Async* async = s.As<kir::Async>()) {
        if (async->op == kir::Async::Op::kCommit)
          commits += async->kind == a.async;
        if (async->op == kir::Async::Op::kWait && async->kind == a.async) {
          waited |= commits > async->keep;
        }
        fenced |= async->name == "async_proxy";
        if (async->op != kir::Async::Op::kMbarrier || !nodes_[n].all_meet) {
          continue;
        }
        if (async->name == "arrive" && waited && fenced) {
          arrived.insert(async->barrier);
        } else if (async->name == "wait_parity") {
          if (a.mbarrier == async->barrier) {
            waited = true;
            meet(2);
          }
          if (arrived.contains(async->barrier)) meet(2);
        }
        continue;
      }
      if (!nodes_[n].all_meet) {
        // An expression's barrier is joined from outside of thread loops.
        const kir::Expr* expr = s.As<kir::Expr>();
        if (expr == nullptr || !expr->sync || InBranch(n)) continue;
      }
      if (const kir::Sync* sync = s.As<kir::Sync>()) {
        if (sync->group.empty()) {
          meet(sync->scope == kir::SyncScope::kWarp ? 1 : 2);
        }
      } else if (const kir::Expr* expr = s.As<kir::Expr>()) {
        if (expr->sync ||
            kir::FindOp(expr->op)->op_class == kir::OpClass::kScan) {
          meet(2);
        }
      } else if (const auto* half = s.As<kir::ArriveWait>()) {
        if (!half->is_wait && waited && fenced) arrived.insert(half->barrier);
        if (half->is_wait && arrived.contains(half->barrier)) meet(2);
      } else if (const kir::If* fork = s.As<kir::If>()) {
        if (fork->uniformity == kir::Uniformity::kUniform) {
          std::vector<int> one, other;
          Flatten(All(nodes_[n].branches[0]), one);
          Flatten(All(nodes_[n].branches[1]), other);
          meet(std::min(Meets({}, {}, one), Meets({}, {}, other)));
        }
      }
    }
    if (waited && fenced) return std::max(meets, 0);
    return -1;
  }

  static Stretch All(const std::vector<int>& row) {
    return {&row, 0, static_cast<int>(row.size())};
  }

  // Behind `met` everything of plain accesses is in order.
  absl::Status CheckStraight(int a, int b, int met) const {
    const Access &p = accesses_[a], &q = accesses_[b];
    if (q.node >= met && p.async == kir::AsyncKind::kNone && !q.proxy() &&
        (!IsStale(p, q) || Rewritten(a, b, -1))) {
      return absl::OkStatus();
    }
    return CheckWay(a, b, -1);
  }

  // Whether q would see what p wrote unless its own buffer is written again.
  static bool IsStale(const Access& p, const Access& q) {
    return p.write && !q.write && !q.accumulates;
  }

  // One path: straight on (loop = -1), or around `loop` into a later iteration.
  absl::Status CheckWay(int a, int b, int loop) const {
    const int distance = Distance(a, b);
    if (distance < 0) return absl::OkStatus();
    const Access &p = accesses_[a], &q = accesses_[b];
    std::vector<int> flat;
    for (const Stretch& stretch : Passed(p.node, q.node, loop)) {
      Flatten(stretch, flat);
    }
    // Inputs come before the barrier of their own expression, results after.
    auto holds = [&](const Access& access, bool write) {
      const kir::Expr* expr = nodes_[access.node].statement->As<kir::Expr>();
      return expr != nullptr && expr->sync && access.write == write &&
             !InBranch(access.node);
    };
    const int meets = holds(p, false) || holds(q, true) ? 2 : Meets(p, q, flat);
    if (meets < distance) {
      return Refuse(a, b, loop, "P2",
                    meets < 0 ? "no wait or fence between them"
                              : "nothing orders all threads between them");
    }
    if (IsStale(p, q) && !Rewritten(a, b, loop)) {
      return Refuse(a, b, loop, "P3",
                    "the read may see the other buffer's bytes");
    }
    return absl::OkStatus();
  }

  // Whether all elements that `b` reads are written again on the path. Checked
  // for sampled iterations of the loops around the read that also contain a
  // write: the first few and the last.
  bool Rewritten(int a, int b, int loop) const {
    // From anywhere before all uses of the buffer, the way leads past the same
    // writes.
    const int from = accesses_[a].node;
    const Region& region = regions_[accesses_[b].buffer];
    if (loop >= 0 || from >= region.begin) {
      return IsRewritten(a, b, loop);
    }
    const auto [known, added] = rewritten_.try_emplace(b, false);
    if (added) known->second = IsRewritten(a, b, loop);
    return known->second;
  }

  bool IsRewritten(int a, int b, int loop) const {
    const Access& read = accesses_[b];
    const std::vector<Stretch> passed =
        Passed(accesses_[a].node, read.node, loop);
    std::vector<int> writes, earlier;
    for (int w : regions_[read.buffer].writes) {
      const int node = accesses_[w].node;
      if (node == read.node) continue;
      if (absl::c_any_of(passed, [&](const Stretch& s) {
            return (*s.row)[s.first] <= node &&
                   node < nodes_[(*s.row)[s.last - 1]].end;
          })) {
        writes.push_back(w);
      }
      if (InEarlierIterations(accesses_[a].node, node, read.node)) {
        earlier.push_back(w);
      }
    }
    if (read.operand == nullptr) return !writes.empty();
    // Loops around the read that go on with the same iteration.
    std::vector<int> shared;
    for (int n = nodes_[read.node].parent; n >= 0; n = nodes_[n].parent) {
      if (LoopAt(n) == nullptr || kir::ThreadDimension(LoopAt(n)->kind) >= 0) {
        continue;
      }
      const auto holds = [&](int w) { return Holds(n, accesses_[w].node); };
      if (absl::c_any_of(writes, holds) || absl::c_any_of(earlier, holds)) {
        shared.push_back(n);
      }
    }
    const Way way = {a, b, loop, std::move(earlier)};
    return CoveredAt(way, writes, shared, 0, {});
  }

  // Whether it is a loop that a way from there enters, which goes round.
  bool Enters(int from, int n) const {
    const kir::Loop* loop = LoopAt(n);
    return loop != nullptr &&
           (loop->kind == kir::LoopKind::kSerial ||
            loop->kind == kir::LoopKind::kUnroll) &&
           !Holds(n, from);
  }

  // Whether such a loop holds both.
  bool InEarlierIterations(int from, int write, int read) const {
    for (int n = nodes_[read].parent; n >= 0; n = nodes_[n].parent) {
      if (Enters(from, n) && Holds(n, write)) return true;
    }
    return false;
  }

  struct Way {
    int from, to, loop;
    std::vector<int> earlier;  // writes in iterations that it has passed
  };

  // Values of a loop's index: the first ones and the last.
  std::vector<int64_t> ValuesOf(const kir::Loop& loop) const {
    std::vector<int64_t> values;
    const std::optional<int64_t> start = loop.start.Bind(binding_).AsConstant();
    const std::optional<int64_t> stop = loop.stop.Bind(binding_).AsConstant();
    const int64_t step = loop.step.AsConstant().value_or(1);
    if (!start.has_value() || !stop.has_value()) return values;
    if (*stop <= *start) return values;
    // The span may be more than a signed number holds.
    const auto first = static_cast<uint64_t>(*start);
    const uint64_t last = (static_cast<uint64_t>(*stop) - first - 1) / step;
    for (uint64_t k = 0; k <= std::min<uint64_t>(last, kMaxValues - 1); ++k) {
      values.push_back(static_cast<int64_t>(first + k * step));
    }
    if (last >= kMaxValues) {
      values.push_back(static_cast<int64_t>(first + last * step));
    }
    return values;
  }

  bool CoveredAt(const Way& way, const std::vector<int>& writes,
                 const std::vector<int>& shared, size_t depth,
                 const Held& held) const {
    if (depth == shared.size()) return Covered(way, writes, held);
    const std::vector<int64_t> values = ValuesOf(*LoopAt(shared[depth]));
    if (values.empty()) return false;
    for (int64_t value : values) {
      Held more = held;
      more.push_back({shared[depth], value});
      if (!CoveredAt(way, writes, shared, depth + 1, more)) return false;
    }
    return true;
  }

  // What of loops is certain for a write on the way, when the read is in the
  // iterations `held`; nothing when there is no such way.
  std::optional<Held> HeldOf(const Way& way, const Access& write,
                             const Held& held) const {
    const int from = accesses_[way.from].node, to = accesses_[way.to].node;
    Held result = held;
    for (auto& [loop, value] : result) {
      // Behind the read in its loop: in the iteration before.
      if (loop != way.loop || write.node < to) continue;
      const kir::Loop& l = *LoopAt(loop);
      if (value == l.start.Bind(binding_).AsConstant()) return std::nullopt;
      value -= l.step.AsConstant().value_or(1);
    }
    // When the way leaves a loop, only the end of the last iteration is certain
    // to have run.
    for (int n = nodes_[write.node].parent; n >= 0; n = nodes_[n].parent) {
      const kir::Loop* loop = LoopAt(n);
      if (loop == nullptr || kir::ThreadDimension(loop->kind) >= 0 ||
          !Holds(n, from) || Holds(n, to)) {
        continue;
      }
      const std::vector<int64_t> values = ValuesOf(*loop);
      if (!values.empty()) result.push_back({n, values.back()});
    }
    return result;
  }

  // For fixed iterations, takes from the elements that are read those that
  // surely get written, element by element. The writes just before the read are
  // looked at first: they are mostly enough.
  bool Covered(const Way& way, const std::vector<int>& writes,
               const Held& held) const {
    const Access& read = accesses_[way.to];
    std::vector<Held> at;
    for (int w : writes) {
      std::optional<Held> one = HeldOf(way, accesses_[w], held);
      if (!one.has_value()) return true;
      at.push_back(*std::move(one));
    }
    std::vector<bool> missing = Touched(way.to, held, false);
    if (missing.empty()) {
      missing.assign(BytesOf(read.buffer) /
                         kir::ElementBytes(kernel_.buffers[read.buffer].type),
                     true);
    }
    int64_t left = absl::c_count(missing, true);
    const auto take = [&](int write, const Held& iterations) {
      const std::vector<bool>& written = Touched(write, iterations, true);
      for (size_t e = 0; e < written.size(); ++e) {
        if (!written[e] || !missing[e]) continue;
        missing[e] = false;
        --left;
      }
    };
    for (size_t k = writes.size(); k-- > 0 && left > 0;) take(writes[k], at[k]);
    for (int write : way.earlier) {
      for (const Held& passed : EarlierOf(way, accesses_[write], held)) {
        if (left > 0) take(write, passed);
      }
    }
    return left == 0;
  }

  // A way that comes from outside of a loop has passed its earlier iterations:
  // the last few of those, which write the stages of a buffer in turn.
  std::vector<Held> EarlierOf(const Way& way, const Access& write,
                              const Held& held) const {
    std::vector<Held> result;
    for (size_t h = 0; h < held.size(); ++h) {
      const auto [n, value] = held[h];
      const kir::Loop& loop = *LoopAt(n);
      const std::optional<int64_t> start =
          loop.start.Bind(binding_).AsConstant();
      const int64_t step = loop.step.AsConstant().value_or(1);
      if (!Enters(accesses_[way.from].node, n) || !Holds(n, write.node) ||
          !start.has_value()) {
        continue;
      }
      for (int64_t k = 1; k < kMaxValues && value - k * step >= *start; ++k) {
        result.push_back(held);
        result.back()[h].second = value - k * step;
      }
    }
    return result;
  }

  // The elements that Enumerate finds somebody at; empty if it is not known.
  // Valid until the next call.
  const std::vector<bool>& Touched(int access, const Held& held,
                                   bool surely) const {
    if (remembered_ > kMaxRemembered) {
      touched_.clear();
      remembered_ = 0;
    }
    const auto [known, added] = touched_.try_emplace({{access, surely}, held});
    std::vector<bool>& result = known->second;
    if (!added) return result;
    const Owners owners = Enumerate(accesses_[access], held, surely);
    if (!owners.known) return result;
    for (int thread : owners.thread) result.push_back(thread != kNobody);
    remembered_ += static_cast<int64_t>(result.size());
    return result;
  }

  absl::Status Refuse(int a, int b, int loop, absl::string_view rule,
                      absl::string_view why) const {
    auto name = [&](int access) {
      const Access& x = accesses_[access];
      return absl::StrCat(x.write ? "write" : "read", " of %",
                          kernel_.buffers[x.buffer].name, " at ", x.node + 1);
    };
    return kernel_.ErrorAt(
        nodes_[accesses_[b].node].statement->location,
        absl::StrCat(rule, ": @", kernel_.name, ": ", name(a), " and ", name(b),
                     loop < 0 ? ""
                              : absl::StrCat(" of a later iteration of %",
                                             LoopAt(loop)->index),
                     " share bytes; ", why),
        absl::StatusCode::kFailedPrecondition);
  }

  const SmemPlan& plan_;
  std::vector<int> barriers_;    // as of FindBarriers
  std::vector<Region> regions_;  // by buffer
  // Answers of Rewritten by read, for ways from before its region.
  mutable absl::flat_hash_map<int, bool> rewritten_;
  // Answers of Touched, and how many elements are in them.
  mutable absl::flat_hash_map<std::pair<std::pair<int, bool>, Held>,
                              std::vector<bool>>
      touched_;
  mutable int64_t remembered_ = 0;
};

}  // namespace
}  // namespace smem_check

absl::Status CheckSmemPlan(const SmemPlan& plan) {
  return smem_check::Checker(plan).Check();
}

}  // namespace xla::gpu
