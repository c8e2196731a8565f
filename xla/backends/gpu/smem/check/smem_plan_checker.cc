#include "xla/backends/gpu/smem/check/smem_plan_checker.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

class Checker : SmemPlanTree {
 public:
  explicit Checker(const SmemPlan& plan)
      : SmemPlanTree(plan.planned), plan_(plan) {}

  absl::Status Check() {
    RETURN_IF_ERROR(CheckAddresses());
    for (int a = 0; a < static_cast<int>(accesses_.size()); ++a) {
      for (int b = 0; b < static_cast<int>(accesses_.size()); ++b) {
        if (!Overlap(accesses_[a].buffer, accesses_[b].buffer)) continue;
        if (!accesses_[a].write && !accesses_[b].write) continue;
        if (accesses_[a].node < accesses_[b].node && !Excluded(a, b)) {
          RETURN_IF_ERROR(CheckWay(a, b, -1));
        }
        for (int loop : CommonLoops(a, b)) {
          RETURN_IF_ERROR(CheckWay(a, b, loop));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
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
          Flatten(nodes_[n].branches[0], false, one);
          Flatten(nodes_[n].branches[1], false, other);
          meet(std::min(Meets({}, {}, one), Meets({}, {}, other)));
        }
      }
    }
    if (waited && fenced) return std::max(meets, 0);
    return -1;
  }

  // One path: straight on (loop = -1), or around `loop` into a later iteration.
  absl::Status CheckWay(int a, int b, int loop) const {
    const int distance = Distance(a, b);
    if (distance < 0) return absl::OkStatus();
    const Access &p = accesses_[a], &q = accesses_[b];
    std::vector<int> flat, all;
    const std::vector<int> passed = Passed(p.node, q.node, loop);
    Flatten(passed, false, flat);
    Flatten(passed, true, all);
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
    if (p.write && !q.write && !q.accumulates && !Rewritten(a, b, loop, all)) {
      return Refuse(a, b, loop, "P3",
                    "the read may see the other buffer's bytes");
    }
    return absl::OkStatus();
  }

  // Whether all elements that `b` reads are written again on the path. Checked
  // for sampled iterations of the loops around the read that also contain a
  // write: the first few and the last.
  bool Rewritten(int a, int b, int loop, const std::vector<int>& all) const {
    const Access& read = accesses_[b];
    std::vector<int> writes;
    for (int w = 0; w < static_cast<int>(accesses_.size()); ++w) {
      const Access& write = accesses_[w];
      if (write.buffer == read.buffer && write.write &&
          write.node != read.node &&
          std::find(all.begin(), all.end(), write.node) != all.end()) {
        writes.push_back(w);
      }
    }
    if (read.operand == nullptr) return !writes.empty();
    // Loops around the read that go on with the same iteration.
    std::vector<int> shared;
    for (int n = nodes_[read.node].parent; n >= 0; n = nodes_[n].parent) {
      if (LoopAt(n) == nullptr || kir::ThreadDimension(LoopAt(n)->kind) >= 0) {
        continue;
      }
      for (int w : writes) {
        if (!Holds(n, accesses_[w].node)) continue;
        shared.push_back(n);
        break;
      }
    }
    const Way way = {a, b, loop};
    return CoveredAt(way, writes, shared, 0, {});
  }

  struct Way {
    int from, to, loop;
  };

  // Values of a loop's index: the first ones and the last.
  std::vector<int64_t> ValuesOf(const kir::Loop& loop) const {
    std::vector<int64_t> values;
    const std::optional<int64_t> start = loop.start.Bind(binding_).AsConstant();
    const std::optional<int64_t> stop = loop.stop.Bind(binding_).AsConstant();
    const int64_t step = loop.step.AsConstant().value_or(1);
    if (!start.has_value() || !stop.has_value()) return values;
    const int64_t trips = (*stop - *start + step - 1) / step;
    for (int64_t k = 0; k < trips; ++k) {
      if (k < kMaxValues || k + 1 == trips) values.push_back(*start + k * step);
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

  // For fixed iterations, marks the elements that surely get written and
  // compares them with what is read, element by element.
  bool Covered(const Way& way, const std::vector<int>& writes,
               const Held& held) const {
    const Access& read = accesses_[way.to];
    const Owners wanted = Enumerate(read, held, false);
    const int64_t elements =
        BytesOf(read.buffer) /
        kir::ElementBytes(kernel_.buffers[read.buffer].type);
    std::vector<bool> found(elements, false);
    for (int w : writes) {
      const std::optional<Held> at = HeldOf(way, accesses_[w], held);
      if (!at.has_value()) return true;
      const Owners owners = Enumerate(accesses_[w], *at, true);
      for (size_t e = 0; e < owners.thread.size() && owners.known; ++e) {
        if (owners.thread[e] != kNobody) found[e] = true;
      }
    }
    for (int64_t e = 0; e < elements; ++e) {
      if (!found[e] && !(wanted.known && wanted.thread[e] == kNobody)) {
        return false;
      }
    }
    return true;
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
};

}  // namespace
}  // namespace smem_check

absl::Status CheckSmemPlan(const SmemPlan& plan) {
  return smem_check::Checker(plan).Check();
}

}  // namespace xla::gpu
