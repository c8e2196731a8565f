#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// Where least moves: under the sharding of the result, or under that of an
// operand, after which the result moves instead.
//
//   pred[8] {replicated} compare(f32[8] {devices=[4]<=[4]}, f32[8]
//   {replicated})
//       → compared in shards, and a gather of 8 bytes instead of 32
absl::Status SpmdPartitioningVisitor::HandleElementwise(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  // A copy of a tuple.
  if (!hlo->shape().IsArray()) return HandleOptimizationBarrier(hlo);
  std::vector<std::pair<const HloInstruction*, const HloSharding*>> arrays;
  for (const HloInstruction* operand : hlo->operands()) {
    if (!ShapeUtil::SameDimensions(operand->shape(), hlo->shape())) continue;
    arrays.push_back({operand, &PresentSharding(operand)});
  }
  const HloSharding& wanted = hlo->sharding();
  if (arrays.empty()) return LocalWithSharding(hlo, wanted);
  const HloSharding& first = *arrays[0].second;
  const bool alike = absl::c_all_of(
      arrays, [&](const auto& array) { return *array.second == first; });
  if (alike && first == wanted) return LocalWithSharding(hlo, wanted);
  if (alike && arrays.size() > 1) {
    // One result moves rather than all operands.
    const HloSharding common =
        first.IsSingleDeviceLeaf() || first.IsManualLeaf() ? wanted : first;
    return LocalWithSharding(hlo, common);
  }
  const bool for_one = wanted.IsSingleDeviceLeaf();
  if (!(for_one || IsPriced(wanted)) ||
      !absl::c_all_of(arrays, [](const auto& array) {
        return array.second->IsSingleDeviceLeaf() || IsPriced(*array.second);
      })) {
    return LocalWithSharding(hlo, wanted);
  }
  FactorTensor result = {hlo->shape(), wanted, {}, /*is_result=*/true};
  result.readers = ReadersOf(*hlo, &reads_of_tuples_);
  const auto bytes = [&](const HloSharding& sharding) {
    double sum = BytesToReaders(result, sharding);
    for (const auto& [operand, from] : arrays) {
      if (IsMadeAnywhere(*operand, *from)) continue;
      sum += RouteBytes(operand->shape(), *from, sharding);
    }
    return sum;
  };
  // What becomes whole for one device is computed by all of them.
  const HloSharding made =
      for_one && absl::c_none_of(arrays,
                                 [](const auto& array) {
                                   return array.second->IsSingleDeviceLeaf();
                                 })
          ? HloSharding::Replicate()
          : wanted;
  const HloSharding* best = &made;
  double fewest = bytes(made);
  for (const auto& [operand, sharding] : arrays) {
    if (sharding->IsSingleDeviceLeaf()) continue;
    const double moved = bytes(*sharding);
    // Rather the result than an operand goes to one device.
    if (moved < fewest || (for_one && moved == fewest && IsCut(*sharding))) {
      best = sharding;
      fewest = moved;
    }
  }
  return LocalWithSharding(hlo, HloSharding(*best));
}

