#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
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

// The addends of which an all-reduce makes a value, and which devices have
// them, each once for what `target` wants reduced.
struct Unsummed {
  HloInstruction* addends;
  // By partition; others have nothing to add.
  std::vector<int64_t> counts;
};

// Groups of several that reduce the same addends, as two pairs do within a
// group of four, count once. nullopt for other values than an all-reduce within
// the groups of `target`.
std::optional<Unsummed> BeforeTheSum(HloInstruction* sum,
                                     const HloSharding& target) {
  if (sum->opcode() != HloOpcode::kAllReduce ||
      sum->shape().element_type() == PRED || sum->operand_count() != 1 ||
      MatchReductionComputation(sum->to_apply()) != KindOf(target)) {
    return std::nullopt;
  }
  const auto* all_reduce = Cast<HloAllReduceInstruction>(sum);
  if (!all_reduce->use_global_device_ids()) return std::nullopt;
  const int64_t devices = target.num_devices();
  const std::vector<std::vector<int64_t>> groups =
      GetPartitionGroupsForReplication(target, {*UnreducedDim(target)})
          ->flattened_replica_groups();
  std::vector<int64_t> group_of(devices, -1);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int64_t id : groups[g]) group_of[id] = g;
  }
  Unsummed result{sum->mutable_operand(0), std::vector<int64_t>(devices, 0)};
  std::vector<bool> counted(groups.size(), false);
  for (const std::vector<int64_t>& reduced :
       all_reduce->device_list()->flattened_replica_groups()) {
    const int64_t replica = reduced[0] / devices;
    const int64_t group = group_of[reduced[0] % devices];
    for (int64_t id : reduced) {
      if (id / devices != replica || group_of[id % devices] != group) {
        return std::nullopt;
      }
    }
    // Replicas do the same.
    if (replica != 0 || counted[group]) continue;
    counted[group] = true;
    for (int64_t id : reduced) result.counts[id] = 1;
  }
  if (absl::c_linear_search(counted, false)) return std::nullopt;
  return result;
}

// `value` where `is_there` is not 0 for the device, else nothing to add.
HloInstruction* WhereThere(HloInstruction* value,
                           absl::Span<const int64_t> is_there,
                           const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  HloInstruction* there = TableLookup(is_there, S32, state.partition_id, b);
  return AddSelect(
      AddCompare(there, ComparisonDirection::kNe, CreateR0(0, S32, b), b), {},
      value, NothingToAdd(value->shape(), b), b);
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
  const bool sums = KindOf(target) == ReductionKind::SUM;
  if (const std::optional<Unsummed> before =
          BeforeTheSum(whole.hlo(), target)) {
    const bool everywhere = !absl::c_linear_search(before->counts, 0);
    // The largest of several equal ones is what each of them is.
    HloInstruction* addends =
        everywhere || !sums
            ? before->addends
            : WhereThere(before->addends, before->counts, state_);
    return PartitionedHlo(WithSharding(addends, target, b), base_shape_,
                          state_);
  }
  if (!sums) {
    return PartitionedHlo(WithSharding(whole.hlo(), target, b), base_shape_,
                          state_);
  }
  // The first device of a group keeps the value.
  std::vector<int64_t> is_first = OrdinalTable(target, *UnreducedDim(target));
  for (int64_t& place : is_first) place = place == 0;
  HloInstruction* addend = WhereThere(whole.hlo(), is_first, state_);
  addend->set_sharding(target);
  return PartitionedHlo(addend, base_shape_, state_);
}

}  // namespace xla::spmd
