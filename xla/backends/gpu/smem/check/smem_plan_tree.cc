#include "xla/backends/gpu/smem/check/smem_plan_tree.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

// A kernel as a tree of statements with the shared-memory accesses in it, and
// for each access which thread and which warp touches each element (Owners),
// found by enumerating all threads and loop iterations up to a budget.

namespace xla::gpu::smem_check {
namespace {

constexpr int64_t kMaxPoints = int64_t{1} << 20;

}  // namespace

SmemPlanTree::SmemPlanTree(const kir::Kernel& kernel)
    : kernel_(kernel), binding_(kernel.Bindings()) {
  const std::array<std::optional<int64_t>, 3> block = kernel.BlockExtents();
  for (int d = 0; d < 3; ++d) block_[d] = block[d].value_or(1);
  for (const kir::Buffer& buffer : kernel.buffers) {
    addresses_.push_back(buffer.address.has_value()
                             ? buffer.address->Evaluate(binding_).value_or(-1)
                             : -1);
    bytes_.push_back(buffer.Bytes().Evaluate(binding_).value_or(-1));
  }
  Build(kernel.body, -1, 0, roots_, true);
  owners_.resize(accesses_.size());
}

const Owners& SmemPlanTree::OwnersOf(int access) const {
  std::optional<Owners>& owners = owners_[access];
  if (!owners.has_value()) owners = Enumerate(accesses_[access], {}, false);
  return *owners;
}

const kir::Loop* SmemPlanTree::LoopAt(int node) const {
  return nodes_[node].statement->As<kir::Loop>();
}

bool SmemPlanTree::IsThreadDependent(const AffineExpr& e) const {
  for (const std::string& name : e.Symbols()) {
    if (name == "tid.x" || name == "tid.y" || name == "tid.z" ||
        thread_names_.contains(name)) {
      return true;
    }
  }
  return e.IsUnknown();
}

void SmemPlanTree::Build(const std::vector<kir::Statement>& body, int parent,
                         int branch, std::vector<int>& children,
                         bool all_meet) {
  for (const kir::Statement& statement : body) {
    const int id = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    nodes_[id].statement = &statement;
    nodes_[id].parent = parent;
    nodes_[id].branch = branch;
    nodes_[id].index = static_cast<int>(children.size());
    nodes_[id].all_meet = all_meet;
    children.push_back(id);
    if (const kir::Loop* loop = statement.As<kir::Loop>()) {
      BuildLoop(*loop, id, all_meet);
    } else if (const kir::If* fork = statement.As<kir::If>()) {
      const bool meet =
          all_meet &&
          (fork->uniformity == kir::Uniformity::kUniform || Threads() == 1);
      std::vector<int> then_nodes, else_nodes;
      Build(fork->then_body, id, 0, then_nodes, meet);
      Build(fork->else_body, id, 1, else_nodes, meet);
      nodes_[id].branches = {then_nodes, else_nodes};
    } else if (const kir::Expr* expr = statement.As<kir::Expr>()) {
      AddAccesses(*expr, id);
    } else if (const kir::Async* async = statement.As<kir::Async>()) {
      if (async->op == kir::Async::Op::kMbarrier)
        AddBarrier(async->barrier, id);
    } else if (const auto* half = statement.As<kir::ArriveWait>()) {
      AddBarrier(half->barrier, id);
    }
    nodes_[id].end = static_cast<int>(nodes_.size());
  }
}

// all_meet says whether every thread of the block passes the body equally
// often. That holds for thread loops that cover the block, and for serial loops
// whose bounds do not depend on the thread.
void SmemPlanTree::BuildLoop(const kir::Loop& loop, int id, bool all_meet) {
  const int d = kir::ThreadDimension(loop.kind);
  bool meet = all_meet && loop.stage != kir::LoopStage::kAsyncWarp &&
              loop.stage != kir::LoopStage::kComputeWarp;
  if (d >= 0) {
    const std::optional<int64_t> span =
        (loop.stop - loop.start).Bind(binding_).AsConstant();
    meet &= block_[d] == 1 || (span.has_value() && *span >= block_[d]);
    if (block_[d] > 1) thread_names_.insert(loop.index);
  } else {
    meet &= !IsThreadDependent(loop.start) && !IsThreadDependent(loop.stop);
  }
  std::vector<int> children;
  Build(loop.body, id, 0, children, meet);
  nodes_[id].branches = {children};
  thread_names_.erase(loop.index);
}

void SmemPlanTree::AddAccesses(const kir::Expr& expr, int node) {
  const kir::OpInfo* info = kir::FindOp(expr.op);
  auto add = [&](const kir::Operand& operand, bool write, bool known,
                 bool accumulates = false) {
    const kir::BufferId buffer =
        kernel_.buffers[operand.buffer].alias.value_or(operand.buffer);
    if (kernel_.buffers[buffer].memory != kir::Memory::kShared) return;
    accesses_.push_back({node, buffer, write, known ? &operand : nullptr,
                         expr.async, expr.mbarrier, accumulates});
  };
  const bool reads_results = info->op_class == kir::OpClass::kReduce ||
                             info->op_class == kir::OpClass::kWelford ||
                             info->op_class == kir::OpClass::kMma;
  for (const kir::Argument& argument : expr.arguments) {
    if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
      add(*operand, false, expr.op != "gather");
    }
  }
  for (const kir::Operand& output : expr.outputs) {
    if (reads_results && !expr.sync) add(output, false, true, true);
    add(output, true, info->op_class != kir::OpClass::kScatter);
  }
  if (expr.mbarrier.has_value()) AddBarrier(*expr.mbarrier, node);
}

