#include "xla/backends/gpu/smem/plan/smem_footprint.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Footprints by enumeration: for every thread and every iteration of the loops
// around an access, which element is touched. Per element only the owner is
// kept (a thread and a warp, or "several"), so comparing two footprints is
// linear in the overlap and independent of the number of iterations.
// Enumeration has a budget; beyond it, or with indices that depend on data, a
// footprint is unknown and conflicts with everything in its buffer.

namespace xla::gpu {
namespace {

// A buffer of more elements has no table.
constexpr int64_t kMaxElements = int64_t{1} << 18;

// Row-major number of the element that an operand names. A circular buffer has
// a copy per stage, which iterations of the outermost loop take in turn.
AffineExpr LinearIndex(const SmemFlow& flow, const FlowAccess& access) {
  const kir::Operand& operand = *access.operand;
  const kir::Buffer& buffer = flow.kernel().buffers[operand.buffer];
  AffineExpr linear;
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    if (d > 0) linear = linear * buffer.extents[d];
    linear = linear + operand.indices[d];
  }
  const int turns = flow.StageLoop(access);
  if (turns >= 0) {
    AffineExpr one = 1;
    for (const AffineExpr& extent : buffer.extents) one = one * extent;
    const AffineExpr turn = AffineExpr::Symbol(flow.AsLoop(turns)->index);
    linear = linear +
             one * AffineExpr::Mod(turn, AffineExpr(buffer.circular->stages));
  }
  return linear;
}

AffineExpr::Binding LaunchConstants(const SmemFlow& flow) {
  AffineExpr::Binding binding;
  const char* axes[] = {"x", "y", "z"};
  for (int d = 0; d < 3; ++d) {
    binding[absl::StrCat("bdim.", axes[d])] = flow.block()[d];
    if (flow.block()[d] == 1) binding[absl::StrCat("tid.", axes[d])] = 0;
  }
  return binding;
}

struct LoopPrograms {
  int dimension;  // thread dimension, or -1
  int64_t step;
  std::optional<AffineProgram> start, stop;  // none: the value is held
  int64_t held = 0;
  bool followed = true;  // see FindFollowed
};

// Runs the loop nest around one access as a small program. Indices, bounds and
// guards are compiled to AffinePrograms over slots (thread ids, then loop
// indices). Guards that cannot be compiled are ignored, which can only enlarge
// the footprint. Of a loop that nothing follows, such as that over the steps of
// a tiled product, one iteration is as good as all.
class Enumerator {
 public:
  Enumerator(const SmemFlow& flow, const FlowAccess& access,
             const FixedLoops& fixed)
      : flow_(flow) {
    ok_ = Compile(access, fixed);
  }

  bool ok() const { return ok_; }

  // Calls visit(thread, element); false when the points are too many.
  template <typename Visit>
  bool Run(Visit visit) {
    budget_ = SmemFootprints::kMaxPoints;
    std::array<int64_t, 3> tid;
    int thread = 0;
    for (tid[2] = 0; tid[2] < flow_.block()[2]; ++tid[2]) {
      for (tid[1] = 0; tid[1] < flow_.block()[1]; ++tid[1]) {
        for (tid[0] = 0; tid[0] < flow_.block()[0]; ++tid[0], ++thread) {
          std::copy(tid.begin(), tid.end(), values_.begin());
          if (!Nest(0, thread, visit)) return false;
        }
      }
    }
    return true;
  }

