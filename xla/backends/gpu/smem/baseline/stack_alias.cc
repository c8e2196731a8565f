#include "xla/backends/gpu/smem/baseline/stack_alias.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

// Lets a buffer take over the memory of an earlier one whose live interval does
// not intersect its own. Two passes: inner aliasing uses the precise intervals
// within loops and requires that one buffer is computed from the other element
// by element; outer aliasing uses the intervals at the level of the outermost
// loop and has no such condition. Donors are searched from the innermost scope
// outwards, latest allocation first.

namespace xla::gpu {
namespace {

using kir::BufferId;

// The size as it is written: the number in front, then the symbolic extents in
// their order. H x W and W x H differ.
std::string SizeKey(const kir::Buffer& buffer) {
  int64_t constant = buffer.circular.has_value() ? buffer.circular->stages : 1;
  std::string symbolic;
  for (const AffineExpr& extent : buffer.extents) {
    std::optional<int64_t> value = extent.AsConstant();
    if (value.has_value()) {
      constant *= *value;
    } else {
      absl::StrAppend(&symbolic, " * (", extent.ToString(), ")");
    }
  }
  return absl::StrCat(constant, symbolic);
}

// The data flow between buffers, at the granularity of whole buffers. Answers
// which buffers lie on the paths between two others, and whether a buffer has
// broadcast dimensions; both properties decide whether overwriting element by
// element is safe.
class DataFlow {
 public:
  explicit DataFlow(const kir::Kernel& kernel)
      : size_(kernel.buffers.size()),
        defs_(size_),
        uses_(size_),
        inputs_(size_) {
    kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
      if (const auto* expr = statement.As<kir::Expr>()) Add(*expr);
    });
    FindBroadcasts();
  }

  // Buffers on the ways from one to the other, both included; empty when
  // neither is computed from the other.
  std::vector<BufferId> Between(BufferId a, BufferId b) const {
    std::vector<BufferId> between = BetweenInOrder(a, b);
    return between.empty() ? BetweenInOrder(b, a) : between;
  }

  bool HasBroadcast(BufferId buffer) const { return broadcast_[buffer]; }

  // Whether everything that writes the buffer keeps elements in their place.
  bool KeepsPlaces(BufferId buffer) const {
    return absl::c_all_of(defs_[buffer], [](const kir::Expr* def) {
      switch (ClassOf(*def)) {
        case kir::OpClass::kPointwise:
        case kir::OpClass::kCopy:
        case kir::OpClass::kReduce:
        case kir::OpClass::kWarpReduce:
        case kir::OpClass::kExpand:
          return true;
        default:
          return false;
      }
    });
  }

 private:
  static kir::OpClass ClassOf(const kir::Expr& expr) {
    const kir::OpInfo* info = kir::FindOp(expr.op);
    return info == nullptr ? kir::OpClass::kDifficult : info->op_class;
  }

  void Add(const kir::Expr& expr) {
    for (const kir::Operand& output : expr.outputs) {
      defs_[output.buffer].push_back(&expr);
      for (const kir::Argument& argument : expr.arguments) {
        const auto* input = std::get_if<kir::Operand>(&argument);
        if (input != nullptr && input->buffer != output.buffer) {
          uses_[input->buffer].push_back(output.buffer);
          inputs_[output.buffer].push_back(input->buffer);
        }
      }
    }
  }

