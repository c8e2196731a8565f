#include "xla/hlo/transforms/spmd/partition_cost.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

namespace xla::spmd {

PartitionTrial::PartitionTrial(const SpmdPartitioningVisitor& visitor)
    : module_(std::make_unique<HloModule>("trial", visitor.module()->config())),
      visitor_(visitor.Clone()) {
  visitor_->set_module(module_.get());
}

PartitionedHlo PartitionTrial::Shard(const PartitionedHlo& phlo) {
  HloInstruction* parameter =
      visitor_->builder()->AddInstruction(HloInstruction::CreateParameter(
          parameters_, phlo.hlo()->shape(), absl::StrCat("p", parameters_)));
  ++parameters_;
  parameter->set_sharding(phlo.sharding());
  return PartitionedHlo(parameter, phlo.base_shape(),
                        visitor_->MakePartitioningState());
}

std::pair<int64_t, int64_t> PartitionTrial::Cost(HloInstruction* root) {
  int64_t memory = 0, communication = 0;
  SpmdPartitioner* partitioner = visitor_->partitioner();
  HloComputation* computation =
      module_->AddEntryComputation(visitor_->builder()->Build(root));
  for (HloInstruction* hlo : computation->instructions()) {
    memory += partitioner->MemoryCostInBytes(hlo);
    communication += partitioner->CommunicationCostInBytes(hlo);
  }
  return {memory, communication};
}

}  // namespace xla::spmd
