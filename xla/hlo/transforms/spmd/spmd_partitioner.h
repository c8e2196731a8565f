#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/reporting_pass.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo_mx.h"  // IWYU pragma: export
#include "xla/hlo/transforms/spmd/spmd_adapters.h"       // IWYU pragma: export
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_logger.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd {

// The options of the pass as text.
struct SpmdPartitioningPassOptions {
  // 0: as the module says.
  int64_t num_partitions = 0;
  int64_t num_replicas = 0;
  bool allow_module_signature_change = true;
  bool cache_all_gather = true;
  int64_t threshold_for_windowed_einsum_mib = 100000;
  bool unroll_windowed_einsum = false;
  bool skip_checking_windowed_einsum_users = false;
  bool enable_windowed_einsum_for_all_gather = true;
  bool enable_windowed_einsum_for_reduce_scatter = true;
  bool disable_ag_rewrite_for_multiple_consumers = false;
  int64_t total_bytes_windowed_einsum_threshold = -1;
  int64_t max_windowed_einsum_iteration = 32;
  bool bidirectional_windowed_einsum = false;
  bool partial_windowed_einsum = false;
  bool choose_faster_windowed_einsum_over_mem = false;
  bool conv_halo_exchange_always_on_lhs = true;
  bool allow_module_layout_signature_change = false;
  int64_t max_dynamic_slice_broadcast_devices = 0;
  bool need_resolve_conflicts = true;
  std::string mesh;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("num-partitions", num_partitions,
          "number of partitions; 0 to take it from the module");
    visit("num-replicas", num_replicas,
          "number of replicas; 0 to take it from the module");
    visit("allow-module-signature-change", allow_module_signature_change,
          "let entry parameters and results take the shapes of shards");
    visit("cache-all-gather", cache_all_gather,
          "reuse gathered values for later users");
    visit("windowed-einsum-mib", threshold_for_windowed_einsum_mib,
          "use a windowed einsum instead of an all-gather of an operand, or a "
          "reduce-scatter of the result, from this many MiB on");
    visit("windowed-einsum-total-bytes", total_bytes_windowed_einsum_threshold,
          "use this threshold on the bytes of both operands instead; -1 to "
          "disable");
    visit("windowed-einsum-max-devices", max_windowed_einsum_iteration,
          "maximum devices of a windowed einsum");
    visit("windowed-einsum-unroll", unroll_windowed_einsum,
          "run two steps of a windowed einsum per iteration");
    visit("windowed-einsum-all-gather", enable_windowed_einsum_for_all_gather,
          "allow windowed einsums in place of all-gathers");
    visit("windowed-einsum-reduce-scatter",
          enable_windowed_einsum_for_reduce_scatter,
          "allow windowed einsums in place of reduce-scatters");
    visit("windowed-einsum-any-users", skip_checking_windowed_einsum_users,
          "use a windowed einsum even if another user gathers the operand");
    visit("windowed-einsum-once", disable_ag_rewrite_for_multiple_consumers,
          "use at most one windowed einsum per operand");
    visit("windowed-einsum-both-ways", bidirectional_windowed_einsum,
          "run windowed einsums in both directions at once");
    visit("windowed-einsum-groups", partial_windowed_einsum,
          "allow windowed einsums within groups of devices");
    visit("windowed-einsum-longest", choose_faster_windowed_einsum_over_mem,
          "choose the windowed einsum with more steps rather than more bytes");
    visit("convolution-halo-on-lhs", conv_halo_exchange_always_on_lhs,
          "exchange halos of the input rather than of the kernel where both "
          "are sharded spatially");
    visit("allow-module-layout-signature-change",
          allow_module_layout_signature_change,
          "give entry parameters and results default layouts");
    visit("dynamic-slice-broadcast", max_dynamic_slice_broadcast_devices,
          "let the owner of one row of a stack broadcast it, on up to this "
          "many devices");
    visit("resolve-conflicts", need_resolve_conflicts,
          "reshard where shardings disagree; false to report an error");
    visit("mesh", mesh,
          "devices and links for reports, such as 2x4 or 2x4:h100-multihost; "
          "default: one axis of all devices");
  }
};

// Turns the module of the whole into the program of one of several devices:
// each instruction computes its shard, and collectives move what shards need of
// each other.
//
//   before: a = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
//           ROOT r = f32[4] reduce(a, 0), dimensions={0},
//                                         sharding={replicated}
//   after:  a = f32[4,4] parameter(0)
//           s = f32[4] reduce(a, 0), dimensions={0}
//           ROOT r = f32[4] all-reduce(s), replica_groups={{0,1}}
//
// Instructions without a sharding are taken as replicated. A computation is
// visited once, in post order; handlers (HandleX of SpmdPartitioningVisitor)
// bring the operands to shardings under which the instruction is local, clone
// it in the shape of a shard, and bring the result to the sharding that it must
// have. Instructions without a handler are computed whole on every device and
// cut.
//
// A module that has been partitioned already (it has an spmd_output_sharding)
// is left unchanged.
//
// Errors (InvalidArgument, naming instruction, sharding and shape): shardings
// that do not fit the shape or the number of devices, side effects without a
// sharding, entry parameters and results that are sharded although the
// signature may not change, partition-id outside of manual regions.
class SpmdPartitioner : public HloModulePass, public ReportingPass {
 public:
  // 0: as the module's config says.
  SpmdPartitioner(int64_t num_partitions, int64_t num_replicas,
                  SpmdPartitionerOptions options);
  SpmdPartitioner(int64_t num_partitions, int64_t num_replicas,
                  SpmdPartitionerOptions options,
                  SPMDCollectiveOpsCreator collective_ops_creator);
  explicit SpmdPartitioner(const SpmdPartitioningPassOptions& options);
  ~SpmdPartitioner() override = default;