void SmemPlanTree::AddBarrier(kir::BufferId barrier, int node) {
  barrier = kernel_.buffers[barrier].alias.value_or(barrier);
  const kir::Async* async = nodes_[node].statement->As<kir::Async>();
  const bool init = async != nullptr && async->name == "init";
  accesses_.push_back({node, barrier, init, nullptr});
  if (!init) accesses_.push_back({node, barrier, true, nullptr});
}

bool SmemPlanTree::Overlap(kir::BufferId x, kir::BufferId y) const {
  if (x == y) return false;
  const int64_t p = AddressOf(x), q = AddressOf(y);
  return p >= 0 && q >= 0 && p < q + BytesOf(y) && q < p + BytesOf(x);
}

// Nothing differs between the iterations of a loop that nothing reads: the
// first stands for all. Bounds read it if it matters where they are.
std::vector<bool> SmemPlanTree::RunOnce(const Access& access,
                                        const AffineExpr& linear,
                                        const std::vector<int>& loops) const {
  std::vector<bool> once(loops.size(), false);
  for (size_t k = loops.size(); k-- > 0;) {
    const std::string& name = LoopAt(loops[k])->index;
    bool read = linear.Mentions(name);
    for (size_t i = k + 1; i < loops.size(); ++i) {
      const kir::Loop& inner = *LoopAt(loops[i]);
      if (once[i] && (inner.stop - inner.start).AsConstant().value_or(0) > 0 &&
          kir::ThreadDimension(inner.kind) < 0) {
        continue;
      }
      read |= inner.start.Mentions(name) || inner.stop.Mentions(name) ||
              inner.step.Mentions(name);
    }
    for (int n = nodes_[access.node].parent; n >= 0; n = nodes_[n].parent) {
      const kir::If* fork = nodes_[n].statement->As<kir::If>();
      read |= fork != nullptr && fork->predicate.Mentions(name);
    }
    once[k] = !read;
  }
  return once;
}

