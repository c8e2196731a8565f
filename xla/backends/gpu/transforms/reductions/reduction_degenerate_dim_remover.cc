#include "xla/backends/gpu/transforms/reductions/reduction_degenerate_dim_remover.h"

#include <cstdint>
#include <vector>

#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla::gpu {

absl::StatusOr<bool> ReductionDegenerateDimRemover::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return RewriteReductions(
      module, execution_threads, [](const HloInstruction& reduce) {
        const Shape& shape = reduce.operand(0)->shape();
        DimensionGroups groups;
        bool reduces = false;
        for (int64_t dim : PhysicalOrder(reduce)) {
          if (shape.dimensions(dim) == 1) continue;
          reduces |= IsReduced(reduce, dim);
          groups.push_back({dim});
        }
        if (!reduces || groups.size() == shape.dimensions().size()) {
          groups.clear();
        }
        return groups;
      });
}

}  // namespace xla::gpu
