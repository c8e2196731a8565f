#include "xla/backends/gpu/lowering/kernel_work.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel_code.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/lowering/warp_op_costs.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Op = CodeInstruction::Op;
using kir::ElementType;

constexpr int64_t kSector = 32;  // bytes
constexpr int64_t kBank = 4;     // bytes
constexpr int64_t kBanks = 32;
// A compiler that unrolls a loop by itself does it this often.
constexpr int64_t kUnrolled = 4;

// Cycles until a result can be used: what decides which chain is the longest,
// about the weights that a price gives them (kernel_prices.cc). Of arithmetic:
// warp_op_costs.h.
constexpr double kMemoryLatency = 180;
constexpr double kSharedLatency = 20;
constexpr double kBarrierLatency = 15;
constexpr double kShuffleLatency = 55;

using Lanes = std::array<int64_t, kir::kWarpThreads>;
using Mask = uint32_t;

// One warp of one block.
//
// A stretch of straight code is a dataflow graph: a value is ready when the
// latest of its operands is, plus its latency, as on hardware that stalls only
// where a value is used. The stretch takes the longer of its critical path and
// of the slots it issues; barriers, waits and loops that are walked in part end
// it (Join). Each time keeps along which kinds of latency it came about, so
// that a price can weigh them by how many warps hide them.
class WarpWalk {
 public:
  WarpWalk(const KernelCode& code, const std::vector<bool>& varying,
           int64_t block, int first_thread)
      : code_(code),
        varying_(varying),
        slots_(code.slots.size()),
        ready_(code.elements.size()) {
    for (size_t s = 0; s < slots_.size(); ++s) slots_[s].fill(Initial(s));
    for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
      const int64_t t = first_thread + lane;
      slots_[0][lane] = t % code.block[0];
      slots_[1][lane] = t / code.block[0] % code.block[1];
      slots_[2][lane] = t / code.block[0] / code.block[1];
      slots_[3][lane] = block;
      if (t < code.num_threads) all_ |= Mask{1} << lane;
    }
    for (size_t b = 0; b < ready_.size(); ++b) {
      if (code.kernel->buffers[b].memory == kir::Memory::kLocal) {
        ready_[b].resize(std::max<int64_t>(code.elements[b], 1));
      }
    }
  }

  void Run() {
    Walk(0, static_cast<int>(code_.instructions.size()) - 1, all_, 1);
    work_.chain_instructions = work_.instructions;
    work_.chain = now_.chain;
  }

  const KernelWork& work() const { return work_; }
  double cycles() const { return now_.cycles; }

 private:
  // When a value is there, and what it was waited for until then.
  struct Time {
    double cycles = 0;
    KernelWork::Chain chain;
  };

  int64_t Initial(size_t s) const { return code_.initial[s]; }

  static void Later(const Time& other, Time* time) {
    if (other.cycles > time->cycles) *time = other;
  }
  static Time After(Time time, double cycles, double KernelWork::Chain::*what,
                    double count) {
    time.cycles += cycles;
    time.chain.*what += count;
    return time;
  }

  bool Varies(const AffineProgram& program) const {
    for (size_t s = 0; s < varying_.size(); ++s) {
      if (varying_[s] && program.Reads(static_cast<int>(s))) return true;
    }
    return false;
  }
  int64_t ValueOf(const AffineProgram& program, int lane) {
    values_.resize(slots_.size());
    for (size_t s = 0; s < slots_.size(); ++s) values_[s] = slots_[s][lane];
    return program.Evaluate(values_).value_or(0);
  }
  void Evaluate(const AffineProgram& program, Mask mask, Lanes* result) {
    if (!Varies(program)) {
      result->fill(ValueOf(program, 0));
      return;
    }
    for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
      if (mask >> lane & 1) (*result)[lane] = ValueOf(program, lane);
    }
  }

  // Instructions [begin, end), as often as `weight` says.
  void Walk(int begin, int end, Mask mask, double weight);
  void Loop(int begin, Mask mask, double weight);
  // Iterations [first, first + count) of a loop, as one block of instructions.
  void Iterations(int begin, const Lanes& start, int64_t first, int64_t count,
                  Mask mask, double weight);
  void Branch(int begin, Mask mask, double weight);
  void Expression(const CodeInstruction& i, Mask mask, double weight);
  void Async(const kir::Async& async);
  // Counts an access, and returns how often memory repeats it.
  double Access(const CodeOperand& operand, Mask mask, bool is_write,
                bool is_atomic, double weight);
  void Issue(double slots, double weight) {
    work_.instructions += slots * weight;
    issued_ += slots;
  }
  void IssueIndex(const AffineExpr& expr, double weight) {
    if (expr.IsConstant() || expr.AsSymbol().has_value()) return;
    if (!indices_.insert(expr).second) return;
    Issue(IndexSlots(expr, hoisted_), weight);
  }
  // The place of an element in registers.
  Time* Register(const CodeOperand& operand) {
    int64_t element = 0;
    const std::vector<int64_t>& extents = code_.extents[operand.buffer];
    for (size_t d = 0; d < operand.indices.size(); ++d) {
      element = element * extents[d] + ValueOf(operand.indices[d], 0);
    }
    std::vector<Time>& times = ready_[operand.buffer];
    return &times[std::clamp<int64_t>(element, 0, times.size() - 1)];
  }
  // Waits for all that was begun.
  void Join() {
    // What follows issues after this.
    const double issue = begun_.cycles + issued_;
    Time time = begun_;
    if (issue > latest_.cycles) {
      time = After(time, issued_, &KernelWork::Chain::instructions, issued_);
    } else {
      time = latest_;
    }
    now_ = time;
    begun_ = now_;
    latest_ = now_;
    issued_ = 0;
    indices_.clear();
  }

  const KernelCode& code_;
  const std::vector<bool>& varying_;
  std::vector<Lanes> slots_;
  std::vector<std::vector<Time>> ready_;
  std::vector<int64_t> values_;
  Mask all_ = 0;
  // When the straight stretch of code began, when the last of its values is
  // there, and what it has issued.
  Time begun_, latest_, now_;
  double issued_ = 0;
  // When copies that run ahead are there: those of no group yet, and groups.
  Time copied_;
  std::vector<Time> groups_;
  std::set<AffineExpr> indices_;  // computed in it
  // The loop in whose iterations only what depends on it is computed: that of
  // copies that run ahead.
  std::string hoisted_, loop_;
  absl::flat_hash_set<std::pair<int, int64_t>> seen_;  // sectors, by buffer
  KernelWork work_;
};

