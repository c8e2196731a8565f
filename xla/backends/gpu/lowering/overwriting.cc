#include "xla/backends/gpu/lowering/overwriting.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

namespace xla::gpu {
namespace {

using kir::Operand;
using kir::Statement;

// A predicate, and whether it holds.
using Condition = std::pair<AffineExpr, bool>;

// One read or write, and the loops around it from outside in; a vector's own
// loop stands apart, since its reads and its writes have one each.
struct Access {
  const Operand* place;
  std::vector<const kir::Loop*> loops;
  std::vector<Condition> conditions;  // of branches around it
  bool is_whole = false;              // an index that is computed: any element
  const kir::Loop* vector = nullptr;
  const Operand* number = nullptr;  // of the element, if it is a register's
  int64_t position = 0;             // in the text
};

// What registers hold that are assigned once.
class Registers {
 public:
  explicit Registers(const kir::Kernel& kernel)
      : kernel_(kernel),
        assigned_(kernel.buffers.size(), nullptr),
        often_(kernel.buffers.size(), false) {
    kir::ForEachStatement(kernel.body, [&](const Statement& statement) {
      const auto* expr = statement.As<kir::Expr>();
      if (expr == nullptr) return;
      for (const Operand& output : expr->outputs) {
        often_[output.buffer] =
            often_[output.buffer] || assigned_[output.buffer] != nullptr;
        assigned_[output.buffer] = expr;
      }
    });
  }

  // Whether both hold the same for a thread, as far as their instructions tell:
  // the same ones on the same values. O(instructions behind them).
  bool Same(const Operand& a, const Operand& b) {
    if (a == b && !often_[a.buffer] && assigned_[a.buffer] == nullptr) {
      return true;  // of a parameter that nothing writes
    }
    if (a.indices != b.indices || !IsOneAssignment(a) || !IsOneAssignment(b)) {
      return false;
    }
    if (a.buffer == b.buffer) return true;
    const auto [known, is_new] = same_.try_emplace({a.buffer, b.buffer}, false);
    if (is_new) {
      const bool same = Same(*assigned_[a.buffer], *assigned_[b.buffer]);
      same_[{a.buffer, b.buffer}] = same;
      return same;
    }
    return known->second;
  }

 private:
  bool IsOneAssignment(const Operand& operand) const {
    const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
    return buffer.memory == kir::Memory::kLocal &&
           buffer.ElementCount().IsConstant(1) && !often_[operand.buffer] &&
           assigned_[operand.buffer] != nullptr;
  }

  bool Same(const kir::Expr& a, const kir::Expr& b) {
    return a.op == b.op && a.outputs.size() == 1 && b.outputs.size() == 1 &&
           kernel_.buffers[a.outputs[0].buffer].type ==
               kernel_.buffers[b.outputs[0].buffer].type &&
           std::equal(a.arguments.begin(), a.arguments.end(),
                      b.arguments.begin(), b.arguments.end(),
                      [this](const kir::Argument& x, const kir::Argument& y) {
                        const auto* p = std::get_if<Operand>(&x);
                        const auto* q = std::get_if<Operand>(&y);
                        return p != nullptr && q != nullptr ? Same(*p, *q)
                                                            : x == y;
                      });
  }

