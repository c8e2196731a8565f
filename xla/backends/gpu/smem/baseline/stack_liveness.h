#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_LIVENESS_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_LIVENESS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"

// Lives of allocations as the stack planner sees them: one interval from the
// first write to the last read, however often loops around repeat it.
//
//   1 alloc %A            %A: inner [3, 6], outer [2, 7]
//   2 for %i {
//   3   %A[i] = …
//   4 }
//   5 for %j {
//   6   … = f(%A[j])
//   7 }
//
// The inner interval holds the statements themselves. The outer one holds the
// outermost non-trivial loops around them that the allocation stands outside
// of: their start for writes, their end for reads.
//
// A buffer that a statement both reads and writes is live at the same position,
// so it never shares with itself. Results of reductions count as read where
// they are written. mbarrier.init counts as a write, mbarrier.inval as a read,
// both at the start of such a loop.

namespace xla::gpu {

// A closed interval of positions. Without a read, `last` is -1 and the interval
// meets no other.
struct LiveInterval {
  int first = -1;
  int last = -1;
  bool Intersects(const LiveInterval& o) const {
    return (first > o.first ? first : o.first) <=
           (last < o.last ? last : o.last);
  }
};

struct AllocLiveness {
  kir::BufferId buffer = -1;
  int position = 0;  // of the alloc
  int depth = 0;     // non-trivial loops around the alloc
  LiveInterval inner;
  LiveInterval outer;
  // A serial loop reads the same elements in every iteration ("serial broadcast
  // resolution"): the inner interval is too short to decide aliasing.
  bool inner_aliasing_disabled = false;
};

class StackLiveness {
 public:
  // Tracks local and shared allocations except those that are aliases already
  // and local ones whose size is not a number (a note says so).
  // InvalidArgument, with its place, for a read before any write.
  static absl::StatusOr<StackLiveness> Compute(
      const kir::Kernel& kernel, const KernelPositions& positions);

  // In order of allocation.
  const std::vector<AllocLiveness>& allocs() const { return allocs_; }
  // Null when the buffer is not tracked.
  const AllocLiveness* Find(kir::BufferId buffer) const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<AllocLiveness> allocs_;
  std::vector<int> index_of_;  // by buffer, -1 when it is not tracked
  std::vector<std::string> notes_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_LIVENESS_H_
