#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/block_scaled_dot.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {

namespace {

// By device, the place of its tile.
std::vector<std::vector<int64_t>> TilesOfDevices(const HloSharding& sharding) {
  std::vector<std::vector<int64_t>> tiles(sharding.num_devices());
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> at, int64_t device) {
        tiles[device].assign(at.begin(), at.end());
      });
  return tiles;
}

// Shardings of one value on both sides of the border of a manual region.
struct Border {
  HloSharding outside;
  HloSharding inside;
};

// Those of `border`, without the tiles of free axes along dimensions where each
// device has other elements outside than inside, of the shape `inside`.
//
//   outside {devices=[4]<=[4]}, inside {devices=[2,2]<=[2,2]T(1,0)
//   last_tile_dims={manual}}, f32[5] there: 10 elements make shards of 3, 3, 3
//   and 1, halves of 5 those of 3, 2, 3 and 2
//       → {devices=[2,2]<=[4] last_tile_dim_replicate},
//         {devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}
absl::StatusOr<Border> WithEqualTiles(Border border, const Shape& inside) {
  if (!border.inside.IsManualSubgroup() || !border.outside.IsTiledLeaf()) {
    return border;
  }
  const auto conflict = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(why, " under ", border.outside.ToString(), " outside and ",
                     border.inside.ToString(), " inside of a manual region"));
  };
  const int64_t rank = border.inside.TiledDataRank();
  if (rank != border.outside.TiledDataRank()) return conflict("ranks differ");
  const auto outer = TilesOfDevices(border.outside);
  const auto inner = TilesOfDevices(border.inside);
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> manual_tiles(outer.size());
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t all = border.outside.dimension(d);
    const int64_t free = border.inside.dimension(d);
    if (all % free != 0) return conflict("tiles do not divide");
    bool differs = all > free && inside.dimensions(d) % free != 0;
    for (size_t device = 0; device < outer.size(); ++device) {
      differs |= outer[device][d] % free != inner[device][d];
      manual_tiles[device].push_back(outer[device][d] / free);
    }
    if (differs) dims.push_back(d);
  }
  absl::flat_hash_map<int64_t, std::vector<int64_t>> by_group;
  for (size_t device = 0; device < outer.size(); ++device) {
    const int64_t group = inner[device][border.inside.SubgroupManualDim()];
    const auto [it, is_new] = by_group.insert({group, manual_tiles[device]});
    if (!is_new && it->second != manual_tiles[device]) {
      return conflict("devices of one place of the manual axes differ");
    }
  }
  // From the last one on, so that the others keep their numbers.
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    const HloSharding split = hlo_sharding_util::SplitShardingDimension(
        border.outside, *d,
        border.outside.dimension(*d) / border.inside.dimension(*d));
    border.outside = hlo_sharding_util::RemoveShapeDimensions(
        ReplicatedOnDims(split, {*d + 1}), {*d + 1});
    if (!border.outside.IsTiledLeaf()) break;  // Nothing is cut any more.
  }
  border.inside = ReplicatedOnDims(border.inside, dims);
  return border;
}

// Whether a custom-call that goes by the name of an annotation is one: anybody
// may use these names.
bool HasOperandOfItsShape(const HloInstruction& hlo) {
  return hlo.operand_count() == 1 &&
         ShapeUtil::Compatible(hlo.shape(), hlo.operand(0)->shape());
}

}  // namespace