 private:
  bool Compile(const FlowAccess& access, const FixedLoops& fixed) {
    const AffineExpr::Binding constants = LaunchConstants(flow_);
    std::vector<std::string> slots = {"tid.x", "tid.y", "tid.z"};
    auto compile = [&](const AffineExpr& e) -> std::optional<AffineProgram> {
      absl::StatusOr<AffineProgram> p =
          AffineProgram::Compile(e.Bind(constants), slots);
      if (!p.ok()) return std::nullopt;
      return *std::move(p);
    };
    std::vector<int> around;
    for (int owner = flow_.Parent(access.node), inner = access.node; owner >= 0;
         inner = owner, owner = flow_.Parent(owner)) {
      around.push_back(owner);
      inner_of_.push_back(inner);
    }
    std::vector<int> loops;
    for (size_t k = around.size(); k-- > 0;) {
      const kir::Loop* loop = flow_.AsLoop(around[k]);
      if (loop == nullptr) continue;
      LoopPrograms programs;
      programs.dimension = kir::ThreadDimension(loop->kind);
      programs.step = loop->step.AsConstant().value_or(1);
      auto held = absl::c_find_if(
          fixed, [&](const auto& f) { return f.first == around[k]; });
      if (held != fixed.end()) {
        programs.held = held->second;
      } else if (kir::BlockDimension(loop->kind) >= 0 ||
                 loop->kind == kir::LoopKind::kDevice ||
                 loop->kind == kir::LoopKind::kStream) {
        // One value for the whole block; whatever mentions it is not compiled.
        continue;
      } else {
        programs.start = compile(loop->start);
        programs.stop = compile(loop->stop);
        if (!programs.start.has_value() || !programs.stop.has_value()) {
          // Nor is the index of a loop that runs, from a start that is not
          // compiled: what mentions it is not compiled either.
          if ((loop->stop - loop->start).AsConstant().value_or(0) > 0) continue;
          return false;
        }
      }
      slots.push_back(loop->index);
      loops_.push_back(std::move(programs));
      loops.push_back(around[k]);
    }
    FindFollowed(access, loops);
    for (size_t k = 0; k < around.size(); ++k) {
      const kir::If* branch = flow_.nodes()[around[k]].statement->As<kir::If>();
      if (branch == nullptr) continue;
      // A predicate that cannot be told may go either way.
      std::optional<AffineProgram> p = compile(branch->predicate);
      if (!p.has_value()) continue;
      const bool taken = flow_.nodes()[inner_of_[k]].sequence ==
                         flow_.nodes()[around[k]].sequences[0];
      guards_.push_back({*std::move(p), taken});
    }
    index_ = compile(LinearIndex(flow_, access));
    values_.resize(slots.size());
    return index_.has_value();
  }

  // Which of the loops around decide about the access: those whose index
  // appears in its indices, in a guard, or in bounds of a loop inside that
  // itself decides, or may be empty.
  void FindFollowed(const FlowAccess& access, absl::Span<const int> loops) {
    for (size_t k = loops.size(); k-- > 0;) {
      const std::string& name = flow_.AsLoop(loops[k])->index;
      bool followed = flow_.StageLoop(access) == loops[k];
      for (const AffineExpr& e : access.operand->indices) {
        followed |= e.Mentions(name);
      }
      for (size_t i = k + 1; i < loops.size(); ++i) {
        const kir::Loop& inner = *flow_.AsLoop(loops[i]);
        if (!loops_[i].followed && loops_[i].dimension < 0 &&
            (inner.stop - inner.start).AsConstant().value_or(0) > 0) {
          continue;
        }
        followed |= inner.start.Mentions(name) || inner.stop.Mentions(name);
      }
      for (int owner = flow_.Parent(access.node); owner >= 0;
           owner = flow_.Parent(owner)) {
        const auto* branch = flow_.nodes()[owner].statement->As<kir::If>();
        followed |= branch != nullptr && branch->predicate.Mentions(name);
      }
      loops_[k].followed = followed;
    }
  }

  template <typename Visit>
  bool Nest(size_t depth, int thread, Visit& visit) {
    if (depth == loops_.size()) return Point(thread, visit);
    const LoopPrograms& loop = loops_[depth];
    int64_t& value = values_[3 + depth];
    if (!loop.start.has_value()) {
      value = loop.held;
      return Nest(depth + 1, thread, visit);
    }
    const std::optional<int64_t> start = loop.start->Evaluate(values_);
    const std::optional<int64_t> stop = loop.stop->Evaluate(values_);
    if (!start.has_value() || !stop.has_value()) return false;
    if (loop.dimension >= 0) {
      value = *start + values_[loop.dimension] * loop.step;
      return value >= *stop || Nest(depth + 1, thread, visit);
    }
    for (int64_t v = *start; v < *stop; v += loop.step) {
      value = v;
      if (!Nest(depth + 1, thread, visit)) return false;
      if (--budget_ < 0) return false;
      if (!loop.followed) break;
    }
    return true;
  }

