#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_OPS_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_OPS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The operations of kernel expressions: one row each in kir_ops.def. Reductions
// and scans carry how they combine after a dot: "reduce.add", "scan.max".

namespace xla::gpu::kir {

// Threads of a warp, its lanes.
inline constexpr int kWarpThreads = 32;

enum class OpClass {
  kPointwise,  // one element from one element of each input
  // Load, store, set. With a second argument that is 0, the result is 0, and
  // the first one is not read.
  kCopy,
  kTransposeCopy,  // a copy that permutes dimensions
  kFill,           // constants, iota
  // pad, reshape, slice, …: any re-indexing. A gather reads where its second
  // argument says, and is 0 if the third is false.
  kDifficult,
  kScatter,  // writes where the second argument says, if the third is true
  kBroadcast,
  kExpand,
  kReduce,  // output = combine(output, input)
  // Combines over the lanes of a warp, or over each group of as many neighbors
  // as the second argument says; each lane gets the result.
  kWarpReduce,
  kWelford,  // mean, M2, count
  kScan,     // scan, sort, topk: hold a barrier
  kMma,      // of one element: output += a * b
  kWarpMma,  // of the fragments of a warp (warp_mma.h)
};

// How the values of a reduction or a scan are combined.
enum class Combiner { kNone, kAdd, kMul, kMax, kMin };

struct OpInfo {
  absl::string_view name;  // before the dot
  OpClass op_class;
  int min_arguments;
  int max_arguments;
  int outputs;
  bool combines;  // the name continues with ".add", ".mul", ".max" or ".min"
};

// The row of an operation as written ("reduce.add"); null if there is no such
// operation, or its combiner is missing, unknown or superfluous.
const OpInfo* FindOp(absl::string_view op);
Combiner OpCombiner(absl::string_view op);
// "add"; empty for none.
absl::string_view CombinerOp(Combiner combiner);
// Whether the operation takes the bits of numbers as those of others:
//
//   %x[0] = bits(%a[0])            the number that has the bits of another one
//   %x[0] = bits(%a[0], %b[0])     whose upper and lower 32 bits these are
//   %x[0] = high_bits(%a[0])       the upper 32 bits of 64; the lower ones:
//   %x[0] = low_bits(%a[0])
bool IsOfBits(absl::string_view op);
// The known name nearest to a mistyped one, or nothing.
absl::string_view NearestOp(absl::string_view op);
absl::Span<const OpInfo> AllOps();

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_OPS_H_
