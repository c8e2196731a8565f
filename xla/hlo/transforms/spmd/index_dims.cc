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

std::optional<int64_t> IotaDimension(const HloInstruction& indices,
                                     int64_t vector_dim, int64_t component,
                                     int64_t size) {
  const HloInstruction* at = &indices;
  // Which dimension of `at` is dimension d of the indices: only concatenates
  // along the vector and broadcasts are looked through, so one number will do.
  if (at->opcode() == HloOpcode::kConcatenate &&
      at->concatenate_dimension() == vector_dim) {
    for (const HloInstruction* operand : at->operands()) {
      const int64_t length = operand->shape().dimensions(vector_dim);
      if (component < length) {
        if (length != 1) return std::nullopt;
        at = operand;
        break;
      }
      component -= length;
    }
    component = 0;
  } else if (vector_dim < indices.shape().dimensions().size() &&
             indices.shape().dimensions(vector_dim) != 1) {
    return std::nullopt;
  }
  std::vector<int64_t> dims(at->shape().dimensions().size());
  for (int64_t d = 0; d < dims.size(); ++d) dims[d] = d;
  while (true) {
    if (at->opcode() == HloOpcode::kIota) {
      const int64_t along =
          dims[Cast<HloIotaInstruction>(at)->iota_dimension()];
      if (along == vector_dim ||
          at->shape().dimensions(
              Cast<HloIotaInstruction>(at)->iota_dimension()) != size) {
        return std::nullopt;
      }
      return along;
    }
    if (at->opcode() == HloOpcode::kBroadcast) {
      std::vector<int64_t> inner;
      for (int64_t d : at->dimensions()) inner.push_back(dims[d]);
      dims = inner;
    } else if (at->opcode() == HloOpcode::kReshape) {
      // Dimensions of size 1 come and go.
      std::vector<int64_t> inner;
      const auto outer_sizes = at->shape().dimensions();
      int64_t next = 0;
      for (int64_t n : at->operand(0)->shape().dimensions()) {
        if (n == 1) {
          inner.push_back(vector_dim);
          continue;
        }
        while (next < outer_sizes.size() && outer_sizes[next] == 1) ++next;
        if (next == outer_sizes.size() || outer_sizes[next] != n) {
          return std::nullopt;
        }
        inner.push_back(dims[next++]);
      }
      dims = inner;
    } else if (at->opcode() != HloOpcode::kCopy) {
      return std::nullopt;
    }
    at = at->operand(0);
  }
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
