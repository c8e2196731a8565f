#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// x of which reducer(x, y) = y.
std::optional<Literal> NeutralElement(const HloComputation& reducer) {
  const HloInstruction& root = *reducer.root_instruction();
  if (reducer.num_parameters() != 2 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1)) {
    return std::nullopt;
  }
  const PrimitiveType type = root.shape().element_type();
  switch (root.opcode()) {
    case HloOpcode::kAdd:
      return LiteralUtil::Zero(type);
    case HloOpcode::kMultiply:
      return LiteralUtil::One(type);
    case HloOpcode::kMaximum:
      return LiteralUtil::MinValue(type);
    case HloOpcode::kMinimum:
      return LiteralUtil::MaxValue(type);
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return LiteralUtil::Zero(type);
    case HloOpcode::kAnd:
      if (type == PRED) return LiteralUtil::One(type);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The dimensions of the operand that stay.
std::vector<int64_t> KeptDims(const HloInstruction& hlo) {
  std::vector<int64_t> kept;
  const int64_t rank = hlo.operand(0)->shape().dimensions().size();
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(hlo.dimensions(), d)) kept.push_back(d);
  }
  return kept;
}

// What the operands are cut like: the first one, or, if that is whole, like the
// result, which costs nothing.
HloSharding OperandSharding(const HloInstruction& hlo, const HloSharding& first,
                            const HloSharding& result) {
  if (first.IsTiledLeaf() || !result.IsTiledLeaf()) return first;
  const std::vector<int64_t> kept = KeptDims(hlo);
  std::vector<int64_t> source(hlo.operand(0)->shape().dimensions().size(), -1);
  for (size_t i = 0; i < kept.size(); ++i) source[kept[i]] = i;
  return MapShardingDims(result, source);
}

std::vector<int64_t> CutReducedDims(const HloInstruction& hlo,
                                    const HloSharding& sharding) {
  std::vector<int64_t> dims;
  for (int64_t d : hlo.dimensions()) {
    if (ShardCountAtDim(sharding, d) > 1) dims.push_back(d);
  }
  return dims;
}

}  // namespace

// Shards are reduced, then the partial results are: by an all-reduce, or, where
// several values are reduced together, by gathering them. Padding counts as
// neutral.
absl::Status SpmdPartitioningVisitor::HandleReduce(HloInstruction* hlo) {
  const int64_t inputs = hlo->operand_count() / 2;
  const HloSharding result = hlo->shape().IsTuple()
                                 ? hlo->sharding().tuple_elements()[0]
                                 : hlo->sharding();
  HloSharding sharding = OperandSharding(
      *hlo, GetPartitionedHlo(hlo->operand(0)).sharding(), result);
  if (!sharding.IsTiledLeaf()) return DefaultAction(hlo);
  std::vector<int64_t> cut = CutReducedDims(*hlo, sharding);
  std::optional<Literal> neutral;
  if (inputs == 1) neutral = NeutralElement(*hlo->to_apply());
  // Init values would count once for every device.
  if (!cut.empty() && inputs == 1 && !neutral.has_value()) {
    sharding = MoveTilesOff(hlo->operand(0)->shape(), sharding, cut,
                            hlo->dimensions());
    cut.clear();
  }
  std::vector<int64_t> not_reduced = KeptDims(*hlo);
  std::vector<HloInstruction*> operands, inits;
  for (int64_t i = 0; i < inputs; ++i) {
    HloInstruction* init = ReplicatedOperand(hlo, inputs + i);
    inits.push_back(!cut.empty() && neutral.has_value()
                        ? CreateScalar(neutral->Clone(), &b_)
                        : init);
    operands.push_back(GetPartitionedHlo(hlo->operand(i))
                           .Reshard(sharding)
                           .PadWithValueHlo(inits[i], {}, not_reduced));
  }
  operands.insert(operands.end(), inits.begin(), inits.end());
  const HloSharding kept = MapShardingDims(sharding, not_reduced);
  const HloSharding kept_all = HloSharding::Single(hlo->shape(), kept);
  const Shape shard = MakePartitionedShape(hlo->shape(), kept_all);
  if (inputs > 1 && !cut.empty()) {
    return ReduceInTwoStages(hlo, operands, sharding, kept_all);
  }
  HloInstruction* local =
      b_.AddInstruction(hlo->CloneWithNewOperands(shard, operands));
  if (!cut.empty()) {
    local = partitioner_->AllReduceAlongShardingDims(
        &b_, local, sharding, next_channel_id_, cut, collective_ops_creator_,
        module_->AddEmbeddedComputation(hlo->to_apply()->Clone()));
    HloInstruction* init = ReplicatedOperand(hlo, 1);
    if (!init->IsConstant() || init->literal() != *neutral) {
      local = AddBinary(hlo->to_apply()->root_instruction()->opcode(), local,
                        CreateBroadcast(init, shard.dimensions(), &b_), &b_);
    }
  }
  Finish(hlo, local, kept_all);
  return absl::OkStatus();
}

// The reduced dimensions become one of the number of shards along each.
absl::Status SpmdPartitioningVisitor::ReduceInTwoStages(
    HloInstruction* hlo, const std::vector<HloInstruction*>& operands,
    const HloSharding& sharding, const HloSharding& result_sharding) {
  const int64_t inputs = operands.size() / 2;
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), result_sharding), operands));
  const std::vector<int64_t> cut = CutReducedDims(*hlo, sharding);
  std::vector<HloInstruction*> partials;
  for (int64_t i = 0; i < inputs; ++i) {
    HloInstruction* element =
        b_.AddInstruction(HloInstruction::CreateGetTupleElement(
            local->shape().tuple_shapes(i), local, i));
    std::vector<int64_t> dims(operands[i]->shape().dimensions().begin(),
                              operands[i]->shape().dimensions().end());
    for (int64_t d : hlo->dimensions()) dims[d] = 1;
    partials.push_back(partitioner_->AllGatherShards(
        &b_, AddReshape(element, dims, &b_), sharding, next_channel_id_, cut,
        collective_ops_creator_));
  }
  partials.insert(partials.end(), operands.begin() + inputs, operands.end());
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(local->shape(), partials)),
         result_sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
