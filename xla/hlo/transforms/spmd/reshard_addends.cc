#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// `value` with that sharding; another name of it where it has one already.
HloInstruction* WithSharding(HloInstruction* value, const HloSharding& sharding,
                             SpmdBuilder* b) {
  if (value->has_sharding() && value->sharding() != sharding) {
    value = b->AddInstruction(
        HloInstruction::CreateUnary(value->shape(), HloOpcode::kCopy, value));
  }
  value->set_sharding(sharding);
  return value;
}

ReductionKind KindOf(const HloSharding& addends) {
  switch (addends.reduction_op()) {
    case ReductionOp::kMax:
      return ReductionKind::MAX;
    case ReductionOp::kMin:
      return ReductionKind::MIN;
    case ReductionOp::kSum:
      break;
  }
  return ReductionKind::SUM;
}

// The sum of addends, or their maximum or minimum: on the way to `target` where
// one reduce-scatter leads there.
ShardedSum Sum(HloInstruction* local, const HloSharding& addends,
               const Shape& base_shape, const HloSharding& target,
               const PartitionedHlo::PartitioningState& state) {
  const int64_t rank = addends.TiledDataRank();
  FactorTensor result;
  result.shape = base_shape;
  result.sharding = target;
  result.factors.resize(rank);
  std::iota(result.factors.begin(), result.factors.end(), 0);
  result.is_result = true;
  // The addends are one more factor.
  return SumAddends(
      local, AddendsAsTiles(addends), result, {rank}, state,
      state.module->AddEmbeddedComputation(MakeReductionComputation(
          KindOf(addends), base_shape.element_type())));
}

// The operand of an all-reduce that reduces just what `target` wants apart;
// null for other values.
HloInstruction* BeforeTheSum(HloInstruction* sum, const HloSharding& target,
                             int64_t num_replicas) {
  if (sum->opcode() != HloOpcode::kAllReduce ||
      sum->shape().element_type() == PRED || sum->operand_count() != 1 ||
      MatchReductionComputation(sum->to_apply()) != KindOf(target)) {
    return nullptr;
  }
  const auto* all_reduce = Cast<HloAllReduceInstruction>(sum);
  // Ids of replicas are not those of devices.
  if (num_replicas != 1 && !all_reduce->use_global_device_ids()) return nullptr;
  const std::vector<std::vector<int64_t>> groups =
      GetPartitionGroupsForReplication(target, {*UnreducedDim(target)})
          ->flattened_replica_groups();
  std::vector<std::vector<int64_t>> of_all;
  for (int64_t replica = 0; replica < num_replicas; ++replica) {
    for (std::vector<int64_t> group : groups) {
      for (int64_t& id : group) id += replica * target.num_devices();
      of_all.push_back(std::move(group));
    }
  }
  return SameGroups(*all_reduce->device_list(),
                    CollectiveDeviceList(
                        absl::Span<const std::vector<int64_t>>(of_all)))
             ? sum->mutable_operand(0)
             : nullptr;
}

}  // namespace

PartitionedHlo PartitionedHlo::ReshardAddends(
    const HloSharding& target, std::optional<Literal> pad_value) const {
  SpmdBuilder* b = state_.b;
  if (UnreducedDim(sharding()).has_value()) {
    const ShardedSum sum = Sum(hlo_, sharding(), base_shape_, target, state_);
    return PartitionedHlo(WithSharding(sum.sum, sum.sharding, b), base_shape_,
                          state_)
        .Reshard(target, std::move(pad_value));
  }
  const PartitionedHlo whole = Reshard(WithSums(target), std::move(pad_value));
  if (HloInstruction* addends =
          BeforeTheSum(whole.hlo(), target, state_.num_replicas)) {
    return PartitionedHlo(WithSharding(addends, target, b), base_shape_,
                          state_);
  }
  // Who takes the larger or the smaller of equal ones may have all.
  if (KindOf(target) != ReductionKind::SUM) {
    return PartitionedHlo(WithSharding(whole.hlo(), target, b), base_shape_,
                          state_);
  }
  // The first device of a group keeps the value; the others have nothing to
  // add.
  HloInstruction* place = TableLookup(
      OrdinalTable(target, *UnreducedDim(target)), S32, state_.partition_id, b);
  HloInstruction* is_first = b->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), place, CreateR0(0, S32, b),
      ComparisonDirection::kEq));
  HloInstruction* addend = AddSelect(is_first, {}, whole.hlo(),
                                     CreateZero(whole.hlo()->shape(), b), b);
  addend->set_sharding(target);
  return PartitionedHlo(addend, base_shape_, state_);
}

}  // namespace xla::spmd