// Runs the loops around the access for each thread, with the indices in `held`
// fixed, and records who touches which element: a thread, or several. `surely`:
// only accesses that certainly happen may be recorded. Unknown (known = false)
// where indices, guards or bounds cannot be evaluated.
Owners SmemPlanTree::Enumerate(const Access& access, const Held& held,
                               bool surely) const {
  Owners owners;
  if (access.operand == nullptr) return owners;
  const kir::Buffer& view = kernel_.buffers[access.operand->buffer];
  const kir::Buffer& buffer = kernel_.buffers[access.buffer];
  const int width = kir::ElementBytes(buffer.type);
  if (kir::ElementBytes(view.type) != width) return owners;
  const int64_t elements = BytesOf(access.buffer) / width;
  AffineExpr linear;
  int64_t copies = 1;
  for (size_t d = 0; d < access.operand->indices.size(); ++d) {
    linear = linear * view.extents[d].Bind(binding_) +
             access.operand->indices[d].Bind(binding_);
  }
  int64_t one = 1;
  for (const AffineExpr& e : view.extents) {
    one *= e.Evaluate(binding_).value_or(1);
  }
  // A circular buffer that was not split: any copy.
  if (one > 0) copies = std::max<int64_t>(1, elements / one);
  if (copies > 1 && surely) return owners;
  std::vector<std::string> slots = {"tid.x", "tid.y", "tid.z"};
  std::vector<int> loops;
  for (int n = nodes_[access.node].parent; n >= 0; n = nodes_[n].parent) {
    if (LoopAt(n) != nullptr) loops.insert(loops.begin(), n);
  }
  for (int n : loops) slots.push_back(LoopAt(n)->index);
  // Bounds are evaluated at each point, and compiled here, once.
  std::vector<std::array<absl::StatusOr<AffineProgram>, 3>> bounds;
  for (int n : loops) {
    const kir::Loop& loop = *LoopAt(n);
    bounds.push_back({AffineProgram::Compile(loop.start.Bind(binding_), slots),
                      AffineProgram::Compile(loop.stop.Bind(binding_), slots),
                      AffineProgram::Compile(loop.step.Bind(binding_), slots)});
  }
  absl::StatusOr<AffineProgram> index = AffineProgram::Compile(linear, slots);
  if (!index.ok()) return owners;
  std::vector<std::pair<AffineProgram, bool>> guards;
  for (int n = access.node; nodes_[n].parent >= 0; n = nodes_[n].parent) {
    const kir::If* fork = nodes_[nodes_[n].parent].statement->As<kir::If>();
    if (fork == nullptr) continue;
    absl::StatusOr<AffineProgram> guard =
        AffineProgram::Compile(fork->predicate.Bind(binding_), slots);
    if (guard.ok()) {
      guards.push_back({*std::move(guard), nodes_[n].branch == 0});
    } else if (surely) {
      return owners;
    }
  }
  const std::vector<bool> once = RunOnce(access, linear, loops);
  owners.thread.assign(elements, kNobody);
  owners.warp.assign(elements, kNobody);
  std::vector<int64_t> values(slots.size());
  int64_t budget = kMaxPoints;
  auto visit = [&](auto&& self, size_t depth, int thread) -> bool {
    if (--budget < 0) return false;
    if (depth == loops.size()) {
      for (const auto& [guard, taken] : guards) {
        const std::optional<int64_t> v = guard.Evaluate(values);
        if (!v.has_value()) return false;
        if ((*v != 0) != taken) return true;
      }
      const std::optional<int64_t> e = index->Evaluate(values);
      if (!e.has_value()) return false;
      for (int64_t c = 0; c < copies; ++c) {
        const int64_t at = *e + c * one;
        if (at < 0 || at >= elements) continue;
        auto put = [&](int& owner, int who) {
          owner = access.proxy()                     ? kSeveral
                  : owner == kNobody || owner == who ? who
                                                     : kSeveral;
        };
        put(owners.thread[at], thread);
        put(owners.warp[at], thread / 32);
      }
      return true;
    }
    const kir::Loop& loop = *LoopAt(loops[depth]);
    for (const auto& [n, value] : held) {
      if (n != loops[depth]) continue;
      values[3 + depth] = value;
      return self(self, depth + 1, thread);
    }
    const auto& [at_start, at_stop, at_step] = bounds[depth];
    if (!at_start.ok() || !at_stop.ok() || !at_step.ok()) return false;
    const std::optional<int64_t> start = at_start->Evaluate(values);
    const std::optional<int64_t> stop = at_stop->Evaluate(values);
    const std::optional<int64_t> step = at_step->Evaluate(values);
    if (!start.has_value() || !stop.has_value() || step.value_or(0) < 1) {
      return false;
    }
    const int d = kir::ThreadDimension(loop.kind);
    if (d >= 0) {
      values[3 + depth] = *start + values[d] * *step;
      return values[3 + depth] >= *stop || self(self, depth + 1, thread);
    }
    for (int64_t v = *start; v < *stop; v += *step) {
      values[3 + depth] = v;
      if (!self(self, depth + 1, thread)) return false;
      if (once[depth]) break;
    }
    return true;
  };
  owners.known = true;
  for (int t = 0; t < Threads() && owners.known; ++t) {
    values[0] = t % block_[0];
    values[1] = t / block_[0] % block_[1];
    values[2] = t / block_[0] / block_[1];
    owners.known = visit(visit, 0, t);
  }
  return owners;
}