// The size of the whole, which no device has to look at.
absl::Status SpmdPartitioningVisitor::HandleGetDimensionSize(
    HloInstruction* hlo) {
  const Shape& shape = hlo->operand(0)->shape();
  if (shape.is_dynamic_dimension(hlo->dimension()) ||
      hlo->sharding().UniqueDevice().has_value()) {
    return DefaultAction(hlo);
  }
  Finish(hlo, CreateR0(shape.dimensions(hlo->dimension()), S32, &b_),
         ReplicatedOnAllDims(hlo->sharding()));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleAddDependency(HloInstruction* hlo) {
  if (hlo->sharding().UniqueDevice().has_value()) return DefaultAction(hlo);
  HloInstruction* value = Operand(hlo, 0, hlo->sharding());
  SetPartitionedHlo(hlo,
                    b_.AddInstruction(hlo->CloneWithNewOperands(
                        value->shape(), {value, ReplicatedOperand(hlo, 1)})));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleElementwiseWithDimsToReplicate(
    HloInstruction* hlo, absl::Span<const int64_t> dims_to_replicate) {
  if (!hlo->sharding().IsTiledLeaf()) return DefaultAction(hlo);
  const HloSharding sharding =
      WithWholeDims(*hlo, hlo->sharding(), dims_to_replicate);
  return IsCut(sharding) ? LocalWithSharding(hlo, sharding)
                         : DefaultAction(hlo);
}

absl::Status SpmdPartitioningVisitor::HandleBitcastConvert(
    HloInstruction* hlo) {
  const int64_t rank = hlo->shape().dimensions().size();
  const int64_t operand_rank = hlo->operand(0)->shape().dimensions().size();
  if (rank == operand_rank) return HandleElementwise(hlo);
  if (!hlo->sharding().IsTiledLeaf()) return DefaultAction(hlo);
  // The wider side has its bytes in a last dimension, which stays whole.
  HloSharding sharding = hlo->sharding();
  std::vector<int64_t> dims;
  if (rank > operand_rank) sharding = ReplicatedOnDims(sharding, {rank - 1});
  for (int64_t d = 0; d < operand_rank; ++d) dims.push_back(d < rank ? d : -1);
  HloInstruction* operand = Operand(hlo, 0, MapShardingDims(sharding, dims));
  return FinishOnShards(hlo, {operand}, sharding);
}

absl::Status SpmdPartitioningVisitor::HandleOptimizationBarrier(
    HloInstruction* hlo) {
  HloInstruction* operand = Operand(hlo, 0, hlo->sharding());
  SetPartitionedHlo(hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
                             operand->shape(), {operand})));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleBroadcast(HloInstruction* hlo) {
  const HloSharding& sharding = hlo->sharding();
  if (!sharding.IsTiledLeaf()) return DefaultAction(hlo);
  HloInstruction* operand =
      Operand(hlo, 0, MapShardingDims(sharding, hlo->dimensions()));
  SetPartitionedHlo(
      hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
               MakePartitionedShape(hlo->shape(), sharding), {operand})));
  return absl::OkStatus();
}

// A constant with one repeated value becomes a smaller broadcast; any other is
// kept whole on each device and sliced.
absl::Status SpmdPartitioningVisitor::HandleConstant(HloInstruction* hlo) {
  const HloSharding& sharding = hlo->sharding();
  if (hlo->shape().IsArray() && sharding.IsTiledLeaf() &&
      !hlo->literal().is_elided() &&
      !ShapeUtil::IsZeroElementArray(hlo->shape()) &&
      hlo->literal().IsAllFirst()) {
    HloInstruction* splat = CreateBroadcast(
        CreateScalar(LiteralUtil::GetFirstScalarLiteral(hlo->literal()), &b_),
        MakePartitionedShape(hlo->shape(), sharding).dimensions(), &b_);
    SetPartitionedHlo(hlo, splat);
    return absl::OkStatus();
  }
  HloInstruction* whole =
      b_.AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), {}));
  // One device as well as all.
  Finish(hlo, whole,
         HloSharding::Single(hlo->shape(), HloSharding::Replicate()));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleIota(HloInstruction* hlo) {
  if (hlo->sharding().IsSingleDeviceLeaf()) {
    // All devices have it, and say so to those that want it.
    return FinishOnShards(hlo, {}, HloSharding::Replicate());
  }
  if (!hlo->sharding().IsTiledLeaf()) return DefaultAction(hlo);
  SetPartitionedHlo(hlo, AddIota(hlo, hlo->sharding(), partition_id_, &b_));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleTranspose(HloInstruction* hlo) {
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  HloSharding sharding = hlo->sharding();
  // A whole result of a sharded operand: gather what has its final order.
  if (!sharding.IsTiledLeaf() && operand.sharding().IsTiledLeaf()) {
    sharding = MapShardingDims(operand.sharding(), hlo->dimensions());
  }
  std::vector<int64_t> inverse(hlo->dimensions().size());
  for (int64_t i = 0; i < inverse.size(); ++i) {
    inverse[hlo->dimensions(i)] = i;
  }
  HloInstruction* local =
      operand.Reshard(MapShardingDims(sharding, inverse)).hlo();
  return FinishOnShards(hlo, {local}, sharding);
}

}  // namespace xla::spmd
