#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/index_dims.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Gathers as loop nests. Factors are the dimensions of the result, and one for
// each dimension of the operand from which single elements are picked:
//   - slices as long as the operand: both are cut alike, no index matters;
//   - batch dimensions, explicit ones and those whose index is an iota along a
//     dimension of the indices: operand, indices and result are cut alike;
//   - dimensions of the indices: indices and result are cut alike;
//   - picked dimensions: each device takes the rows it has, zeros for the
//     others, and an all-reduce adds them up.

namespace xla::spmd {
namespace {

using Method = GatherScatterPartitioningMethod;

struct GatherFactors {
  int64_t num_factors = 0;
  FactorTensor operand;
  FactorTensor indices;
  FactorTensor result;
  std::vector<int64_t> picked;  // factors to sum over
  MethodFactors methods;
  // Dimensions of the operand by component of the index vector, and which of
  // them are picked from or run along an iota.
  std::vector<int64_t> dim_of_component;
};

// Factors are numbered by dimensions of the result; operand dimensions that the
// indices pick from get factors of their own (picked), which are summed over if
// cut.
GatherFactors FactorsOf(const HloGatherInstruction& gather,
                        const HloSharding& operand_sharding,
                        const HloSharding& indices_sharding,
                        const HloSharding& result_sharding,
                        const CallGraph& call_graph) {
  const GatherDimensionNumbers& dnums = gather.gather_dimension_numbers();
  const Shape& operand = gather.operand(0)->shape();
  const Shape& indices = gather.operand(1)->shape();
  const Shape& result = gather.shape();
  GatherFactors f;
  f.num_factors = result.dimensions().size();
  f.operand = {operand, operand_sharding,
               std::vector<int64_t>(operand.dimensions().size(), -1)};
  f.indices = {indices, indices_sharding,
               std::vector<int64_t>(indices.dimensions().size(), -1)};
  f.result = {result, result_sharding, {}, /*is_result=*/true};
  f.result.readers = ReadersOf(gather);
  f.dim_of_component.assign(dnums.start_index_map().begin(),
                            dnums.start_index_map().end());
  // Dimensions of the result, in order: batches from indices, the rest slices.
  std::vector<int64_t> result_of_index(indices.dimensions().size(), -1);
  int64_t next_index = 0, next_window = 0;
  std::vector<int64_t> windows;
  for (int64_t d = 0; d < operand.dimensions().size(); ++d) {
    if (!absl::c_linear_search(dnums.collapsed_slice_dims(), d) &&
        !absl::c_linear_search(dnums.operand_batching_dims(), d)) {
      windows.push_back(d);
    }
  }
  for (int64_t d = 0; d < result.dimensions().size(); ++d) {
    if (absl::c_linear_search(dnums.offset_dims(), d)) {
      const int64_t window = windows[next_window++];
      const bool whole = result.dimensions(d) == operand.dimensions(window);
      f.result.factors.push_back(whole ? d : -1);
      if (!whole) continue;
      f.operand.factors[window] = d;
      f.methods[Method::kOperandPassthrough].push_back(d);
      continue;
    }
    if (next_index == dnums.index_vector_dim()) ++next_index;
    result_of_index[next_index] = d;
    f.indices.factors[next_index++] = d;
    f.result.factors.push_back(d);
  }
  for (int i = 0; i < dnums.operand_batching_dims_size(); ++i) {
    const int64_t factor =
        result_of_index[dnums.start_indices_batching_dims(i)];
    f.operand.factors[dnums.operand_batching_dims(i)] = factor;
    f.methods[Method::kExplicitBatch].push_back(factor);
  }
  for (int64_t i = 0; i < f.dim_of_component.size(); ++i) {
    const int64_t d = f.dim_of_component[i];
    if (gather.gather_slice_sizes()[d] != 1) continue;
    if (operand.dimensions(d) == 1) {
      // One device has what all read.
      if (ShardCountAtDim(operand_sharding, d) == 1) continue;
      f.operand.factors[d] = f.num_factors;
      f.picked.push_back(f.num_factors++);
      continue;
    }
    const std::optional<int64_t> along =
        hlo_sharding_util::IotaDimensionOfComponent(
            *gather.operand(1), dnums.index_vector_dim(), i,
            operand.dimensions(d), &call_graph);
    const int64_t parallel = along.has_value() ? result_of_index[*along] : -1;
    if (parallel >= 0 && !absl::c_linear_search(f.operand.factors, parallel)) {
      f.operand.factors[d] = parallel;
      f.methods[Method::kIndexParallel].push_back(parallel);
      continue;
    }
    f.operand.factors[d] = f.num_factors;
    f.picked.push_back(f.num_factors++);
  }
  f.methods[Method::kTrivialSlicedOperand] = f.picked;
  for (int64_t factor : f.indices.factors) {
    if (factor >= 0 && !absl::c_linear_search(f.operand.factors, factor)) {
      f.methods[Method::kIndexPassthrough].push_back(factor);
    }
  }
  return f;
}

}  // namespace

// Where a picked dimension is cut, exactly one device owns each element. The
// others produce garbage that is masked, and the owners' values are distributed
// by a reduce-scatter or an all-reduce.
absl::Status SpmdPartitioningVisitor::HandleGather(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  const auto* gather = Cast<HloGatherInstruction>(hlo);
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& indices = GetPartitionedHlo(hlo->operand(1));
  const GatherFactors f =
      FactorsOf(*gather, operand.sharding(), indices.sharding(),
                hlo->sharding(), call_graph_);
  const auto tensors = {f.operand, f.indices, f.result};
  TF_ASSIGN_OR_RETURN(
      const std::optional<HloSharding> factors,
      !options_.need_resolve_conflicts
          ? AgreedFactorSharding(*hlo, f.num_factors, tensors)
          : ChooseFactorSharding(
                f.num_factors, tensors, f.picked, /*work=*/0,
                FactorsOfMethods(f.methods,
                                 options_.preferred_gather_partition_methods)));
  ExplainPriced(tensors, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  const HloSharding operand_sharding = TensorSharding(*factors, f.operand);
  HloSharding result_sharding = TensorSharding(*factors, f.result);
  HloInstruction* local_operand = operand.Reshard(operand_sharding).hlo();
  const HloSharding indices_sharding = TensorSharding(*factors, f.indices);
  HloInstruction* local_indices = indices.Reshard(indices_sharding).hlo();
  const Shape local_shape = MakePartitionedShape(hlo->shape(), result_sharding);

  const int64_t vector_dim =
      gather->gather_dimension_numbers().index_vector_dim();
  const std::vector<HloInstruction*> offsets = MakePartitionOffsets(
      hlo->operand(0)->shape(), operand_sharding, partition_id_, &b_);
  std::vector<HloInstruction*> components;
  HloInstruction* is_here = nullptr;
  std::vector<int64_t> slice_sizes(gather->gather_slice_sizes().begin(),
                                   gather->gather_slice_sizes().end());
  for (int64_t i = 0; i < f.dim_of_component.size(); ++i) {
    const int64_t d = f.dim_of_component[i];
    const int64_t size = hlo->operand(0)->shape().dimensions(d);
    HloInstruction* index =
        ClampToS32(IndexComponent(local_indices, vector_dim, i, &b_),
                   size - slice_sizes[d], &b_);
    if (slice_sizes[d] == 1 && ShardCountAtDim(operand_sharding, d) > 1) {
      index = AddBinary(
          HloOpcode::kSubtract, index,
          CreateBroadcast(offsets[d], index->shape().dimensions(), &b_), &b_);
      if (absl::c_linear_search(f.picked, f.operand.factors[d])) {
        HloInstruction* here =
            IsInRange(index, local_operand->shape().dimensions(d), &b_);
        is_here = is_here == nullptr
                      ? here
                      : AddBinary(HloOpcode::kAnd, is_here, here, &b_);
      }
    }
    components.push_back(index);
  }
  for (int64_t d = 0; d < slice_sizes.size(); ++d) {
    if (slice_sizes[d] == hlo->operand(0)->shape().dimensions(d)) {
      slice_sizes[d] = local_operand->shape().dimensions(d);
    }
    const auto& batching =
        gather->gather_dimension_numbers().operand_batching_dims();
    if (absl::c_linear_search(batching, d)) slice_sizes[d] = 1;
  }
  if (!components.empty()) {
    local_indices = StackIndexComponents(components, local_indices->shape(),
                                         vector_dim, &b_);
  }
  // Components that were clamped or shifted need not be sorted any more, nor is
  // what stands behind the last index of a padded shard.
  HloInstruction* local = b_.AddInstruction(HloInstruction::CreateGather(
      local_shape, local_operand, local_indices,
      gather->gather_dimension_numbers(), slice_sizes,
      gather->indices_are_sorted() && is_here == nullptr &&
          components.size() < 2 &&
          EvenlyPartitions(hlo->operand(1)->shape(), indices_sharding)));
  if (is_here != nullptr) {
    std::vector<int64_t> batch_dims;
    for (int64_t d = 0; d < local_shape.dimensions().size(); ++d) {
      if (!absl::c_linear_search(
              gather->gather_dimension_numbers().offset_dims(), d)) {
        batch_dims.push_back(d);
      }
    }
    local = SumOfOwners(
        local, is_here, batch_dims,
        [&](HloInstruction* masked) {
          FactorTensor result = f.result;
          result.shape = ShapeUtil::ChangeElementType(
              result.shape, masked->shape().element_type());
          const ShardedSum sum = SumAddends(masked, *factors, result, f.picked,
                                            MakePartitioningState());
          result_sharding = sum.sharding;
          return sum.sum;
        },
        &b_);
  }
  Finish(hlo, local, result_sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
