#include "xla/backends/gpu/kernel_ir/smem_shadow.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace xla::gpu {
namespace {

constexpr size_t kMaxRaces = 32;

}  // namespace

SmemShadow::SmemShadow(const kir::Kernel& kernel, int num_threads,
                       int64_t bytes, int64_t unit, bool has_async_proxy)
    : kernel_(kernel),
      unit_(unit),
      keep_reads_(has_async_proxy),
      words_((bytes + unit - 1) / unit),
      warp_epoch_((num_threads + 31) / 32, 0),
      clock_(num_threads, 0),
      fence_(num_threads, -1),
      acquired_(num_threads) {}

SmemShadow::Record SmemShadow::Now(const ShadowAccess& access) {
  return {
      access.thread,           block_epoch_,    warp_epoch_[access.thread / 32],
      ++clock_[access.thread], access.transfer, access.instruction,
      access.async_proxy};
}

void SmemShadow::Acquire(int thread, int from, int clock) {
  if (acquired_[thread].empty()) {
    acquired_[thread].assign(clock_.size(), -1);
  }
  int& known = acquired_[thread][from];
  known = std::max(known, clock);
}

int SmemShadow::StartTransfer(int thread, bool joined) {
  Transfer transfer;
  transfer.thread = thread;
  transfer.joined = joined;
  transfer.waiters.resize(joined ? clock_.size() : 0);
  transfers_.push_back(std::move(transfer));
  return static_cast<int>(transfers_.size()) - 1;
}

void SmemShadow::CompleteTransfer(int id, int thread) {
  Transfer& transfer = transfers_[id];
  if (transfer.joined) transfer.waiters[thread] = true;
  if (transfer.done) return;
  transfer.done = true;
  transfer.block_epoch = block_epoch_;
  transfer.warp_epoch = warp_epoch_[thread / 32];
  transfer.clock = clock_[thread];
  transfer.thread = thread;
}

// A happens-before test between an earlier access and this one. Accesses are
// ordered if one thread made both, if a barrier of the block or of the common
// warp lies between them (epochs count barriers), or if this thread has
// acquired a release that the earlier thread made after its access (a vector
// clock, kept only for threads that use split barriers). An asynchronous
// transfer counts as an access at the time of its completion. An access through
// the async proxy to what the generic proxy accessed needs a proxy fence as
// well.
//
// Null if they are ordered, or the reason why they are not.
const char* SmemShadow::Unordered(const Record& earlier,
                                  const ShadowAccess& now) const {
  int block = earlier.block_epoch, warp = earlier.warp_epoch;
  int clock = earlier.clock, thread = earlier.thread;
  if (earlier.transfer >= 0) {
    const Transfer& transfer = transfers_[earlier.transfer];
    if (!transfer.done) return "the transfer may still be under way";
    if (transfer.joined && transfer.waiters[now.thread]) return nullptr;
    block = transfer.block_epoch;
    warp = transfer.warp_epoch;
    clock = transfer.clock;
    thread = transfer.thread;
  }
  const bool same_warp = thread / 32 == now.thread / 32;
  const bool ordered = thread == now.thread || block_epoch_ > block ||
                       (same_warp && warp_epoch_[thread / 32] > warp) ||
                       (!acquired_[now.thread].empty() &&
                        acquired_[now.thread][thread] >= clock);
  if (!ordered) return "no barrier between them";
  if (now.async_proxy && !earlier.async_proxy &&
      fence_[earlier.thread] <= earlier.clock) {
    return "no proxy fence between them";
  }
  return nullptr;
}

void SmemShadow::Report(const char* what, const char* why,
                        const ShadowAccess& now, kir::BufferId other) {
  if (races_.size() >= kMaxRaces) return;
  const std::string mine =
      now.buffer < 0 ? "?" : kernel_.buffers[now.buffer].name;
  const std::string theirs = other < 0 ? "?" : kernel_.buffers[other].name;
  races_.insert(
      absl::StrCat(what, " of %", mine, " after %", theirs, ": ", why));
}

// Reads are recorded by thread, for the next write. They are dropped once a
// block barrier separates them from the present, since every later access is
// ordered after them; kernels with async accesses keep them, because of the
// fences.
void SmemShadow::Read(Word& word, const ShadowAccess& access) {
  if (word.buffer < 0) {
    Report("read", "nothing was written there", access, -1);
    return;
  }
  if (word.buffer != access.buffer) {
    Report("read", "the bytes hold the other buffer", access, word.buffer);
    return;
  }
  const char* why = nullptr;
  for (const Record& write : word.writes) {
    why = Unordered(write, access);
    if (why == nullptr) break;
  }
  if (why != nullptr) Report("read", why, access, word.buffer);
  if (!keep_reads_ && !word.reads.empty() &&
      word.reads.back().block_epoch < block_epoch_ &&
      word.reads.back().transfer < 0) {
    word.reads.clear();
  }
  const Record now = Now(access);
  for (Record& read : word.reads) {
    if (read.thread == now.thread && read.transfer == now.transfer &&
        read.async_proxy == now.async_proxy) {
      read = now;
      return;
    }
  }
  word.reads.push_back(now);
}

// Threads that write the same value in one instance of a statement do not race:
// kernels fill buffers that way.
void SmemShadow::Write(Word& word, const ShadowAccess& access) {
  if (word.buffer == access.buffer && word.instance == access.instance &&
      word.value == access.value && access.transfer < 0 &&
      !word.writes.empty() && word.writes[0].transfer < 0) {
    word.writes.push_back(Now(access));
    return;
  }
  for (const Record& write : word.writes) {
    if (const char* why = Unordered(write, access)) {
      Report("write", why, access, word.buffer);
      break;
    }
  }
  for (const Record& read : word.reads) {
    if (const char* why = Unordered(read, access)) {
      Report("write after read", why, access, word.buffer);
      break;
    }
  }
  word.buffer = access.buffer;
  word.instance = access.instance;
  word.value = access.value;
  word.writes = {Now(access)};
  word.reads.clear();
}

void SmemShadow::Check(const ShadowAccess& access) {
  const int64_t first = access.address / unit_;
  const int64_t end = (access.address + access.bytes + unit_ - 1) / unit_;
  if (first < 0 || end > static_cast<int64_t>(words_.size())) {
    Report("access", "out of shared memory", access, access.buffer);
    return;
  }
  for (int64_t w = first; w < end; ++w) {
    access.write ? Write(words_[w], access) : Read(words_[w], access);
  }
}

bool SmemShadow::Written(int64_t address) const {
  const int64_t word = address / unit_;
  return word >= 0 && word < static_cast<int64_t>(words_.size()) &&
         words_[word].buffer >= 0;
}

}  // namespace xla::gpu
