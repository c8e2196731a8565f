#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FOOTPRINT_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FOOTPRINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"

// Which thread touches which byte of shared memory.
//
//   %X[tid.x + 128*i], 128 threads, i in [0, 4)   element e: thread e % 128
//   %Y[4*tid.x + i]                               element e: thread e / 4
//   %A[i], i in [0, H)                            every element: all threads
//
// Accesses whose indices are numbers once threads and loops are known are
// enumerated (at most kMaxPoints points each); any other access may be by any
// thread at any element. This decides whether two accesses need a barrier of
// the block, one of the warp, or none at all since each thread touches only its
// own bytes, in program order.

namespace xla::gpu {

// How far apart the threads are that touch common bytes.
enum class ThreadConflict {
  kApart,       // no common byte at all
  kSameThread,  // each meets only its own
  kWarp,
  kBlock,
};

// A loop held at one value of its index.
using FixedLoops = std::vector<std::pair<int, int64_t>>;  // (node, value)

class SmemFootprints {
 public:
  static constexpr int64_t kMaxPoints = int64_t{1} << 18;

  // `flow` must outlive this.
  explicit SmemFootprints(const SmemFlow& flow);

  // Per element of the buffer: the thread (and its warp) that touches it;
  // kNobody if none does, kSeveral if several do.
  static constexpr int16_t kNobody = -1, kSeveral = -2;
  struct Owners {
    bool known = false;  // otherwise kSeveral everywhere, and some elements may
                         // be untouched
    std::vector<int16_t> thread, warp;
    int64_t first = 0, last = -1;  // elements touched lie in between
  };

  // Over all values of the loops around.
  const Owners& Of(int access) const { return *owners_[access]; }
  // With some loops held; unknown when the indices cannot be enumerated.
  Owners At(int access, const FixedLoops& fixed) const;

  // The largest distance between threads t != u such that `a` of t and `b` of u
  // touch a common byte, with the buffers at these addresses. Over all
  // iterations of all loops.
  ThreadConflict Between(int a, int64_t address_a, int b,
                         int64_t address_b) const;
  // The same for two accesses of one buffer with loops held.
  ThreadConflict Between(const Owners& a, const Owners& b) const;

  // Whether every element that `read` touches while loop `loop` (node; -1: the
  // kernel) stays in one iteration is written by one of `writes` in that
  // iteration. The writes must run before the read.
  bool Covers(absl::Span<const int> writes, int read, int loop) const;

 private:
  Owners Enumerate(int access, const FixedLoops& fixed) const;
  // The set of elements as text, independent of loop names; empty if it is not
  // known.
  std::string SetKey(int access, int loop) const;
  // Whether each iteration of `loop` runs the access, as far as branches and
  // loops that its indices do not mention are concerned.
  bool SurelyRuns(int access, int loop) const;
  ThreadConflict Limit(ThreadConflict conflict) const;

  const SmemFlow& flow_;
  std::vector<int64_t> bytes_;
  std::vector<std::shared_ptr<const Owners>> owners_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FOOTPRINT_H_
