// Modules to protos, and the config that a proto implies.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/computation_placer.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_payload_deduplicator.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/layout_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using HeaderConfig = HloModuleProto::HeaderConfig;

void AddBools(absl::Span<const bool> values,
              google::protobuf::RepeatedField<bool>* field) {
  for (bool value : values) field->Add(value);
}

// The part of a config that HLO text keeps in the module header.
void WriteHeaderConfig(const HloModuleConfig& config, HeaderConfig* proto) {
  proto->set_replica_count(config.replica_count());
  proto->set_num_partitions(config.num_partitions());
  proto->set_use_spmd_partitioning(config.use_spmd_partitioning());
  proto->set_alias_passthrough_params(config.alias_passthrough_params());
  AddBools(config.allow_spmd_sharding_propagation_to_parameters(),
           proto->mutable_allow_spmd_sharding_propagation_to_parameters());
  AddBools(config.allow_spmd_sharding_propagation_to_output(),
           proto->mutable_allow_spmd_sharding_propagation_to_output());
}

void ReadHeaderConfig(const HeaderConfig& proto, HloModuleConfig* config) {
  if (proto.replica_count() > 0) {
    config->set_replica_count(proto.replica_count());
  }
  if (proto.num_partitions() > 0) {
    config->set_num_partitions(proto.num_partitions());
  }
  config->set_use_spmd_partitioning(proto.use_spmd_partitioning());
  config->set_alias_passthrough_params(proto.alias_passthrough_params());
  if (!proto.allow_spmd_sharding_propagation_to_parameters().empty()) {
    config->set_allow_spmd_sharding_propagation_to_parameters(
        proto.allow_spmd_sharding_propagation_to_parameters());
  }
  if (!proto.allow_spmd_sharding_propagation_to_output().empty()) {
    config->set_allow_spmd_sharding_propagation_to_output(
        proto.allow_spmd_sharding_propagation_to_output());
  }
}

absl::Status ApplyExecutionOptions(const ExecutionOptions& options,
                                   HloModuleConfig* config) {
  if (options.num_replicas() > 0) {
    config->set_replica_count(options.num_replicas());
  }
  if (options.num_partitions() > 0) {
    config->set_num_partitions(options.num_partitions());
  }
  config->set_seed(options.seed());
  config->set_launch_id(options.launch_id());
  config->set_use_spmd_partitioning(options.use_spmd_partitioning());
  config->set_use_auto_spmd_partitioning(options.use_auto_spmd_partitioning());
  config->set_auto_spmd_partitioning_mesh_shape(
      {options.auto_spmd_partitioning_mesh_shape().begin(),
       options.auto_spmd_partitioning_mesh_shape().end()});
  config->set_auto_spmd_partitioning_mesh_ids(
      {options.auto_spmd_partitioning_mesh_ids().begin(),
       options.auto_spmd_partitioning_mesh_ids().end()});
  config->set_deduplicate_hlo(options.deduplicate_hlo());
  config->set_optimization_level(options.optimization_level());
  config->set_memory_fitting_level(options.memory_fitting_level());
  config->set_alias_passthrough_params(options.alias_passthrough_params());
  config->set_param_requires_broadcast_via_collectives(
      {options.param_requires_broadcast_via_collectives().begin(),
       options.param_requires_broadcast_via_collectives().end()});
  config->set_allow_separate_sharding_programs(
      options.allow_separate_sharding_programs());
  HloModuleConfig::AssignStructShardableValueUpdatePairs(
      *config, options.shardable_value_update_pairs());
  config->set_fdo_profile(options.fdo_profile());
  config->set_device_memory_size(options.device_memory_size());
  config->set_use_shardy_partitioner(options.use_shardy_partitioner());
  if (!options.allow_spmd_sharding_propagation_to_parameters().empty()) {
    config->set_allow_spmd_sharding_propagation_to_parameters(
        options.allow_spmd_sharding_propagation_to_parameters());
  }
  if (!options.allow_spmd_sharding_propagation_to_output().empty()) {
    config->set_allow_spmd_sharding_propagation_to_output(
        options.allow_spmd_sharding_propagation_to_output());
  }
  if (options.has_device_assignment()) {
    TF_ASSIGN_OR_RETURN(
        std::unique_ptr<DeviceAssignment> assignment,
        DeviceAssignment::Deserialize(options.device_assignment()));
    config->set_static_device_assignment(*assignment);
  }
  return absl::OkStatus();
}

