#include "xla/backends/gpu/lowering/overwriting.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

using kir::Operand;
using kir::Statement;

// One read or write, and the loops around it from outside in; a vector's own
// loop stands apart, since its reads and its writes have one each.
struct Access {
  const Operand* place;
  std::vector<const kir::Loop*> loops;
  bool is_whole = false;  // an index that is computed: any element
  const kir::Loop* vector = nullptr;
};

// The elements are the same ones, whatever the names of the vectors' loops.
bool SamePlaces(const Access& a, const Access& b) {
  if (a.vector == nullptr || b.vector == nullptr) {
    return a.vector == b.vector && a.place->indices == b.place->indices;
  }
  if (a.vector->start != b.vector->start || a.vector->stop != b.vector->stop ||
      a.vector->step != b.vector->step) {
    return false;
  }
  const AffineExpr::Substitution names = {
      {a.vector->index, AffineExpr::Symbol(b.vector->index)}};
  return std::equal(a.place->indices.begin(), a.place->indices.end(),
                    b.place->indices.begin(), b.place->indices.end(),
                    [&](const AffineExpr& x, const AffineExpr& y) {
                      return x.Substitute(names) == y;
                    });
}

// The reads of one buffer and the writes of another, in the order of the text.
class Accesses {
 public:
  Accesses(const kir::Kernel& kernel, kir::BufferId read, kir::BufferId written)
      : read_(read), written_(written) {
    Visit(kernel.body);
  }

  const std::vector<Access>& reads() const { return reads_; }
  const std::vector<Access>& writes() const { return writes_; }
  bool is_read_after_write() const { return is_read_after_write_; }

 private:
  void Visit(const std::vector<Statement>& body) {
    for (const Statement& statement : body) {
      if (const auto* loop = statement.As<kir::Loop>()) {
        loops_.push_back(loop);
        Visit(loop->body);
        loops_.pop_back();
      } else if (const auto* branch = statement.As<kir::If>()) {
        Visit(branch->then_body);
        Visit(branch->else_body);
      } else if (const auto* expr = statement.As<kir::Expr>()) {
        Visit(*expr);
      }
    }
  }

  void Visit(const kir::Expr& expr) {
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<Operand>(&argument);
      if (operand == nullptr || operand->buffer != read_) continue;
      reads_.push_back(At(*operand, expr.op != "copy"));
      is_read_after_write_ |= !writes_.empty();
    }
    for (const Operand& output : expr.outputs) {
      if (output.buffer == written_) {
        writes_.push_back(At(output, expr.op == "scatter"));
      }
      // What is written to the operand itself, nobody expects.
      if (output.buffer == read_) writes_.push_back(At(output, true));
    }
  }

  Access At(const Operand& place, bool is_whole) const {
    Access access{&place, loops_, is_whole, nullptr};
    if (!loops_.empty() && loops_.back()->kind == kir::LoopKind::kVectorize) {
      access.vector = loops_.back();
      access.loops.pop_back();
    }
    return access;
  }

  const kir::BufferId read_, written_;
  std::vector<const kir::Loop*> loops_;
  std::vector<Access> reads_, writes_;
  bool is_read_after_write_ = false;
};

}  // namespace

bool MayOverwrite(const LoweredKernel& kernel, int64_t operand,
                  const ShapeIndex& index, const ShapeIndex& result_index) {
  const auto array = std::find_if(
      kernel.operands.begin(), kernel.operands.end(), [&](const auto& array) {
        return array.operand == operand && array.index == index;
      });
  const auto result =
      std::find(kernel.results.begin(), kernel.results.end(), result_index);
  // Pointers to arrays, which no kernel reads.
  if (array == kernel.operands.end() || result == kernel.results.end()) {
    return true;
  }
  const auto read = static_cast<kir::BufferId>(array - kernel.operands.begin());
  const auto written = static_cast<kir::BufferId>(
      kernel.operands.size() + kernel.constants.size() +
      (result - kernel.results.begin()));
  const Accesses accesses(kernel.kernel, read, written);
  if (accesses.reads().empty()) return true;
  // Equal indices are equal places only in arrays alike.
  const kir::Buffer& from = kernel.kernel.buffers[read];
  const kir::Buffer& to = kernel.kernel.buffers[written];
  if (kir::ElementBytes(from.type) != kir::ElementBytes(to.type) ||
      from.extents != to.extents) {
    return false;
  }
  if (accesses.writes().size() != 1 || accesses.is_read_after_write()) {
    return false;
  }
  const Access& write = accesses.writes()[0];
  if (write.is_whole) return false;
  return std::all_of(accesses.reads().begin(), accesses.reads().end(),
                     [&](const Access& read) {
                       return !read.is_whole && SamePlaces(read, write) &&
                              read.loops.size() >= write.loops.size() &&
                              std::equal(write.loops.begin(), write.loops.end(),
                                         read.loops.begin());
                     });
}

}  // namespace xla::gpu
