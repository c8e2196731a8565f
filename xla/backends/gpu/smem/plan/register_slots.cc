#include "xla/backends/gpu/smem/plan/register_slots.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

namespace xla::gpu {
namespace {

// Elements of one access that are listed.
constexpr size_t kMaxElements = 4096;

// A loop or one branch of an if, around an access.
struct Around {
  const kir::Statement* statement = nullptr;
  int branch = 0;
  int first = 0, last = 0;  // positions of the statement and of its end
  const kir::Loop* loop() const { return statement->As<kir::Loop>(); }
};

struct Access {
  int position = 0;
  bool write = false;
  bool counts = true;  // a write of the elements its indices name
  const kir::Operand* operand = nullptr;
  std::vector<int> around;  // indices into Finder::arounds_, outermost first
};

struct Array {
  int alloc = -1;           // position; -1: not allocated
  std::vector<int> around;  // of the allocation
  std::vector<Access> accesses;
  bool from_alloc = false;
  RegisterLife life;
};

bool OfOneThread(const kir::Loop& loop) {
  return kir::ThreadDimension(loop.kind) < 0 &&
         kir::BlockDimension(loop.kind) < 0 &&
         loop.kind != kir::LoopKind::kDevice &&
         loop.kind != kir::LoopKind::kStream;
}

std::optional<int64_t> Trips(const kir::Loop& loop) {
  const std::optional<int64_t> span = (loop.stop - loop.start).AsConstant();
  const std::optional<int64_t> step = loop.step.AsConstant();
  if (!span.has_value() || !step.has_value() || *step <= 0) return {};
  return *span <= 0 ? 0 : (*span - 1) / *step + 1;
}

bool Repeats(const kir::Loop& loop) {
  return OfOneThread(loop) && Trips(loop).value_or(2) > 1;
}

// Finds the live interval of every array in registers. An array lives from its
// first write to its last read, extended over every loop in which a value may
// survive from one iteration to the next. A loop needs no extension if each
// iteration reads only elements that it wrote before itself (Covered), which is
// decided symbolically by equal index expressions or, for constant loops, by
// listing the elements.
class Finder {
 public:
  explicit Finder(const kir::Kernel& kernel) : kernel_(kernel) {
    arrays_.resize(kernel.buffers.size());
    std::vector<int> around;
    Walk(kernel.body, around);
    for (size_t b = 0; b < arrays_.size(); ++b) FindLife(static_cast<int>(b));
  }

  std::vector<Array>& arrays() { return arrays_; }

 private:
  void Walk(const std::vector<kir::Statement>& body, std::vector<int>& around) {
    for (const kir::Statement& statement : body) {
      const int position = ++position_;
      const kir::Loop* loop = statement.As<kir::Loop>();
      const kir::If* branch = statement.As<kir::If>();
      if (const kir::Alloc* alloc = statement.As<kir::Alloc>()) {
        arrays_[alloc->buffer].alloc = position;
        arrays_[alloc->buffer].around = around;
      } else if (const kir::Expr* expr = statement.As<kir::Expr>()) {
        Collect(*expr, position, around);
      }
      for (int b = 0; b < (loop != nullptr     ? 1
                           : branch != nullptr ? 2
                                               : 0);
           ++b) {
        const int index = static_cast<int>(arounds_.size());
        arounds_.push_back({&statement, b, position, position});
        around.push_back(index);
        Walk(loop != nullptr ? loop->body
             : b == 0        ? branch->then_body
                             : branch->else_body,
             around);
        around.pop_back();
        if (loop != nullptr) ++position_;
        arounds_[index].last = position_;
      }
    }
  }

  void Collect(const kir::Expr& expr, int position,
               const std::vector<int>& around) {
    const kir::OpClass op = kir::FindOp(expr.op)->op_class;
    const bool accumulates =
        op == kir::OpClass::kReduce || op == kir::OpClass::kWelford ||
        (op == kir::OpClass::kMma && expr.arguments.size() < 3);
    auto add = [&](const kir::Operand& operand, bool write, bool counts) {
      arrays_[operand.buffer].accesses.push_back(
          {position, write, counts, &operand, around});
    };
    for (const kir::Argument& argument : expr.arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        add(*operand, false, true);
        // Data tell what a gather reads; fragments are read as a whole.
        if (expr.op == "gather" || op == kir::OpClass::kWarpMma) {
          arrays_[operand->buffer].from_alloc = true;
        }
      }
    }
    for (const kir::Operand& output : expr.outputs) {
      if (op == kir::OpClass::kWarpMma) {
        add(output, false, true);
        arrays_[output.buffer].from_alloc = true;
      }
      if (accumulates) add(output, false, true);
      add(output, true,
          op != kir::OpClass::kScatter && expr.async == kir::AsyncKind::kNone);
    }
  }

