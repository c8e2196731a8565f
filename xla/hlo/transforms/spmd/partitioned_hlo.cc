#include "xla/hlo/transforms/spmd/partitioned_hlo.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

// True where the element's index along `dim` of the whole is within it.
HloInstruction* ValidMask(const PartitionedHlo& value, int64_t dim,
                          bool left_padded) {
  SpmdBuilder* b = value.state().b;
  const Shape index_shape =
      ShapeUtil::MakeShape(S32, value.hlo()->shape().dimensions());
  HloInstruction* iota =
      b->AddInstruction(HloInstruction::CreateIota(index_shape, dim));
  HloInstruction* offset =
      MakePartitionOffsets(value.base_shape(), value.sharding(),
                           value.state().partition_id, b, {dim})[dim];
  HloInstruction* index = b->AddInstruction(HloInstruction::CreateBinary(
      index_shape, HloOpcode::kAdd, iota,
      CreateBroadcast(offset, index_shape.dimensions(), b)));
  const int64_t size = value.base_shape().dimensions(dim);
  const int64_t padded =
      GetPaddedShapeForUnevenPartitioning(value.base_shape(), value.sharding())
          .dimensions(dim);
  HloInstruction* bound =
      CreateBroadcast(CreateR0(left_padded ? padded - size : size, S32, b),
                      index_shape.dimensions(), b);
  return b->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, index_shape.dimensions()), index, bound,
      left_padded ? ComparisonDirection::kGe : ComparisonDirection::kLt));
}

// A sum of addends of all devices, the factor behind those of the dimensions.
HloSharding AddendsOnAll(const HloSharding& target) {
  std::vector<int64_t> tiles(target.TiledDataRank() + 1, 1);
  tiles.back() = target.num_devices();
  return HloSharding::IotaTile(tiles);
}

FactorTensor AsResult(const Shape& shape, const HloSharding& sharding) {
  FactorTensor result = {shape, sharding,
                         std::vector<int64_t>(shape.dimensions().size())};
  std::iota(result.factors.begin(), result.factors.end(), 0);
  result.is_result = true;
  return result;
}

}  // namespace

PartitionedHlo::PartitionedHlo(HloInstruction* hlo, Shape base_shape,
                               PartitioningState state)
    : hlo_(hlo), base_shape_(std::move(base_shape)), state_(std::move(state)) {
  CHECK(hlo->has_sharding()) << hlo->ToString();
  if (hlo->shape().IsTuple() && !hlo->sharding().IsTuple()) {
    hlo->set_sharding(hlo->sharding().NormalizeTupleSharding(hlo->shape()));
  }
}

PartitionedHlo PartitionedHlo::CloneWithNewHlo(HloInstruction* hlo) const {
  if (!hlo->has_sharding()) hlo->set_sharding(sharding());
  return PartitionedHlo(hlo, base_shape_, state_);
}

void PartitionedHlo::AddReshardCache(const HloSharding& sharding,
                                     const PartitionedHlo& phlo) {
  state_.reshard_cache->per_hlo_cache[hlo_].reshard_cache.insert_or_assign(
      sharding, phlo);
}

PartitionedHlo PartitionedHlo::PadWithValue(
    HloInstruction* pad_value, absl::Span<const int64_t> left_padded_dims,
    absl::Span<const int64_t> skipped_dims) const {
  HloInstruction* padded =
      PadWithValueHlo(pad_value, left_padded_dims, skipped_dims);
  if (padded == hlo_) return *this;
  padded->set_sharding(sharding());
  return PartitionedHlo(padded, base_shape_, state_);
}

// If the tiles do not divide a dimension, the last shards contain elements
// beyond its end. Their contents are arbitrary and must not reach a reduction:
// this selects the pad value there, by comparing global indices (iota plus the
// offset of the shard) with the size.
HloInstruction* PartitionedHlo::PadWithValueHlo(
    HloInstruction* pad_value, absl::Span<const int64_t> left_padded_dims,
    absl::Span<const int64_t> skipped_dims) const {
  if (!hlo_->shape().IsArray() || !sharding().IsTiledLeaf()) return hlo_;
  SpmdBuilder* b = state_.b;
  const auto dims = hlo_->shape().dimensions();
  HloInstruction* mask = nullptr;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (absl::c_linear_search(skipped_dims, d) ||
        base_shape_.dimensions(d) % ShardCountAtDim(sharding(), d) == 0) {
      continue;
    }
    HloInstruction* valid =
        ValidMask(*this, d, absl::c_linear_search(left_padded_dims, d));
    mask = mask == nullptr ? valid
                           : b->AddInstruction(HloInstruction::CreateBinary(
                                 mask->shape(), HloOpcode::kAnd, mask, valid));
  }
  if (mask == nullptr) return hlo_;
  return b->AddInstruction(
      HloInstruction::CreateTernary(hlo_->shape(), HloOpcode::kSelect, mask,
                                    hlo_, CreateBroadcast(pad_value, dims, b)));
}

