#include "xla/hlo/transforms/spmd/index_dims.h"

#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {

std::vector<int64_t> FactorsOfMethods(
    const MethodFactors& factors,
    absl::Span<const GatherScatterPartitioningMethod> methods) {
  std::vector<int64_t> result;
  for (GatherScatterPartitioningMethod method : methods) {
    auto it = factors.find(method);
    if (it == factors.end()) continue;
    result.insert(result.end(), it->second.begin(), it->second.end());
  }
  return result;
}

HloInstruction* IndexComponent(HloInstruction* indices, int64_t vector_dim,
                               int64_t component, SpmdBuilder* b) {
  const auto dims = indices->shape().dimensions();
  if (vector_dim == dims.size()) return indices;
  std::vector<int64_t> starts(dims.size(), 0), strides(dims.size(), 1);
  std::vector<int64_t> limits(dims.begin(), dims.end());
  starts[vector_dim] = component;
  limits[vector_dim] = component + 1;
  std::vector<int64_t> sizes(dims.begin(), dims.end());
  sizes[vector_dim] = 1;
  HloInstruction* row = indices;
  if (dims[vector_dim] != 1) {
    row = b->AddInstruction(HloInstruction::CreateSlice(
        ShapeUtil::MakeShape(indices->shape().element_type(), sizes), indices,
        starts, limits, strides));
  }
  sizes.erase(sizes.begin() + vector_dim);
  return AddReshape(row, sizes, b);
}

HloInstruction* StackIndexComponents(
    absl::Span<HloInstruction* const> components, const Shape& shape,
    int64_t vector_dim, SpmdBuilder* b) {
  if (vector_dim == shape.dimensions().size()) return components[0];
  std::vector<int64_t> sizes(shape.dimensions().begin(),
                             shape.dimensions().end());
  sizes[vector_dim] = 1;
  std::vector<HloInstruction*> rows;
  for (HloInstruction* component : components) {
    rows.push_back(AddReshape(component, sizes, b));
  }
  if (rows.size() == 1) return rows[0];
  return b->AddInstruction(HloInstruction::CreateConcatenate(
      ShapeUtil::ChangeElementType(shape, rows[0]->shape().element_type()),
      rows, vector_dim));
}

}  // namespace xla::spmd
