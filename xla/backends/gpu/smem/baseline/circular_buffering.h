#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_CIRCULAR_BUFFERING_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_CIRCULAR_BUFFERING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"

// Splits the loops of circular buffers, so that loads run ahead of their use.
//
//   before: alloc %S : shared f32[64] circ(3, 2)
//           for %k : serial [0, 8) {
//             %S[x] = copy(%in[k, x]) {async=cp}
//             … = f(%S[x])
//           }
//   after:  alloc %S : shared f32[3, 64]
//           for %k : serial [0, 2) stage prologue {
//             %S[k % 3, x] = copy(%in[k, x]) {async=cp}
//             commit cp
//           }
//           wait cp keep=1
//           sync block
//           for %k : serial [0, 8) stage main {
//             if uniform (max(0, 6 - k)) {
//               %S[(k + 2) % 3, x] = copy(%in[k + 2, x]) {async=cp}
//             }
//             commit cp
//             … = f(%S[k % 3, x])
//             wait cp keep=1
//             sync block
//           }
//           wait cp keep=0
//
// A buffer of s stages takes its stage as its first index; loads of iteration
// k + p, the prefetch distance, are issued in iteration k. The barrier that
// ends an iteration makes the next stage visible, and frees the one that the
// next iteration loads into when p = s - 1; for smaller p it comes earlier than
// it must. Copies of the bulk engine have no such waits: their main loop runs
// to the extent less p, an epilogue without loads does the rest, and an array
// of s mbarriers, made before the loop and invalidated after it, tells that a
// stage has arrived.
//
// The source of bulk stores in a main loop is written again s - p iterations
// later: the loop ends with a commit and a wait that keeps s - p - 1 groups.
//
// The loop is the innermost serial one around all writes to the buffer; it
// counts from 0 by 1. Reads after the loop find the stage of its last
// iteration. Loads are the expressions all of whose results are circular
// buffers of the loop. Buffers with a prefetch distance of 0 only get their
// stage index. InvalidArgument, with its place, for other loops, for
// buffers of one loop that disagree, and for loops that commit or wait
// themselves. O(size of the kernel).

namespace xla::gpu {

struct CircularSplit {
  kir::Kernel kernel;
  // Whose loads and reads the split loops order.
  std::vector<kir::BufferId> buffers;
  // By position in `kernel`: the position in the given kernel that the
  // statement or end originates from; 0 for what is new.
  std::vector<int> origins;
};

absl::StatusOr<CircularSplit> SplitCircularLoops(const kir::Kernel& kernel);

// Gives bulk loads without an mbarrier one of their own.
//
//   before: for %i : bulk … {               after: alloc %S_bar : shared u64[1]
//             %S[i] = … {async=bulk_load}          mbarrier.init %S_bar(1)
//           }                                      sync block
//                                                  mbarrier.expect_tx %S_bar(…)
//                                                  for %i : bulk … {
//                                                    … {async=bulk_load mbar=…}
//                                                  }
//                                                mbarrier.wait_parity %S_bar(0)
//                                                mbarrier.inval %S_bar
//                                                sync block
//
// For a circular buffer the allocation, init and inval stand around its loop,
// with one barrier a stage; the one of iteration k is number k % stages.
struct MbarrierResult {
  kir::Kernel kernel;
  std::vector<Insertion> insertions;  // into the given kernel
};
absl::StatusOr<MbarrierResult> AddMbarriers(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_CIRCULAR_BUFFERING_H_
