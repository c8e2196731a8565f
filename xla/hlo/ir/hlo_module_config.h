#ifndef XLA_HLO_IR_HLO_MODULE_CONFIG_H_
#define XLA_HLO_IR_HLO_MODULE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/computation_placer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Whether fusion decisions are recorded, and at what granularity.
enum class FusionConfigCollection {
  kOff,
  kPerEdge,
  kPerNode,
};

// Everything that determines a compilation besides the HLO: entry layout,
// replicas and partitions, devices, effort, debug options. A value type.
class HloModuleConfig {
 public:
  // Entry parameter (leaf) whose updated value is returned as an output (leaf)
  // and may therefore be kept sharded between runs.
  struct ShardableValueUpdatePair {
    int64_t input_parameter_number;
    ShapeIndex parameter_shape_index;
    ShapeIndex output_shape_index;
  };

  // Without an entry computation layout.
  HloModuleConfig();
  HloModuleConfig(const HloModuleConfig& other);
  HloModuleConfig(HloModuleConfig&& other) noexcept;
  HloModuleConfig& operator=(const HloModuleConfig& other);
  HloModuleConfig& operator=(HloModuleConfig&& other) noexcept;
  ~HloModuleConfig();
  // The layout of `program_shape`; with ignore_layouts default layouts.
  explicit HloModuleConfig(const ProgramShape& program_shape,
                           bool ignore_layouts = true);
  explicit HloModuleConfig(ComputationLayout entry_computation_layout);

  HloModuleConfigProto ToProto() const;
  static absl::StatusOr<std::unique_ptr<HloModuleConfig>> CreateFromProto(
      const HloModuleConfigProto& proto);
  static void AssignProtoShardableValueUpdatePairs(
      ::google::protobuf::RepeatedPtrField<ShardableValueUpdatePairProto>*
          proto_update_pairs,
      const std::vector<ShardableValueUpdatePair>& update_pairs);
  static void AssignStructShardableValueUpdatePairs(
      HloModuleConfig& config,
      const ::google::protobuf::RepeatedPtrField<ShardableValueUpdatePairProto>&
          pairs);

  bool has_entry_computation_layout() const {
    return entry_computation_layout_.has_value();
  }
  // Default layouts of the shapes of `program_shape`.
  void SetDefaultComputationLayout(const ProgramShape& program_shape);
  // The layouts of `program_shape` as they are.
  void SetComputationLayoutIfExists(const ProgramShape& program_shape);
  // There must be one.
  const ComputationLayout& entry_computation_layout() const {
    CHECK(entry_computation_layout_.has_value());
    return *entry_computation_layout_;
  }
  ComputationLayout* mutable_entry_computation_layout() {
    CHECK(entry_computation_layout_.has_value());
    return &*entry_computation_layout_;
  }
  void clear_entry_computation_layout() { entry_computation_layout_.reset(); }

  bool hlo_profiling_enabled() const {
    return debug_options_.xla_hlo_profile();
  }
  bool cpu_traceme_enabled() const {
    return debug_options_.xla_cpu_enable_xprof_traceme();
  }

  // The seed of random number generation; 0 lets the runtime choose.
  void set_seed(uint64_t seed) { seed_ = seed; }
  uint64_t seed() const { return seed_; }

  // Identifies one launch among several of the same computation.
  void set_launch_id(uint64_t launch_id) {
    launch_id_ = static_cast<int32_t>(launch_id);
  }
  int32_t launch_id() const { return launch_id_; }

  void set_replica_count(int64_t replica_count) {
    replica_count_ = replica_count;
  }
  int64_t replica_count() const { return replica_count_; }
  void set_num_partitions(int64_t num_partitions) {
    num_partitions_ = num_partitions;
  }
  int64_t num_partitions() const { return num_partitions_; }

