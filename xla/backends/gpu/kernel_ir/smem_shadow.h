#ifndef XLA_BACKENDS_GPU_KERNEL_IR_SMEM_SHADOW_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_SMEM_SHADOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// The state of every byte of shared memory while a kernel runs: which thread
// wrote it last, for which buffer, and which threads have read it since. An
// access that is not ordered after those it conflicts with is a race, whatever
// order the threads happened to run in. Ordered means: by the same thread; or
// separated by a barrier of the block, or of their warp; or by an arrive before
// and a wait after; for a transfer, after its completion; and with a proxy
// fence between an ordinary access and a later one by the async proxy.
//
// Threads that run one statement and write the same value to the same byte of
// one buffer do not race, and each reads back what it wrote.

namespace xla::gpu {

struct ShadowAccess {
  int thread = 0;
  bool write = false;
  kir::BufferId buffer = -1;
  int64_t address = 0;  // bytes
  int bytes = 0;
  int instruction = 0;
  uint64_t instance = 0;  // of the statement: equal in threads that run it once
  double value = 0;       // written
  int transfer = -1;      // that makes the access
  bool async_proxy = false;
};

class SmemShadow {
 public:
  // Words of `unit` bytes; all addresses and sizes are multiples of it.
  SmemShadow(const kir::Kernel& kernel, int num_threads, int64_t bytes,
             int64_t unit, bool has_async_proxy);

  void Check(const ShadowAccess& access);

  // ---- What orders ----------------------------------------------------------
  void BlockBarrier() { ++block_epoch_; }
  void WarpBarrier(int warp) { ++warp_epoch_[warp]; }
  void ProxyFence(int thread) { fence_[thread] = ++clock_[thread]; }
  // The thread's current time, for a later Acquire() by another thread.
  int Release(int thread) { return ++clock_[thread]; }
  void Acquire(int thread, int from, int clock);
  // Starts a transfer of `thread`. `joined`: it orders every thread that waits
  // for it, not only the one that started it.
  int StartTransfer(int thread, bool joined);
  void CompleteTransfer(int transfer, int thread);

  // Distinct races, as text.
  const absl::btree_set<std::string>& races() const { return races_; }
  // Whether the word at `address` was written for `buffer`.
  bool Written(int64_t address) const;

 private:
  struct Record {
    int thread, block_epoch, warp_epoch, clock, transfer, instruction;
    bool async_proxy;
  };
  struct Word {
    kir::BufferId buffer = -1;  // -1: never written
    uint64_t instance = 0;
    double value = 0;
    std::vector<Record> writes;  // of one instance and value
    std::vector<Record> reads;   // since
  };
  struct Transfer {
    int thread = 0;
    bool joined = false;
    bool done = false;
    int block_epoch = 0, warp_epoch = 0, clock = 0;  // of the completion
    std::vector<bool> waiters;
  };

  Record Now(const ShadowAccess& access);
  // Why `earlier` is not ordered before an access of `thread`; null if it is.
  const char* Unordered(const Record& earlier, const ShadowAccess& now) const;
  void Report(const char* what, const char* why, const ShadowAccess& now,
              kir::BufferId other);
  void Read(Word& word, const ShadowAccess& access);
  void Write(Word& word, const ShadowAccess& access);

  const kir::Kernel& kernel_;
  const int64_t unit_;
  const bool keep_reads_;
  std::vector<Word> words_;
  int block_epoch_ = 0;
  std::vector<int> warp_epoch_, clock_, fence_;
  std::vector<std::vector<int>> acquired_;  // [thread][from]; empty: nothing
  std::vector<Transfer> transfers_;
  absl::btree_set<std::string> races_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_SMEM_SHADOW_H_
