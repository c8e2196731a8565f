#include "xla/hlo/transforms/indexing/gather_scatter_utils.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

HloInstruction* Add(HloInstruction* neighbor,
                    std::unique_ptr<HloInstruction> instruction) {
  return neighbor->parent()->AddInstruction(std::move(instruction));
}

HloInstruction* InRowMajorLayout(HloInstruction* operand) {
  const Shape& shape = operand->shape();
  if (!shape.has_layout() ||
      LayoutUtil::IsMonotonicWithDim0Major(shape.layout())) {
    return operand;
  }
  Shape row_major = shape;
  *row_major.mutable_layout() = LayoutUtil::GetDefaultLayoutForShape(shape);
  return Add(operand,
             HloInstruction::CreateUnary(row_major, HloOpcode::kCopy, operand));
}

// The largest number of an integer type, at most that of s64.
int64_t LargestNumber(PrimitiveType type) {
  const int bits = primitive_util::BitWidth(type) -
                   (primitive_util::IsSignedIntegralType(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max()
                    : (int64_t{1} << bits) - 1;
}

}  // namespace

HloInstruction* MaybeTranspose(HloInstruction* operand,
                               absl::Span<const int64_t> permutation) {
  if (IsIdentityPermutation(permutation)) return operand;
  const Shape& shape = operand->shape();
  std::vector<int64_t> sizes;
  for (int64_t dim : permutation) sizes.push_back(shape.dimensions(dim));
  return Add(operand, HloInstruction::CreateTranspose(
                          ShapeUtil::MakeShape(shape.element_type(), sizes),
                          operand, permutation));
}

HloInstruction* MaybeReshape(HloInstruction* operand,
                             absl::Span<const int64_t> sizes) {
  if (absl::c_equal(operand->shape().dimensions(), sizes)) return operand;
  operand = InRowMajorLayout(operand);
  return Add(operand,
             HloInstruction::CreateReshape(
                 ShapeUtil::MakeShape(operand->shape().element_type(), sizes),
                 operand));
}

HloInstruction* TransformStartIndices(HloInstruction* indices,
                                      int64_t index_vector_dim) {
  const int64_t rank = indices->shape().dimensions_size();
  int64_t size = 1;
  if (index_vector_dim < rank) {
    size = indices->shape().dimensions(index_vector_dim);
    std::vector<int64_t> permutation;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != index_vector_dim) permutation.push_back(d);
    }
    permutation.push_back(index_vector_dim);
    indices = MaybeTranspose(indices, permutation);
  }
  int64_t rows = 1;
  for (int64_t d = 0; d < rank - (index_vector_dim < rank ? 1 : 0); ++d) {
    rows *= indices->shape().dimensions(d);
  }
  return MaybeReshape(indices, {rows, size});
}

// A batching dimension says that an index vector reads at its own batch number;
// here that number becomes a component of the vector, an iota along the batch,
// so that no batching dimensions are left. The type is widened if it cannot
// hold the largest batch number: s8 indices of 200 batches would wrap around.
HloInstruction* PrependBatchIndices(HloInstruction* indices,
                                    absl::Span<const int64_t> batching_dims,
                                    int64_t index_vector_dim) {
  if (batching_dims.empty()) return indices;
  std::vector<int64_t> sizes(indices->shape().dimensions().begin(),
                             indices->shape().dimensions().end());
  if (index_vector_dim == static_cast<int64_t>(sizes.size())) {
    sizes.push_back(1);
    indices = MaybeReshape(indices, sizes);
  }
  int64_t largest = 0;
  for (int64_t dim : batching_dims) largest = std::max(largest, sizes[dim] - 1);
  PrimitiveType type = indices->shape().element_type();
  if (LargestNumber(type) < largest) {
    type = primitive_util::BitWidth(type) < 32 && largest <= LargestNumber(S32)
               ? S32
               : S64;
    indices = Add(indices, HloInstruction::CreateConvert(
                               ShapeUtil::MakeShape(type, sizes), indices));
  }
  std::vector<int64_t> one = sizes;
  one[index_vector_dim] = 1;
  std::vector<HloInstruction*> parts;
  for (int64_t dim : batching_dims) {
    parts.push_back(Add(indices, HloInstruction::CreateIota(
                                     ShapeUtil::MakeShape(type, one), dim)));
  }
  parts.push_back(indices);
  sizes[index_vector_dim] += batching_dims.size();
  return Add(indices,
             HloInstruction::CreateConcatenate(
                 ShapeUtil::MakeShape(type, sizes), parts, index_vector_dim));
}

std::pair<std::vector<int64_t>, std::vector<int64_t>>
MakeOperandStartIndexPermutations(absl::Span<const int64_t> dim_map,
                                  int64_t rank) {
  std::vector<int64_t> permutation(dim_map.begin(), dim_map.end());
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(dim_map, d)) permutation.push_back(d);
  }
  return {permutation, InversePermutation(permutation)};
}

}  // namespace xla
