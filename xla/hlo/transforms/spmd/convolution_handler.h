#ifndef XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HANDLER_H_
#define XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HANDLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

// The convolution of shards, whose sliding dimensions have the windows of
// `conv_window`; see CreateShardedConvForDotGeneralConvolution.
absl::StatusOr<std::unique_ptr<HloInstruction>> CreateShardedConvolution(
    const HloInstruction& conv,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dot_dnums,
    HloInstruction* sharded_lhs_hlo, HloInstruction* sharded_rhs_hlo,
    const Window& conv_window);

// The same, added to a builder; subclasses compute something else from shards.
class CreateShardedConvolutionFunctor {
 public:
  CreateShardedConvolutionFunctor(
      HloInstruction* conv,
      const dot_as_convolution_util::DotConvolutionDimsInfo& dims_info)
      : conv_(conv), dims_info_(dims_info) {}
  virtual ~CreateShardedConvolutionFunctor() = default;

  virtual absl::StatusOr<HloInstruction*> CreateSharded(
      const PartitionedHlo& ll, const PartitionedHlo& rr, SpmdBuilder* b,
      const Window& conv_window) const;

 private:
  HloInstruction* conv_;
  dot_as_convolution_util::DotConvolutionDimsInfo dims_info_;
};

// The shard of a convolution under `output_sharding`, with the collectives that
// it needs; nullptr if nothing is cut and every device computes all.
// `original_hlo` provides the roles of its dimensions, and its users decide
// whether partial sums need a reduction.
absl::StatusOr<HloInstruction*> PartitionConvolution(
    const PartitionedHlo& lhs, const PartitionedHlo& rhs,
    const Shape& output_base_shape, const HloSharding& output_sharding,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dims_mapping,
    CreateShardedConvolutionFunctor& create_sharded_conv,
    const Window& conv_window, HloInstruction* original_hlo,
    int64_t num_partitions, const SpmdPartitionerOptions& options,
    HloInstruction* partition_id, HloModule* module, SpmdBuilder* b);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HANDLER_H_
