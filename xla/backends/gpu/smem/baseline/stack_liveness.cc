#include "xla/backends/gpu/smem/baseline/stack_liveness.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/status_macros.h"

// One walk over the statements gives every buffer two live intervals. The inner
// interval runs from the first write to the last read by position, as if loops
// were straight-line code; the outer one is widened to the whole outermost
// loop, inside of the allocation's scope, that contains an access, because
// values may be carried around its back edge. Trivial loops (one iteration, or
// bound to threads) do not count as loops.

namespace xla::gpu {
namespace {

using Entry = KernelPositions::Entry;

bool CountsAsRead(const kir::Expr& expr) {
  const kir::OpInfo* info = kir::FindOp(expr.op);
  return info != nullptr && (info->op_class == kir::OpClass::kReduce ||
                             info->op_class == kir::OpClass::kWarpReduce ||
                             info->op_class == kir::OpClass::kWelford);
}

class Walker {
 public:
  Walker(const kir::Kernel& kernel, const KernelPositions& positions,
         std::vector<AllocLiveness>& allocs, std::vector<int>& index_of,
         std::vector<std::string>& notes)
      : kernel_(kernel),
        positions_(positions),
        allocs_(allocs),
        index_of_(index_of),
        notes_(notes) {}

  absl::Status Walk() {
    for (int p = 1; p < positions_.kernel_end(); ++p) {
      const Entry& entry = positions_.entries()[p];
      if (entry.kind != Entry::Kind::kStatement) continue;
      if (const auto* alloc = entry.statement->As<kir::Alloc>()) {
        Track(alloc->buffer, p);
      } else if (const auto* expr = entry.statement->As<kir::Expr>()) {
        RETURN_IF_ERROR(WalkExpr(*expr, p));
      } else if (const auto* async = entry.statement->As<kir::Async>()) {
        if (async->op == kir::Async::Op::kMbarrier) WalkMbarrier(*async, p);
      }
    }
    return absl::OkStatus();
  }

 private:
  void Track(kir::BufferId id, int position) {
    const kir::Buffer& buffer = kernel_.buffers[id];
    if (buffer.memory != kir::Memory::kLocal &&
        buffer.memory != kir::Memory::kShared) {
      return;
    }
    if (buffer.alias.has_value()) return;
    if (buffer.memory == kir::Memory::kLocal &&
        !buffer.ElementCount().IsConstant()) {
      notes_.push_back(absl::StrCat("%", buffer.name,
                                    " has no life here: its size is known only "
                                    "at launch"));
      return;
    }
    AllocLiveness alloc;
    alloc.buffer = id;
    alloc.position = position;
    alloc.depth =
        static_cast<int>(positions_.entries()[position].real_loops.size());
    if (buffer.zero_init) alloc.inner.first = alloc.outer.first = position;
    index_of_[id] = static_cast<int>(allocs_.size());
    allocs_.push_back(alloc);
  }

  AllocLiveness* Find(kir::BufferId buffer) {
    int index = index_of_[buffer];
    return index < 0 ? nullptr : &allocs_[index];
  }

  // The outermost non-trivial loop around `position` inside the scope of the
  // alloc; 0 when there is none.
  int LoopBelowAlloc(const AllocLiveness& alloc, int position) const {
    const std::vector<int>& loops = positions_.entries()[position].real_loops;
    return alloc.depth < static_cast<int>(loops.size()) ? loops[alloc.depth]
                                                        : 0;
  }

  absl::Status WalkExpr(const kir::Expr& expr, int position) {
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      if (operand == nullptr) continue;
      AllocLiveness* alloc = Find(operand->buffer);
      if (alloc == nullptr) continue;
      if (alloc->outer.first < 0) {
        return kernel_.ErrorAt(
            operand->location,
            absl::StrCat("%", kernel_.buffers[operand->buffer].name,
                         " is read before any write"));
      }
      Read(*alloc, position, SerialBroadcast(*operand, position));
    }
    for (const kir::Operand& output : expr.outputs) {
      if (AllocLiveness* alloc = Find(output.buffer)) {
        Write(*alloc, position);
        writes_.emplace(output.buffer, positions_.entries()[position].loops);
        if (CountsAsRead(expr)) Read(*alloc, position, false);
      }
    }
    return absl::OkStatus();
  }