  // Loops between the block that holds both and the access itself.
  std::vector<const kir::Loop*> Below(const Access& access, size_t common,
                                      bool* conditional) const {
    std::vector<const kir::Loop*> loops;
    for (size_t k = common; k < access.around.size(); ++k) {
      const kir::Loop* loop = arounds_[access.around[k]].loop();
      if (loop == nullptr) {
        *conditional = true;
      } else {
        loops.push_back(loop);
      }
    }
    return loops;
  }

  bool Mentions(const Access& access, const std::string& name) const {
    return absl::c_any_of(access.operand->indices, [&](const AffineExpr& e) {
      return e.Mentions(name);
    });
  }

  // The elements as text, with loops by number and bounds, or threads by axis.
  std::string Key(const Access& access,
                  const std::vector<const kir::Loop*>& loops) const {
    AffineExpr::Substitution names;
    std::string key;
    int number = 0;
    for (const kir::Loop* loop : loops) {
      if (!Mentions(access, loop->index)) continue;
      std::string name = absl::StrCat("#", number++);
      if (!OfOneThread(*loop)) {
        name = absl::StrCat("#", kir::LoopKindName(loop->kind));
      }
      names[loop->index] = AffineExpr::Symbol(name);
      absl::StrAppend(&key, name, "[", loop->start.ToString(), ";",
                      OfOneThread(*loop) ? loop->stop.ToString() : "", ";",
                      loop->step.ToString(), ")");
    }
    for (const AffineExpr& e : access.operand->indices) {
      if (e.IsUnknown()) return "";
      absl::StrAppend(&key, ",", e.Substitute(names).ToString());
    }
    return key;
  }

  // Adds the elements of an access to `elements`; false when they depend on
  // more than constant loops of one thread.
  bool List(const Access& access, const std::vector<const kir::Loop*>& loops,
            absl::flat_hash_set<std::string>& elements) const {
    std::vector<AffineExpr::Binding> points = {{}};
    for (const kir::Loop* loop : loops) {
      if (!Mentions(access, loop->index)) continue;
      const std::optional<int64_t> start = loop->start.AsConstant();
      const std::optional<int64_t> trips = Trips(*loop);
      if (!OfOneThread(*loop) || !start.has_value() || !trips.has_value() ||
          *trips > static_cast<int64_t>(kMaxElements / points.size())) {
        return false;
      }
      std::vector<AffineExpr::Binding> next;
      for (const AffineExpr::Binding& point : points) {
        for (int64_t i = 0; i < *trips; ++i) {
          next.push_back(point);
          next.back()[loop->index] = *start + i * *loop->step.AsConstant();
        }
      }
      points = std::move(next);
      if (points.empty()) return true;
    }
    for (const AffineExpr::Binding& point : points) {
      std::string element;
      for (const AffineExpr& e : access.operand->indices) {
        const std::optional<int64_t> value = e.Bind(point).AsConstant();
        if (!value.has_value()) return false;
        absl::StrAppend(&element, *value, ",");
      }
      elements.insert(std::move(element));
    }
    return true;
  }

