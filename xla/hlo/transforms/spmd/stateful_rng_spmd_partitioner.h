#ifndef XLA_HLO_TRANSFORMS_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_
#define XLA_HLO_TRANSFORMS_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd {

// The partitioner of modules that keep the state of a random generator. The
// state begins with a constant, so that each device has its own, identical
// copy:
//
//   before: s = u64[2] rng-get-and-update-state(), sharding={replicated}
//   after:  s = u64[2] rng-get-and-update-state()
//
// Without a sharding the state is replicated. InvalidArgument for a tiled one,
// under which devices would have to draw different numbers.
class StatefulRngSpmdPartitioningVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleRngGetAndUpdateState(HloInstruction* hlo) override;
};

class StatefulRngSpmdPartitioner : public SpmdPartitioner {
 public:
  // The signature of the entry may change, and no dot becomes a loop.
  static SpmdPartitionerOptions GetDefaultOptions();

  using SpmdPartitioner::SpmdPartitioner;
  StatefulRngSpmdPartitioner(
      int64_t num_partitions, int64_t num_replicas,
      int64_t threshold_for_windowed_einsum_mib = 100000,
      bool windowed_einsum_use_multiple_streams = false,
      bool skip_checking_windowed_einsum_users = false,
      bool disable_ag_rewrite_for_multiple_consumers = false,
      bool enable_partial_windowed_einsums = false,
      std::optional<int64_t> total_bytes_windowed_einsum_threshold =
          std::nullopt,
      int64_t max_windowed_einsum_iteration = 32);

  std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, const CallGraph& call_graph) override;

 protected:
  absl::Status PreprocessSharding(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
  bool CanSideEffectingHaveReplicatedSharding(
      const HloInstruction* hlo) override;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_STATEFUL_RNG_SPMD_PARTITIONER_H_
