#include "xla/backends/gpu/kernel_ir/race_checker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_code.h"
#include "xla/backends/gpu/kernel_ir/kernel_values.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/smem_shadow.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Op = CodeInstruction::Op;

constexpr int kMaxBurst = 8;  // instructions in a row

struct Place {
  kir::BufferId buffer = -1;
  int64_t element = 0;  // -1: outside
};

struct PendingCopy {
  int transfer = -1;
  kir::AsyncKind kind = kir::AsyncKind::kNone;
  bool committed = false;
  int group = 0;
};

struct Thread {
  enum class State { kReady, kBlock, kWarp, kMbarrier, kArriveWait, kDone };
  State state = State::kReady;
  int pc = 0;
  // Index of the instruction at which a thread that joins from outside counts
  // again; -1: it counts.
  int outside_until = -1;
  // A barrier of an expression was passed; its results are to be written.
  bool resume = false;
  std::vector<double> inputs;  // of that expression
  double result = 0;
  std::vector<int64_t> slots;
  std::vector<std::vector<double>> local;
  std::vector<std::vector<bool>> local_written;
  std::vector<PendingCopy> pending;
  absl::flat_hash_map<kir::AsyncKind, int> groups;  // committed so far
  absl::flat_hash_map<kir::BufferId, int> waits;    // on arrive/wait barriers
};

struct Barrier {
  int expected = 0;
  std::vector<std::pair<int, int>> arrived;  // (thread, clock)
  std::vector<std::vector<std::pair<int, int>>> phases;
  std::vector<int> loads;  // transfers that signal it
};

class Machine {
 public:
  Machine(const KernelCode& code, const KernelRunOptions& options)
      : code_(code),
        kernel_(*code.kernel),
        options_(options),
        random_(options.seed) {}

