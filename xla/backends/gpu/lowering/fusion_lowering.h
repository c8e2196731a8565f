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
// that its results call for.
//
//   kind              when                                          parts
//   dot               results are computed elementwise from matrix  one per
//                     products: tiles in shared memory              shape
//   transpose         neighbors are read that are not neighbors     one per
//                     where they are written                        shape
//   sort              rows are sorted: those that fit into shared   one per
//                     memory there, others by ranks                 sort
//   row-reduction     rows lie along memory, min_reduced elements   one per
//                     or more: softmax, layer norm, sums            shape of
//   column-reduction  the same across memory                        the rows
//   loop              everything else                               one per
//                                                                   result
//
// Parts follow one another in one kernel, so that each reuses the shared memory
// of the one before.
//
// A result that is a dynamic-update-slice of an operand and must share its
// memory (AliasInfo) is written in place: only the update is written
// (LoweredKernel::in_place), unless that would overwrite what the kernel has
// still to read. The kernel is therefore the same before and after memory is
// planned.

namespace xla::gpu {

struct FusionLoweringOptions {
  // Threads per block of loop kernels, and of all other kinds; the latter is a
  // power of two.
  int64_t threads_per_block = 128;
  int64_t threads_of_tiles = 256;
  // Least length of a reduction that threads share; a shorter one is faster in
  // a single thread.
  int64_t min_reduced = 8;
  // Least extent of both dimensions of a transpose that is tiled.
  int64_t min_transposed = 16;
  // Threads that a device runs at once. In a result of at least as many
  // elements, a thread computes several neighbors (KernelFrame::EmitLoop), and
  // so it does in reductions whose rows have at least min_vector_columns
  // elements.
  int64_t device_threads = int64_t{1} << 18;
  int64_t min_vector_columns = 32;
  // Shared memory that a block may ask for, for the rows that it sorts and for
  // the steps of products: that of an H100.
  int64_t shared_bytes = 227 * 1024;
};

struct KernelKind {
  absl::string_view name, when, why;
};
// The kinds above, in the order in which they are tried.
absl::Span<const KernelKind> KernelKinds();

// Where a kind refuses, loops compute the whole kernel, and its part says why.
// Unimplemented as in LowerLoop; InvalidArgument if the number of threads is
// not a power of two.
absl::StatusOr<LoweredKernel> LowerFusion(
    const HloInstruction& hlo, const FusionLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_H_
