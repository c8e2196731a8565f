#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_

#include <cstdint>

#include "xla/backends/gpu/transforms/mof/mof_kernels.h"

namespace xla::gpu {

// Most candidates that are refused for one kernel, one after another, before
// the rest of them is left alone.
inline constexpr int kMaxRefusals = 128;

// Fuses in OpenXLA's order: from the last value to the first, the readers of a
// value pairwise, then the value into one of its readers. Returns the number of
// fusions.
//
// Readers: fusions with several outputs first, then fusions, then others; the
// first of a pair must be a fusion. A producer goes to the first reader of the
// best kind for which it may.
//
// Readers are compared within classes of equal element counts, so that the work
// is near linear: O(readers * kMaxRefusals) at worst.
int64_t FuseFirstCome(MofKernels* kernels);

// Fuses the pair first that saves the most bytes: readers of common values, and
// producers with readers, in one queue. A byte that stays live longer costs
// `memory_weight` bytes. Siblings that are both plain instructions may become a
// fusion. Returns the number of fusions.
//
// A kernel that has several outputs already still goes into what reads one of
// them (MofKernels::CanFuseOutputs). Otherwise the order would decide what can
// be fused at all: of a -> b -> c, with other readers of a and b, the pair a, b
// would keep c out; and a sibling would keep a kernel from all that reads it.
//
// A pair that is in the queue has an upper bound as its price: the sum of what
// both kernels saved with the third one before they became one. It is priced
// when its turn comes, and waits again if another one is better now.
//
// A reader of a value is paired with at most kMaxPartners others of its class.
// O(n * kMaxPartners * log n) in readers n.
int64_t FuseBySavings(MofKernels* kernels, double memory_weight);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_ORDER_H_