  // Fixed point: a broadcast dimension starts at a broadcast or expand and
  // persists through pointwise operations all of whose inputs have it.
  void FindBroadcasts() {
    broadcast_.assign(size_, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = 0; b < size_; ++b) {
        if (!broadcast_[b] && absl::c_any_of(defs_[b], [&](const auto* def) {
              return Broadcasts(*def);
            })) {
          broadcast_[b] = changed = true;
        }
      }
    }
  }

  bool Broadcasts(const kir::Expr& def) const {
    kir::OpClass op_class = ClassOf(def);
    if (op_class == kir::OpClass::kBroadcast ||
        op_class == kir::OpClass::kExpand) {
      return true;
    }
    if (op_class != kir::OpClass::kPointwise &&
        op_class != kir::OpClass::kCopy) {
      return false;
    }
    int inputs = 0;
    for (const kir::Argument& argument : def.arguments) {
      const auto* input = std::get_if<kir::Operand>(&argument);
      if (input == nullptr) continue;
      ++inputs;
      if (!broadcast_[input->buffer]) return false;
    }
    return inputs > 0;
  }

  // `from`, its neighbors by `edges`, theirs, and so on.
  std::vector<bool> Reachable(const std::vector<std::vector<BufferId>>& edges,
                              BufferId from) const {
    std::vector<bool> reached(size_, false);
    std::vector<BufferId> work = {from};
    reached[from] = true;
    while (!work.empty()) {
      BufferId buffer = work.back();
      work.pop_back();
      for (BufferId next : edges[buffer]) {
        if (!reached[next]) {
          reached[next] = true;
          work.push_back(next);
        }
      }
    }
    return reached;
  }

  std::vector<BufferId> BetweenInOrder(BufferId from, BufferId to) const {
    std::vector<bool> after = Reachable(uses_, from);
    std::vector<BufferId> between;
    if (!after[to]) return between;
    std::vector<bool> before = Reachable(inputs_, to);
    for (size_t b = 0; b < size_; ++b) {
      if (after[b] && before[b]) between.push_back(static_cast<BufferId>(b));
    }
    return between;
  }

  size_t size_;
  std::vector<std::vector<const kir::Expr*>> defs_;
  std::vector<std::vector<BufferId>> uses_;
  std::vector<std::vector<BufferId>> inputs_;
  std::vector<bool> broadcast_;
};

class Aliaser {
 public:
  Aliaser(const StackLiveness& liveness, kir::Kernel& kernel)
      : liveness_(liveness), kernel_(kernel), flow_(kernel) {
    result_.groups.resize(kernel.buffers.size());
    for (const kir::Buffer& buffer : kernel.buffers) {
      size_keys_.push_back(SizeKey(buffer));
    }
    for (const AllocLiveness& alloc : liveness.allocs()) {
      result_.groups[alloc.buffer].inner.push_back(alloc.inner);
      result_.groups[alloc.buffer].outer.push_back(alloc.outer);
    }
  }

  AliasResult Run() {
    for (bool inner : {true, false}) {
      inner_ = inner;
      visible_.assign(1, {});
      Walk(kernel_.body);
    }
    return std::move(result_);
  }

 private:
  void Walk(const std::vector<kir::Statement>& body) {
    for (const kir::Statement& statement : body) {
      if (const auto* alloc = statement.As<kir::Alloc>()) {
        Visit(alloc->buffer);
      } else if (const auto* loop = statement.As<kir::Loop>()) {
        WalkBlock(loop->body);
      } else if (const auto* branch = statement.As<kir::If>()) {
        WalkBlock(branch->then_body);
        WalkBlock(branch->else_body);
      }
    }
  }

  void WalkBlock(const std::vector<kir::Statement>& body) {
    visible_.emplace_back();
    Walk(body);
    visible_.pop_back();
  }

  void Visit(BufferId id) {
    const AllocLiveness* alloc = liveness_.Find(id);
    if (alloc == nullptr || kernel_.buffers[id].alias.has_value()) return;
    if (MayTry(id) && TryAll(*alloc)) return;
    visible_.back().push_back(id);
  }

  bool MayTry(BufferId id) const {
    const kir::Buffer& buffer = kernel_.buffers[id];
    bool small = buffer.memory == kir::Memory::kLocal &&
                 buffer.ElementCount().AsConstant().value_or(0) <= 1;
    return !small && result_.groups[id].aliasers.empty();
  }