  template <typename Visit>
  bool Point(int thread, Visit& visit) {
    if (--budget_ < 0) return false;
    for (const auto& [predicate, taken] : guards_) {
      const std::optional<int64_t> v = predicate.Evaluate(values_);
      if (v.has_value() && (*v != 0) != taken) return true;
    }
    const std::optional<int64_t> element = index_->Evaluate(values_);
    return element.has_value() && visit(thread, *element);
  }

  const SmemFlow& flow_;
  bool ok_ = false;
  std::vector<int> inner_of_;
  std::vector<LoopPrograms> loops_;
  std::vector<std::pair<AffineProgram, bool>> guards_;
  std::optional<AffineProgram> index_;
  std::vector<int64_t> values_;
  int64_t budget_ = 0;
};

}  // namespace

SmemFootprints::SmemFootprints(const SmemFlow& flow) : flow_(flow) {
  const AffineExpr::Binding binding = flow.kernel().Bindings();
  for (const kir::Buffer& buffer : flow.kernel().buffers) {
    bytes_.push_back(buffer.memory == kir::Memory::kShared ||
                             buffer.memory == kir::Memory::kGlobal
                         ? buffer.Bytes().Evaluate(binding).value_or(-1)
                         : -1);
  }
  for (int i = 0; i < static_cast<int>(flow.accesses().size()); ++i) {
    owners_.push_back(std::make_shared<const Owners>(Enumerate(i, {})));
  }
}

SmemFootprints::Owners SmemFootprints::At(int access,
                                          const FixedLoops& fixed) const {
  return Enumerate(access, fixed);
}

SmemFootprints::Owners SmemFootprints::Enumerate(
    int index, const FixedLoops& fixed) const {
  const FlowAccess& access = flow_.accesses()[index];
  const kir::Buffer& buffer = flow_.kernel().buffers[access.buffer];
  Owners owners;
  if (access.anywhere || access.operand == nullptr) return owners;
  const kir::Buffer& view = flow_.kernel().buffers[access.operand->buffer];
  // An alias of another element type is not told apart by elements.
  if (kir::ElementBytes(view.type) != kir::ElementBytes(buffer.type)) {
    return owners;
  }
  const std::optional<int64_t> elements = buffer.ElementCount().AsConstant();
  if (!elements.has_value() || *elements > kMaxElements) return owners;
  Enumerator enumerator(flow_, access, fixed);
  if (!enumerator.ok()) return owners;
  owners.thread.assign(*elements, kNobody);
  owners.warp.assign(*elements, kNobody);
  owners.first = *elements;
  const bool engine = access.async_proxy();
  owners.known = enumerator.Run([&](int thread, int64_t e) {
    if (e < 0 || e >= *elements) return true;  // The verifier's business.
    owners.first = std::min(owners.first, e);
    owners.last = std::max(owners.last, e);
    auto add = [](int16_t& owner, int16_t who) {
      owner = owner == kNobody || owner == who ? who : kSeveral;
    };
    add(owners.thread[e], static_cast<int16_t>(thread));
    add(owners.warp[e], static_cast<int16_t>(thread / 32));
    if (engine) owners.thread[e] = owners.warp[e] = kSeveral;
    return true;
  });
  if (!owners.known) owners = Owners();
  return owners;
}

// A block of one thread or one warp has no wider conflicts.
ThreadConflict SmemFootprints::Limit(ThreadConflict conflict) const {
  if (flow_.num_threads() == 1) {
    return std::min(conflict, ThreadConflict::kSameThread);
  }
  if (flow_.num_warps() == 1) return std::min(conflict, ThreadConflict::kWarp);
  return conflict;
}

namespace {

ThreadConflict Meet(int16_t thread_a, int16_t warp_a, int16_t thread_b,
                    int16_t warp_b) {
  constexpr int16_t kNobody = SmemFootprints::kNobody;
  constexpr int16_t kSeveral = SmemFootprints::kSeveral;
  if (thread_a == kNobody || thread_b == kNobody) {
    return ThreadConflict::kApart;
  }
  if (thread_a == thread_b && thread_a != kSeveral) {
    return ThreadConflict::kSameThread;
  }
  return warp_a == warp_b && warp_a != kSeveral ? ThreadConflict::kWarp
                                                : ThreadConflict::kBlock;
}

}  // namespace

