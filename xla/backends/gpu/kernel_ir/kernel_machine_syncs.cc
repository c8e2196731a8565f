#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_machine.h"
#include "xla/status_macros.h"

namespace xla::gpu::kernel_machine {
namespace {

using Op = CodeInstruction::Op;

}  // namespace

// The counting of `cp.async` groups: each commit closes the group of the copies
// that are still open, and a wait with `keep` = n returns once all but the
// latest n groups have arrived. Groups complete in order, so it is enough to
// compare group numbers. Each kind of transfer is counted on its own.
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

// A barrier has one list of arrivals for the phase under way; the arrival that
// completes it closes the phase. Every arrival carries the clock of its thread,
// so that a wait for the phase orders the waiting thread after what each
// arriving thread did before it arrived, and after nothing else. A barrier
// whose init gave no count expects every thread of the block.
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

// A `sync` of warp scope has to be met by every lane that is not done, so one
// lane elsewhere keeps the group waiting. A warp reduction combines the lanes
// that stand at it, since divergent code may reduce over part of a warp;
// warp_mma checks for all 32 lanes itself.
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
    } else if (i.info->op_class == kir::OpClass::kWarpMma) {
      RETURN_IF_ERROR(ReleaseWarpMma(group, i));
    } else {
      ReleaseExpr(group, i);
    }
    released = true;
  }
  return released;
}

// The parity of a `wait_parity` is not simulated: the wait returns once the
// barrier has completed a phase or tracks a transfer, and orders the thread
// after all phases and transfers of the barrier so far. The race check
// therefore trusts that a kernel waits for the right phase.
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
//
// Barriers are released in order of their scope: warps first, then split
// barriers with complete phases, and the barrier of the block only if all
// threads stand at the same one. Anything else is a deadlock on hardware and
// reported as an error.
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
  // A reduction or scan of the block goes through shared memory that no
  // statement mentions, its workspace: each thread writes its own element, all
  // threads read all elements after a barrier, and a second barrier keeps the
  // next owner of these bytes away until they have. The shadow sees the same
  // accesses, so that a plan that puts the workspace over a live buffer is
  // reported as a race.
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

}  // namespace xla::gpu::kernel_machine
