#include "xla/hlo/ir/hlo_module_config.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"

namespace xla {

HloModuleConfig::HloModuleConfig() = default;
HloModuleConfig::HloModuleConfig(const HloModuleConfig& other) = default;
HloModuleConfig::HloModuleConfig(HloModuleConfig&& other) noexcept = default;
HloModuleConfig& HloModuleConfig::operator=(const HloModuleConfig& other) =
    default;
HloModuleConfig& HloModuleConfig::operator=(HloModuleConfig&& other) noexcept =
    default;
HloModuleConfig::~HloModuleConfig() = default;

HloModuleConfig::HloModuleConfig(const ProgramShape& program_shape,
                                 bool ignore_layouts)
    : entry_computation_layout_(
          ComputationLayout(program_shape, ignore_layouts)) {}

HloModuleConfig::HloModuleConfig(ComputationLayout entry_computation_layout)
    : entry_computation_layout_(std::move(entry_computation_layout)) {}

void HloModuleConfig::SetDefaultComputationLayout(
    const ProgramShape& program_shape) {
  entry_computation_layout_ =
      ComputationLayout(program_shape, /*ignore_layouts=*/true);
}

void HloModuleConfig::SetComputationLayoutIfExists(
    const ProgramShape& program_shape) {
  entry_computation_layout_ =
      ComputationLayout(program_shape, /*ignore_layouts=*/false);
}

void HloModuleConfig::set_static_device_assignment(
    const DeviceAssignment& assignment) {
  static_device_assignment_ = assignment;
}

void HloModuleConfig::set_pre_simulation_device_assignment(
    const DeviceAssignment& assignment) {
  pre_simulation_device_assignment_ = assignment;
}

void HloModuleConfig::set_shardable_value_update_pairs(
    std::vector<ShardableValueUpdatePair> pairs) {
  shardable_value_update_pairs_ = std::move(pairs);
}

void HloModuleConfig::set_fusion_config(
    std::vector<std::vector<bool>> fusion_config) {
  fusion_config_ = std::move(fusion_config);
}

void HloModuleConfig::clear_analysis_allowance_map() {
  analysis_allowance_map_.clear();
}

void HloModuleConfig::SetAnalysisAllowance(absl::string_view pass_name,
                                           int64_t allowance) {
  analysis_allowance_map_[std::string(pass_name)] = allowance;
}

bool HloModuleConfig::ChannelIdSensitive() const {
  return !use_spmd_partitioning_ && !debug_options_.xla_ignore_channel_id() &&
         !debug_options_.xla_experimental_ignore_channel_id();
}

int64_t HloModuleConfig::GetAnalysisAllowance(
    absl::string_view pass_name) const {
  auto it = analysis_allowance_map_.find(pass_name);
  return it == analysis_allowance_map_.end() ? -1 : it->second;
}

namespace {

// Bytes of a message in which maps are sorted.
std::string DeterministicBytes(const ::google::protobuf::Message& message) {
  std::string bytes;
  {
    ::google::protobuf::io::StringOutputStream stream(&bytes);
    ::google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace

std::string HloModuleConfig::compilation_cache_key() const {
  std::string key = absl::StrCat("profiling=", hlo_profiling_enabled());
  if (entry_computation_layout_.has_value()) {
    absl::StrAppend(&key, "::", entry_computation_layout_->ToString());
  }
  absl::StrAppend(&key, "::seed=", seed_);
  absl::StrAppend(&key, "::replica_count=", replica_count_);
  absl::StrAppend(&key, "::num_partitions=", num_partitions_);
  absl::StrAppend(&key, "::spmd=", use_spmd_partitioning_, ",",
                  use_auto_spmd_partitioning_, ",", use_shardy_partitioner_);
  absl::StrAppend(&key, "::effort=", optimization_level_, ",",
                  memory_fitting_level_);
  absl::StrAppend(&key, "::device_memory=", device_memory_size_);
  if (static_device_assignment_.has_value()) {
    absl::StrAppend(&key, "::devices=", static_device_assignment_->ToString());
  }
  absl::StrAppend(&key, "::debug=", DeterministicBytes(debug_options_));
  absl::StrAppend(&key, "::threads=", intra_op_parallelism_threads_);
  if (!device_type_.empty()) {
    absl::StrAppend(&key, "::device_type=", device_type_);
  }
  absl::StrAppend(&key, "::alias_passthrough=", alias_passthrough_params_);
  absl::StrAppend(
      &key, "::propagate=",
      absl::StrJoin(allow_spmd_sharding_propagation_to_parameters_, ","), ";",
      absl::StrJoin(allow_spmd_sharding_propagation_to_output_, ","));
  return key;
}

}  // namespace xla