  // Whether whoever makes `read` has passed `write` before, behind the first
  // `common` of what is around both.
  bool SurelyRuns(const std::vector<const kir::Loop*>& write_loops,
                  const std::vector<const kir::Loop*>& read_loops) const {
    for (const kir::Loop* loop : write_loops) {
      if (OfOneThread(*loop)) {
        if (Trips(*loop).value_or(0) > 0) continue;
        // As often as the reader's own loop.
        if (absl::c_any_of(read_loops, [&](const kir::Loop* r) {
              return r->start == loop->start && r->stop == loop->stop &&
                     r->step == loop->step;
            })) {
          continue;
        }
        return false;
      }
      const int d = kir::ThreadDimension(loop->kind);
      if (d < 0) return false;
      if (kernel_.launch.has_value() && loop->start.IsConstant(0) &&
          loop->step.IsConstant(1) && loop->stop == kernel_.launch->block[d]) {
        continue;
      }
      if (absl::c_none_of(read_loops, [&](const kir::Loop* r) {
            const std::optional<int64_t> more =
                (loop->stop - r->stop).AsConstant();
            return r->kind == loop->kind && r->start == loop->start &&
                   r->step == loop->step && more.has_value() && *more >= 0;
          })) {
        return false;
      }
    }
    return true;
  }

  // Whether every element that `read` takes was written before, by the same
  // thread, in the iteration of all loops around both up to `depth` of them.
  bool Covered(const Array& array, const Access& read, size_t depth,
               bool one_element) const {
    absl::flat_hash_set<std::string> listed;
    bool any = false;
    for (const Access& write : array.accesses) {
      if (!write.write || !write.counts || write.position >= read.position) {
        continue;
      }
      size_t common = 0;
      while (common < std::min(write.around.size(), read.around.size()) &&
             write.around[common] == read.around[common]) {
        ++common;
      }
      if (common < depth) continue;
      bool conditional = false, unused = false;
      const auto write_loops = Below(write, common, &conditional);
      const auto read_loops = Below(read, common, &unused);
      if (conditional || !SurelyRuns(write_loops, read_loops)) continue;
      if (one_element) return true;
      const std::string key = Key(write, write_loops);
      if (!key.empty() && key == Key(read, read_loops)) return true;
      any |= List(write, write_loops, listed);
      absl::flat_hash_set<std::string> wanted;
      if (any && List(read, read_loops, wanted) &&
          absl::c_all_of(wanted, [&](const std::string& element) {
            return listed.contains(element);
          })) {
        return true;
      }
    }
    return false;
  }

  // Arrays with a read that is not covered by any write (or that are
  // zero-initialized) live from their allocation.
  void FindLife(int b) {
    Array& array = arrays_[b];
    const kir::Buffer& buffer = kernel_.buffers[b];
    if (buffer.memory != kir::Memory::kLocal || array.alloc < 0 ||
        array.accesses.empty()) {
      return;
    }
    const bool one = buffer.ElementCount().IsConstant(1);
    RegisterLife& life = array.life;
    life.first = array.accesses[0].position;
    for (const Access& access : array.accesses) {
      life.first = std::min(life.first, access.position);
      life.last = std::max(life.last, access.position);
      array.from_alloc |= !access.write && !Covered(array, access, 0, one);
    }
    array.from_alloc |= buffer.zero_init || buffer.reset_to_zero;
    for (const Access& access : array.accesses) {
      for (size_t k = array.around.size(); k < access.around.size(); ++k) {
        const Around& around = arounds_[access.around[k]];
        if (around.loop() == nullptr || !Repeats(*around.loop()) ||
            EachIterationItsOwn(array, k, access.around[k], one)) {
          continue;
        }
        life.first = std::min(life.first, around.first);
        life.last = std::max(life.last, around.last);
      }
    }
    if (array.from_alloc) life.first = std::min(life.first, array.alloc);
  }

  // Whether the loop at depth `k` holds all accesses and each read finds what
  // its own iteration wrote.
  bool EachIterationItsOwn(const Array& array, size_t k, int loop,
                           bool one_element) const {
    return absl::c_all_of(array.accesses, [&](const Access& access) {
      return access.around.size() > k && access.around[k] == loop &&
             (access.write || Covered(array, access, k + 1, one_element));
    });
  }

  const kir::Kernel& kernel_;
  std::vector<Around> arounds_;
  std::vector<Array> arrays_;
  int position_ = 0;
};

class Slots {
 public:
  Slots(kir::Kernel& kernel, std::vector<Array> arrays)
      : kernel_(kernel), arrays_(std::move(arrays)) {}

