#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// Rows are sorted where they are; tiles along the sorted dimension move to
// another one, and if none takes them rows are gathered.
absl::Status SpmdPartitioningVisitor::HandleSort(HloInstruction* hlo) {
  const HloSharding& wanted = hlo->sharding();
  if (wanted.UniqueDevice().has_value()) return HandleSingleDevice(hlo);
  HloSharding sharding = wanted.IsTuple() ? wanted.tuple_elements()[0] : wanted;
  for (const HloInstruction* operand : hlo->operands()) {
    if (sharding.IsTiledLeaf()) break;
    sharding = GetPartitionedHlo(operand).sharding();
  }
  const int64_t dim = Cast<HloSortInstruction>(hlo)->sort_dimension();
  sharding = MoveTilesOff(hlo->operand(0)->shape(), sharding, {dim});
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(Operand(hlo, i, sharding));
  }
  const HloSharding local = HloSharding::Single(hlo->shape(), sharding);
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), local), operands)),
         local);
  return absl::OkStatus();
}

}  // namespace xla::spmd