// Global memory moves whole sectors, up to four of which make one request of a
// warp. Shared memory serves one word per bank at a time: lanes that want the
// same word share it, lanes that want different words of one bank take turns,
// and the fullest bank decides.
double WarpWalk::Access(const CodeOperand& operand, Mask mask, bool is_write,
                        bool is_atomic, double weight) {
  const kir::Buffer& buffer = code_.kernel->buffers[operand.buffer];
  const int64_t bytes = kir::ElementBytes(buffer.type);
  const std::vector<int64_t>& extents = code_.extents[operand.buffer];
  Lanes place{}, index{};
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    Evaluate(operand.indices[d], mask, &index);
    for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
      place[lane] = place[lane] * extents[d] + index[lane];
    }
  }
  const bool is_shared = buffer.memory == kir::Memory::kShared;
  std::vector<int64_t> units;
  for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
    if (mask >> lane & 1) {
      units.push_back(place[lane] * bytes / (is_shared ? kBank : kSector));
    }
  }
  absl::c_sort(units);
  units.erase(std::unique(units.begin(), units.end()), units.end());
  if (!is_shared) {
    double sectors = units.size();
    if (!is_write) {
      // What the warp itself has read before is near.
      double again = 0;
      for (int64_t unit : units) {
        again += !seen_.emplace(operand.buffer, unit).second;
      }
      sectors -= again;
      work_.sectors_again += again * weight;
    }
    (is_write ? work_.sectors_written : work_.sectors_read) += sectors * weight;
    (is_write ? work_.stores : work_.loads) += weight;
    if (is_atomic) work_.atomics += sectors * weight;
    return std::max(units.size() / 4.0, 1.0);
  }
  std::array<int, kBanks> in_bank{};
  for (int64_t unit : units) ++in_bank[unit % kBanks];
  const double times = std::max(*absl::c_max_element(in_bank), 1);
  work_.shared_accesses += times * weight;
  return times;
}