  absl::StatusOr<KernelRun> Run(
      const std::vector<std::vector<double>>& inputs) {
    RETURN_IF_ERROR(PlaceBuffers());
    FillParams(inputs);
    MakeThreads();
    int64_t steps = 0;
    std::vector<int> ready;
    while (true) {
      ready.clear();
      for (int t = 0; t < code_.num_threads; ++t) {
        if (threads_[t].state == Thread::State::kReady) ready.push_back(t);
      }
      if (ready.empty()) {
        ASSIGN_OR_RETURN(bool more, Unblock());
        if (!more) break;
        continue;
      }
      // One list serves many turns: those that block meanwhile are skipped.
      for (size_t turn = 0; turn < ready.size() * 2; ++turn) {
        const int t = ready[random_() % ready.size()];
        const int burst = 1 + static_cast<int>(random_() % kMaxBurst);
        for (int k = 0; k < burst; ++k) {
          if (threads_[t].state != Thread::State::kReady) break;
          RETURN_IF_ERROR(Step(t));
          ++steps;
        }
      }
      if (steps > options_.max_steps) {
        return absl::DeadlineExceededError(
            absl::StrCat("@", kernel_.name, " does not end"));
      }
    }
    KernelRun run;
    if (shadow_ != nullptr) {
      run.races.assign(shadow_->races().begin(), shadow_->races().end());
    }
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (kernel_.buffers[b].is_param) run.params.push_back(memory_[b]);
    }
    return run;
  }

 private:
  kir::BufferId Storage(kir::BufferId id) const {
    return kernel_.buffers[id].alias.value_or(id);
  }

  absl::Status PlaceBuffers() {
    const AffineExpr::Binding binding = kernel_.Bindings();
    memory_.resize(kernel_.buffers.size());
    address_.assign(kernel_.buffers.size(), 0);
    int64_t total = 0, unit = 8;
    bool async_proxy = false;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const kir::Buffer& buffer = kernel_.buffers[b];
      memory_[b].assign(code_.elements[b], 0);
      if (buffer.memory != kir::Memory::kShared) continue;
      const int bytes = kir::ElementBytes(buffer.type);
      if (!buffer.alias.has_value()) {
        if (!options_.own_memory && buffer.address.has_value()) {
          ASSIGN_OR_RETURN(address_[b], buffer.address->Evaluate(binding));
        } else {
          address_[b] = (total + 1023) / 1024 * 1024;
        }
      } else {
        address_[b] = address_[*buffer.alias];
      }
      total = std::max(total, address_[b] + code_.elements[b] * bytes);
      unit = std::gcd(std::gcd(unit, address_[b]), int64_t{bytes});
    }
    unit_ = std::max<int64_t>(1, unit);
    for (const CodeInstruction& i : code_.instructions) {
      if (i.op != Op::kExpr) continue;
      const kir::Expr& expr = *i.statement->As<kir::Expr>();
      async_proxy |= expr.async != kir::AsyncKind::kNone &&
                     expr.async != kir::AsyncKind::kCp;
      if (!expr.sync) continue;
      std::optional<kir::BufferId> workspace =
          kernel_.FindBuffer(absl::StrCat("workspace", workspaces_.size()));
      workspaces_[&i] = workspace.value_or(-1);
    }
    shared_.assign(total / unit_ + 1, 0);
    if (options_.check_races) {
      shadow_ = std::make_unique<SmemShadow>(kernel_, code_.num_threads, total,
                                             unit_, async_proxy);
    }
    return absl::OkStatus();
  }

  void FillParams(const std::vector<std::vector<double>>& inputs) {
    size_t number = 0;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (!kernel_.buffers[b].is_param) continue;
      for (size_t e = 0; e < memory_[b].size(); ++e) {
        memory_[b][e] =
            number < inputs.size() && e < inputs[number].size()
                ? inputs[number][e]
                : RoundToType(static_cast<double>((e * 7 + number * 3) % 23),
                              kernel_.buffers[b].type);
      }
      ++number;
    }
  }

  void MakeThreads() {
    threads_.resize(code_.num_threads);
    for (int t = 0; t < code_.num_threads; ++t) {
      Thread& thread = threads_[t];
      thread.slots = code_.initial;
      thread.slots[0] = t % code_.block[0];
      thread.slots[1] = t / code_.block[0] % code_.block[1];
      thread.slots[2] = t / code_.block[0] / code_.block[1];
      thread.local.resize(kernel_.buffers.size());
      thread.local_written.resize(kernel_.buffers.size());
      for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
        if (!PerThread(static_cast<int>(b))) continue;
        thread.local[b].assign(code_.elements[b], 0);
        thread.local_written[b].assign(code_.elements[b], false);
      }
    }
  }

  bool PerThread(kir::BufferId b) const {
    return kernel_.buffers[b].memory == kir::Memory::kLocal ||
           kernel_.buffers[b].memory == kir::Memory::kTmem;
  }

  absl::Status ErrorAt(const CodeInstruction& i, absl::StatusCode code,
                       absl::string_view message) const {
    return kernel_.ErrorAt(i.statement->location, message, code);
  }

  absl::StatusOr<int64_t> Value(const AffineProgram& program, int t,
                                const CodeInstruction& i) const {
    const std::optional<int64_t> v = program.Evaluate(threads_[t].slots);
    if (!v.has_value()) {
      return ErrorAt(i, absl::StatusCode::kOutOfRange,
                     "an index overflows or divides by zero");
    }
    return *v;
  }

  absl::StatusOr<Place> Find(const CodeOperand& operand, int t,
                             const CodeInstruction& i) const {
    Place place;
    place.buffer = operand.buffer;
    const std::vector<int64_t>& extents = code_.extents[operand.buffer];
    for (size_t d = 0; d < operand.indices.size(); ++d) {
      ASSIGN_OR_RETURN(int64_t index, Value(operand.indices[d], t, i));
      if (index < 0 || index >= extents[d]) {
        place.element = -1;
        return place;
      }
      place.element = place.element * extents[d] + index;
    }
    const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
    if (buffer.circular.has_value() && buffer.circular->stages > 1) {
      int64_t one = 1, turn = 0;
      for (int64_t e : extents) one *= e;
      if (!i.loop_slots.empty()) turn = threads_[t].slots[i.loop_slots[0]];
      place.element += turn % buffer.circular->stages * one;
    }
    return place;
  }

  uint64_t Instance(int t, const CodeInstruction& i) const {
    uint64_t hash = static_cast<uint64_t>(&i - code_.instructions.data()) + 1;
    for (int slot : i.loop_slots) {
      hash = hash * 0x9e3779b97f4a7c15 + threads_[t].slots[slot] + 17;
    }
    return hash;
  }

  ShadowAccess AccessOf(int t, const Place& place, bool write,
                        const CodeInstruction& i) const {
    ShadowAccess access;
    access.thread = t;
    access.write = write;
    access.buffer = Storage(place.buffer);
    access.bytes = kir::ElementBytes(kernel_.buffers[place.buffer].type);
    access.address = address_[place.buffer] + place.element * access.bytes;
    access.instruction = static_cast<int>(&i - code_.instructions.data());
    access.instance = Instance(t, i);
    return access;
  }

  double Load(int t, const Place& place, const CodeInstruction& i,
              int transfer = -1, bool proxy = false) {
    const kir::BufferId b = place.buffer;
    if (PerThread(b)) return threads_[t].local[Storage(b)][place.element];
    if (kernel_.buffers[b].memory == kir::Memory::kGlobal) {
      return memory_[Storage(b)][place.element];
    }
    ShadowAccess access = AccessOf(t, place, false, i);
    access.transfer = transfer;
    access.async_proxy = proxy;
    if (shadow_ != nullptr) shadow_->Check(access);
    return shared_[access.address / unit_];
  }

  void Store(int t, const Place& place, double value, const CodeInstruction& i,
             int transfer = -1, bool proxy = false) {
    const kir::BufferId b = place.buffer;
    value = RoundToType(value, kernel_.buffers[b].type);
    if (PerThread(b)) {
      threads_[t].local[Storage(b)][place.element] = value;
      threads_[t].local_written[Storage(b)][place.element] = true;
      return;
    }
    if (kernel_.buffers[b].memory == kir::Memory::kGlobal) {
      memory_[Storage(b)][place.element] = value;
      return;
    }
    ShadowAccess access = AccessOf(t, place, true, i);
    access.value = value;
    access.transfer = transfer;
    access.async_proxy = proxy;
    if (shadow_ != nullptr) shadow_->Check(access);
    shared_[access.address / unit_] = value;
  }

  bool Written(int t, const Place& place) const {
    const kir::BufferId b = place.buffer;
    if (PerThread(b))
      return threads_[t].local_written[Storage(b)][place.element];
    if (kernel_.buffers[b].memory == kir::Memory::kGlobal ||
        shadow_ == nullptr) {
      return true;
    }
    return shadow_->Written(address_[b] +
                            place.element *
                                kir::ElementBytes(kernel_.buffers[b].type));
  }

  absl::Status Step(int t);
  absl::Status BeginLoop(int t, const CodeInstruction& i);
  absl::Status RunExpr(int t, const CodeInstruction& i);
  absl::StatusOr<std::vector<double>> ReadInputs(int t,
                                                 const CodeInstruction& i,
                                                 int transfer, bool proxy);
  absl::Status Finish(int t, const CodeInstruction& i,
                      const std::vector<double>& in);
  absl::Status Transfer(int t, const CodeInstruction& i);
  absl::Status RunAsync(int t, const CodeInstruction& i);
  void RunArriveWait(int t, const CodeInstruction& i);
  void Arrive(int t, kir::BufferId barrier);
  absl::StatusOr<bool> Unblock();
  void ReleaseExpr(const std::vector<int>& group, const CodeInstruction& i);
  absl::StatusOr<bool> UnblockWarps();
  bool UnblockMbarriers();

  const KernelCode& code_;
  const kir::Kernel& kernel_;
  const KernelRunOptions options_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> memory_;  // by buffer; global ones
  std::vector<int64_t> address_;
  int64_t unit_ = 1;
  std::vector<double> shared_;  // by word
  std::unique_ptr<SmemShadow> shadow_;
  std::vector<Thread> threads_;
  absl::flat_hash_map<kir::BufferId, Barrier> barriers_;
  absl::flat_hash_map<const CodeInstruction*, kir::BufferId> workspaces_;
  // Bulk transfers that one thread started for all: instances seen.
  absl::flat_hash_set<uint64_t> started_;
};

