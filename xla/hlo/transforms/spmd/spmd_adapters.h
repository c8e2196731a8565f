#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_ADAPTERS_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_ADAPTERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// What partitioners were written against in 2020, in terms of today's.

namespace xla::spmd {

// What each dimension of the operands does in a product; -1 where there is no
// such dimension.
struct DotGeneralDimsMapping {
  struct DimsMapping {
    int64_t lhs;
    int64_t rhs;
    int64_t output;
  };
  std::vector<DimsMapping> batch_dims;
  std::vector<DimsMapping> contracting_dims;
  std::vector<DimsMapping> lhs_non_contracting_dims;
  std::vector<DimsMapping> rhs_non_contracting_dims;
};

// Dimensions of the product `hlo`, none of which slides.
dot_as_convolution_util::DotConvolutionDimsInfo ToDotConvolutionDimsInfo(
    const HloInstruction& hlo, const DotGeneralDimsMapping& mapping);

// Adds the product of two shards.
using CreateShardedDot = std::function<absl::StatusOr<HloInstruction*>(
    HloInstruction* lhs, HloInstruction* rhs, SpmdBuilder* b)>;

// Creators of collectives with groups as lists. All partitions take part in
// every all-reduce. Without an all-gather, all-reduces replace it.
struct CrossPartitionOpsCreator {
  std::function<HloInstruction*(SpmdBuilder*)> create_partition_id;
  std::function<HloInstruction*(SpmdBuilder*, HloInstruction* operand,
                                HloComputation* reduction, int64_t channel_id)>
      create_cross_partition_all_reduce;
  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand,
      std::vector<std::pair<int64_t, int64_t>>& src_dst_pairs,
      int64_t next_channel_id)>
      create_cross_partition_collective_permute;
  std::function<HloInstruction*(
      SpmdBuilder*, absl::Span<HloInstruction* const> operands,
      const std::vector<ReplicaGroup>& replica_groups, int64_t channel_id,
      std::optional<int64_t> split_dimension)>
      create_cross_partition_all_to_all;
  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand, const Shape& ag_shape,
      const std::vector<std::vector<int64_t>>& replica_groups,
      int64_t channel_id, int64_t all_gather_dimension)>
      create_cross_partition_all_gather;
};

// The same with today's signatures, without reduce-scatters. Partitioning ends
// with Unimplemented where it needs an all-reduce among some partitions.
SPMDCollectiveOpsCreator ToCollectiveOpsCreator(
    const CrossPartitionOpsCreator& creator, int64_t num_partitions);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_ADAPTERS_H_