PartitionedHlo PartitionedHlo::PadWithZero(
    absl::Span<const int64_t> left_padded_dims,
    absl::Span<const int64_t> skipped_dims) const {
  if (!hlo_->shape().IsArray() || EvenlyPartitions(base_shape_, sharding())) {
    return *this;
  }
  HloInstruction* zero =
      CreateScalar(LiteralUtil::Zero(hlo_->shape().element_type()), state_.b);
  return PadWithValue(zero, left_padded_dims, skipped_dims);
}

PartitionedHlo PartitionedHlo::PadWithZeroOnSpecifiedDims(
    absl::Span<const int64_t> dims,
    absl::Span<const int64_t> left_padded_dims) const {
  std::vector<int64_t> skipped;
  for (int64_t d = 0; d < num_dimensions(); ++d) {
    if (!absl::c_linear_search(dims, d)) skipped.push_back(d);
  }
  return PadWithZero(left_padded_dims, skipped);
}

PartitionedHlo PartitionedHlo::Replicate() const {
  if (sharding().IsTuple()) {
    return Reshard(
        HloSharding::SingleTuple(base_shape_, HloSharding::Replicate()));
  }
  if (sharding().IsTiledLeaf()) return Reshard(ReplicatedOnAllDims(sharding()));
  if (sharding().IsManualLeaf()) return *this;
  return Reshard(HloSharding::Replicate());
}

HloInstruction* PartitionedHlo::ReplicatePartial(
    absl::Span<const int64_t> dims) const {
  return Reshard(ReplicatedOnDims(sharding(), dims)).hlo();
}

bool PartitionedHlo::IsScattered(const HloSharding& target) const {
  return target.IsTiledLeaf() && !target.IsManualSubgroup() &&
         !UnreducedDim(target).has_value() &&
         EvenlyPartitions(base_shape_, target) &&
         state_.collective_ops_creator.create_reduce_scatter != nullptr &&
         ScatterSum(AddendsOnAll(target), AsResult(base_shape_, target),
                    {static_cast<int64_t>(base_shape_.dimensions().size())})
             .has_value();
}

// As an all-reduce: one device contributes its value, all others contribute
// zeros. Where even tiles are wanted, a reduce-scatter is half of that, and to
// gather them later the other half. Floats are summed as integers of the same
// width, which preserves every bit pattern; of complex numbers, zeros are -0.
PartitionedHlo PartitionedHlo::Spread(const HloSharding& target) const {
  SpmdBuilder* b = state_.b;
  const int64_t device = sharding().GetUniqueDevice();
  HloInstruction* value = hlo_;
  const PrimitiveType type = hlo_->shape().element_type();
  const PrimitiveType bits = IntegerOfBits(type);
  const bool as_bits = bits != PRIMITIVE_TYPE_INVALID && bits != type;
  const auto dims = hlo_->shape().dimensions();
  if (as_bits) {
    value = b->AddInstruction(HloInstruction::CreateBitcastConvert(
        ShapeUtil::MakeShape(bits, dims), value));
  }
  HloInstruction* id = CreateR0(device, U32, b);
  HloInstruction* is_source = b->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), state_.partition_id, id,
      ComparisonDirection::kEq));
  HloInstruction* masked = b->AddInstruction(HloInstruction::CreateTernary(
      value->shape(), HloOpcode::kSelect, CreateBroadcast(is_source, dims, b),
      value, NothingToAdd(value->shape(), b)));
  HloComputation* add =
      MakeBinaryAdd(value->shape().element_type(), state_.module);
  const auto& creator = state_.collective_ops_creator;
  const ShardedSum sum =
      IsScattered(target)
          ? SumAddends(masked, AddendsOnAll(target),
                       AsResult(value->shape(), target),
                       {static_cast<int64_t>(base_shape_.dimensions().size())},
                       state_, add)
          : ShardedSum{
                creator.create_all_reduce(b, masked, add,
                                          CollectiveDeviceList(), NewChannel()),
                HloSharding::Replicate()};
  HloInstruction* spread = sum.sum;
  if (as_bits) {
    spread = b->AddInstruction(HloInstruction::CreateBitcastConvert(
        ShapeUtil::ChangeElementType(spread->shape(), type), spread));
  }
  spread->set_sharding(sum.sharding);
  return PartitionedHlo(spread, base_shape_, state_);
}

}  // namespace xla::spmd
