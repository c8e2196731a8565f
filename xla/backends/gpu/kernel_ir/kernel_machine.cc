#include "xla/backends/gpu/kernel_ir/kernel_machine.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_values.h"
#include "xla/status_macros.h"

namespace xla::gpu::kernel_machine {
namespace {

using Op = CodeInstruction::Op;

constexpr int kMaxBurst = 8;  // instructions in a row

}  // namespace

// Interprets one block of a kernel thread by thread, in a random interleaving:
// a random ready thread executes a short burst of instructions, then another
// one does. Threads that reach a barrier leave the ready list; when nobody is
// ready any more, Unblock releases the barriers that are complete. Different
// seeds thus explore different schedules, and kernels whose results depend on
// the schedule have a race.
//
// All values are doubles, rounded to the type of the buffer on every store.
// Shared memory is an array with one slot per unit, the greatest common divisor
// of all addresses and element sizes, so that buffers which share bytes really
// overwrite each other.
absl::StatusOr<KernelRun> Machine::Run(
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
    if (options_.max_steps >= 0 && steps > options_.max_steps) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "@", kernel_.name, " takes more steps than it may, which are ",
          options_.max_steps));
    }
  }
  KernelRun run;
  run.steps = steps;
  if (shadow_ != nullptr) {
    run.races.assign(shadow_->races().begin(), shadow_->races().end());
    run.races.insert(run.races.end(), foreign_.begin(), foreign_.end());
  }
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].is_param) run.params.push_back(memory_[b]);
  }
  return run;
}

kir::BufferId Machine::Storage(kir::BufferId id) const {
  return options_.own_memory ? id : kernel_.buffers[id].alias.value_or(id);
}

// With `own_memory` every buffer gets memory of its own, whatever the plan
// says: a run that shows what the kernel means. Without it, aliases and planned
// addresses are honored, and results that differ come from the plan. Buffers
// without an address follow at the next multiple of 1,024 bytes, behind
// everything placed so far.
absl::Status Machine::PlaceBuffers() {
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
    if (Storage(static_cast<int>(b)) != static_cast<int>(b)) {
      address_[b] = address_[*buffer.alias];
    } else if (!options_.own_memory && buffer.address.has_value()) {
      ASSIGN_OR_RETURN(address_[b], buffer.address->Evaluate(binding));
    } else {
      address_[b] = (total + 1023) / 1024 * 1024;
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
  owners_.resize(kernel_.buffers.size());
  if (options_.check_races) {
    for (kir::BufferId own : kernel_.OwnArrays()) {
      owners_[Storage(own)].assign(code_.elements[own], -1);
    }
  }
  shared_.assign(total / unit_ + 1, 0);
  if (options_.check_races) {
    shadow_ = std::make_unique<SmemShadow>(kernel_, code_.num_threads, total,
                                           unit_, async_proxy);
  }
  return absl::OkStatus();
}

void Machine::FillParams(const std::vector<std::vector<double>>& inputs) {
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

void Machine::MakeThreads() {
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

bool Machine::PerThread(kir::BufferId b) const {
  return kernel_.buffers[b].memory == kir::Memory::kLocal ||
         kernel_.buffers[b].memory == kir::Memory::kTmem;
}

absl::Status Machine::ErrorAt(const CodeInstruction& i, absl::StatusCode code,
                              absl::string_view message) const {
  return kernel_.ErrorAt(i.statement->location, message, code);
}

absl::StatusOr<int64_t> Machine::Value(const AffineProgram& program, int t,
                                       const CodeInstruction& i) const {
  const std::optional<int64_t> v = program.Evaluate(threads_[t].slots);
  if (!v.has_value()) {
    return ErrorAt(i, absl::StatusCode::kOutOfRange,
                   "an index overflows or divides by zero");
  }
  return *v;
}

// Row-major. Each dimension is checked against its own extent: x[0, 70] of x[2,
// 64] is outside, although its linear index 70 exists. A circular buffer has
// one copy per stage, and the trips of the outermost loop that is not over
// threads take the stages in turn.
absl::StatusOr<Place> Machine::Find(const CodeOperand& operand, int t,
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

absl::StatusOr<Place> Machine::FindInside(const CodeOperand& operand, int t,
                                          const CodeInstruction& i) const {
  ASSIGN_OR_RETURN(const Place place, Find(operand, t, i));
  if (place.element < 0) {
    return ErrorAt(
        i, absl::StatusCode::kOutOfRange,
        absl::StrCat("an index of %", kernel_.buffers[place.buffer].name,
                     " is out of bounds"));
  }
  return place;
}

// Which execution of a statement this is: a hash of the statement and the
// indices of the loops around it, without loops over threads. All threads that
// run the statement in the same trip have the same value, which is what tells
// "all threads fill x with 0" from a race.
uint64_t Machine::Instance(int t, const CodeInstruction& i) const {
  uint64_t hash = static_cast<uint64_t>(&i - code_.instructions.data()) + 1;
  for (int slot : i.loop_slots) {
    hash = hash * 0x9e3779b97f4a7c15 + threads_[t].slots[slot] + 17;
  }
  return hash;
}

ShadowAccess Machine::AccessOf(int t, const Place& place, bool write,
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

double Machine::Load(int t, const Place& place, const CodeInstruction& i,
                     int transfer, bool proxy) {
  const kir::BufferId b = place.buffer;
  if (PerThread(b)) return threads_[t].local[Storage(b)][place.element];
  if (kernel_.buffers[b].memory == kir::Memory::kGlobal) {
    TakeOwn(t, place);
    return memory_[Storage(b)][place.element];
  }
  ShadowAccess access = AccessOf(t, place, false, i);
  access.transfer = transfer;
  access.async_proxy = proxy;
  if (shadow_ != nullptr) shadow_->Check(access);
  return shared_[access.address / unit_];
}

void Machine::Store(int t, const Place& place, double value,
                    const CodeInstruction& i, int transfer, bool proxy) {
  const kir::BufferId b = place.buffer;
  value = RoundToType(value, kernel_.buffers[b].type);
  if (PerThread(b)) {
    threads_[t].local[Storage(b)][place.element] = value;
    threads_[t].local_written[Storage(b)][place.element] = true;
    return;
  }
  if (kernel_.buffers[b].memory == kir::Memory::kGlobal) {
    TakeOwn(t, place);
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

void Machine::TakeOwn(int t, const Place& place) {
  std::vector<int>& owners = owners_[Storage(place.buffer)];
  if (owners.empty()) return;
  int& owner = owners[place.element];
  if (owner < 0) owner = t;
  if (owner == t) return;
  foreign_.insert(absl::StrCat("elements of %",
                               kernel_.buffers[place.buffer].name,
                               ", which threads own, are several threads'"));
}

bool Machine::Written(int t, const Place& place) const {
  const kir::BufferId b = place.buffer;
  if (PerThread(b)) return threads_[t].local_written[Storage(b)][place.element];
  if (kernel_.buffers[b].memory == kir::Memory::kGlobal || shadow_ == nullptr) {
    return true;
  }
  return shadow_->Written(
      address_[b] + place.element * kir::ElementBytes(kernel_.buffers[b].type));
}

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
      if (PerThread(b) && Storage(b) == b) {
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

// Loops over threads or blocks take one trip, at the thread's own index. A
// thread beyond the end of such a loop normally skips it, but if the body
// contains barriers it runs along without effect (`outside_until`), since the
// generated code makes all threads meet at barriers.
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

}  // namespace xla::gpu::kernel_machine
