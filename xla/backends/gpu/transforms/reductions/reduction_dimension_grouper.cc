#include "xla/backends/gpu/transforms/reductions/reduction_dimension_grouper.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

absl::StatusOr<bool> ReductionDimensionGrouper::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return RewriteReductions(
      module, execution_threads,
      [&](const HloInstruction& reduce) {
        const std::vector<int64_t> order = PhysicalOrder(reduce);
        DimensionGroups groups;
        if (!absl::c_is_sorted(order)) return groups;
        for (int64_t dim : order) {
          const bool reduced = IsReduced(reduce, dim);
          if (groups.empty() || !(reduced || options_.kept) ||
              IsReduced(reduce, groups.back()[0]) != reduced) {
            groups.emplace_back();
          }
          groups.back().push_back(dim);
        }
        if (groups.size() == order.size()) groups.clear();
        return groups;
      },
      /*any_layout=*/!options_.kept);
}

}  // namespace xla::gpu
