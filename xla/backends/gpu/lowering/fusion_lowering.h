#ifndef XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_instruction.h"

// A fusion, or an instruction that becomes a kernel, as kernel IR, by the kind
// that its results ask for.
//
//   kind              when                                          parts
//   dot               results are made of matrix products, element  one for
//                     by element: tiles in shared memory            one shape
//   transpose         neighbors are read that are not neighbors     one for
//                     where they are written                        one shape
//   sort              rows are sorted that fit into shared memory   one for
//                                                                   one sort
//   row-reduction     rows lie along memory, min_reduced elements   one for
//                     or more: softmax, layer norm, sums            all rows of
//   column-reduction  the same across memory                        one shape
//   loop              everything else                               one a
//   result
//
// Parts follow one another in one kernel, so that each finds the shared memory
// of the one before free.
//
// A result that is a dynamic-update-slice of an operand, and has to lie where
// that lies (AliasInfo), is written in place: the update alone
// (LoweredKernel::in_place), unless the kernel would overwrite what it has
// still to read. So the kernel is the same whoever asks, before and after
// memory is planned.

namespace xla::gpu {

struct FusionLoweringOptions {
  // Threads per block of kernels that are loops, and of all other kinds; the
  // latter is a power of two.
  int64_t threads_per_block = 128;
  int64_t threads_of_tiles = 256;
  // Elements of a reduction that threads share: with fewer, one thread has done
  // it before others are heard of.
  int64_t min_reduced = 8;
  // Elements along both dimensions of a transpose that is tiled.
  int64_t min_transposed = 16;
  // Threads that a device has at once. A result of as many elements is computed
  // several neighbors a thread (KernelFrame::EmitLoop), and so are rows of
  // reductions of at least min_vector_columns elements.
  int64_t device_threads = int64_t{1} << 18;
  int64_t min_vector_columns = 1024;
};

struct KernelKind {
  absl::string_view name, when, why;
};
// The kinds above, in the order in which they are tried.
absl::Span<const KernelKind> KernelKinds();

// Where a kind refuses, loops compute the whole kernel, and its part says why.
// Unimplemented as of LowerLoop; InvalidArgument for threads that are no power
// of two.
absl::StatusOr<LoweredKernel> LowerFusion(
    const HloInstruction& hlo, const FusionLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_H_