// Compares the owners of all elements that have common bytes, from one end of
// an element to the next: large kernels spend most of their planning here.
ThreadConflict SmemFootprints::Between(int a, int64_t address_a, int b,
                                       int64_t address_b) const {
  const kir::BufferId x = flow_.accesses()[a].buffer;
  const kir::BufferId y = flow_.accesses()[b].buffer;
  if (address_a + bytes_[x] <= address_b ||
      address_b + bytes_[y] <= address_a) {
    return ThreadConflict::kApart;
  }
  const Owners &p = Of(a), &q = Of(b);
  const int64_t size_a = kir::ElementBytes(flow_.kernel().buffers[x].type);
  const int64_t size_b = kir::ElementBytes(flow_.kernel().buffers[y].type);
  int64_t lo = std::max(address_a, address_b);
  int64_t hi = std::min(address_a + bytes_[x], address_b + bytes_[y]);
  if (p.known) {
    lo = std::max(lo, address_a + p.first * size_a);
    hi = std::min(hi, address_a + (p.last + 1) * size_a);
  }
  if (q.known) {
    lo = std::max(lo, address_b + q.first * size_b);
    hi = std::min(hi, address_b + (q.last + 1) * size_b);
  }
  if (lo >= hi) return ThreadConflict::kApart;
  if (!p.known || !q.known) return Limit(ThreadConflict::kBlock);
  const ThreadConflict most = Limit(ThreadConflict::kBlock);
  ThreadConflict worst = ThreadConflict::kApart;
  int64_t i = (lo - address_a) / size_a, j = (lo - address_b) / size_b;
  int64_t end_a = address_a + (i + 1) * size_a;
  int64_t end_b = address_b + (j + 1) * size_b;
  while (true) {
    worst =
        std::max(worst, Meet(p.thread[i], p.warp[i], q.thread[j], q.warp[j]));
    if (worst >= most) return most;
    const int64_t at = std::min(end_a, end_b);
    if (at >= hi) return worst;
    if (end_a == at) ++i, end_a += size_a;
    if (end_b == at) ++j, end_b += size_b;
  }
}

ThreadConflict SmemFootprints::Between(const Owners& a, const Owners& b) const {
  if (!a.known || !b.known) return Limit(ThreadConflict::kBlock);
  ThreadConflict worst = ThreadConflict::kApart;
  for (size_t i = 0; i < a.thread.size(); ++i) {
    worst =
        std::max(worst, Meet(a.thread[i], a.warp[i], b.thread[i], b.warp[i]));
  }
  return Limit(worst);
}

// Loops that the index mentions are renamed in the order in which they are
// nested, each with its bounds: `A[i]` for i below 8 and `A[k]` for k below 8
// have one key. An index that mentions a thread's id, or a loop over more
// threads than there are, has none: then the bounds do not say all.
std::string SmemFootprints::SetKey(int index, int loop) const {
  const FlowAccess& access = flow_.accesses()[index];
  if (access.anywhere || access.operand == nullptr) return "";
  if (loop < 0 && flow_.StageLoop(access) >= 0) return "";
  AffineExpr linear = LinearIndex(flow_, access);
  if (!linear.IsValid()) return "";
  AffineExpr::Substitution rename;
  std::string key(kir::ElementTypeName(
      flow_.kernel().buffers[access.operand->buffer].type));
  bool inside = loop < 0;
  int number = 0;
  for (int node : flow_.LoopsAround(access.node)) {
    const kir::Loop& l = *flow_.AsLoop(node);
    if (inside && linear.Mentions(l.index)) {
      const int dimension = kir::ThreadDimension(l.kind);
      if (dimension >= 0 &&
          (flow_.nodes()[node].estimated_trips > flow_.block()[dimension] ||
           !l.start.IsConstant(0))) {
        return "";
      }
      const std::string name = absl::StrCat("$", number++);
      absl::StrAppend(&key, name, "[", l.start.Substitute(rename).ToString(),
                      ",", l.stop.Substitute(rename).ToString(), ",",
                      l.step.ToString(), ")");
      rename[l.index] = AffineExpr::Symbol(name);
    }
    inside |= node == loop;
  }
  linear = linear.Substitute(rename);
  for (const std::string& name : linear.Symbols()) {
    if (absl::StartsWith(name, "tid.")) return "";
  }
  return absl::StrCat(key, linear.ToString());
}

