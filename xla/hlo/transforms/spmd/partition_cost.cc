#include "xla/hlo/transforms/spmd/partition_cost.h"

#include <cstdint>
#include <utility>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd::detail {

std::pair<int64_t, int64_t> CostOfBuilt(HloInstruction* root,
                                        SpmdPartitioningVisitor* visitor) {
  int64_t memory = 0, communication = 0;
  SpmdPartitioner* partitioner = visitor->partitioner();
  HloComputation* computation =
      visitor->module()->AddEntryComputation(visitor->builder()->Build(root));
  for (HloInstruction* hlo : computation->instructions()) {
    memory += partitioner->MemoryCostInBytes(hlo);
    communication += partitioner->CommunicationCostInBytes(hlo);
  }
  return {memory, communication};
}

}  // namespace xla::spmd::detail
