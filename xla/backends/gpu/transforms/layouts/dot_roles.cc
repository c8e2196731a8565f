#include "xla/backends/gpu/transforms/layouts/dot_roles.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "xla/layout.h"
#include "xla/util.h"

namespace xla::gpu {

DotRoles RolesOf(const HloInstruction& dot, int64_t operand) {
  const DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const auto& batch = operand == 0 ? numbers.lhs_batch_dimensions()
                                   : numbers.rhs_batch_dimensions();
  const auto& contracting = operand == 0 ? numbers.lhs_contracting_dimensions()
                                         : numbers.rhs_contracting_dimensions();
  const DimensionVector free = GetNonContractingDims(
      dot.operand(operand)->shape().dimensions_size(), contracting, batch);
  return {{batch.begin(), batch.end()},
          {contracting.begin(), contracting.end()},
          {free.begin(), free.end()}};
}

bool HasPlainLayout(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.has_layout() &&
         Layout::Equal().IgnoreMemorySpace()(
             shape.layout(), Layout(shape.layout().minor_to_major()));
}

std::optional<std::vector<int64_t>> OrderOfGroups(
    const Shape& shape, absl::Span<const std::vector<int64_t>> groups) {
  const auto& minor_to_major = shape.layout().minor_to_major();
  std::vector<int64_t> order;
  for (size_t next = 0; next < minor_to_major.size();) {
    const auto group = absl::c_find_if(groups, [&](const auto& dimensions) {
      return !dimensions.empty() && dimensions.back() == minor_to_major[next];
    });
    if (group == groups.end()) return std::nullopt;
    for (auto d = group->rbegin(); d != group->rend(); ++d) {
      if (next == minor_to_major.size() || minor_to_major[next++] != *d) {
        return std::nullopt;
      }
    }
    order.push_back(group - groups.begin());
  }
  return order;
}

}  // namespace xla::gpu