// How far apart the threads are that touch common bytes: 0 the same thread, 1
// the same warp, 2 the block; -1 if no byte is common.
// Accesses that could not be enumerated count as being as far apart as the
// block allows: the checker may then ask for a barrier that is not needed, but
// misses none that is.
int SmemPlanTree::Distance(int a, int b) const {
  const int limit = Threads() == 1 ? 0 : Threads() <= 32 ? 1 : 2;
  const Owners &p = OwnersOf(a), &q = OwnersOf(b);
  if (!p.known || !q.known) return limit;
  const kir::BufferId x = accesses_[a].buffer, y = accesses_[b].buffer;
  const int64_t wx = kir::ElementBytes(kernel_.buffers[x].type);
  const int64_t wy = kir::ElementBytes(kernel_.buffers[y].type);
  const int64_t base_x = AddressOf(x), base_y = AddressOf(y);
  int distance = -1;
  for (size_t e = 0; e < p.thread.size(); ++e) {
    if (p.thread[e] == kNobody) continue;
    const int64_t begin = base_x + static_cast<int64_t>(e) * wx - base_y;
    const int64_t from = std::max<int64_t>(0, begin) / wy;
    for (int64_t f = from;
         f < static_cast<int64_t>(q.thread.size()) && f * wy < begin + wx;
         ++f) {
      if ((f + 1) * wy <= begin || q.thread[f] == kNobody) continue;
      const bool same = p.thread[e] == q.thread[f] && p.thread[e] != kSeveral;
      const bool warp = p.warp[e] == q.warp[f] && p.warp[e] != kSeveral;
      distance = std::max(distance, same ? 0 : warp ? 1 : 2);
    }
  }
  return std::min(distance, limit);
}

std::vector<int> SmemPlanTree::LoopsAround(const Access& access) const {
  std::vector<int> loops;
  for (int n = nodes_[access.node].parent; n >= 0; n = nodes_[n].parent) {
    const kir::Loop* loop = LoopAt(n);
    if (loop == nullptr || kir::ThreadDimension(loop->kind) >= 0 ||
        kir::BlockDimension(loop->kind) >= 0 ||
        (loop->stop - loop->start).IsConstant(1)) {
      continue;
    }
    loops.push_back(n);
  }
  return loops;
}

bool SmemPlanTree::Holds(int outer, int inner) const {
  return outer <= inner && inner < nodes_[outer].end;
}

bool SmemPlanTree::Excluded(int a, int b) const {
  for (int n = accesses_[a].node; nodes_[n].parent >= 0; n = nodes_[n].parent) {
    const int parent = nodes_[n].parent;
    if (!Holds(parent, accesses_[b].node)) continue;
    int m = accesses_[b].node;
    while (nodes_[m].parent != parent) m = nodes_[m].parent;
    return nodes_[m].branch != nodes_[n].branch &&
           nodes_[parent].statement->As<kir::If>()->uniformity ==
               kir::Uniformity::kUniform;
  }
  return false;
}

const std::vector<int>& SmemPlanTree::Siblings(int node) const {
  const int parent = nodes_[node].parent;
  return parent < 0 ? roots_ : nodes_[parent].branches[nodes_[node].branch];
}

