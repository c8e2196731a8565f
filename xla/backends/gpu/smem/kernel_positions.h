#ifndef XLA_BACKENDS_GPU_SMEM_KERNEL_POSITIONS_H_
#define XLA_BACKENDS_GPU_SMEM_KERNEL_POSITIONS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Numbers the statements of a kernel, so that live ranges and barriers can be
// expressed as integers.
//
//   kernel @k {            // 0: the kernel
//     alloc %A : …         // 1
//     for %i : serial … {  // 2
//       %A[i] = …          // 3
//     }                    // 4: nothing stands here but the loop's end
//     if uniform (…) {     // 5
//       sync block         // 6
//     }                    //    an if has no number for its end
//   }                      // 7: the kernel's end
//
// Statements are numbered in pre-order. A loop is trivial if no code is
// generated for it, or code that every thread runs once: it has numbers as
// well, but its body counts as if it stood outside of it. O(size of the
// kernel).

namespace xla::gpu {

// Vectorized loops and kinds that never become code (broadcast, stride, mma,
// bulk, group, device, stream); loops of one iteration; thread and block loops
// over the whole extent of the launch. Not: thread loops that stop earlier, and
// unrolled loops, which repeat their body.
bool IsTrivialLoop(const kir::Kernel& kernel, const kir::Loop& loop);

class KernelPositions {
 public:
  struct Entry {
    enum class Kind { kStatement, kLoopEnd, kKernelEnd };
    Kind kind = Kind::kStatement;
    // The statement, or the loop that ends here; null for the kernel.
    const kir::Statement* statement = nullptr;
    // Positions of the loops around, outermost first; for a loop's end without
    // that loop. `parents` holds the ifs as well.
    std::vector<int> loops;
    std::vector<int> parents;
    // Those of them that are not trivial.
    std::vector<int> real_loops;
  };

  // Holds pointers into the kernel, which must outlive this and not change.
  explicit KernelPositions(const kir::Kernel& kernel);

  int PositionOf(const kir::Statement& statement) const;
  // Where the loop at position `loop` ends; the kernel's end for 0.
  int EndOf(int loop) const;
  int kernel_end() const { return static_cast<int>(entries_.size()) - 1; }
  // By position; entries()[0] is the kernel itself.
  const std::vector<Entry>& entries() const { return entries_; }
  const kir::Loop& LoopAt(int position) const;

 private:
  void Number(const kir::Kernel& kernel,
              const std::vector<kir::Statement>& body, Entry& around);

  std::vector<Entry> entries_;
  absl::flat_hash_map<const kir::Statement*, int> position_of_;
  absl::flat_hash_map<int, int> end_of_;
};

// A statement to insert at `anchor`: before the statement there or, if a loop
// or the kernel ends there, as the last of its body.
struct Insertion {
  int anchor = 0;
  kir::Statement statement;
};

// A copy of `kernel` with the statements inserted; those of one anchor in the
// given order. `insertions` are sorted by anchor.
kir::Kernel InsertStatements(const kir::Kernel& kernel,
                             const KernelPositions& positions,
                             absl::Span<const Insertion> insertions);
// The position in the copy of the statement that was at `position`.
int ShiftedPosition(absl::Span<const Insertion> insertions, int position);
// By position in the copy, whose original ends at `end`: the position in the
// original; for insertions, their anchor.
std::vector<int> OriginsOf(absl::Span<const Insertion> insertions, int end);
// The position in the copy of the insertion with this index.
int InsertedPosition(absl::Span<const Insertion> insertions, int index);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_KERNEL_POSITIONS_H_