void WarpWalk::Expression(const CodeInstruction& i, Mask mask, double weight) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  if (expr.async == kir::AsyncKind::kCp) hoisted_ = loop_;
  Time ready = begun_;
  bool reads_memory = false, reads_shared = false;
  double slots = 0;
  for (size_t a = 0; a < i.arguments.size(); ++a) {
    const CodeArgument& argument = i.arguments[a];
    if (argument.kind == CodeArgument::Kind::kExpr) {
      IssueIndex(std::get<AffineExpr>(expr.arguments[a]), weight);
    }
    if (argument.kind != CodeArgument::Kind::kOperand) continue;
    const kir::Buffer& buffer = code_.kernel->buffers[argument.operand.buffer];
    if (buffer.memory == kir::Memory::kLocal) {
      Later(*Register(argument.operand), &ready);
      continue;
    }
    for (const AffineExpr& index :
         std::get<kir::Operand>(expr.arguments[a]).indices) {
      IssueIndex(index, weight);
    }
    (buffer.memory == kir::Memory::kShared ? reads_shared : reads_memory) =
        true;
    slots += Access(argument.operand, mask, false, false, weight);
  }
  const kir::Operand& out = expr.outputs[0];
  const kir::Buffer& result = code_.kernel->buffers[out.buffer];
  const absl::string_view op = i.info->name;
  const bool is_local = result.memory == kir::Memory::kLocal;
  if (i.info->op_class == kir::OpClass::kWarpReduce) {
    const double steps = ShufflesOf(expr);
    slots += 2 * steps;
    ready = After(ready, steps * kShuffleLatency, &KernelWork::Chain::shuffles,
                  steps);
  } else if (i.info->op_class == kir::OpClass::kPointwise) {
    // What computes a value that replaces another under a condition is executed
    // under it.
    const bool is_kept =
        op == "select" && expr.arguments[2] == kir::Argument(expr.outputs[0]);
    const OpCost cost = is_kept ? OpCost{0, 0} : CostOf(op, result.type);
    slots += cost.slots;
    ready = After(ready, cost.cycles, &KernelWork::Chain::instructions,
                  cost.cycles);
  } else if (op == "warp_mma") {
    const ProductCost cost = CostOfProducts(*code_.kernel, expr);
    work_.products += weight * cost.products;
    slots += cost.slots;
    ready = After(ready, cost.cycles, &KernelWork::Chain::instructions,
                  cost.cycles);
  }
  if (reads_memory) {
    ready = After(ready, kMemoryLatency, &KernelWork::Chain::memory, 1);
  } else if (reads_shared) {
    ready = After(ready, kSharedLatency, &KernelWork::Chain::shared, 1);
  }
  if (!is_local) {
    for (const AffineExpr& index : out.indices) IssueIndex(index, weight);
    const bool is_atomic = i.info->op_class == kir::OpClass::kScatter;
    slots += Access(i.outputs[0], mask, true, is_atomic, weight);
  }
  Issue(slots, weight);
  if (expr.async == kir::AsyncKind::kCp) {
    work_.copies += weight;
    Later(ready, &copied_);
    hoisted_.clear();
    return;
  }
  for (const CodeOperand& output : i.outputs) {
    if (code_.kernel->buffers[output.buffer].memory == kir::Memory::kLocal) {
      *Register(output) = ready;
    }
  }
  Later(ready, &latest_);
}