  const kir::Kernel& kernel_;
  std::vector<const kir::Expr*> assigned_;  // by buffer
  std::vector<bool> often_;
  std::map<std::pair<kir::BufferId, kir::BufferId>, bool> same_;
};

// The names of the one's vector loop in the other's terms.
AffineExpr::Substitution Renamed(const Access& a, const Access& b) {
  if (a.vector == nullptr || b.vector == nullptr) return {};
  return {{a.vector->index, AffineExpr::Symbol(b.vector->index)}};
}

// Whether a thread that reads here writes there: no branch is around the write
// alone. Otherwise the write may be that of one thread for all that read.
bool WritesWhatItReads(const Access& read, const Access& write) {
  const AffineExpr::Substitution names = Renamed(write, read);
  return absl::c_all_of(write.conditions, [&](const Condition& condition) {
    return absl::c_linear_search(
        read.conditions,
        Condition(condition.first.Substitute(names), condition.second));
  });
}

// The elements are the same ones, whatever the names of the vectors' loops.
bool SamePlaces(const Access& a, const Access& b) {
  if (a.vector == nullptr || b.vector == nullptr) {
    return a.vector == b.vector && a.place->indices == b.place->indices;
  }
  if (a.vector->start != b.vector->start || a.vector->stop != b.vector->stop ||
      a.vector->step != b.vector->step) {
    return false;
  }
  const AffineExpr::Substitution names = Renamed(a, b);
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

 private:
  void Visit(const std::vector<Statement>& body) {
    for (const Statement& statement : body) {
      if (const auto* loop = statement.As<kir::Loop>()) {
        loops_.push_back(loop);
        Visit(loop->body);
        loops_.pop_back();
      } else if (const auto* branch = statement.As<kir::If>()) {
        conditions_.emplace_back(branch->predicate, true);
        Visit(branch->then_body);
        conditions_.back().second = false;
        Visit(branch->else_body);
        conditions_.pop_back();
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
      if (expr.op == "gather") reads_.back().number = Number(expr);
    }
    for (const Operand& output : expr.outputs) {
      if (output.buffer == written_) {
        const bool scatters =
            kir::FindOp(expr.op)->op_class == kir::OpClass::kScatter;
        writes_.push_back(At(output, scatters));
        if (scatters) writes_.back().number = Number(expr);
      }
      // What is written to the operand itself, nobody expects: a second write.
      if (output.buffer == read_) writes_.push_back(At(output, true));
    }
  }

  Access At(const Operand& place, bool is_whole) {
    Access access{&place,  loops_,  conditions_, is_whole,
                  nullptr, nullptr, position_++};
    if (!loops_.empty() && loops_.back()->kind == kir::LoopKind::kVectorize) {
      access.vector = loops_.back();
      access.loops.pop_back();
    }
    return access;
  }

  static const Operand* Number(const kir::Expr& expr) {
    return std::get_if<Operand>(&expr.arguments[1]);
  }

  const kir::BufferId read_, written_;
  std::vector<const kir::Loop*> loops_;
  std::vector<Condition> conditions_;
  std::vector<Access> reads_, writes_;
  int64_t position_ = 0;
};

// An access of a loop that is written out, as the one access of a vector that
// is as far from its neighbors as the loop makes it.
Access OfAllRounds(const Access& access) {
  Access all = access;
  if (all.vector == nullptr && !all.loops.empty() &&
      all.loops.back()->kind == kir::LoopKind::kUnroll) {
    all.vector = all.loops.back();
    all.loops.pop_back();
  }
  return all;
}

bool IsInside(const Access& inner, const Access& outer) {
  return inner.loops.size() >= outer.loops.size() &&
         std::equal(outer.loops.begin(), outer.loops.end(),
                    inner.loops.begin());
}

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
  Registers registers(kernel.kernel);
  const auto same_place = [&](const Access& read, const Access& write) {
    if (!read.is_whole && !write.is_whole) return SamePlaces(read, write);
    // A thread writes one element of its own, and reads that one.
    return read.number != nullptr && write.number != nullptr &&
           registers.Same(*read.number, *write.number);
  };
  // Elements of a scatter are written more than once.
  if (accesses.writes().size() > 1 &&
      absl::c_any_of(accesses.writes(),
                     [](const Access& write) { return write.is_whole; })) {
    return false;
  }
  // Others are written once. What reads one in the same round as that, and
  // before, reads the operand, whatever other threads and rounds have written.
  const auto is_before = [&](const Access& read, const Access& write) {
    if (read.position > write.position) return false;
    if (same_place(read, write) && IsInside(read, write)) {
      return WritesWhatItReads(read, write);
    }
    // Rounds of reads before rounds of writes.
    const Access reads = OfAllRounds(read), writes = OfAllRounds(write);
    return !read.is_whole && !write.is_whole && SamePlaces(reads, writes) &&
           reads.loops == writes.loops && WritesWhatItReads(reads, writes);
  };
  return absl::c_all_of(accesses.reads(), [&](const Access& read) {
    return absl::c_any_of(accesses.writes(), [&](const Access& write) {
      return is_before(read, write);
    });
  });
}

}  // namespace xla::gpu
