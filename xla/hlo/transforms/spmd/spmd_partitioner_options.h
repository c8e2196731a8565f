#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_OPTIONS_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace xla::spmd {

// Ways to distribute a gather or a scatter.
enum class GatherScatterPartitioningMethod {
  kExplicitBatch,
  kIndexParallel,
  kOperandPassthrough,
  kTrivialSlicedOperand,
  kIndexPassthrough,
};

struct SpmdPartitionerOptions {
  // If both operands of a convolution are tiled spatially, halos of the left
  // one are exchanged; false: of the right one.
  bool conv_halo_exchange_always_on_lhs = true;
  // Lines per report of SpmdLogger.
  int64_t report_instruction_count = 5;
  // A dot becomes a loop over windows of an operand of at least this many MiB,
  // counted before partitioning.
  int64_t threshold_for_windowed_einsum_mib = 256;
  // Two steps of such a loop per iteration.
  bool unroll_windowed_einsum = false;
  // Both directions of the ring at once, where its devices are a multiple of
  // four; wins over unroll_windowed_einsum.
  bool bidirectional_windowed_einsum = false;
  // Parameters and results of the entry take the shapes of shards.
  bool allow_module_signature_change = false;
  // In addition, layouts of parameters and results become the default ones.
  bool allow_module_layout_signature_change = false;
  // Keep the results of reshards to fewer tiles for other users.
  bool cache_all_gather = true;
  // If either operand of a dot could travel, choose the one with more steps,
  // not the one with more bytes.
  bool choose_faster_windowed_einsum_over_mem = false;
  // Make the loop even if another user gathers the same operand.
  bool skip_checking_windowed_einsum_users = false;
  // Which forms of the loop are permitted.
  bool enable_windowed_einsum_for_all_gather = true;
  bool enable_windowed_einsum_for_reduce_scatter = true;
  // For a dynamic slice of one row of a sharded stack, the owner broadcasts it
  // if there are at most as many devices as the option below says.
  bool enable_dynamic_slice_collective_broadcast = false;
  int64_t max_dynamic_slice_collective_broadcast_partitions = 32;
  // No loop if an operand already feeds one.
  bool disable_ag_rewrite_for_multiple_consumers = false;
  // Loops inside groups, for operands sharded in two dimensions.
  bool partial_windowed_einsum = false;
  // Dimensions that these methods can cut are cut at any cost; prices decide on
  // the others.
  std::vector<GatherScatterPartitioningMethod>
      preferred_gather_partition_methods = {
          GatherScatterPartitioningMethod::kExplicitBatch,
          GatherScatterPartitioningMethod::kIndexParallel};
  std::vector<GatherScatterPartitioningMethod>
      preferred_scatter_partition_methods = {
          GatherScatterPartitioningMethod::kExplicitBatch,
          GatherScatterPartitioningMethod::kIndexParallel};
  // Overrides the threshold in MiB: bytes of both operands together.
  std::optional<int64_t> total_bytes_windowed_einsum_threshold;
  // No loop for more devices than this.
  int64_t max_windowed_einsum_iteration = 32;
  // False: shardings of operands and result must agree already, otherwise it is
  // an error; gathers, scatters, and dots for which no loop is permitted, move
  // nothing.
  bool need_resolve_conflicts = true;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_OPTIONS_H_
