#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/status_macros.h"

// Dots: each batch, contracting and non-contracting dimension is a factor.

namespace xla::spmd {

using dot_as_convolution_util::DotConvolutionDimsInfo;

bool SpmdPartitioningVisitor::FeedsWindowedDot(const HloInstruction* dot) {
  if (!options_.disable_ag_rewrite_for_multiple_consumers) return false;
  return absl::c_any_of(dot->operands(), [&](const HloInstruction* operand) {
    const HloOpcode opcode = operand->opcode();
    const bool moves = opcode == HloOpcode::kReshape ||
                       opcode == HloOpcode::kBitcast ||
                       opcode == HloOpcode::kTranspose;
    return windowed_operands_.contains(operand) ||
           (moves && windowed_operands_.contains(operand->operand(0)));
  });
}

// Three strategies, in this order: a ring that overlaps communication with
// partial products (windowed einsum), if the options allow it and it pays; a
// sharding of the factors of the dot, chosen by a cost model over the operands'
// and the result's shardings; and replication. Contracting dimensions that are
// sharded leave partial sums on the devices, which are added up by an
// all-reduce or reduce-scatter, unless all users want addends; their padding
// has to be zero.
absl::Status SpmdPartitioningVisitor::HandleDot(HloInstruction* hlo) {
  // More operands describe sparse ones.
  if (hlo->operand_count() != 2) return DefaultAction(hlo);
  PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
  const DotConvolutionDimsInfo info =
      dot_as_convolution_util::ParseDotGeneralFromDot(hlo);
  DotFactors f = DotFactorsOf(*hlo, info, lhs.sharding(), rhs.sharding());
  f.result.addends = AddendsWanted(*hlo);
  const std::optional<WindowedDot> ring =
      ChooseWindowedDot(*hlo, f.num_factors, f.lhs, f.rhs, f.result,
                        f.contracting, num_partitions_, options_);
  if (ring.has_value() && (ring->scatters || !FeedsWindowedDot(hlo))) {
    const WindowedDotLoop loop = EmitWindowedDot(
        hlo, *ring,
        ZeroPadded(lhs.Reshard(ring->shardings[0]), f.lhs, f.contracting),
        ZeroPadded(rhs.Reshard(ring->shardings[1]), f.rhs, f.contracting),
        FormOfRing(ring->count, options_), MakePartitioningState());
    if (SpmdReport* report = partitioner_->running_report()) {
      report->RecordRing(hlo,
                         ring->scatters      ? "sums"
                         : ring->moving == 0 ? "lhs"
                                             : "rhs",
                         loop.hop, loop.hops);
    }
    if (!ring->scatters) {
      windowed_operands_.insert(hlo->operand(ring->moving));
    }
    if (loop.while_loop != nullptr) {
      const int64_t kept_dim = ring->operand_dims[1 - ring->moving];
      windowed_dot_general_loops_.push_back(
          {loop.while_loop, ring->moving,
           /*windowed_in_contracting_dims=*/!ring->scatters &&
               ring->result_dim < 0,
           /*windowed_in_batch_dims=*/!ring->scatters &&
               ring->result_dim >= 0 && kept_dim >= 0,
           /*operands_sharded_at_contracting_dims=*/ring->scatters, ring->count,
           nullptr});
    }
    SetPartitionedHlo(hlo, loop.result);
    return absl::OkStatus();
  }
  // Rings resolve what the shardings leave open.
  const bool as_they_are = !options_.need_resolve_conflicts &&
                           !options_.enable_windowed_einsum_for_all_gather &&
                           !options_.enable_windowed_einsum_for_reduce_scatter;
  TF_ASSIGN_OR_RETURN(
      const std::optional<HloSharding> factors,
      as_they_are
          ? AgreedFactorSharding(*hlo, f.num_factors, {f.lhs, f.rhs, f.result})
          : ChooseFactorSharding(f.num_factors, {f.lhs, f.rhs, f.result},
                                 f.contracting,
                                 WorkOfFlops(MultiplyAdds(*hlo, info) * 2)));
  if (!factors.has_value()) return DefaultAction(hlo);
  HloInstruction* local_lhs = ZeroPadded(
      lhs.Reshard(TensorSharding(*factors, f.lhs)), f.lhs, f.contracting);
  HloInstruction* local_rhs = ZeroPadded(
      rhs.Reshard(TensorSharding(*factors, f.rhs)), f.rhs, f.contracting);
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), TensorSharding(*factors, f.result)),
      {local_lhs, local_rhs}));
  ShardedSum sum = SumAddends(local, *factors, f.result, f.contracting,
                              MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
