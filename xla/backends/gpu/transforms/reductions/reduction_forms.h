#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_FORMS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_FORMS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// The dimensions of a reduction's operand, grouped into those of its new form,
// which are in this order and in row-major layout. Every old dimension of a
// size other than 1 is in one group; dimensions of a group are adjacent in
// memory, major first, and all reduced or all kept.
using DimensionGroups = std::vector<std::vector<int64_t>>;

// Rewrites reductions outside of fusions into the form that `groups` gives
// (empty: leave it), with bitcasts before and after. Results are made
// row-major, as the passes after these want them, and copied where they lay
// otherwise. With `any_layout`, of which groups merge no kept dimensions, they
// lie as they did and nothing is copied. Returns whether any reduction was
// rewritten.
absl::StatusOr<bool> RewriteReductions(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    absl::FunctionRef<DimensionGroups(const HloInstruction& reduce)> groups,
    bool any_layout = false);

// The dimensions of the first operand from major to minor, as they lie in
// memory.
std::vector<int64_t> PhysicalOrder(const HloInstruction& reduce);

bool IsReduced(const HloInstruction& reduce, int64_t dim);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_FORMS_H_