  // The left-edge algorithm for interval graphs (Hashimoto and Stevens, Wire
  // Routing by Optimizing Channel Assignment within Large Apertures, 1971): in
  // the order of their first use, arrays join a slot that is free again.
  // Without the conditions on types and sizes that takes the fewest slots; with
  // them, the smallest slot that fits leaves the larger ones to larger arrays.
  RegisterSlots Assign() {
    std::vector<int> order;
    for (int b = 0; b < static_cast<int>(arrays_.size()); ++b) {
      if (Suited(b)) order.push_back(b);
    }
    absl::c_stable_sort(order, [&](int a, int b) {
      return arrays_[a].life.first < arrays_[b].life.first;
    });
    for (int b : order) {
      std::vector<int>* best = nullptr;
      for (std::vector<int>& slot : slots_) {
        if (Joins(b, slot) && (best == nullptr || Smaller(slot, *best))) {
          best = &slot;
        }
      }
      if (best == nullptr) {
        slots_.push_back({b});
      } else {
        best->push_back(b);
      }
    }
    RegisterSlots result;
    const AffineExpr::Binding binding = kernel_.Bindings();
    for (const std::vector<int>& slot : slots_) {
      const int base = Base(slot);
      ++result.slots;
      for (int b : slot) {
        const int64_t bytes =
            kernel_.buffers[b].Bytes().Evaluate(binding).value_or(0);
        ++result.arrays;
        result.bytes_before += bytes;
        if (b == base) {
          result.bytes_after += bytes;
        } else {
          kernel_.buffers[b].alias = base;
          result.aliases.push_back(b);
        }
      }
    }
    absl::c_sort(result.aliases);
    return result;
  }

 private:
  bool Suited(int b) const {
    const kir::Buffer& buffer = kernel_.buffers[b];
    return buffer.memory == kir::Memory::kLocal && !buffer.alias.has_value() &&
           arrays_[b].alloc >= 0 &&
           arrays_[b].life.last >= arrays_[b].life.first &&
           !buffer.ElementCount().IsConstant(1) &&
           absl::c_none_of(kernel_.buffers, [&](const kir::Buffer& other) {
             return other.alias == b;
           });
  }

  int Base(const std::vector<int>& slot) const {
    return *absl::c_min_element(slot, [&](int a, int b) {
      return arrays_[a].alloc < arrays_[b].alloc;
    });
  }

  bool Smaller(const std::vector<int>& a, const std::vector<int>& b) const {
    const std::optional<int64_t> more =
        (kernel_.buffers[Base(b)].Bytes() - kernel_.buffers[Base(a)].Bytes())
            .AsConstant();
    return more.has_value() && *more > 0;
  }

  // Whether `b` may be a reference to `base`.
  bool Fits(int b, int base) const {
    const kir::Buffer& x = kernel_.buffers[b];
    const kir::Buffer& y = kernel_.buffers[base];
    const std::optional<int64_t> more =
        (y.ElementCount() - x.ElementCount()).AsConstant();
    const std::vector<int>& around = arrays_[base].around;
    return x.type == y.type && more.has_value() && *more >= 0 &&
           x.vector_width.value_or(1) <= y.vector_width.value_or(1) &&
           !arrays_[b].from_alloc &&
           around.size() <= arrays_[b].around.size() &&
           std::equal(around.begin(), around.end(), arrays_[b].around.begin());
  }

  bool Joins(int b, std::vector<int> slot) const {
    for (int other : slot) {
      const RegisterLife &p = arrays_[b].life, &q = arrays_[other].life;
      if (std::max(p.first, q.first) <= std::min(p.last, q.last)) return false;
    }
    slot.push_back(b);
    const int base = Base(slot);
    return absl::c_all_of(
        slot, [&](int other) { return other == base || Fits(other, base); });
  }

  kir::Kernel& kernel_;
  const std::vector<Array> arrays_;
  std::vector<std::vector<int>> slots_;
};

}  // namespace

RegisterSlots AssignRegisterSlots(kir::Kernel& kernel) {
  return Slots(kernel, std::move(Finder(kernel).arrays())).Assign();
}

std::vector<RegisterLife> ComputeRegisterLives(const kir::Kernel& kernel) {
  std::vector<RegisterLife> lives;
  Finder finder(kernel);
  for (const Array& array : finder.arrays()) lives.push_back(array.life);
  return lives;
}

}  // namespace xla::gpu