  const std::vector<bool>& param_requires_broadcast_via_collectives() const {
    return param_requires_broadcast_via_collectives_;
  }
  void set_param_requires_broadcast_via_collectives(
      std::vector<bool> require_broadcast) {
    param_requires_broadcast_via_collectives_ = std::move(require_broadcast);
  }

  void set_use_spmd_partitioning(bool use_spmd_partitioning) {
    use_spmd_partitioning_ = use_spmd_partitioning;
  }
  bool use_spmd_partitioning() const { return use_spmd_partitioning_; }
  // Automatic partitioning implies SPMD partitioning.
  void set_use_auto_spmd_partitioning(bool use_auto_spmd_partitioning) {
    use_auto_spmd_partitioning_ = use_auto_spmd_partitioning;
    if (use_auto_spmd_partitioning) set_use_spmd_partitioning(true);
  }
  bool use_auto_spmd_partitioning() const {
    return use_auto_spmd_partitioning_;
  }
  void set_auto_spmd_partitioning_mesh_shape(std::vector<int64_t> mesh_shape) {
    auto_spmd_partitioning_mesh_shape_ = std::move(mesh_shape);
  }
  const std::vector<int64_t>& auto_spmd_partitioning_mesh_shape() const {
    return auto_spmd_partitioning_mesh_shape_;
  }
  void set_auto_spmd_partitioning_mesh_ids(std::vector<int64_t> mesh_ids) {
    auto_spmd_partitioning_mesh_ids_ = std::move(mesh_ids);
  }
  const std::vector<int64_t>& auto_spmd_partitioning_mesh_ids() const {
    return auto_spmd_partitioning_mesh_ids_;
  }

  void set_optimization_level(
      ExecutionOptions::EffortLevel optimization_level) {
    optimization_level_ = optimization_level;
  }
  ExecutionOptions::EffortLevel optimization_level() const {
    return optimization_level_;
  }
  void set_memory_fitting_level(
      ExecutionOptions::EffortLevel memory_fitting_level) {
    memory_fitting_level_ = memory_fitting_level;
  }
  ExecutionOptions::EffortLevel memory_fitting_level() const {
    return memory_fitting_level_;
  }

  void set_deduplicate_hlo(bool deduplicate_hlo) {
    deduplicate_hlo_ = deduplicate_hlo;
  }
  bool deduplicate_hlo() const { return deduplicate_hlo_; }

  void set_device_type(const std::string& device_type) {
    device_type_ = device_type;
  }
  absl::string_view device_type() const { return device_type_; }

  // Text that is different for configs whose compilations may differ.
  std::string compilation_cache_key() const;

  const DebugOptions& debug_options() const { return debug_options_; }
  DebugOptions& mutable_debug_options() { return debug_options_; }
  void set_debug_options(const DebugOptions& debug_options) {
    debug_options_ = debug_options;
  }

  // Threads a single operation may use; -1 leaves the choice to the backend.
  void set_intra_op_parallelism_threads(int intra_op_parallelism_threads) {
    intra_op_parallelism_threads_ = intra_op_parallelism_threads;
  }
  int64_t intra_op_parallelism_threads() const {
    return intra_op_parallelism_threads_;
  }

  bool has_static_device_assignment() const {
    return static_device_assignment_.has_value();
  }
  const DeviceAssignment& static_device_assignment() const {
    CHECK(static_device_assignment_.has_value());
    return *static_device_assignment_;
  }
  void set_static_device_assignment(const DeviceAssignment& assignment);
  void reset_static_device_assignment() { static_device_assignment_.reset(); }

  bool has_pre_simulation_device_assignment() const {
    return pre_simulation_device_assignment_.has_value();
  }
  const DeviceAssignment& pre_simulation_device_assignment() const {
    CHECK(pre_simulation_device_assignment_.has_value());
    return *pre_simulation_device_assignment_;
  }
  void set_pre_simulation_device_assignment(const DeviceAssignment& assignment);