void WarpWalk::Branch(int begin, Mask mask, double weight) {
  const CodeInstruction& i = code_.instructions[begin];
  const int jump = i.target - 1;
  IssueIndex(i.statement->As<kir::If>()->predicate, weight);
  Issue(1, weight);
  Lanes taken{};
  Evaluate(i.programs[0], mask, &taken);
  Mask then_mask = 0;
  for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
    if ((mask >> lane & 1) && taken[lane] != 0) then_mask |= Mask{1} << lane;
  }
  if (then_mask != 0) Walk(begin + 1, jump, then_mask, weight);
  if ((mask & ~then_mask) != 0) {
    Walk(i.target, code_.instructions[jump].target, mask & ~then_mask, weight);
  }
}

void WarpWalk::Iterations(int begin, const Lanes& start, int64_t first,
                          int64_t count, Mask mask, double weight) {
  const CodeInstruction& i = code_.instructions[begin];
  for (int64_t k = first; k < first + count; ++k) {
    for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
      slots_[i.slot][lane] = start[lane] + k * i.step;
    }
    Walk(begin + 1, i.target - 1, mask, weight);
  }
}

void WarpWalk::Loop(int begin, Mask mask, double weight) {
  const CodeInstruction& i = code_.instructions[begin];
  const kir::Loop& loop = *i.statement->As<kir::Loop>();
  Lanes start{}, stop{};
  Evaluate(i.programs[0], mask, &start);
  Evaluate(i.programs[1], mask, &stop);
  const int thread = kir::ThreadDimension(loop.kind);
  const int block = kir::BlockDimension(loop.kind);
  if (thread >= 0 || block >= 0) {
    const Lanes& by = slots_[thread >= 0 ? thread : 3 + block];
    Mask inside = 0;
    for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
      slots_[i.slot][lane] = start[lane] + by[lane] * i.step;
      if ((mask >> lane & 1) && slots_[i.slot][lane] < stop[lane]) {
        inside |= Mask{1} << lane;
      }
    }
    if (inside != 0) Walk(begin + 1, i.target - 1, inside, weight);
    return;
  }
  IssueIndex(loop.start, weight);
  int64_t trips = 0;
  for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
    if (mask >> lane & 1) {
      trips = std::max(trips, (stop[lane] - start[lane] + i.step - 1) /
                                  std::max<int64_t>(i.step, 1));
    }
  }
  if (trips <= 0) return;
  if (loop.kind == kir::LoopKind::kVectorize) {
    // One access for all of them.
    Iterations(begin, start, 0, 1, mask, weight);
    const CodeInstruction& copy = code_.instructions[begin + 1];
    if (copy.op != Op::kExpr || copy.outputs.empty()) return;
    for (size_t b = 0; b < 2; ++b) {
      const CodeOperand* operand =
          b == 0 ? &copy.outputs[0]
          : copy.arguments.empty() ||
                  copy.arguments[0].kind != CodeArgument::Kind::kOperand
              ? nullptr
              : &copy.arguments[0].operand;
      if (operand == nullptr) continue;
      const kir::Buffer& buffer = code_.kernel->buffers[operand->buffer];
      if (buffer.memory == kir::Memory::kGlobal) {
        // Neighbors: their sectors, less those of the first ones.
        std::set<int64_t> sectors;
        const int64_t bytes = kir::ElementBytes(buffer.type);
        const std::vector<int64_t>& extents = code_.extents[operand->buffer];
        Lanes place{}, index{};
        for (size_t d = 0; d < operand->indices.size(); ++d) {
          Evaluate(operand->indices[d], mask, &index);
          for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
            place[lane] = place[lane] * extents[d] + index[lane];
          }
        }
        std::set<int64_t> first_sectors;
        for (int lane = 0; lane < kir::kWarpThreads; ++lane) {
          if (!(mask >> lane & 1)) continue;
          first_sectors.insert(place[lane] * bytes / kSector);
          for (int64_t k = 0; k < trips; ++k) {
            sectors.insert((place[lane] + k) * bytes / kSector);
          }
        }
        const double firsts = first_sectors.size();
        (b == 0 ? work_.sectors_written : work_.sectors_read) +=
            weight * (sectors.size() - firsts);
        Issue(std::max(sectors.size() / 4.0 - std::max(firsts / 4, 1.0), 0.0),
              weight);
      } else if (buffer.memory == kir::Memory::kLocal) {
        std::vector<Time>& times = ready_[operand->buffer];
        if (b == 0) absl::c_fill(times, *Register(*operand));
      }
    }
    return;
  }
  if (trips == 1) return Iterations(begin, start, 0, 1, mask, weight);
  if (loop.kind == kir::LoopKind::kUnroll && trips <= 64) {
    return Iterations(begin, start, 0, trips, mask, weight);
  }
  bool joins = false;
  for (int k = begin + 1; k < i.target - 1; ++k) {
    const CodeInstruction& inner = code_.instructions[k];
    joins |=
        inner.op == Op::kSync ||
        (inner.op == Op::kLoopBegin &&
         inner.statement->As<kir::Loop>()->kind == kir::LoopKind::kSerial &&
         inner.statement->As<kir::Loop>()->stop -
                 inner.statement->As<kir::Loop>()->start !=
             AffineExpr(1));
  }
  const absl::Cleanup leave = [&, outer = loop_] { loop_ = outer; };
  if (joins) loop_ = loop.index;
  const int64_t together = joins ? 1 : std::min(trips, kUnrolled);
  if (trips <= together)
    return Iterations(begin, start, 0, trips, mask, weight);
  // The first iterations, then others that stand for all the rest.
  Join();
  Iterations(begin, start, 0, together, mask, weight);
  Join();
  // The first iterations find sectors that nobody has read; one in the middle
  // is the steady state, and stands for all others in work and critical path.
  const double rest = static_cast<double>(trips - together) / together;
  const Time before = now_;
  const int64_t middle = std::min(trips / 2, trips - together);
  Iterations(begin, start, middle, together, mask, weight * rest);
  Join();
  const double turns = rest - 1;
  if (turns > 0) {
    auto scale = [&](double KernelWork::Chain::*what) {
      now_.chain.*what += turns * (now_.chain.*what - before.chain.*what);
    };
    now_.cycles += turns * (now_.cycles - before.cycles);
    scale(&KernelWork::Chain::memory);
    scale(&KernelWork::Chain::shared);
    scale(&KernelWork::Chain::barriers);
    scale(&KernelWork::Chain::shuffles);
    scale(&KernelWork::Chain::instructions);
    begun_ = latest_ = now_;
  }
}