  absl::string_view name() const override { return "spmd-partitioning"; }

  // Records the shardings of entry parameters and root in the module; each must
  // have one.
  static void RecordInputsOutputsSharding(HloModule* module);

  // Replaces the computation with its partitioned form, whose root has
  // `root_sharding`.
  absl::StatusOr<bool> PartitionComputation(HloComputation* computation,
                                            const HloSharding& root_sharding,
                                            int64_t* next_channel_id,
                                            SpmdLogger* logger,
                                            const CallGraph& call_graph);
  absl::StatusOr<bool> PartitionComputation(HloComputation* computation,
                                            const HloSharding& root_sharding,
                                            int64_t* next_channel_id,
                                            SpmdLogger* logger);

  // The shards of `operand` concatenated along `selected_dims`, one all-gather
  // per dimension, minor ones first; the padding is kept.
  virtual HloInstruction* AllGatherShards(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator);
  // All tiled dimensions; channels from `channel_id` on.
  HloInstruction* AllGatherShards(SpmdBuilder* b, HloInstruction* operand,
                                  const HloSharding& sharding,
                                  int64_t channel_id);

  // Reduces over the devices that differ along `selected_dims` of `sharding`,
  // all at once.
  virtual HloInstruction* AllReduceAlongShardingDims(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator,
      HloComputation* reduction);

  virtual std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, const CallGraph& call_graph);

  // For choosing between methods: bytes of operands and result, and bytes that
  // a collective sends.
  virtual int64_t MemoryCostInBytes(HloInstruction* hlo);
  virtual int64_t CommunicationCostInBytes(HloInstruction* hlo);

  // The largest arrays before and after, and their origins.
  const std::string& report() const { return report_; }

  // Every reshard, and totals (spmd_report.proto).
  absl::Status StartReport(const HloModule& before) override;
  absl::StatusOr<PassReport> FinishReport(const HloModule& after) override;
  // Null unless a report is requested.
  SpmdReport* running_report() {
    return running_report_.has_value() ? &*running_report_ : nullptr;
  }

  const SpmdPartitionerOptions& options() const { return options_; }
  int64_t num_partitions() const { return num_partitions_; }
  int64_t num_replicas() const { return num_replicas_; }
  // Whether collectives name their groups by axes of a mesh. They use lists and
  // iotas.
  bool enable_rgv3() const { return false; }
  const absl::flat_hash_set<absl::string_view>& execution_threads() const {
    return execution_threads_;
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

  // Every instruction has a sharding afterwards.
  virtual absl::Status PreprocessSharding(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads);
  // Rotations written as slices and a concatenate, and slices of padded values,
  // become one instruction each if their dimension is cut.
  virtual absl::Status PreprocessHlos(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads);
  virtual bool CanSideEffectingHaveReplicatedSharding(
      const HloInstruction* hlo);

  // For other forms of the collectives above: one per dimension, minor ones
  // first, or a single one, which all-gathers need a transpose for.
  //
  //   f32[4,4] {devices=[2,2]<=[4]}, at once: f32[1,2,2] → all-gather
  //   f32[4,2,2]
  //     → reshape f32[2,2,2,2] → transpose → reshape f32[4,4]
  //
  // Returns the gathered value and the last all-gather (null if there is none).
  std::pair<HloInstruction*, HloInstruction*> AllGatherShardsInternal(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator, bool per_dim_ag);
  HloInstruction* AllReduceAlongShardingDimsInternal(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator,
      HloComputation* reduction, bool per_dim_ar);

  SpmdPartitionerOptions options_;

 private:
  absl::Status PartitionComputations(HloModule* module, SpmdLogger* logger);
  absl::Status CheckEntrySignature(const HloModule& module,
                                   const ComputationLayout& before) const;

  // 0, or what the constructor was given.
  int64_t requested_partitions_;
  int64_t requested_replicas_;
  std::optional<SPMDCollectiveOpsCreator> requested_creator_;
  // Those of the current module; before Run, as the constructor was told.
  HloModule* module_ = nullptr;
  int64_t num_partitions_ = 0;
  int64_t num_replicas_ = 0;
  SPMDCollectiveOpsCreator collective_ops_creator_;
  std::string report_;
  // As the option says.
  std::string mesh_;
  std::optional<SpmdReport> running_report_;
  absl::flat_hash_set<absl::string_view> execution_threads_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_H_