  bool allow_separate_sharding_programs() const {
    return allow_separate_sharding_programs_;
  }
  void set_allow_separate_sharding_programs(bool allow) {
    allow_separate_sharding_programs_ = allow;
  }
  const std::vector<ShardableValueUpdatePair>& shardable_value_update_pairs()
      const {
    return shardable_value_update_pairs_;
  }
  void set_shardable_value_update_pairs(
      std::vector<ShardableValueUpdatePair> pairs);

  // Whether a parameter that is returned unchanged aliases that output.
  bool alias_passthrough_params() const { return alias_passthrough_params_; }
  void set_alias_passthrough_params(bool alias_passthrough_params) {
    alias_passthrough_params_ = alias_passthrough_params;
  }

  // Whether MakeComputationSorted breaks ties by content, else by name.
  bool content_aware_computation_sorting() const {
    return content_aware_computation_sorting_;
  }
  void set_content_aware_computation_sorting(bool value) {
    content_aware_computation_sorting_ = value;
  }

  // Recorded or prescribed decisions of passes.
  FusionConfigCollection fusion_config_collection() const {
    return fusion_config_collection_;
  }
  void set_fusion_config_collection(FusionConfigCollection value) {
    fusion_config_collection_ = value;
  }
  const std::vector<std::vector<bool>>& fusion_config() const {
    return fusion_config_;
  }
  void set_fusion_config(std::vector<std::vector<bool>> fusion_config);
  std::vector<std::vector<bool>>& mutable_fusion_config() {
    return fusion_config_;
  }
  const absl::flat_hash_map<std::string, std::vector<int64_t>>& dot_config()
      const {
    return dot_config_;
  }
  absl::flat_hash_map<std::string, std::vector<int64_t>>* mutable_dot_config() {
    return &dot_config_;
  }
  const std::vector<std::vector<std::vector<int64_t>>>& layout_config() const {
    return layout_config_;
  }
  std::vector<std::vector<std::vector<int64_t>>>* mutable_layout_config() {
    return &layout_config_;
  }
  const std::vector<std::vector<bool>>& phase_ordering_config() const {
    return phase_ordering_config_;
  }
  void set_phase_ordering_config(std::vector<std::vector<bool>> config) {
    phase_ordering_config_ = std::move(config);
  }
  std::vector<std::vector<bool>>& mutable_phase_ordering_config() {
    return phase_ordering_config_;
  }
  int phase_index() const { return phase_index_; }
  void set_phase_index(int phase_index) { phase_index_ = phase_index; }

  // One flag per entry parameter (or a single one for all) / output element:
  // whether sharding propagation may choose its sharding. Never empty.
  absl::Span<const bool> allow_spmd_sharding_propagation_to_parameters() const {
    return allow_spmd_sharding_propagation_to_parameters_;
  }
  absl::Span<const bool> allow_spmd_sharding_propagation_to_output() const {
    return allow_spmd_sharding_propagation_to_output_;
  }
  void set_allow_spmd_sharding_propagation_to_parameters(
      absl::Span<const bool> data) {
    allow_spmd_sharding_propagation_to_parameters_.assign(data.begin(),
                                                          data.end());
  }
  void set_allow_spmd_sharding_propagation_to_output(
      absl::Span<const bool> data) {
    allow_spmd_sharding_propagation_to_output_.assign(data.begin(), data.end());
  }

  const std::vector<uint64_t>& memory_space_assignment_config() const {
    return memory_space_assignment_config_;
  }
  std::vector<uint64_t>* mutable_memory_space_assignment_config() {
    return &memory_space_assignment_config_;
  }

  // How many more times the analyses of a pass may run; -1 is unlimited.
  int64_t GetAnalysisAllowance(absl::string_view pass_name) const;
  void SetAnalysisAllowance(absl::string_view pass_name, int64_t allowance);
  void clear_analysis_allowance_map();