void WarpWalk::Async(const kir::Async& async) {
  if (async.kind != kir::AsyncKind::kCp) return;
  if (async.op == kir::Async::Op::kCommit) {
    groups_.push_back(copied_);
    copied_ = {};
  } else if (async.op == kir::Async::Op::kWait) {
    Join();
    const int64_t group = static_cast<int64_t>(groups_.size()) - 1 - async.keep;
    if (group >= 0) Later(groups_[group], &now_);
    begun_ = latest_ = now_;
  }
}

void WarpWalk::Walk(int begin, int end, Mask mask, double weight) {
  for (int pc = begin; pc < end; ++pc) {
    const CodeInstruction& i = code_.instructions[pc];
    switch (i.op) {
      case Op::kLoopBegin:
        Loop(pc, mask, weight);
        pc = i.target - 1;
        break;
      case Op::kIf:
        Branch(pc, mask, weight);
        pc = code_.instructions[i.target - 1].target - 1;
        break;
      case Op::kExpr:
        Expression(i, mask, weight);
        break;
      case Op::kSync: {
        Issue(1, weight);
        Join();
        const kir::Sync& sync = *i.statement->As<kir::Sync>();
        if (sync.scope != kir::SyncScope::kWarp) {
          now_ = After(now_, kBarrierLatency, &KernelWork::Chain::barriers, 1);
          begun_ = latest_ = now_;
        }
        break;
      }
      case Op::kAsync:
        Issue(1, weight);
        Async(*i.statement->As<kir::Async>());
        break;
      case Op::kArriveWait:
        Issue(1, weight);
        break;
      case Op::kLoopEnd:
      case Op::kJump:
      case Op::kAlloc:
      case Op::kEnd:
        break;
    }
  }
  if (begin == 0) Join();
}

