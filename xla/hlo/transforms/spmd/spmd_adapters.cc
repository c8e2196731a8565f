#include "xla/hlo/transforms/spmd/spmd_adapters.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/dot_handler.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"

namespace xla::spmd {

using dot_as_convolution_util::DotConvolutionDimsInfo;

DotConvolutionDimsInfo ToDotConvolutionDimsInfo(
    const HloInstruction& hlo, const DotGeneralDimsMapping& mapping) {
  DotConvolutionDimsInfo info;
  const auto convert = [](const std::vector<DotGeneralDimsMapping::DimsMapping>&
                              dims,
                          std::vector<DotConvolutionDimsInfo::DimNums>*
                              converted) {
    for (const auto& dim : dims) {
      converted->push_back({dim.lhs, dim.rhs, dim.output, /*spatial_dim=*/-1});
    }
  };
  convert(mapping.batch_dims, &info.batch_dims);
  convert(mapping.contracting_dims, &info.contracting_dims);
  convert(mapping.lhs_non_contracting_dims, &info.lhs_non_contracting_dims);
  convert(mapping.rhs_non_contracting_dims, &info.rhs_non_contracting_dims);
  info.lhs_shape_rank = hlo.operand(0)->shape().dimensions().size();
  info.rhs_shape_rank = hlo.operand(1)->shape().dimensions().size();
  info.output_shape_rank = hlo.shape().dimensions().size();
  return info;
}

SPMDCollectiveOpsCreator ToCollectiveOpsCreator(
    const CrossPartitionOpsCreator& creator, int64_t num_partitions) {
  SPMDCollectiveOpsCreator result;
  result.create_partition_id = creator.create_partition_id;
  result.create_collective_permute =
      creator.create_cross_partition_collective_permute;
  result.all_reduces_groups = false;
  if (auto create = creator.create_cross_partition_all_reduce) {
    result.create_all_reduce =
        [create, num_partitions](
            SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
            const CollectiveDeviceListBase& groups, int64_t channel_id) {
          if (groups.num_replica_groups() > 1 ||
              (groups.num_replica_groups() == 1 &&
               groups.num_devices_per_group() != num_partitions)) {
            b->Fail(absl::UnimplementedError(absl::StrCat(
                "all-reduce among the partitions ", groups.ToString(), " of ",
                operand->name(),
                ": the creator of collectives has all partitions take part")));
          }
          return create(b, operand, reduction, channel_id);
        };
  }
  if (auto create = creator.create_cross_partition_all_to_all) {
    result.create_all_to_all =
        [create](SpmdBuilder* b, absl::Span<HloInstruction* const> operands,
                 const CollectiveDeviceListBase& groups, int64_t channel_id,
                 std::optional<int64_t> split_dimension) {
          return create(b, operands, groups.replica_groups(), channel_id,
                        split_dimension);
        };
  }
  if (auto create = creator.create_cross_partition_all_gather) {
    result.create_all_gather = [create](SpmdBuilder* b, HloInstruction* operand,
                                        const Shape& shape,
                                        const CollectiveDeviceListBase& groups,
                                        int64_t channel_id, int64_t dimension) {
      return create(b, operand, shape, groups.flattened_replica_groups(),
                    channel_id, dimension);
    };
  }
  return result;
}

absl::StatusOr<bool> SpmdPartitioner::PartitionComputation(
    HloComputation* computation, const HloSharding& root_sharding,
    int64_t* next_channel_id, SpmdLogger* logger) {
  const std::unique_ptr<CallGraph> call_graph =
      CallGraph::Build(computation->parent());
  return PartitionComputation(computation, root_sharding, next_channel_id,
                              logger, *call_graph);
}

namespace {

class CreateShardedDotAdapter : public CreateShardedFunctorBase {
 public:
  // Set as the custom creator, so that no ring takes its place.
  explicit CreateShardedDotAdapter(CreateShardedDot create) {
    SetCustomCreateSharded(
        [create = std::move(create)](
            const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
            SpmdBuilder* b, const Window&) -> absl::StatusOr<HloInstruction*> {
          if (!std::holds_alternative<PartitionedHlo>(ll) ||
              !std::holds_alternative<PartitionedHlo>(rr)) {
            return absl::UnimplementedError(
                "a product of scaled operands as a function of two shards");
          }
          return create(std::get<PartitionedHlo>(ll).hlo(),
                        std::get<PartitionedHlo>(rr).hlo(), b);
        });
  }
  absl::StatusOr<HloInstruction*> CreateSharded(
      const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
      SpmdBuilder* b, const Window& conv_window) const override {
    return (*this)(ll, rr, b, conv_window);
  }
};

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleDotHelper(
    HloInstruction* hlo, const DotGeneralDimsMapping& dims_mapping,
    const std::function<absl::StatusOr<HloInstruction*>(
        HloInstruction*, HloInstruction*, SpmdBuilder*)>& create_sharded_dot) {
  return HandleDotHelper(hlo, ToDotConvolutionDimsInfo(*hlo, dims_mapping),
                         CreateShardedDotAdapter(create_sharded_dot));
}

}  // namespace xla::spmd