void WriteDebugAttributes(const HloModule& module, HloModuleProto* proto) {
  using Entry =
      std::pair<const OriginalArray, std::vector<HloModule::DebugAttributes>>;
  std::vector<const Entry*> entries;
  for (const Entry& entry : module.debug_attributes()) {
    entries.push_back(&entry);
  }
  absl::c_sort(entries, [](const Entry* a, const Entry* b) {
    return std::tie(a->first.instruction_name, a->first.shape_index) <
           std::tie(b->first.instruction_name, b->first.shape_index);
  });
  for (const Entry* entry : entries) {
    DebugAttributeTableEntryProto* table = proto->add_debug_attributes();
    *table->mutable_original_array() = entry->first.ToProto();
    for (const HloModule::DebugAttributes& attributes : entry->second) {
      DebugAttributesProto* attributes_proto = table->add_debug_attributes();
      attributes_proto->set_log_mode(
          static_cast<DebugAttributesProto::DebugLogModeProto>(
              attributes.log_mode));
      attributes_proto->set_callback_id(attributes.callback_id);
      attributes_proto->set_op_id(attributes.op_id);
      attributes_proto->set_partitioned(attributes.partitioned);
    }
  }
}

}  // namespace

void HloModule::ToProto(HloModuleProto* proto, HloProtoOptions options) const {
  proto->set_id(unique_id());
  proto->set_name(name());
  // Ids count from what the table has.
  HloPayloadDeduplicator own_payloads(proto->payloads_size());
  if (options.payload_deduplicator == nullptr) {
    options.payload_deduplicator = &own_payloads;
  }
  if (has_entry_computation()) {
    proto->set_entry_computation_name(std::string(entry_computation()->name()));
    proto->set_entry_computation_id(entry_computation()->unique_id());
  }
  for (const HloComputation* computation :
       MakeComputationPostOrder(/*dfs_postorder=*/true)) {
    computation->ToProto(proto->add_computations(), options);
  }
  for (std::string& payload : options.payload_deduplicator->TakePayloads()) {
    proto->add_payloads(std::move(payload));
  }
  if (has_schedule()) {
    absl::StatusOr<HloScheduleProto> schedule_proto = schedule().ToProto();
    if (schedule_proto.ok()) {
      *proto->mutable_schedule() = *std::move(schedule_proto);
    } else {
      LOG(ERROR) << "module '" << name()
                 << "' is written without its schedule, which is invalid: "
                 << schedule_proto.status();
    }
  }
  if (config().has_entry_computation_layout()) {
    *proto->mutable_host_program_shape() =
        entry_computation_layout().ComputeProgramShape().ToProto();
  }
  *proto->mutable_input_output_alias() = input_output_alias_config().ToProto();
  *proto->mutable_buffer_donor() = buffer_donor_config().ToProto();
  for (const CrossProgramPrefetchInfo& prefetch : CrossProgramPrefetches()) {
    CrossProgramPrefetch* prefetch_proto =
        proto->add_cross_program_prefetches();
    prefetch_proto->set_parameter(prefetch.parameter);
    for (int64_t i : prefetch.index) prefetch_proto->add_index(i);
    if (prefetch.alt_memory_offset.has_value()) {
      prefetch_proto->set_offset(*prefetch.alt_memory_offset);
    }
  }
  proto->set_is_dynamic(is_dynamic());
  if (has_spmd_output_sharding()) {
    *proto->mutable_spmd_output_sharding() = spmd_output_sharding().ToProto();
  }
  if (has_spmd_parameters_shardings()) {
    for (const HloSharding& sharding : spmd_parameters_shardings()) {
      *proto->add_spmd_parameters_shardings() = sharding.ToProto();
    }
  }
  proto->set_use_auto_spmd_partitioning(use_auto_spmd_partitioning());
  for (const HloModuleProto::ProfileInfo& info : profile_info()) {
    *proto->add_profile_info() = info;
  }
  if (config().has_static_device_assignment()) {
    config().static_device_assignment().Serialize(
        proto->mutable_device_assignment());
  }
  if (!stack_frames().empty()) {
    *proto->mutable_stack_frame_index() = stack_frames().proto();
  }
  if (!frontend_attributes().map().empty()) {
    *proto->mutable_frontend_attributes() = frontend_attributes();
  }
  if (!original_value_recovery_table().empty()) {
    *proto->mutable_original_value_recovery_table() =
        original_value_recovery_table().ToProto();
  }
  proto->set_device_type(std::string(config().device_type()));
  WriteDebugAttributes(*this, proto);
  WriteHeaderConfig(config(), proto->mutable_header_config());
}

