#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// The dimensions of the operand that stay.
std::vector<int64_t> KeptDims(const HloInstruction& hlo) {
  std::vector<int64_t> kept;
  const int64_t rank = hlo.operand(0)->shape().dimensions().size();
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(hlo.dimensions(), d)) kept.push_back(d);
  }
  return kept;
}

// The unreduced sharding in which the users want the result, if they reduce as
// `hlo` does.
std::optional<HloSharding> AddendsOf(const HloInstruction& hlo) {
  switch (hlo.to_apply()->root_instruction()->opcode()) {
    case HloOpcode::kAdd:
      return AddendsWanted(hlo, ReductionOp::kSum);
    case HloOpcode::kMaximum:
      return AddendsWanted(hlo, ReductionOp::kMax);
    case HloOpcode::kMinimum:
      return AddendsWanted(hlo, ReductionOp::kMin);
    default:  // No addends of this kind.
      return std::nullopt;
  }
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

// Shards are reduced, then the partial results are: by a reduce-scatter or an
// all-reduce, or, where several values are reduced together, by gathering them.
// Padding counts as neutral. Dimensions of the operands are the factors of the
// choice how to cut.
absl::Status SpmdPartitioningVisitor::HandleReduce(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  const int64_t inputs = hlo->operand_count() / 2;
  const Shape& whole = hlo->operand(0)->shape();
  const int64_t rank = whole.dimensions().size();
  // Init values might count once for every device.
  const std::optional<std::vector<Literal>> neutral = NeutralInputs(*hlo);
  const bool in_parts = neutral.has_value();
  const std::vector<int64_t> not_reduced = KeptDims(*hlo);
  std::vector<int64_t> dims(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const bool reduced = absl::c_linear_search(hlo->dimensions(), d);
    dims[d] = in_parts || !reduced ? d : -1;
  }
  std::vector<FactorTensor> tensors;
  for (int64_t i = 0; i < inputs; ++i) {
    HloSharding sharding = GetPartitionedHlo(hlo->operand(i)).sharding();
    if (!in_parts && sharding.IsTiledLeaf()) {
      sharding =
          MoveTilesOff(whole, sharding, hlo->dimensions(), hlo->dimensions());
    }
    tensors.push_back({hlo->operand(i)->shape(), sharding, dims});
    tensors.back().is_made = IsMadeAnywhere(
        *hlo->operand(i), GetPartitionedHlo(hlo->operand(i)).sharding());
  }
  for (int64_t i = 0; i < inputs; ++i) {
    const bool tuple = hlo->shape().IsTuple();
    tensors.push_back(
        {tuple ? hlo->shape().tuple_shapes(i) : hlo->shape(),
         tuple ? hlo->sharding().tuple_elements()[i] : hlo->sharding(),
         not_reduced, /*is_result=*/true});
  }
  FactorTensor& result = tensors.back();
  result.readers = ReadersOf(*hlo, &reads_of_tuples_);
  if (in_parts && inputs == 1) result.addends = AddendsOf(*hlo);
  const std::optional<HloSharding> factors =
      ChooseFactorSharding(rank, tensors, hlo->dimensions(),
                           WorkOfFlops(ShapeUtil::ElementsIn(whole)));
  ExplainPriced(tensors, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  const bool cuts = !CutReducedDims(*hlo, *factors).empty();
  std::vector<HloInstruction*> operands, inits;
  for (int64_t i = 0; i < inputs; ++i) {
    inits.push_back(cuts ? CreateScalar((*neutral)[i].Clone(), &b_)
                         : ReplicatedOperand(hlo, inputs + i));
    const PartitionedHlo operand(Operand(hlo, i, *factors),
                                 hlo->operand(i)->shape(),
                                 MakePartitioningState());
    operands.push_back(operand.PadWithValueHlo(inits[i], {}, not_reduced));
  }
  operands.insert(operands.end(), inits.begin(), inits.end());
  const HloSharding kept =
      HloSharding::Single(hlo->shape(), MapShardingDims(*factors, not_reduced));
  if (inputs > 1 && cuts) {
    return ReduceInTwoStages(hlo, operands, *factors, kept);
  }
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), kept), operands));
  if (!cuts) {
    Finish(hlo, local, kept);
    return absl::OkStatus();
  }
  const ShardedSum sum = SumAddends(
      local, *factors, result, hlo->dimensions(), MakePartitioningState(),
      module_->AddEmbeddedComputation(hlo->to_apply()->Clone()));
  local = sum.sum;
  HloInstruction* init = ReplicatedOperand(hlo, 1);
  if (!init->IsConstant() || init->literal() != neutral->front()) {
    local =
        AddBinary(hlo->to_apply()->root_instruction()->opcode(), local,
                  CreateBroadcast(init, local->shape().dimensions(), &b_), &b_);
  }
  Finish(hlo, local, sum.sharding);
  return absl::OkStatus();
}

// The reduced dimensions become one of the number of shards along each.
// Init values enter on each device and once more in the second stage, which
// changes nothing: those are the values of NeutralInputs.
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
