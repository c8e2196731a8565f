// Module configs to protos and back.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/computation_placer.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"

namespace xla {
namespace {

using BoolListProto = HloModuleConfigProto::BoolList;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;

template <typename Values, typename T>
void Assign(const Values& values, RepeatedField<T>* field) {
  field->Clear();
  field->Reserve(static_cast<int>(values.size()));
  for (const auto& value : values) field->Add(value);
}

void Assign(const std::vector<std::vector<bool>>& lists,
            RepeatedPtrField<BoolListProto>* field) {
  for (const std::vector<bool>& list : lists) {
    Assign(list, field->Add()->mutable_vals());
  }
}

std::vector<std::vector<bool>> ToLists(
    const RepeatedPtrField<BoolListProto>& field) {
  std::vector<std::vector<bool>> lists;
  for (const BoolListProto& list : field) {
    lists.emplace_back(list.vals().begin(), list.vals().end());
  }
  return lists;
}

template <typename T>
std::vector<T> ToVector(const RepeatedField<T>& field) {
  return {field.begin(), field.end()};
}

absl::StatusOr<std::optional<DeviceAssignment>> ReadAssignment(
    bool present, const DeviceAssignmentProto& proto) {
  if (!present) return std::optional<DeviceAssignment>();
  TF_ASSIGN_OR_RETURN(std::unique_ptr<DeviceAssignment> assignment,
                      DeviceAssignment::Deserialize(proto));
  return std::optional<DeviceAssignment>(*assignment);
}

}  // namespace

void HloModuleConfig::AssignProtoShardableValueUpdatePairs(
    RepeatedPtrField<ShardableValueUpdatePairProto>* proto_update_pairs,
    const std::vector<ShardableValueUpdatePair>& update_pairs) {
  for (const ShardableValueUpdatePair& pair : update_pairs) {
    ShardableValueUpdatePairProto* proto = proto_update_pairs->Add();
    proto->set_input_parameter_number(pair.input_parameter_number);
    Assign(pair.parameter_shape_index, proto->mutable_parameter_shape_index());
    Assign(pair.output_shape_index, proto->mutable_output_shape_index());
  }
}

void HloModuleConfig::AssignStructShardableValueUpdatePairs(
    HloModuleConfig& config,
    const RepeatedPtrField<ShardableValueUpdatePairProto>& pairs) {
  std::vector<ShardableValueUpdatePair> result;
  for (const ShardableValueUpdatePairProto& proto : pairs) {
    result.push_back({proto.input_parameter_number(),
                      ShapeIndex(proto.parameter_shape_index().begin(),
                                 proto.parameter_shape_index().end()),
                      ShapeIndex(proto.output_shape_index().begin(),
                                 proto.output_shape_index().end())});
  }
  config.set_shardable_value_update_pairs(std::move(result));
}

HloModuleConfigProto HloModuleConfig::ToProto() const {
  HloModuleConfigProto proto;
  if (has_entry_computation_layout()) {
    *proto.mutable_entry_computation_layout() =
        entry_computation_layout().ComputeProgramShape().ToProto();
  }
  proto.set_seed(seed_);
  proto.set_launch_id(launch_id_);
  proto.set_replica_count(replica_count_);
  proto.set_num_partitions(num_partitions_);
  Assign(param_requires_broadcast_via_collectives_,
         proto.mutable_param_requires_broadcast_via_collectives());
  proto.set_use_spmd_partitioning(use_spmd_partitioning_);
  proto.set_use_auto_spmd_partitioning(use_auto_spmd_partitioning_);
  Assign(auto_spmd_partitioning_mesh_shape_,
         proto.mutable_auto_spmd_partitioning_mesh_shape());
  Assign(auto_spmd_partitioning_mesh_ids_,
         proto.mutable_auto_spmd_partitioning_mesh_ids());
  proto.set_optimization_level(optimization_level_);
  proto.set_memory_fitting_level(memory_fitting_level_);
  proto.set_deduplicate_hlo(deduplicate_hlo_);
  proto.set_intra_op_parallelism_threads(intra_op_parallelism_threads_);
  proto.set_device_type(device_type_);
  *proto.mutable_debug_options() = debug_options_;
  if (static_device_assignment_.has_value()) {
    static_device_assignment_->Serialize(
        proto.mutable_static_device_assignment());
  }
  if (pre_simulation_device_assignment_.has_value()) {
    pre_simulation_device_assignment_->Serialize(
        proto.mutable_pre_simulation_device_assignment());
  }
  proto.set_allow_separate_sharding_programs(allow_separate_sharding_programs_);
  AssignProtoShardableValueUpdatePairs(
      proto.mutable_shardable_value_update_pairs(),
      shardable_value_update_pairs_);
  proto.set_alias_passthrough_params(alias_passthrough_params_);
  proto.set_content_aware_computation_sorting(
      content_aware_computation_sorting_);
  proto.set_fusion_config_collection(
      static_cast<HloModuleConfigProto::FusionConfigCollection>(
          fusion_config_collection_));
  Assign(fusion_config_, proto.mutable_fusion_config());
  for (const auto& [name, config] : dot_config_) {
    Assign(config, (*proto.mutable_dot_config())[name].mutable_vals());
  }
  for (const std::vector<std::vector<int64_t>>& lists : layout_config_) {
    HloModuleConfigProto::Int64ListList* lists_proto =
        proto.add_layout_config();
    for (const std::vector<int64_t>& list : lists) {
      Assign(list, lists_proto->add_lists()->mutable_vals());
    }
  }
  Assign(memory_space_assignment_config_,
         proto.mutable_memory_space_assignment_config());
  Assign(phase_ordering_config_, proto.mutable_phase_ordering_config());
  proto.set_phase_index(phase_index_);
  Assign(allow_spmd_sharding_propagation_to_parameters_,
         proto.mutable_allow_spmd_sharding_propagation_to_parameters());
  Assign(allow_spmd_sharding_propagation_to_output_,
         proto.mutable_allow_spmd_sharding_propagation_to_output());
  for (const auto& [pass, allowance] : analysis_allowance_map_) {
    (*proto.mutable_analysis_allowance_map())[pass] = allowance;
  }
  proto.set_matrix_unit_operand_precision(matrix_unit_operand_precision_);
  proto.set_fdo_profile(fdo_profile_);
  proto.set_device_memory_size(device_memory_size_);
  proto.set_use_shardy_partitioner(use_shardy_partitioner_);
  proto.set_partition_size(partition_size_);
  proto.set_page_size_kib(page_size_kib_);
  return proto;
}

absl::StatusOr<std::unique_ptr<HloModuleConfig>>
HloModuleConfig::CreateFromProto(const HloModuleConfigProto& proto) {
  auto config = std::make_unique<HloModuleConfig>();
  if (proto.has_entry_computation_layout()) {
    TF_ASSIGN_OR_RETURN(
        ProgramShape shape,
        ProgramShape::FromProto(proto.entry_computation_layout()));
    for (const Shape& parameter : shape.parameters()) {
      TF_RETURN_IF_ERROR(LayoutUtil::ValidateLayoutInShape(
          parameter, /*allow_missing_layouts=*/true));
    }
    TF_RETURN_IF_ERROR(LayoutUtil::ValidateLayoutInShape(
        shape.result(), /*allow_missing_layouts=*/true));
    config->SetComputationLayoutIfExists(shape);
  }
  config->seed_ = proto.seed();
  config->launch_id_ = proto.launch_id();
  config->replica_count_ = proto.replica_count();
  config->num_partitions_ = proto.num_partitions();
  config->param_requires_broadcast_via_collectives_ =
      ToVector(proto.param_requires_broadcast_via_collectives());
  config->use_spmd_partitioning_ = proto.use_spmd_partitioning();
  config->use_auto_spmd_partitioning_ = proto.use_auto_spmd_partitioning();
  config->auto_spmd_partitioning_mesh_shape_ =
      ToVector(proto.auto_spmd_partitioning_mesh_shape());
  config->auto_spmd_partitioning_mesh_ids_ =
      ToVector(proto.auto_spmd_partitioning_mesh_ids());
  config->optimization_level_ = proto.optimization_level();
  config->memory_fitting_level_ = proto.memory_fitting_level();
  config->deduplicate_hlo_ = proto.deduplicate_hlo();
  config->intra_op_parallelism_threads_ = proto.intra_op_parallelism_threads();
  config->device_type_ = proto.device_type();
  config->debug_options_ = proto.debug_options();
  TF_ASSIGN_OR_RETURN(config->static_device_assignment_,
                      ReadAssignment(proto.has_static_device_assignment(),
                                     proto.static_device_assignment()));
  TF_ASSIGN_OR_RETURN(
      config->pre_simulation_device_assignment_,
      ReadAssignment(proto.has_pre_simulation_device_assignment(),
                     proto.pre_simulation_device_assignment()));
  config->allow_separate_sharding_programs_ =
      proto.allow_separate_sharding_programs();
  AssignStructShardableValueUpdatePairs(*config,
                                        proto.shardable_value_update_pairs());
  config->alias_passthrough_params_ = proto.alias_passthrough_params();
  config->content_aware_computation_sorting_ =
      proto.content_aware_computation_sorting();
  config->fusion_config_collection_ =
      static_cast<FusionConfigCollection>(proto.fusion_config_collection());
  config->fusion_config_ = ToLists(proto.fusion_config());
  for (const auto& entry : proto.dot_config()) {
    config->dot_config_[entry.first] = ToVector(entry.second.vals());
  }
  for (const auto& lists : proto.layout_config()) {
    config->layout_config_.emplace_back();
    for (const auto& list : lists.lists()) {
      config->layout_config_.back().push_back(ToVector(list.vals()));
    }
  }
  config->memory_space_assignment_config_ =
      ToVector(proto.memory_space_assignment_config());
  config->phase_ordering_config_ = ToLists(proto.phase_ordering_config());
  config->phase_index_ = proto.phase_index();
  // Never empty: one false is the default.
  if (!proto.allow_spmd_sharding_propagation_to_parameters().empty()) {
    config->set_allow_spmd_sharding_propagation_to_parameters(
        proto.allow_spmd_sharding_propagation_to_parameters());
  }
  if (!proto.allow_spmd_sharding_propagation_to_output().empty()) {
    config->set_allow_spmd_sharding_propagation_to_output(
        proto.allow_spmd_sharding_propagation_to_output());
  }
  for (const auto& entry : proto.analysis_allowance_map()) {
    config->analysis_allowance_map_[entry.first] = entry.second;
  }
  config->matrix_unit_operand_precision_ =
      proto.matrix_unit_operand_precision();
  config->fdo_profile_ = proto.fdo_profile();
  config->device_memory_size_ = proto.device_memory_size();
  config->use_shardy_partitioner_ = proto.use_shardy_partitioner();
  config->partition_size_ = proto.partition_size();
  config->page_size_kib_ = proto.page_size_kib();
  return config;
}

}  // namespace xla
