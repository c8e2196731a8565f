#include "xla/hlo/transforms/sharding_propagation/indexing_sharding_rules.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/transforms/sharding_propagation/rule_builder.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using hlo_sharding_util::GatherScatterDims;

template <typename Repeated>
DimensionVector DimsOf(const Repeated& dims) {
  return DimensionVector(dims.begin(), dims.end());
}

// `named`, and with `calls` those too that indices count through.
GatherScatterDims ParallelDims(const HloInstruction& inst,
                               const CallGraph* calls,
                               const GatherScatterDims& named) {
  if (calls == nullptr) return named;
  // The same question for gathers and scatters.
  return hlo_sharding_util::GetGatherParallelBatchDims(inst, *calls)
      .value_or(GatherScatterDims());
}

}  // namespace

// Three kinds of factors pass through a gather: dimensions that operand,
// indices and result have in common (batches, named or found by how the indices
// count); operand dimensions that slices have as a whole; and dimensions of the
// indices, each place of which makes one slice of the result. An operand
// dimension that is indexed has no factor.
OpShardingRule GatherShardingRule(const HloInstruction& gather,
                                  const CallGraph* calls) {
  RuleBuilder b(gather);
  const GatherDimensionNumbers& dnums = gather.gather_dimension_numbers();
  const DimensionVector offset_dims = DimsOf(dnums.offset_dims());
  GatherScatterDims parallel =
      ParallelDims(gather, calls,
                   {DimsOf(dnums.operand_batching_dims()),
                    DimsOf(dnums.start_indices_batching_dims()),
                    {}});
  parallel.FillOutputDimsWithIndicesDims(dnums.index_vector_dim(), offset_dims);
  for (size_t i = 0; i < parallel.operand_dims.size(); ++i) {
    b.MapAll({parallel.operand_dims[i], parallel.indices_dims[i],
              parallel.output_dims[i]});
  }
  const GatherScatterDims whole =
      hlo_sharding_util::GetGatherOperandPassthroughDims(
          gather, gather.gather_slice_sizes());
  for (size_t i = 0; i < whole.operand_dims.size(); ++i) {
    if (absl::c_linear_search(parallel.operand_dims, whole.operand_dims[i])) {
      continue;
    }
    b.MapAll({whole.operand_dims[i], -1, whole.output_dims[i]});
  }
  const GatherScatterDims batch =
      hlo_sharding_util::GetGatherConnectedDimsAcrossIndicesAndOutput(
          b.rank(1), dnums.index_vector_dim(), b.rank(b.result()), offset_dims,
          parallel.indices_dims);
  for (size_t i = 0; i < batch.indices_dims.size(); ++i) {
    b.MapAll({-1, batch.indices_dims[i], batch.output_dims[i]});
  }
  return b.Build();
}

// n operands, indices, n updates, n results.
// Dimensions of operand and result correspond in any case, since untouched
// elements stay where they are. Those of the indices alone are reductions: two
// devices with different updates may hit the same element, and each then has a
// part of its sum.
OpShardingRule ScatterShardingRule(const HloInstruction& scatter,
                                   const CallGraph* calls) {
  RuleBuilder b(scatter);
  const ScatterDimensionNumbers& dnums = scatter.scatter_dimension_numbers();
  const DimensionVector window_dims = DimsOf(dnums.update_window_dims());
  const int n = static_cast<int>(scatter.operand_count() / 2);
  std::vector<int> factor_of;
  for (int64_t d = 0; d < b.rank(0); ++d) {
    factor_of.push_back(b.AddFactor(b.shape(0).dimensions(d)));
    for (int i = 0; i < n; ++i) {
      b.Map(i, d, factor_of[d]);
      b.Map(b.result() + i, d, factor_of[d]);
    }
  }
  const auto map_updates = [&](int64_t d, int factor) {
    for (int i = 0; i < n; ++i) b.Map(n + 1 + i, d, factor);
  };
  GatherScatterDims parallel =
      ParallelDims(scatter, calls,
                   {DimsOf(dnums.input_batching_dims()),
                    DimsOf(dnums.scatter_indices_batching_dims()),
                    {}});
  parallel.FillOutputDimsWithIndicesDims(dnums.index_vector_dim(), window_dims);
  for (size_t i = 0; i < parallel.operand_dims.size(); ++i) {
    const int factor = factor_of[parallel.operand_dims[i]];
    b.Map(n, parallel.indices_dims[i], factor);
    map_updates(parallel.output_dims[i], factor);
  }
  const GatherScatterDims whole =
      hlo_sharding_util::GetScatterOperandPassthroughDims(
          scatter, hlo_sharding_util::GetScatterSliceSize(
                       b.shape(0), b.shape(n + 1), dnums));
  for (size_t i = 0; i < whole.operand_dims.size(); ++i) {
    if (absl::c_linear_search(parallel.operand_dims, whole.operand_dims[i])) {
      continue;
    }
    map_updates(whole.output_dims[i], factor_of[whole.operand_dims[i]]);
  }
  const GatherScatterDims batch =
      hlo_sharding_util::GetGatherConnectedDimsAcrossIndicesAndOutput(
          b.rank(n), dnums.index_vector_dim(), b.rank(n + 1), window_dims,
          parallel.indices_dims);
  for (size_t i = 0; i < batch.indices_dims.size(); ++i) {
    const int factor = b.AddFactor(b.shape(n).dimensions(batch.indices_dims[i]),
                                   OpShardingRule::Kind::kReduction);
    b.Map(n, batch.indices_dims[i], factor);
    map_updates(batch.output_dims[i], factor);
  }
  return b.Build();
}

}  // namespace xla