// Slots whose values differ between the lanes of a warp.
std::vector<bool> VaryingSlots(const KernelCode& code) {
  std::vector<bool> varying(code.slots.size());
  varying[0] = true;
  varying[1] = varying[2] = code.block[0] < kir::kWarpThreads;
  for (const CodeInstruction& i : code.instructions) {
    if (i.op != Op::kLoopBegin) continue;
    bool varies = kir::ThreadDimension(i.statement->As<kir::Loop>()->kind) >= 0;
    for (size_t s = 0; s < varying.size(); ++s) {
      varies |= varying[s] && i.programs[0].Reads(static_cast<int>(s));
    }
    varying[i.slot] = varies;
  }
  return varying;
}

void Add(const KernelWork& warp, double times, KernelWork* sum) {
  sum->instructions += times * warp.instructions;
  sum->sectors_read += times * warp.sectors_read;
  sum->sectors_again += times * warp.sectors_again;
  sum->products += times * warp.products;
  sum->copies += times * warp.copies;
  sum->sectors_written += times * warp.sectors_written;
  sum->loads += times * warp.loads;
  sum->stores += times * warp.stores;
  sum->atomics += times * warp.atomics;
  sum->shared_accesses += times * warp.shared_accesses;
}

}  // namespace

absl::StatusOr<KernelWork> WorkOfKernel(const kir::Kernel& kernel) {
  ASSIGN_OR_RETURN(const KernelCode code, CompileKernel(kernel));
  const std::vector<bool> varying = VaryingSlots(code);
  KernelWork work;
  work.threads = code.num_threads;
  work.blocks = code.initial[9];
  // Blocks of the same parts are alike.
  std::set<int64_t> ends = {work.blocks};
  for (const CodeInstruction& i : code.instructions) {
    if (i.op != Op::kLoopBegin) continue;
    if (kir::BlockDimension(i.statement->As<kir::Loop>()->kind) != 0) continue;
    const std::optional<int64_t> end =
        i.statement->As<kir::Loop>()->stop.AsConstant();
    if (end.has_value() && *end > 0 && *end < work.blocks) ends.insert(*end);
  }
  const int64_t warps =
      (code.num_threads + kir::kWarpThreads - 1) / kir::kWarpThreads;
  double longest = -1;
  int64_t begin = 0;
  for (int64_t end : ends) {
    // The first warp of a block often has a job of its own (lane 0 writes, warp
    // 0 joins sums), the others are alike. A block in the middle of the range
    // has neither the first nor the last elements, where bounds cut off lanes.
    const std::pair<int64_t, double> picked[] = {
        {0, 1}, {warps / 2, static_cast<double>(warps - 1)}};
    for (const auto& [warp, times] : picked) {
      if (times == 0) continue;
      WarpWalk walk(code, varying, begin + (end - begin) / 2,
                    static_cast<int>(warp * kir::kWarpThreads));
      walk.Run();
      Add(walk.work(), times * (end - begin), &work);
      if (walk.cycles() > longest) {
        longest = walk.cycles();
        work.chain = walk.work().chain;
        work.chain_instructions = walk.work().chain_instructions;
      }
    }
    begin = end;
  }
  return work;
}

}  // namespace xla::gpu
