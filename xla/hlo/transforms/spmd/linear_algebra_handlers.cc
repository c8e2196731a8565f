#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

// Batches of factorizations and systems of equations: each is computed on one
// device, tiles along its dimensions move to the batch.

namespace xla::spmd {

absl::Status SpmdPartitioningVisitor::HandleCholesky(HloInstruction* hlo) {
  const int64_t rank = hlo->shape().dimensions().size();
  const HloSharding sharding = WithWholeDims(
      *hlo,
      CuttingSharding(*hlo, GetPartitionedHlo(hlo->operand(0)).sharding()),
      {rank - 2, rank - 1});
  if (!IsCut(sharding)) return DefaultAction(hlo);
  return LocalWithSharding(hlo, sharding);
}

// Right-hand sides (columns of a system with the matrix on the left, rows with
// it on the right) are independent of each other; the matrix is whole.
absl::Status SpmdPartitioningVisitor::HandleTriangularSolve(
    HloInstruction* hlo) {
  const int64_t rank = hlo->shape().dimensions().size();
  const int64_t mixed =
      hlo->triangular_solve_options().left_side() ? rank - 2 : rank - 1;
  const auto of_operand = [&](int64_t operand, const HloSharding& result) {
    return operand == 0 ? ReplicatedOnDims(result, {rank - 2, rank - 1})
                        : result;
  };
  const HloSharding sharding = WithWholeDims(
      *hlo,
      CuttingSharding(*hlo, GetPartitionedHlo(hlo->operand(1)).sharding()),
      {mixed}, of_operand);
  if (!IsCut(sharding)) return DefaultAction(hlo);
  HloInstruction* matrix = Operand(hlo, 0, of_operand(0, sharding));
  HloInstruction* sides = Operand(hlo, 1, sharding);
  return FinishOnShards(hlo, {matrix, sides}, sharding);
}

}  // namespace xla::spmd
