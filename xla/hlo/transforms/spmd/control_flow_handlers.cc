#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// Callees are partitioned before their callers; their parameters and roots
// carry the shardings that they were given (see call_sites.cc).

absl::Status SpmdPartitioningVisitor::HandleParameter(HloInstruction* hlo) {
  SetPartitionedHlo(
      hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
               MakePartitionedShape(hlo->shape(), hlo->sharding()), {})));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleTuple(HloInstruction* hlo) {
  std::vector<HloInstruction*> elements;
  const std::vector<HloSharding> shardings =
      ElementShardings(hlo->sharding(), hlo->shape());
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    elements.push_back(Operand(hlo, i, shardings[i]));
  }
  SetPartitionedHlo(hlo,
                    b_.AddInstruction(HloInstruction::CreateTuple(elements)));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleGetTupleElement(
    HloInstruction* hlo) {
  PartitionedHlo& tuple = GetPartitionedHlo(hlo->operand(0));
  const int64_t index = hlo->tuple_index();
  HloInstruction* element =
      b_.AddInstruction(HloInstruction::CreateGetTupleElement(
          tuple.hlo()->shape().tuple_shapes(index), tuple.hlo(), index));
  const auto [shardings, is_new] =
      element_shardings_.try_emplace(hlo->operand(0));
  if (is_new) {
    shardings->second = ElementShardings(tuple.sharding(), tuple.base_shape());
  }
  const HloSharding sharding = shardings->second[index];
  Finish(hlo, element, sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleWhile(HloInstruction* hlo) {
  HloInstruction* init = Operand(hlo, 0, hlo->sharding());
  SetPartitionedHlo(
      hlo, b_.AddInstruction(hlo->CloneWithNewOperands(init->shape(), {init})));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleConditional(HloInstruction* hlo) {
  std::vector<HloInstruction*> operands = {ReplicatedOperand(hlo, 0)};
  for (int64_t i = 0; i < hlo->branch_count(); ++i) {
    operands.push_back(Operand(
        hlo, i + 1,
        hlo->branch_computation(i)->parameter_instruction(0)->sharding()));
  }
  SetPartitionedHlo(
      hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
               MakePartitionedShape(hlo->shape(), hlo->sharding()), operands)));
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleCall(HloInstruction* hlo) {
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(
        Operand(hlo, i, hlo->to_apply()->parameter_instruction(i)->sharding()));
  }
  SetPartitionedHlo(
      hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
               MakePartitionedShape(hlo->shape(), hlo->sharding()), operands)));
  return absl::OkStatus();
}

}  // namespace xla::spmd