absl::Status Machine::Step(int t) {
  Thread& thread = threads_[t];
  const CodeInstruction& i = code_.instructions[thread.pc];
  if (thread.outside_until == thread.pc) thread.outside_until = -1;
  const bool outside = thread.outside_until >= 0;
  switch (i.op) {
    case Op::kEnd:
      thread.state = Thread::State::kDone;
      return absl::OkStatus();
    case Op::kLoopBegin:
      return BeginLoop(t, i);
    case Op::kLoopEnd: {
      const kir::Loop& loop = *i.statement->As<kir::Loop>();
      int64_t& value = thread.slots[i.slot];
      value += i.step;
      const bool once = kir::ThreadDimension(loop.kind) >= 0 ||
                        kir::BlockDimension(loop.kind) >= 0 ||
                        loop.kind == kir::LoopKind::kDevice ||
                        loop.kind == kir::LoopKind::kStream;
      thread.pc =
          !once && value < thread.slots[i.stop_slot] ? i.target : thread.pc + 1;
      return absl::OkStatus();
    }
    case Op::kIf: {
      ASSIGN_OR_RETURN(int64_t taken, Value(i.programs[0], t, i));
      thread.pc = taken != 0 ? thread.pc + 1 : i.target;
      return absl::OkStatus();
    }
    case Op::kJump:
      thread.pc = i.target;
      return absl::OkStatus();
    case Op::kAlloc: {
      const kir::BufferId b = i.statement->As<kir::Alloc>()->buffer;
      if (PerThread(b) && !kernel_.buffers[b].alias.has_value()) {
        absl::c_fill(thread.local_written[b], false);
      }
      ++thread.pc;
      return absl::OkStatus();
    }
    case Op::kSync: {
      const kir::Sync& sync = *i.statement->As<kir::Sync>();
      if (outside || !sync.group.empty()) {
        // Part of the block joins: nobody is ordered with the rest.
        ++thread.pc;
        return absl::OkStatus();
      }
      thread.state = sync.scope == kir::SyncScope::kWarp
                         ? Thread::State::kWarp
                         : Thread::State::kBlock;
      return absl::OkStatus();
    }
    case Op::kExpr:
      return RunExpr(t, i);
    case Op::kArriveWait:
      if (outside) {
        ++thread.pc;
      } else {
        RunArriveWait(t, i);
      }
      return absl::OkStatus();
    case Op::kAsync:
      if (outside) {
        ++thread.pc;
        return absl::OkStatus();
      }
      return RunAsync(t, i);
  }
  return absl::OkStatus();
}