// SPMDFullToShardShape, SPMDShardToFullShape: each device keeps what it has
// under another name.
absl::Status SpmdPartitioningVisitor::HandleShardingCustomCall(
    HloInstruction* hlo) {
  if (hlo->operand_count() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        hlo->custom_call_target(), " needs one operand: ", hlo->ToString()));
  }
  PartitionedHlo operand = GetPartitionedHlo(hlo->operand(0));
  const bool enters = EntersManualRegion(*hlo);
  if (enters && operand.sharding().IsSingleDeviceLeaf()) {
    operand = operand.Replicate();
  }
  Border border = {hlo->sharding(), operand.sharding()};
  if (enters) std::swap(border.outside, border.inside);
  if (hlo->shape().IsArray() && operand.hlo()->shape().IsArray()) {
    TF_ASSIGN_OR_RETURN(
        border, WithEqualTiles(
                    border, enters ? hlo->shape() : hlo->operand(0)->shape()));
    operand = operand.Reshard(enters ? border.outside : border.inside);
    if (enters) operand = operand.PadWithZero();
  }
  const HloSharding& sharding = enters ? border.inside : border.outside;
  const Shape shard = MakePartitionedShape(hlo->shape(), sharding);
  if (!ShapeUtil::Compatible(shard, operand.hlo()->shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shards of ", ShapeUtil::HumanString(operand.hlo()->shape()), " under ",
        operand.sharding().ToString(), " are not those of ",
        ShapeUtil::HumanString(shard), " under ", sharding.ToString(), ": ",
        hlo->ToString()));
  }
  HloInstruction* copy = b_.AddInstruction(
      HloInstruction::CreateUnary(shard, HloOpcode::kCopy, operand.hlo()));
  // A device may have broadcast what no other one has.
  if (!enters) b_.ForgetBroadcastDims(copy);
  Finish(hlo, copy, sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleCustomCall(HloInstruction* hlo) {
  const std::string& target = hlo->custom_call_target();
  if (const CustomCallPartitioner* registered =
          GetCustomCallPartitioner(target)) {
    return registered->Partition(this, hlo);
  }
  if (IsManualBorder(*hlo)) return HandleShardingCustomCall(hlo);
  if (target == "Sharding") {
    if (!HasOperandOfItsShape(*hlo)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Sharding needs one operand of its own shape: ", hlo->ToString()));
    }
    PartitionedHlo moved =
        GetPartitionedHlo(hlo->operand(0)).Reshard(hlo->sharding());
    if (HasUnreduced(hlo->sharding()) ||
        HasUnreduced(hlo->operand(0)->sharding())) {
      SetPartitionedHlo(hlo, std::move(moved));
      return absl::OkStatus();
    }
    SetPartitionedHlo(
        hlo, b_.AddInstruction(HloInstruction::CreateUnary(
                 moved.hlo()->shape(), HloOpcode::kCopy, moved.hlo())));
    return absl::OkStatus();
  }
  if (target == "ShardBarrierFrom" || target == "ShardBarrierTo") {
    return absl::InvalidArgumentError(
        absl::StrCat("left over from sharding propagation: ", hlo->ToString()));
  }
  if (hlo->sharding().IsManual()) return HandleManual(hlo);
  if (HasOperandOfItsShape(*hlo) &&
      hlo->IsCustomCall(
          {"annotate_device_placement", "MoveToHost", "LayoutConstraint"})) {
    return LocalWithSharding(hlo, hlo->sharding());
  }
  if (HasOperandOfItsShape(*hlo) &&
      hlo->IsCustomCall({"MoveToDevice", "PinToDevice", "PinToDeviceSram"}) &&
      !hlo->sharding().UniqueDevice().has_value()) {
    // What comes to a device is resharded there.
    const PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
    Finish(hlo,
           b_.AddInstruction(hlo->CloneWithNewOperands(operand.hlo()->shape(),
                                                       {operand.hlo()})),
           operand.sharding());
    return absl::OkStatus();
  }
  if (BlockScaledDotDimensions(*hlo).has_value() &&
      !hlo->sharding().UniqueDevice().has_value()) {
    return HandleScaledDot(hlo);
  }
  if (absl::StartsWith(target, "_SPMDInternalOp_")) {
    return HandleInternalCall(hlo);
  }
  if (hlo->sharding().UniqueDevice().has_value()) {
    return HandleSingleDevice(hlo);
  }
  if (target == "TopK") return HandleTopK(hlo);
  if (const int64_t batch_dims = CustomCallBatchDims(*hlo)) {
    return HandleBatchedCall(hlo, batch_dims);
  }
  return DefaultAction(hlo);
}

// Each device calls with its batches of all operands.
absl::Status SpmdPartitioningVisitor::HandleBatchedCall(HloInstruction* hlo,
                                                        int64_t batch_dims) {
  std::vector<FactorTensor> tensors;
  const auto add = [&](const Shape& shape, const HloSharding& sharding,
                       bool is_result) {
    std::vector<int64_t> factors(shape.dimensions().size(), -1);
    std::iota(factors.begin(), factors.begin() + batch_dims, 0);
    tensors.push_back({shape, sharding, std::move(factors), is_result});
  };
  for (const HloInstruction* operand : hlo->operands()) {
    add(operand->shape(), GetPartitionedHlo(operand).sharding(),
        /*is_result=*/false);
  }
  const std::vector<const Shape*> results =
      ShapeUtil::FlattenTupleShape(hlo->shape());
  for (size_t i = 0; i < results.size(); ++i) {
    add(*results[i],
        hlo->shape().IsTuple() ? hlo->sharding().tuple_elements()[i]
                               : hlo->sharding(),
        /*is_result=*/true);
  }
  const std::optional<HloSharding> factors =
      ChooseFactorSharding(batch_dims, tensors, /*summed=*/{});
  if (!factors.has_value()) return DefaultAction(hlo);
  std::vector<HloInstruction*> operands;
  std::vector<HloSharding> leaves;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HloSharding sharding = TensorSharding(*factors, tensors[i]);
    if (tensors[i].is_result) {
      leaves.push_back(sharding);
    } else {
      operands.push_back(Operand(hlo, i, sharding));
    }
  }
  return FinishOnShards(hlo, operands,
                        hlo->shape().IsTuple()
                            ? HloSharding::Tuple(hlo->shape(), leaves)
                            : leaves[0]);
}

}  // namespace xla::spmd
