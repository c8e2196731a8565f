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

// Batches of factorizations, systems of equations and transforms: each is
// computed on one device, tiles along its dimensions move to the batch.

namespace xla::spmd {
namespace {

bool IsCut(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() && sharding.NumTiles() > 1;
}

std::vector<int64_t> LastDims(const Shape& shape, int64_t count) {
  std::vector<int64_t> dims;
  const int64_t rank = shape.dimensions().size();
  for (int64_t d = rank - count; d < rank; ++d) dims.push_back(d);
  return dims;
}

// That of the result, else that of the operand, with the last `count`
// dimensions whole.
HloSharding BatchSharding(const HloInstruction& hlo, const HloSharding& operand,
                          int64_t count) {
  const HloSharding& wanted =
      IsCut(hlo.sharding()) || !IsCut(operand) ? hlo.sharding() : operand;
  return MoveTilesOff(hlo.shape(), wanted, LastDims(hlo.shape(), count));
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleCholesky(HloInstruction* hlo) {
  const HloSharding sharding =
      BatchSharding(*hlo, GetPartitionedHlo(hlo->operand(0)).sharding(), 2);
  if (!IsCut(sharding)) return DefaultAction(hlo);
  return LocalWithSharding(hlo, sharding);
}

absl::Status SpmdPartitioningVisitor::HandleFft(HloInstruction* hlo) {
  // The last dimension of the operand may have another size, and is whole.
  const HloSharding sharding =
      BatchSharding(*hlo, GetPartitionedHlo(hlo->operand(0)).sharding(),
                    hlo->fft_length().size());
  if (!IsCut(sharding)) return DefaultAction(hlo);
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding),
             {Operand(hlo, 0, sharding)})),
         sharding);
  return absl::OkStatus();
}

// Right-hand sides (columns of a system with the matrix on the left, rows with
// it on the right) are independent of each other; the matrix is whole.
absl::Status SpmdPartitioningVisitor::HandleTriangularSolve(
    HloInstruction* hlo) {
  const int64_t rank = hlo->shape().dimensions().size();
  const int64_t mixed =
      hlo->triangular_solve_options().left_side() ? rank - 2 : rank - 1;
  const HloSharding& rhs = GetPartitionedHlo(hlo->operand(1)).sharding();
  const HloSharding sharding = MoveTilesOff(
      hlo->shape(),
      IsCut(hlo->sharding()) || !IsCut(rhs) ? hlo->sharding() : rhs, {mixed});
  if (!IsCut(sharding)) return DefaultAction(hlo);
  HloInstruction* matrix =
      Operand(hlo, 0, ReplicatedOnDims(sharding, {rank - 2, rank - 1}));
  HloInstruction* sides = Operand(hlo, 1, sharding);
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding), {matrix, sides})),
         sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