absl::Status Machine::BeginLoop(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  const kir::Loop& loop = *i.statement->As<kir::Loop>();
  ASSIGN_OR_RETURN(int64_t start, Value(i.programs[0], t, i));
  ASSIGN_OR_RETURN(int64_t stop, Value(i.programs[1], t, i));
  const int thread_dimension = kir::ThreadDimension(loop.kind);
  const int block_dimension = kir::BlockDimension(loop.kind);
  int64_t value = start;
  if (thread_dimension >= 0) value += thread.slots[thread_dimension] * i.step;
  if (block_dimension >= 0) value += thread.slots[3 + block_dimension] * i.step;
  thread.slots[i.slot] = value;
  thread.slots[i.stop_slot] = stop;
  if (value < stop) {
    ++thread.pc;
  } else if (i.joins_from_outside) {
    if (thread.outside_until < 0) thread.outside_until = i.target;
    ++thread.pc;
  } else {
    thread.pc = i.target;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Machine::ReadInputs(
    int t, const CodeInstruction& i, int transfer, bool proxy) {
  std::vector<double> values;
  for (const CodeArgument& argument : i.arguments) {
    if (argument.kind == CodeArgument::Kind::kNumber) {
      values.push_back(argument.number);
    } else if (argument.kind == CodeArgument::Kind::kExpr) {
      ASSIGN_OR_RETURN(int64_t v, Value(argument.expr[0], t, i));
      values.push_back(static_cast<double>(v));
    } else {
      ASSIGN_OR_RETURN(Place place, Find(argument.operand, t, i));
      if (i.statement->As<kir::Expr>()->op == "gather" && values.empty()) {
        // Where it reads, the second argument tells.
        ASSIGN_OR_RETURN(Place at, Find(i.arguments[1].operand, t, i));
        const int64_t n = code_.elements[place.buffer];
        place.element =
            std::clamp<int64_t>(static_cast<int64_t>(Load(t, at, i)), 0, n - 1);
      }
      if (place.element < 0) {
        if (i.info->op_class != kir::OpClass::kDifficult) {
          return ErrorAt(
              i, absl::StatusCode::kOutOfRange,
              absl::StrCat("an index of %", kernel_.buffers[place.buffer].name,
                           " lies outside of it"));
        }
        values.push_back(0);  // What pads.
        continue;
      }
      values.push_back(Load(t, place, i, transfer, proxy));
    }
  }
  return values;
}

absl::Status Machine::Finish(int t, const CodeInstruction& i,
                             const std::vector<double>& in) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  std::vector<Place> places;
  for (const CodeOperand& output : i.outputs) {
    ASSIGN_OR_RETURN(Place place, Find(output, t, i));
    if (place.element < 0) {
      return ErrorAt(
          i, absl::StatusCode::kOutOfRange,
          absl::StrCat("an index of %", kernel_.buffers[place.buffer].name,
                       " lies outside of it"));
    }
    places.push_back(place);
  }
  const kir::Combiner combiner = kir::OpCombiner(expr.op);
  switch (i.info->op_class) {
    case kir::OpClass::kReduce: {
      const double before = Written(t, places[0]) ? Load(t, places[0], i)
                                                  : CombinerIdentity(combiner);
      Store(t, places[0], ApplyCombiner(combiner, before, in[0]), i);
      break;
    }
    case kir::OpClass::kMma: {
      double sum = in.size() > 2           ? in[2]
                   : Written(t, places[0]) ? Load(t, places[0], i)
                                           : 0;
      Store(t, places[0], sum + in[0] * in[1], i);
      break;
    }
    case kir::OpClass::kWelford: {
      double mean = 0, m2 = 0, count = 0;
      if (Written(t, places[2])) {
        mean = Load(t, places[0], i);
        m2 = Load(t, places[1], i);
        count = Load(t, places[2], i);
      }
      count += 1;
      const double delta = in[0] - mean;
      mean += delta / count;
      m2 += delta * (in[0] - mean);
      Store(t, places[0], mean, i);
      Store(t, places[1], m2, i);
      Store(t, places[2], count, i);
      break;
    }
    case kir::OpClass::kScatter: {
      Place at = places[0];
      at.element = std::clamp<int64_t>(static_cast<int64_t>(in[1]), 0,
                                       code_.elements[at.buffer] - 1);
      Store(t, at, in[0], i);
      break;
    }
    default:
      Store(t, places[0], ApplyKernelOp(expr.op, in), i);
      for (size_t k = 1; k < places.size(); ++k) Store(t, places[k], in[0], i);
  }
  return absl::OkStatus();
}

absl::Status Machine::RunExpr(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const bool outside = thread.outside_until >= 0;
  const bool scan = i.info->op_class == kir::OpClass::kScan;
  if (expr.sync || scan || i.info->op_class == kir::OpClass::kWarpReduce) {
    if (!thread.resume) {
      thread.inputs.clear();
      if (!outside) {
        ASSIGN_OR_RETURN(thread.inputs, ReadInputs(t, i, -1, false));
      }
      thread.state =
          expr.sync || scan ? Thread::State::kBlock : Thread::State::kWarp;
      return absl::OkStatus();
    }
    thread.resume = false;
    ++thread.pc;
    if (outside) return absl::OkStatus();
    std::vector<double> in = thread.inputs;
    in[0] = thread.result;
    if (i.info->op_class == kir::OpClass::kWarpReduce || scan) {
      ASSIGN_OR_RETURN(Place place, Find(i.outputs[0], t, i));
      if (place.element < 0) {
        return ErrorAt(i, absl::StatusCode::kOutOfRange,
                       "an index lies outside of its buffer");
      }
      Store(t, place, in[0], i);
      return absl::OkStatus();
    }
    return Finish(t, i, in);
  }
  ++thread.pc;
  if (outside) return absl::OkStatus();
  if (expr.async != kir::AsyncKind::kNone) return Transfer(t, i);
  ASSIGN_OR_RETURN(std::vector<double> in, ReadInputs(t, i, -1, false));
  return Finish(t, i, in);
}

absl::Status Machine::Transfer(int t, const CodeInstruction& i) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const bool proxy = expr.async != kir::AsyncKind::kCp;
  int transfer = -1;
  if (expr.async == kir::AsyncKind::kBulkLoad ||
      expr.async == kir::AsyncKind::kBulkStore) {
    // One thread starts it; which elements it moves, its loops tell.
    uint64_t key = Instance(t, i);
    for (const CodeOperand& output : i.outputs) {
      ASSIGN_OR_RETURN(Place place, Find(output, t, i));
      key = key * 31 + static_cast<uint64_t>(place.element);
    }
    if (!started_.insert(key).second) return absl::OkStatus();
  }
  const bool joined =
      expr.async == kir::AsyncKind::kBulkLoad && expr.mbarrier.has_value();
  if (shadow_ != nullptr) transfer = shadow_->StartTransfer(t, joined);
  ASSIGN_OR_RETURN(std::vector<double> in, ReadInputs(t, i, transfer, proxy));
  if (i.info->op_class == kir::OpClass::kMma) {
    // The product is read from registers after its wait.
    ASSIGN_OR_RETURN(Place place, Find(i.outputs[0], t, i));
    const double before = Written(t, place) ? Load(t, place, i) : 0;
    Store(t, place, before + in[0] * in[1], i);
  } else {
    for (const CodeOperand& output : i.outputs) {
      ASSIGN_OR_RETURN(Place place, Find(output, t, i));
      if (place.element < 0) {
        return ErrorAt(i, absl::StatusCode::kOutOfRange,
                       "an index lies outside of its buffer");
      }
      Store(t, place, ApplyKernelOp(expr.op, in), i, transfer, proxy);
    }
  }
  if (joined) {
    barriers_[*expr.mbarrier].loads.push_back(transfer);
  } else {
    threads_[t].pending.push_back({transfer, expr.async, false, 0});
  }
  return absl::OkStatus();
}