  PrecisionConfig::Precision matrix_unit_operand_precision() const {
    return matrix_unit_operand_precision_;
  }
  void set_matrix_unit_operand_precision(PrecisionConfig::Precision precision) {
    matrix_unit_operand_precision_ = precision;
  }

  absl::string_view fdo_profile() const { return fdo_profile_; }
  void set_fdo_profile(absl::string_view fdo_profile) {
    fdo_profile_ = std::string(fdo_profile);
  }
  void clear_fdo_profile() { fdo_profile_.clear(); }

  // Bytes; 0 if unknown.
  int64_t device_memory_size() const { return device_memory_size_; }
  void set_device_memory_size(int64_t device_memory_size) {
    device_memory_size_ = device_memory_size;
  }

  bool use_shardy_partitioner() const { return use_shardy_partitioner_; }
  void set_use_shardy_partitioner(bool use_shardy_partitioner) {
    use_shardy_partitioner_ = use_shardy_partitioner;
  }

  // Devices per partition group; 0 if unused.
  int64_t partition_size() const { return partition_size_; }
  void set_partition_size(int64_t partition_size) {
    partition_size_ = partition_size;
  }

  // Whether the value of a collective's channel id matters, not only its
  // presence, as it does between modules that are not SPMD.
  bool ChannelIdSensitive() const;

  // KiB; 0 if unused.
  int64_t page_size_kib() const { return page_size_kib_; }
  void set_page_size_kib(int64_t page_size_kib) {
    page_size_kib_ = page_size_kib;
  }

 private:
  std::optional<ComputationLayout> entry_computation_layout_;
  uint64_t seed_ = 0;
  int32_t launch_id_ = 0;
  int64_t replica_count_ = 1;
  int64_t num_partitions_ = 1;
  std::vector<bool> param_requires_broadcast_via_collectives_;
  bool use_spmd_partitioning_ = false;
  bool use_auto_spmd_partitioning_ = false;
  bool deduplicate_hlo_ = false;
  bool allow_separate_sharding_programs_ = false;
  bool alias_passthrough_params_ = false;
  bool content_aware_computation_sorting_ = true;
  bool use_shardy_partitioner_ = false;
  std::vector<int64_t> auto_spmd_partitioning_mesh_shape_;
  std::vector<int64_t> auto_spmd_partitioning_mesh_ids_;
  ExecutionOptions::EffortLevel optimization_level_ =
      ExecutionOptions::EFFORT_UNKNOWN;
  ExecutionOptions::EffortLevel memory_fitting_level_ =
      ExecutionOptions::EFFORT_UNKNOWN;
  int64_t intra_op_parallelism_threads_ = -1;
  std::string device_type_;
  DebugOptions debug_options_;
  std::optional<DeviceAssignment> static_device_assignment_;
  std::optional<DeviceAssignment> pre_simulation_device_assignment_;
  std::vector<ShardableValueUpdatePair> shardable_value_update_pairs_;
  FusionConfigCollection fusion_config_collection_ =
      FusionConfigCollection::kOff;
  std::vector<std::vector<bool>> fusion_config_;
  absl::flat_hash_map<std::string, std::vector<int64_t>> dot_config_;
  std::vector<std::vector<std::vector<int64_t>>> layout_config_;
  std::vector<uint64_t> memory_space_assignment_config_;
  std::vector<std::vector<bool>> phase_ordering_config_;
  int phase_index_ = 0;
  absl::InlinedVector<bool, 1> allow_spmd_sharding_propagation_to_parameters_ =
      {false};
  absl::InlinedVector<bool, 1> allow_spmd_sharding_propagation_to_output_ = {
      false};
  absl::flat_hash_map<std::string, int64_t> analysis_allowance_map_;
  PrecisionConfig::Precision matrix_unit_operand_precision_ =
      PrecisionConfig::DEFAULT;
  std::string fdo_profile_;
  int64_t device_memory_size_ = 0;
  int64_t partition_size_ = 0;
  int64_t page_size_kib_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_MODULE_CONFIG_H_
