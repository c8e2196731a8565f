#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_

#include <cstdint>

#include "xla/backends/gpu/transforms/mof/mof_kernels.h"

namespace xla::gpu {

// Number of candidates refused for one kernel in a row after which the rest of
// them is skipped.
inline constexpr int kMaxRefusals = 128;

// Fuses in OpenXLA's order: from the last value to the first, the readers of a
// value pairwise, then the value into one of its readers. Returns the number of
// fusions.
//
// Readers: fusions with several outputs first, then fusions, then others; the
// first of a pair must be a fusion. A producer is fused into the first reader
// of the best kind that allows it.
//
// Readers are compared within classes of equal element counts, so that the work
// is near linear: O(readers * kMaxRefusals) at worst.
int64_t FuseFirstCome(MofKernels* kernels);

// Fuses the pair first that saves the most bytes: readers of common values, and
// producers with readers, in one queue. A byte that stays live longer costs
// `memory_weight` bytes. Siblings that are both plain instructions may become a
// fusion. Returns the number of fusions.
//
// A kernel that already has several outputs can still be fused into a reader of
// one of them (MofKernels::CanFuseOutputs). Otherwise the order would decide
// what can be fused at all: in a -> b -> c, with other readers of a and b,
// fusing a and b would exclude c; and a sibling would exclude a kernel from all
// of its readers.
//
// A pair in the queue has an upper bound as its price: the sum of what both
// kernels saved with the third one before they became one. It is priced exactly
// when its turn comes, and goes back to the queue if another pair is better by
// then.
//
// A reader of a value is paired with at most kMaxPartners others of its class.
// O(n * kMaxPartners * log n) in readers n.
int64_t FuseBySavings(MofKernels* kernels, double memory_weight);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_