absl::Status Machine::RunAsync(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  const kir::Async& async = *i.statement->As<kir::Async>();
  ++thread.pc;
  switch (async.op) {
    case kir::Async::Op::kCommit: {
      int& group = thread.groups[async.kind];
      ++group;
      for (PendingCopy& copy : thread.pending) {
        if (copy.kind != async.kind || copy.committed) continue;
        copy.committed = true;
        copy.group = group;
      }
      break;
    }
    case kir::Async::Op::kWait: {
      const int done = thread.groups[async.kind] - async.keep;
      std::vector<PendingCopy> left;
      for (const PendingCopy& copy : thread.pending) {
        if (copy.kind != async.kind || !copy.committed || copy.group > done) {
          left.push_back(copy);
        } else if (shadow_ != nullptr) {
          shadow_->CompleteTransfer(copy.transfer, t);
        }
      }
      thread.pending = std::move(left);
      break;
    }
    case kir::Async::Op::kFence:
      if (async.name == "async_proxy" && shadow_ != nullptr) {
        shadow_->ProxyFence(t);
      }
      break;
    case kir::Async::Op::kMbarrier:
      if (async.name == "init") {
        Barrier& barrier = barriers_[async.barrier];
        if (async.argument.has_value()) {
          barrier.expected =
              static_cast<int>(async.argument->Bind(kernel_.Bindings())
                                   .AsConstant()
                                   .value_or(0));
        }
      } else if (async.name == "arrive") {
        Arrive(t, async.barrier);
      } else if (async.name == "wait_parity") {
        --thread.pc;
        thread.state = Thread::State::kMbarrier;
      }
      break;
  }
  return absl::OkStatus();
}