// The statements that are passed completely on the way: up from `from` to the
// common row of statements (around the loop's end if loop >= 0), across, and
// down to `to`.
std::vector<Stretch> SmemPlanTree::Passed(int from, int to, int loop) const {
  std::vector<Stretch> passed;
  auto pass = [&](const std::vector<int>& row, int first, int last) {
    if (first < last) passed.push_back({&row, first, last});
  };
  auto up = [&](int n, auto stop) {
    for (; !stop(n); n = nodes_[n].parent) {
      const std::vector<int>& row = Siblings(n);
      pass(row, nodes_[n].index + 1, static_cast<int>(row.size()));
    }
    return n;
  };
  auto down = [&](int n, int stop_parent, int stop_branch) {
    std::vector<int> chain;
    while (nodes_[n].parent != stop_parent || nodes_[n].branch != stop_branch) {
      chain.push_back(n);
      n = nodes_[n].parent;
    }
    for (size_t k = chain.size(); k-- > 0;) {
      pass(Siblings(chain[k]), 0, nodes_[chain[k]].index);
    }
  };
  if (loop >= 0) {
    const int last = up(from, [&](int n) { return nodes_[n].parent == loop; });
    const std::vector<int>& row = nodes_[loop].branches[0];
    pass(row, nodes_[last].index + 1, static_cast<int>(row.size()));
    int first = to;
    while (nodes_[first].parent != loop) first = nodes_[first].parent;
    pass(row, 0, nodes_[first].index);
    down(to, loop, 0);
    return passed;
  }
  auto same_row = [&](int n) {
    int m = to;
    while (m >= 0 && (nodes_[m].parent != nodes_[n].parent ||
                      nodes_[m].branch != nodes_[n].branch)) {
      m = nodes_[m].parent;
    }
    return m >= 0;
  };
  const int last = up(from, same_row);
  int first = to;
  while (nodes_[first].parent != nodes_[last].parent ||
         nodes_[first].branch != nodes_[last].branch) {
    first = nodes_[first].parent;
  }
  pass(Siblings(last), nodes_[last].index + 1, nodes_[first].index);
  down(to, nodes_[last].parent, nodes_[last].branch);
  return passed;
}

std::pair<int64_t, int64_t> SmemPlanTree::BlocksOf(
    const kir::Loop& loop) const {
  const std::optional<int64_t> start = loop.start.Bind(binding_).AsConstant();
  const std::optional<int64_t> stop = loop.stop.Bind(binding_).AsConstant();
  if (!start.has_value() || !stop.has_value() || !loop.step.IsConstant(1)) {
    return {0, 0};
  }
  return {*start, *stop};
}

// A loop inside another may come round to what stands before it.
bool SmemPlanTree::NoBlockSkips(int node) const {
  const kir::Loop& loop = *LoopAt(node);
  const auto [start, stop] = BlocksOf(loop);
  const std::optional<int64_t> grid =
      kernel_.launch.has_value()
          ? kernel_.launch->grid[kir::BlockDimension(loop.kind)]
                .Bind(binding_)
                .AsConstant()
          : std::nullopt;
  if (start != 0 || !grid.has_value()) return false;
  if (*grid <= stop) return true;
  if (nodes_[node].parent >= 0) return false;
  for (size_t i = nodes_[node].index + 1; i < roots_.size(); ++i) {
    if (nodes_[roots_[i]].statement->As<kir::Alloc>() != nullptr) continue;
    const kir::Loop* later = LoopAt(roots_[i]);
    if (later == nullptr || later->kind != loop.kind) return false;
    const auto [first, end] = BlocksOf(*later);
    if (first >= end || first < start || end > stop) return false;
  }
  return true;
}

bool SmemPlanTree::SurelyRuns(int node) const {
  const kir::Loop* loop = LoopAt(node);
  if (loop == nullptr) return false;
  if (kir::ThreadDimension(loop->kind) >= 0) return true;
  if (kir::BlockDimension(loop->kind) >= 0) return NoBlockSkips(node);
  return (loop->stop - loop->start).AsConstant().value_or(0) > 0;
}

void SmemPlanTree::Flatten(const Stretch& passed,
                           std::vector<int>& flat) const {
  for (int i = passed.first; i < passed.last; ++i) {
    const int n = (*passed.row)[i];
    flat.push_back(n);
    if (!SurelyRuns(n)) continue;
    for (const std::vector<int>& branch : nodes_[n].branches) {
      Flatten({&branch, 0, static_cast<int>(branch.size())}, flat);
    }
  }
}

bool SmemPlanTree::InBranch(int node) const {
  for (int n = nodes_[node].parent; n >= 0; n = nodes_[n].parent) {
    const kir::If* fork = nodes_[n].statement->As<kir::If>();
    if (fork != nullptr && fork->uniformity != kir::Uniformity::kUniform) {
      return true;
    }
  }
  return false;
}

}  // namespace xla::gpu::smem_check
