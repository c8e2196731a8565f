#include "xla/hlo/transforms/spmd/stateful_rng_spmd_partitioner.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

SpmdPartitionerOptions OptionsOf(
    int64_t threshold_for_windowed_einsum_mib, bool unroll_windowed_einsum,
    bool skip_checking_windowed_einsum_users,
    bool disable_ag_rewrite_for_multiple_consumers,
    bool partial_windowed_einsum,
    std::optional<int64_t> total_bytes_windowed_einsum_threshold,
    int64_t max_windowed_einsum_iteration) {
  SpmdPartitionerOptions options =
      StatefulRngSpmdPartitioner::GetDefaultOptions();
  options.threshold_for_windowed_einsum_mib = threshold_for_windowed_einsum_mib;
  options.unroll_windowed_einsum = unroll_windowed_einsum;
  options.skip_checking_windowed_einsum_users =
      skip_checking_windowed_einsum_users;
  options.disable_ag_rewrite_for_multiple_consumers =
      disable_ag_rewrite_for_multiple_consumers;
  options.partial_windowed_einsum = partial_windowed_einsum;
  options.total_bytes_windowed_einsum_threshold =
      total_bytes_windowed_einsum_threshold;
  options.max_windowed_einsum_iteration = max_windowed_einsum_iteration;
  return options;
}

}  // namespace

absl::Status StatefulRngSpmdPartitioningVisitor::HandleRngGetAndUpdateState(
    HloInstruction* hlo) {
  if (hlo->sharding().UniqueDevice().has_value()) {
    return HandleSingleDevice(hlo);
  }
  if (!hlo->sharding().IsReplicated()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state of a random generator cannot be cut as ",
                     hlo->sharding().ToString(), ": ", hlo->ToString()));
  }
  SetPartitionedHlo(hlo, builder()->AddInstruction(
                             hlo->CloneWithNewOperands(hlo->shape(), {})));
  return absl::OkStatus();
}

SpmdPartitionerOptions StatefulRngSpmdPartitioner::GetDefaultOptions() {
  SpmdPartitionerOptions options;
  options.allow_module_signature_change = true;
  options.threshold_for_windowed_einsum_mib = 100000;
  return options;
}

StatefulRngSpmdPartitioner::StatefulRngSpmdPartitioner(
    int64_t num_partitions, int64_t num_replicas,
    int64_t threshold_for_windowed_einsum_mib,
    bool windowed_einsum_use_multiple_streams,
    bool skip_checking_windowed_einsum_users,
    bool disable_ag_rewrite_for_multiple_consumers,
    bool enable_partial_windowed_einsums,
    std::optional<int64_t> total_bytes_windowed_einsum_threshold,
    int64_t max_windowed_einsum_iteration)
    : SpmdPartitioner(num_partitions, num_replicas,
                      OptionsOf(threshold_for_windowed_einsum_mib,
                                windowed_einsum_use_multiple_streams,
                                skip_checking_windowed_einsum_users,
                                disable_ag_rewrite_for_multiple_consumers,
                                enable_partial_windowed_einsums,
                                total_bytes_windowed_einsum_threshold,
                                max_windowed_einsum_iteration)) {}

std::unique_ptr<SpmdPartitioningVisitor>
StatefulRngSpmdPartitioner::CreateVisitor(
    HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdLogger* logger,
    SpmdPartitionerOptions options, const CallGraph& call_graph) {
  return std::make_unique<StatefulRngSpmdPartitioningVisitor>(
      computation, num_partitions, num_replicas, collective_ops_creator,
      next_channel_id, logger, std::move(options), this, call_graph);
}

absl::Status StatefulRngSpmdPartitioner::PreprocessSharding(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* hlo : computation->instructions()) {
      if (hlo->opcode() == HloOpcode::kRngGetAndUpdateState &&
          !hlo->has_sharding()) {
        hlo->set_sharding(HloSharding::Replicate());
      }
    }
  }
  return SpmdPartitioner::PreprocessSharding(module, execution_threads);
}

bool StatefulRngSpmdPartitioner::CanSideEffectingHaveReplicatedSharding(
    const HloInstruction* hlo) {
  return hlo->opcode() == HloOpcode::kRngGetAndUpdateState ||
         SpmdPartitioner::CanSideEffectingHaveReplicatedSharding(hlo);
}

}  // namespace xla::spmd