void Machine::Arrive(int t, kir::BufferId id) {
  Barrier& barrier = barriers_[id];
  const int clock = shadow_ != nullptr ? shadow_->Release(t) : 0;
  barrier.arrived.push_back({t, clock});
  const int expected =
      barrier.expected > 0 ? barrier.expected : code_.num_threads;
  if (static_cast<int>(barrier.arrived.size()) < expected) return;
  barrier.phases.push_back(std::move(barrier.arrived));
  barrier.arrived.clear();
}

void Machine::RunArriveWait(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  const kir::ArriveWait& half = *i.statement->As<kir::ArriveWait>();
  if (!half.is_wait) {
    Arrive(t, half.barrier);
    ++thread.pc;
    return;
  }
  // The n-th wait of a thread is for the n-th phase.
  const Barrier& barrier = barriers_[half.barrier];
  int& waits = thread.waits[half.barrier];
  if (waits >= static_cast<int>(barrier.phases.size())) {
    thread.state = Thread::State::kArriveWait;
    return;
  }
  for (const auto& [from, clock] : barrier.phases[waits]) {
    if (shadow_ != nullptr) shadow_->Acquire(t, from, clock);
  }
  ++waits;
  ++thread.pc;
}

// Combines what the threads of a group brought to one expression.
void Machine::ReleaseExpr(const std::vector<int>& group,
                          const CodeInstruction& i) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const kir::Combiner combiner = kir::OpCombiner(expr.op);
  const bool scan = i.info->op_class == kir::OpClass::kScan;
  double sum = CombinerIdentity(combiner);
  std::vector<double> sorted;
  for (int t : group) {
    if (!threads_[t].inputs.empty()) sorted.push_back(threads_[t].inputs[0]);
  }
  absl::c_sort(sorted);
  size_t rank = 0;
  for (int t : group) {
    threads_[t].resume = true;
    threads_[t].state = Thread::State::kReady;
    if (threads_[t].inputs.empty()) continue;
    sum = ApplyCombiner(combiner, sum, threads_[t].inputs[0]);
    threads_[t].result = expr.op == "sort" ? sorted[rank++] : sum;
  }
  if (scan) return;
  for (int t : group) threads_[t].result = sum;
}

