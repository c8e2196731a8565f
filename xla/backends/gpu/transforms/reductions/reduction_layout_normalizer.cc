#include "xla/backends/gpu/transforms/reductions/reduction_layout_normalizer.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

absl::StatusOr<bool> ReductionLayoutNormalizer::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return RewriteReductions(
      module, execution_threads,
      [](const HloInstruction& reduce) {
        DimensionGroups groups;
        for (int64_t dim : PhysicalOrder(reduce)) groups.push_back({dim});
        if (absl::c_is_sorted(groups)) groups.clear();
        return groups;
      },
      /*any_layout=*/!options_.row_major);
}

}  // namespace xla::gpu