  bool TryAll(const AllocLiveness& alloc) {
    for (auto scope = visible_.rbegin(); scope != visible_.rend(); ++scope) {
      for (auto donor = scope->rbegin(); donor != scope->rend(); ++donor) {
        if (!WouldDo(alloc, *donor)) continue;
        if (!VectorsFit(alloc.buffer, *donor)) return false;
        Alias(alloc, *donor);
        return true;
      }
    }
    return false;
  }

  // Everything but the width of vectors.
  bool WouldDo(const AllocLiveness& alloc, BufferId donor) const {
    const kir::Buffer& x = kernel_.buffers[alloc.buffer];
    const kir::Buffer& y = kernel_.buffers[donor];
    if (y.alias.has_value() || x.memory != y.memory ||
        kir::ElementBytes(x.type) != kir::ElementBytes(y.type) ||
        size_keys_[alloc.buffer] != size_keys_[donor]) {
      return false;
    }
    if (!inner_ && x.memory == kir::Memory::kShared) return false;
    const AliasGroup& group = result_.groups[donor];
    const LiveInterval& life = inner_ ? alloc.inner : alloc.outer;
    for (const LiveInterval& taken : inner_ ? group.inner : group.outer) {
      if (taken.Intersects(life)) return false;
    }
    return !inner_ || MayInnerAlias(alloc, *liveness_.Find(donor));
  }

  // Every buffer on the path must keep elements in place, or be a broadcast;
  // with a broadcast on the path both buffers must be indexed alike.
  bool MayInnerAlias(const AllocLiveness& alloc,
                     const AllocLiveness& donor) const {
    if (alloc.inner_aliasing_disabled || donor.inner_aliasing_disabled) {
      return false;
    }
    std::vector<BufferId> between = flow_.Between(alloc.buffer, donor.buffer);
    if (between.empty()) return false;
    bool broadcast = false;
    for (BufferId b : between) {
      if (flow_.HasBroadcast(b)) {
        broadcast = true;
      } else if (!flow_.KeepsPlaces(b)) {
        return false;
      }
    }
    const kir::Buffer& x = kernel_.buffers[alloc.buffer];
    const kir::Buffer& y = kernel_.buffers[donor.buffer];
    return !broadcast || (!x.ids.empty() && x.ids == y.ids);
  }

  bool VectorsFit(BufferId id, BufferId donor) const {
    const kir::Buffer& x = kernel_.buffers[id];
    if (x.memory != kir::Memory::kLocal) return true;
    int width = x.vector_width.value_or(1);
    return width <= 1 ||
           kernel_.buffers[donor].vector_width.value_or(1) >= width;
  }

  void Alias(const AllocLiveness& alloc, BufferId donor) {
    kernel_.buffers[alloc.buffer].alias = donor;
    AliasGroup& group = result_.groups[donor];
    const AliasGroup& taken = result_.groups[alloc.buffer];
    group.aliasers.push_back(alloc.buffer);
    group.inner.insert(group.inner.end(), taken.inner.begin(),
                       taken.inner.end());
    group.outer.insert(group.outer.end(), taken.outer.begin(),
                       taken.outer.end());
    ++result_.aliased;
    result_.log.push_back(absl::StrCat(
        "%", kernel_.buffers[alloc.buffer].name, " aliases %",
        kernel_.buffers[donor].name, inner_ ? " (inner)" : " (outer)"));
  }

  const StackLiveness& liveness_;
  kir::Kernel& kernel_;
  DataFlow flow_;
  std::vector<std::string> size_keys_;  // by buffer
  AliasResult result_;
  bool inner_ = true;
  std::vector<std::vector<BufferId>> visible_;
};

}  // namespace

AliasResult AliasBuffers(const StackLiveness& liveness, kir::Kernel& kernel) {
  return Aliaser(liveness, kernel).Run();
}

}  // namespace xla::gpu
