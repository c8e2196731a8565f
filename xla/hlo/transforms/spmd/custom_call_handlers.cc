#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/block_scaled_dot.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// SPMDFullToShardShape, SPMDShardToFullShape: each device keeps what it has
// under another name.
absl::Status SpmdPartitioningVisitor::HandleShardingCustomCall(
    HloInstruction* hlo) {
  PartitionedHlo operand = GetPartitionedHlo(hlo->operand(0));
  const bool enters = hlo->custom_call_target() == "SPMDFullToShardShape";
  if (enters && operand.sharding().IsSingleDeviceLeaf()) {
    operand = operand.Replicate();
  }
  if (enters && operand.hlo()->shape().IsArray()) {
    operand = operand.PadWithZero();
  }
  const Shape shard = MakePartitionedShape(hlo->shape(), hlo->sharding());
  if (!ShapeUtil::Compatible(shard, operand.hlo()->shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shards of ", ShapeUtil::HumanString(operand.hlo()->shape()), " under ",
        operand.sharding().ToString(), " are not those of ",
        ShapeUtil::HumanString(shard), " under ", hlo->sharding().ToString(),
        ": ", hlo->ToString()));
  }
  SetPartitionedHlo(hlo, b_.AddInstruction(HloInstruction::CreateUnary(
                             shard, HloOpcode::kCopy, operand.hlo())));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleCustomCall(HloInstruction* hlo) {
  const std::string& target = hlo->custom_call_target();
  if (const CustomCallPartitioner* registered =
          GetCustomCallPartitioner(target)) {
    return registered->Partition(this, hlo);
  }
  if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape") {
    return HandleShardingCustomCall(hlo);
  }
  if (target == "Sharding") {
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
  if (target == "annotate_device_placement" || target == "MoveToHost" ||
      target == "LayoutConstraint") {
    return LocalWithSharding(hlo, hlo->sharding());
  }
  if (hlo->IsCustomCall({"MoveToDevice", "PinToDevice", "PinToDeviceSram"}) &&
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
  return DefaultAction(hlo);
}

}  // namespace xla::spmd