absl::StatusOr<bool> Machine::UnblockWarps() {
  bool released = false;
  for (int first = 0; first < code_.num_threads; first += 32) {
    const int end = std::min(first + 32, code_.num_threads);
    // Lanes at one warp instruction, while the others stand elsewhere.
    std::vector<int> group;
    int others = 0, pc = -1;
    for (int t = first; t < end; ++t) {
      const Thread& thread = threads_[t];
      if (thread.state == Thread::State::kDone) continue;
      if (thread.state == Thread::State::kWarp && (pc < 0 || thread.pc == pc)) {
        pc = thread.pc;
        group.push_back(t);
      } else {
        ++others;
      }
    }
    if (group.empty()) continue;
    const CodeInstruction& i = code_.instructions[pc];
    if (i.op == Op::kSync) {
      if (others > 0) continue;
      if (shadow_ != nullptr) shadow_->WarpBarrier(first / 32);
      for (int t : group) {
        threads_[t].state = Thread::State::kReady;
        ++threads_[t].pc;
      }
    } else {
      ReleaseExpr(group, i);
    }
    released = true;
  }
  return released;
}

bool Machine::UnblockMbarriers() {
  bool released = false;
  for (int t = 0; t < code_.num_threads; ++t) {
    Thread& thread = threads_[t];
    const CodeInstruction& i = code_.instructions[thread.pc];
    if (thread.state == Thread::State::kMbarrier) {
      const kir::BufferId id = i.statement->As<kir::Async>()->barrier;
      Barrier& barrier = barriers_[id];
      if (barrier.loads.empty() && barrier.phases.empty()) continue;
      for (int load : barrier.loads) {
        if (shadow_ != nullptr) shadow_->CompleteTransfer(load, t);
      }
      for (const auto& phase : barrier.phases) {
        for (const auto& [from, clock] : phase) {
          if (shadow_ != nullptr) shadow_->Acquire(t, from, clock);
        }
      }
      ++thread.pc;
    } else if (thread.state != Thread::State::kArriveWait ||
               thread.waits[i.statement->As<kir::ArriveWait>()->barrier] >=
                   static_cast<int>(
                       barriers_[i.statement->As<kir::ArriveWait>()->barrier]
                           .phases.size())) {
      continue;
    }
    thread.state = Thread::State::kReady;
    released = true;
  }
  return released;
}