  void Write(AllocLiveness& alloc, int position) {
    if (alloc.inner.first < 0) alloc.inner.first = position;
    int loop = LoopBelowAlloc(alloc, position);
    if (alloc.outer.first < 0) alloc.outer.first = loop > 0 ? loop : position;
  }

  void Read(AllocLiveness& alloc, int position, bool serial_broadcast) {
    if (serial_broadcast) {
      alloc.inner_aliasing_disabled = true;
    } else {
      alloc.inner.last = position;
    }
    int loop = LoopBelowAlloc(alloc, position);
    alloc.outer.last = loop > 0 ? positions_.EndOf(loop) : position;
  }

  // Whether a serial loop around a read repeats it for the same elements: the
  // loop is not one of those around the write, and neither the indices nor
  // (where declared) the axes mention it. The value is then needed again in the
  // next iteration, so inner aliasing is ruled out for the buffer.
  bool SerialBroadcast(const kir::Operand& operand, int position) const {
    const std::vector<int>& loops = positions_.entries()[position].loops;
    auto written = writes_.find(operand.buffer);
    const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
    for (int p : loops) {
      const kir::Loop& loop = positions_.LoopAt(p);
      if (loop.kind != kir::LoopKind::kSerial) continue;
      if ((loop.stop - loop.start).IsConstant(1)) continue;
      if (written != writes_.end() &&
          absl::c_linear_search(written->second, p)) {
        continue;
      }
      bool mapped;
      if (!loop.ids.empty() && !buffer.ids.empty()) {
        mapped = absl::c_any_of(loop.ids, [&](const std::string& id) {
          return absl::c_linear_search(buffer.ids, id) ||
                 MentionsAxis(operand.buffer, id);
        });
      } else {
        mapped = absl::c_any_of(operand.indices, [&](const AffineExpr& index) {
          return index.IsUnknown() || index.Mentions(loop.index);
        });
      }
      if (!mapped) return true;
    }
    return false;
  }

  // Whether a loop around the first write of the buffer runs over the axis.
  bool MentionsAxis(kir::BufferId buffer, const std::string& id) const {
    auto written = writes_.find(buffer);
    if (written == writes_.end()) return false;
    return absl::c_any_of(written->second, [&](int p) {
      return absl::c_linear_search(positions_.LoopAt(p).ids, id);
    });
  }

  void WalkMbarrier(const kir::Async& async, int position) {
    AllocLiveness* alloc = Find(async.barrier);
    if (alloc == nullptr) return;
    int loop = LoopBelowAlloc(*alloc, position);
    int place = loop > 0 ? loop : position;
    if (async.name == "init") {
      if (alloc->inner.first < 0) alloc->inner.first = position;
      if (alloc->outer.first < 0) alloc->outer.first = place;
    } else if (async.name == "inval") {
      alloc->inner.last = position;
      alloc->outer.last = place;
    }
  }

  const kir::Kernel& kernel_;
  const KernelPositions& positions_;
  std::vector<AllocLiveness>& allocs_;
  std::vector<int>& index_of_;
  std::vector<std::string>& notes_;
  // Loops around the first write of each buffer.
  absl::flat_hash_map<kir::BufferId, std::vector<int>> writes_;
};

}  // namespace

absl::StatusOr<StackLiveness> StackLiveness::Compute(
    const kir::Kernel& kernel, const KernelPositions& positions) {
  StackLiveness result;
  result.index_of_.assign(kernel.buffers.size(), -1);
  RETURN_IF_ERROR(
      Walker(kernel, positions, result.allocs_, result.index_of_, result.notes_)
          .Walk());
  return result;
}

const AllocLiveness* StackLiveness::Find(kir::BufferId buffer) const {
  int index = index_of_[buffer];
  return index < 0 ? nullptr : &allocs_[index];
}

}  // namespace xla::gpu