bool SmemFootprints::SurelyRuns(int index, int loop) const {
  const FlowAccess& access = flow_.accesses()[index];
  if (access.anywhere || access.operand == nullptr) return false;
  for (int owner = flow_.Parent(access.node); owner >= 0 && owner != loop;
       owner = flow_.Parent(owner)) {
    const kir::Loop* l = flow_.AsLoop(owner);
    if (l == nullptr) return false;
    if (flow_.nodes()[owner].surely_runs) continue;
    // A loop that the indices follow writes what its own trips say.
    bool follows = false;
    for (const AffineExpr& e : access.operand->indices) {
      follows |= e.Mentions(l->index);
    }
    if (!follows) return false;
  }
  return true;
}

bool SmemFootprints::Covers(absl::Span<const int> all_writes, int read,
                            int loop) const {
  std::vector<int> writes;
  for (int write : all_writes) {
    if (SurelyRuns(write, loop)) writes.push_back(write);
  }
  if (writes.empty()) return false;
  const std::string key = SetKey(read, loop);
  for (int write : writes) {
    if (!key.empty() && SetKey(write, loop) == key) return true;
  }
  // Loops whose index chooses elements must be held at each of their values.
  std::vector<int> outer;
  if (loop >= 0) {
    outer = flow_.LoopsAround(loop);
    outer.push_back(loop);
  }
  auto mentions = [&](int index) {
    const kir::Operand* operand = flow_.accesses()[index].operand;
    if (operand == nullptr) return true;
    for (int node : outer) {
      const kir::Loop& l = *flow_.AsLoop(node);
      if (flow_.StageLoop(flow_.accesses()[index]) == node) return true;
      if (kir::ThreadDimension(l.kind) >= 0) continue;
      for (const AffineExpr& e : operand->indices) {
        if (e.Mentions(l.index)) return true;
      }
      // Bounds of loops inside may follow it too.
      for (int inner : flow_.LoopsAround(flow_.accesses()[index].node)) {
        if (flow_.AsLoop(inner)->start.Mentions(l.index) ||
            flow_.AsLoop(inner)->stop.Mentions(l.index)) {
          return true;
        }
      }
    }
    return false;
  };
  const bool follows = mentions(read) || absl::c_any_of(writes, mentions);
  FixedLoops fixed;
  std::vector<int64_t> values = {0};
  if (follows) {
    // One loop with few values is worth the work.
    if (outer.size() != 1) return false;
    const kir::Loop& l = *flow_.AsLoop(loop);
    const std::optional<int64_t> start = l.start.AsConstant();
    const std::optional<int64_t> trips = flow_.nodes()[loop].trips;
    if (!start.has_value() || !trips.has_value() || *trips > 32) return false;
    values.clear();
    for (int64_t i = 0; i < *trips; ++i) {
      values.push_back(*start + i * l.step.AsConstant().value_or(1));
    }
  }
  for (int64_t value : values) {
    if (follows) fixed = {{loop, value}};
    const Owners r = follows ? At(read, fixed) : Of(read);
    if (!r.known) return false;
    std::vector<bool> written(r.thread.size(), false);
    for (int write : writes) {
      const Owners w = follows ? At(write, fixed) : Of(write);
      if (!w.known) continue;
      for (size_t e = 0; e < written.size(); ++e) {
        if (w.thread[e] != kNobody) written[e] = true;
      }
    }
    for (size_t e = 0; e < written.size(); ++e) {
      if (r.thread[e] != kNobody && !written[e]) return false;
    }
  }
  return true;
}

}  // namespace xla::gpu