// No thread can go on by itself. False when all are done.
absl::StatusOr<bool> Machine::Unblock() {
  ASSIGN_OR_RETURN(bool warps, UnblockWarps());
  if (warps || UnblockMbarriers()) return true;
  std::vector<int> waiting, done;
  for (int t = 0; t < code_.num_threads; ++t) {
    (threads_[t].state == Thread::State::kDone ? done : waiting).push_back(t);
  }
  if (waiting.empty()) return false;
  const CodeInstruction& i = code_.instructions[threads_[waiting[0]].pc];
  for (int t : waiting) {
    if (threads_[t].state != Thread::State::kBlock ||
        threads_[t].pc != threads_[waiting[0]].pc) {
      return ErrorAt(i, absl::StatusCode::kFailedPrecondition,
                     "threads wait for one another at different barriers");
    }
  }
  if (!done.empty()) {
    return ErrorAt(i, absl::StatusCode::kFailedPrecondition,
                   absl::StrCat(done.size(), " of ", code_.num_threads,
                                " threads never meet this barrier"));
  }
  if (i.op == Op::kSync) {
    if (shadow_ != nullptr) shadow_->BlockBarrier();
    for (int t : waiting) {
      threads_[t].state = Thread::State::kReady;
      ++threads_[t].pc;
    }
    return true;
  }
  auto workspace = workspaces_.find(&i);
  const bool scratch = shadow_ != nullptr && workspace != workspaces_.end() &&
                       workspace->second >= 0;
  auto touch = [&](bool write) {
    for (int t : waiting) {
      Place place{workspace->second, t};
      ShadowAccess access = AccessOf(t, place, write, i);
      access.value = t;
      if (write) {
        shadow_->Check(access);
        continue;
      }
      for (int u : waiting) {
        place.element = u;
        shadow_->Check(AccessOf(t, place, false, i));
      }
    }
  };
  if (scratch) touch(true);
  if (shadow_ != nullptr) shadow_->BlockBarrier();
  if (scratch) {
    touch(false);
    shadow_->BlockBarrier();
  }
  ReleaseExpr(waiting, i);
  return true;
}

}  // namespace

absl::StatusOr<KernelRun> RunKernel(
    const kir::Kernel& kernel, const std::vector<std::vector<double>>& inputs,
    const KernelRunOptions& options) {
  ASSIGN_OR_RETURN(KernelCode code, CompileKernel(kernel));
  return Machine(code, options).Run(inputs);
}

absl::Status CheckRaces(const kir::Kernel& kernel, int seeds) {
  for (int seed = 1; seed <= seeds; ++seed) {
    KernelRunOptions options;
    options.seed = static_cast<uint64_t>(seed);
    ASSIGN_OR_RETURN(KernelRun run, RunKernel(kernel, {}, options));
    if (!run.races.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("@", kernel.name, ": ", absl::StrJoin(run.races, "; ")));
    }
    // Threads take the same turns, so that only memory tells the two apart.
    options.own_memory = true;
    options.check_races = false;
    ASSIGN_OR_RETURN(KernelRun expected, RunKernel(kernel, {}, options));
    for (size_t p = 0; p < run.params.size(); ++p) {
      for (size_t e = 0; e < run.params[p].size(); ++e) {
        const double a = run.params[p][e], b = expected.params[p][e];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        return absl::FailedPreconditionError(
            absl::StrCat("@", kernel.name, ": parameter ", p, " differs at ", e,
                         ": ", a, " and with memory of its own ", b));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
