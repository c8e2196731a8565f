#ifndef XLA_HLO_TRANSFORMS_SPMD_INDEX_DIMS_H_
#define XLA_HLO_TRANSFORMS_SPMD_INDEX_DIMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"
#include "xla/shape.h"

// Index vectors of gathers and scatters, along `vector_dim` of the indices; a
// vector_dim equal to the rank means scalars.

namespace xla::spmd {

// The factors of a loop nest that each method cuts.
using MethodFactors =
    std::map<GatherScatterPartitioningMethod, std::vector<int64_t>>;
std::vector<int64_t> FactorsOfMethods(
    const MethodFactors& factors,
    absl::Span<const GatherScatterPartitioningMethod> methods);

// One component of all vectors, without vector_dim.
HloInstruction* IndexComponent(HloInstruction* indices, int64_t vector_dim,
                               int64_t component, SpmdBuilder* b);

// The inverse: indices of the dimensions of `shape`, in the type of the
// components.
HloInstruction* StackIndexComponents(
    absl::Span<HloInstruction* const> components, const Shape& shape,
    int64_t vector_dim, SpmdBuilder* b);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_INDEX_DIMS_H_