HloModuleProto HloModule::ToProto(HloProtoOptions options) const {
  HloModuleProto proto;
  ToProto(&proto, options);
  return proto;
}

void HloModule::ToProtoWithConfig(HloModuleProtoWithConfig* proto,
                                  HloProtoOptions options) const {
  ToProto(proto->mutable_hlo_module(), options);
  *proto->mutable_config() = config().ToProto();
}

HloModuleProtoWithConfig HloModule::ToProtoWithConfig(
    HloProtoOptions options) const {
  HloModuleProtoWithConfig proto;
  ToProtoWithConfig(&proto, options);
  return proto;
}

absl::StatusOr<HloModuleConfig> HloModule::CreateModuleConfigFromShape(
    const ProgramShape& program_shape, const DebugOptions& debug_options,
    const ExecutionOptions* execution_options) {
  HloModuleConfig config;
  config.SetComputationLayoutIfExists(program_shape);
  config.set_debug_options(debug_options);
  if (execution_options == nullptr) return config;
  TF_RETURN_IF_ERROR(ApplyExecutionOptions(*execution_options, &config));
  if (execution_options->has_shape_with_output_layout()) {
    TF_ASSIGN_OR_RETURN(
        Shape result,
        Shape::FromProto(execution_options->shape_with_output_layout()));
    TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(result));
    if (!ShapeUtil::Compatible(result, program_shape.result())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape_with_output_layout ", ShapeUtil::HumanString(result),
          " does not fit the result ",
          ShapeUtil::HumanString(program_shape.result())));
    }
    TF_RETURN_IF_ERROR(config.mutable_entry_computation_layout()
                           ->mutable_result_layout()
                           ->CopyLayoutFromShape(result));
  }
  return config;
}

absl::StatusOr<HloModuleConfig> HloModule::CreateModuleConfigFromProto(
    const HloModuleProto& module, const DebugOptions& debug_options,
    const ExecutionOptions* execution_options) {
  if (!module.has_host_program_shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("module '", module.name(), "': no host_program_shape"));
  }
  TF_ASSIGN_OR_RETURN(ProgramShape program_shape,
                      ProgramShape::FromProto(module.host_program_shape()));
  // Nothing behind the reader looks at them before it uses them.
  for (const Shape& parameter : program_shape.parameters()) {
    TF_RETURN_IF_ERROR(LayoutUtil::ValidateLayoutInShape(
        parameter, /*allow_missing_layouts=*/true));
  }
  TF_RETURN_IF_ERROR(LayoutUtil::ValidateLayoutInShape(
      program_shape.result(), /*allow_missing_layouts=*/true));
  TF_ASSIGN_OR_RETURN(HloModuleConfig config,
                      CreateModuleConfigFromShape(program_shape, debug_options,
                                                  execution_options));
  if (execution_options == nullptr && module.has_header_config()) {
    ReadHeaderConfig(module.header_config(), &config);
  }
  if (!config.has_static_device_assignment() &&
      module.has_device_assignment()) {
    TF_ASSIGN_OR_RETURN(
        std::unique_ptr<DeviceAssignment> assignment,
        DeviceAssignment::Deserialize(module.device_assignment()));
    config.set_static_device_assignment(*assignment);
  }
  config.set_use_auto_spmd_partitioning(module.use_auto_spmd_partitioning());
  config.set_device_type(module.device_type());
  return config;
}

int64_t HloPayloadDeduplicator::Deduplicate(absl::string_view payload) {
  auto [it, inserted] = ids_.try_emplace(
      std::string(payload), base_ + static_cast<int64_t>(ids_.size()));
  if (inserted) payloads_.push_back(it->first);
  return it->second;
}

}  // namespace xla
