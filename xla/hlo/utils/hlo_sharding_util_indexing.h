#ifndef XLA_HLO_UTILS_HLO_SHARDING_UTIL_INDEXING_H_
#define XLA_HLO_UTILS_HLO_SHARDING_UTIL_INDEXING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Shardings through gathers and scatters, part of hlo_sharding_util.h. Which
// dimensions of operand, indices and output (of a scatter: the updates) run
// together:
//
//   f32[7,9] operand, s32[5,1] indices → f32[5,9]: rows by number
//     passthrough   operand 1 ↔ output 1   whole rows are taken
//     index         indices 0 ↔ output 0   one row for each index
//     parallel      operand 0 ↔ indices 0 ↔ output 0, where the indices count
//                   0, 1, .. along dimension 0 (an iota), or where both are
//                   named as batching dimensions

namespace xla {
namespace hlo_sharding_util {

// Entry i of each list belongs to entry i of the others. A list that the
// question does not touch is empty.
struct GatherScatterDims {
  DimensionVector operand_dims;
  DimensionVector indices_dims;
  DimensionVector output_dims;

  void append(const GatherScatterDims& other);
  // The output dimension of each of indices_dims: the n-th one that is no
  // offset (or window) dimension for the n-th one that is not the index vector.
  void FillOutputDimsWithIndicesDims(
      int64_t index_vector_dim,
      absl::Span<const int64_t> offset_or_window_dims);
};

// --- Dimensions.

// How much of each operand dimension a scatter writes per index.
std::vector<int64_t> GetScatterSliceSize(const Shape& operand_shape,
                                         const Shape& update_shape,
                                         const ScatterDimensionNumbers& dnums);

// The dimension along which a value is its own index: an iota, seen through
// copies, broadcasts, transposes, reshapes by dimensions of size 1, tuples,
// and parameters that all callers agree on (a loop's where it stays).
std::optional<int64_t> GetDimensionForIota(const HloInstruction* maybe_iota,
                                           const CallGraph& call_graph);
// The dimension of `indices` along which component `component` of the index
// vector counts 0, 1, .., size - 1. The vector lies along `vector_dim`, which
// equals the rank for scalars. `call_graph` may be null: then parameters are
// not looked through.
std::optional<int64_t> IotaDimensionOfComponent(const HloInstruction& indices,
                                                int64_t vector_dim,
                                                int64_t component, int64_t size,
                                                const CallGraph* call_graph);

// Parallel dimensions that the indices' values show; nullopt without any.
// Indices dimensions in `indices_batching_dims` do not count.
std::optional<GatherScatterDims> GetGatherScatterBatchParallelDims(
    const HloInstruction* operand, const HloInstruction* indices,
    absl::Span<const int64_t> slice_sizes, int64_t index_vector_dim,
    absl::Span<const int64_t> index_map,
    absl::Span<const int64_t> indices_batching_dims,
    absl::Span<const int64_t> offset_or_window_dims,
    const CallGraph& call_graph);
// These and the named batching dimensions; nullopt without any.
std::optional<GatherScatterDims> GetGatherParallelBatchDims(
    const HloInstruction& hlo, const CallGraph& call_graph);
std::optional<GatherScatterDims> GetScatterParallelBatchDims(
    const HloInstruction& hlo, const CallGraph& call_graph);

// Operand dimensions taken whole, and where they are in the output.
GatherScatterDims GetGatherOperandPassthroughDims(
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes);
GatherScatterDims GetScatterOperandPassthroughDims(
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes);

// Dimensions of the indices and the output, one slice for each index, but for
// `excluded_indices_dims`.
GatherScatterDims GetGatherConnectedDimsAcrossIndicesAndOutput(
    int64_t indices_rank, int64_t index_vector_dim, int64_t output_rank,
    absl::Span<const int64_t> offset_dims,
    absl::Span<const int64_t> excluded_indices_dims = {});
// Those of a gather or scatter that are not parallel.
GatherScatterDims GetGatherScatterIndexPassThroughDims(
    const HloInstruction& hlo, const CallGraph& call_graph);

// --- Shardings. What is cut elsewhere becomes replicas. The forms with
// nullopt have it where nothing of the result would be cut.

HloSharding GatherOutputShardingFromIndex(const HloSharding& index_sharding,
                                          const HloInstruction* hlo);
HloSharding GatherIndexShardingFromOutput(const HloSharding& output_sharding,
                                          const HloInstruction* hlo);
HloSharding ScatterIndexShardingFromUpdate(
    const HloSharding& update_sharding, const HloScatterInstruction* scatter);
HloSharding ScatterUpdateShardingFromIndex(
    const HloSharding& index_sharding, const HloScatterInstruction* scatter);

std::optional<HloSharding>
GatherOutputShardingFromOperandOperandPassthroughDimensions(
    const HloSharding& operand_sharding, const HloInstruction& hlo);
std::optional<HloSharding>
GatherOutputShardingFromOperandOperandPassthroughDimensions(
    const Shape& operand_shape, const HloSharding& operand_sharding,
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes);
std::optional<HloSharding> GatherOperandShardingFromOutputParallelDimensions(
    const HloSharding& output_sharding, const HloInstruction& hlo,
    const CallGraph& call_graph);
// By passthrough and parallel dimensions.
std::optional<HloSharding> GatherOperandShardingFromOutput(
    const HloSharding& output_sharding, const HloInstruction& hlo,
    const CallGraph& call_graph);

std::optional<HloSharding> ScatterOutputShardingFromUpdate(
    const HloSharding& update_sharding, const HloScatterInstruction& scatter);
std::optional<HloSharding> ScatterUpdateShardingFromOutput(
    const HloSharding& per_output_sharding,
    const HloScatterInstruction& scatter, const CallGraph& call_graph);
std::optional<HloSharding>
ScatterUpdateShardingFromOutputOperandPassthroughDimensions(
    const HloSharding& output_sharding, const HloInstruction& hlo);
std::optional<HloSharding>
ScatterUpdateShardingFromOutputOperandPassthroughDimensions(
    const Shape& output_shape, const HloSharding& output_sharding,
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes);
std::optional<HloSharding> ScatterUpdateShardingFromOutputParallelDimensions(
    const HloSharding& output_sharding, const HloScatterInstruction& scatter,
    const CallGraph& call_graph);

// The sharding of `shape` that is cut along output_parallel_dims[i] as the
// operand is along output_aligned_operand_parallel_dims[i].
HloSharding InferGatherScatterParallelShardingFromOperandSharding(
    const HloSharding& operand_sharding, const Shape& shape,
    absl::Span<const int64_t> output_aligned_operand_parallel_dims,
    absl::Span<const int64_t> output_parallel_dims);

}  // namespace hlo_sharding_util
}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_SHARDING_UTIL_INDEXING_H_
