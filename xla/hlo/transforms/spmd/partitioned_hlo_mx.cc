#include "xla/hlo/transforms/spmd/partitioned_hlo_mx.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal_util.h"
#include "xla/util.h"

namespace xla::spmd {

bool CutsBetweenBlocks(int64_t size, int64_t blocks, int64_t tiles) {
  if (tiles == 1 || blocks == size || blocks == 1) return true;
  if (blocks == 0 || size % blocks != 0) return false;
  return CeilOfRatio(size, tiles) == size / blocks * CeilOfRatio(blocks, tiles);
}

HloSharding ScaleSharding(const HloSharding& sharding, const Shape& operand,
                          const Shape& scale) {
  if (!sharding.IsTiledLeaf()) return sharding;
  if (scale.dimensions().empty()) return HloSharding::Replicate();
  std::vector<int64_t> whole;
  for (int64_t d = 0; d < scale.dimensions().size(); ++d) {
    const int64_t size = operand.dimensions(d);
    const int64_t blocks = scale.dimensions(d);
    if ((blocks == 1 && size != 1) ||
        !CutsBetweenBlocks(size, blocks, ShardCountAtDim(sharding, d))) {
      whole.push_back(d);
    }
  }
  return whole.empty() ? sharding : ReplicatedOnDims(sharding, whole);
}

void PartitionedHloMX::set_sharding(const HloSharding& sharding) {
  operand_.set_sharding(sharding);
  scale_.set_sharding(
      ScaleSharding(sharding, operand_.base_shape(), scale_.base_shape()));
}

PartitionedHloMX PartitionedHloMX::Replicate() const {
  return PartitionedHloMX(operand_.Replicate(), scale_.Replicate());
}

PartitionedHloMX PartitionedHloMX::Reshard(const HloSharding& target) const {
  return PartitionedHloMX(
      operand_.Reshard(target),
      scale_.Reshard(
          ScaleSharding(target, operand_.base_shape(), scale_.base_shape())));
}

PartitionedHloMX PartitionedHloMX::PadWithZero(
    absl::Span<const int64_t> left_padded_dims,
    absl::Span<const int64_t> skipped_dims) const {
  const PartitionedHlo values =
      operand_.PadWithZero(left_padded_dims, skipped_dims);
  if (EvenlyPartitions(scale_.base_shape(), scale_.sharding())) {
    return PartitionedHloMX(values, scale_);
  }
  HloInstruction* one = CreateScalar(
      LiteralUtil::One(scale_.base_shape().element_type()), scale_.state().b);
  return PartitionedHloMX(
      values, scale_.PadWithValue(one, left_padded_dims, skipped_dims));
}

PartitionedHloMX PartitionedHloMX::PadWithZeroOnSpecifiedDims(
    absl::Span<const int64_t> dims,
    absl::Span<const int64_t> left_padded_dims) const {
  std::vector<int64_t> skipped;
  for (int64_t d = 0; d < operand_.num_dimensions(); ++d) {
    if (!absl::c_linear_search(dims, d)) skipped.push_back(d);
  }
  return PadWithZero(left_padded_dims, skipped);
}

}  // namespace xla::spmd
