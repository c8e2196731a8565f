// Modules out of protos, and the renumbering of protos.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_original_value_recovery_table.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/hlo/ir/proto/id_spellings.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Ids in the proto -> local ids, per id of the computation in the proto.
using IdRemap =
    absl::flat_hash_map<int64_t, absl::flat_hash_map<int64_t, int64_t>>;
using ComputationMap = absl::flat_hash_map<int64_t, HloComputation*>;

template <typename... Args>
absl::Status ModuleError(const HloModuleProto& proto, const Args&... args) {
  return absl::InvalidArgumentError(
      absl::StrCat("module '", proto.name(), "': ", args...));
}

// Ids of computations are the upper halves of instruction ids. Protos of old
// have instruction ids that were counted through the module.
bool HasUsableComputationIds(const HloModuleProto& proto) {
  for (const HloComputationProto& computation : proto.computations()) {
    if (computation.id() < 0 ||
        computation.id() >= std::numeric_limits<int32_t>::max()) {
      return false;
    }
  }
  return true;
}

std::vector<std::shared_ptr<BackendConfigWrapper>> ReadPayloads(
    const HloModuleProto& proto) {
  std::vector<std::shared_ptr<BackendConfigWrapper>> payloads;
  payloads.reserve(proto.payloads_size());
  for (const std::string& payload : proto.payloads()) {
    payloads.push_back(std::make_shared<BackendConfigWrapper>(payload));
  }
  return payloads;
}

// Parameter shapes and result of the entry against those of a layout, which may
// leave all parameters out.
absl::Status CheckEntryLayout(const HloModuleProto& proto,
                              const HloComputation& entry,
                              const ComputationLayout& layout) {
  const bool lists_parameters = layout.parameter_count() > 0;
  if (lists_parameters && layout.parameter_count() != entry.num_parameters()) {
    return ModuleError(proto, "the entry computation has ",
                       entry.num_parameters(), " parameters, its layout ",
                       layout.parameter_count());
  }
  for (int64_t i = 0; lists_parameters && i < entry.num_parameters(); ++i) {
    const Shape& shape = entry.parameter_instruction(i)->shape();
    if (!ShapeUtil::Compatible(layout.parameter_shape(i), shape)) {
      return ModuleError(proto, "parameter ", i,
                         " of the entry computation is ",
                         ShapeUtil::HumanString(shape), ", in its layout ",
                         ShapeUtil::HumanString(layout.parameter_shape(i)));
    }
  }
  const Shape& result = entry.root_instruction()->shape();
  if (!ShapeUtil::Compatible(layout.result_shape(), result)) {
    return ModuleError(proto, "the result of the entry computation is ",
                       ShapeUtil::HumanString(result), ", in its layout ",
                       ShapeUtil::HumanString(layout.result_shape()));
  }
  return absl::OkStatus();
}

// Lists the parameters of the entry in a layout that has none of them.
void AddMissingParameters(const HloComputation& entry,
                          HloModuleConfig* config) {
  const ComputationLayout& layout = config->entry_computation_layout();
  if (layout.parameter_count() == entry.num_parameters()) return;
  ProgramShape shape = entry.ComputeProgramShape();
  *shape.mutable_result() = layout.result_shape();
  config->SetComputationLayoutIfExists(shape);
}

absl::Status ReadSchedule(const HloModuleProto& proto,
                          const ComputationMap& computations,
                          const IdRemap& id_remap, HloModule* module) {
  HloSchedule schedule(module);
  for (const auto& entry : proto.schedule().sequences()) {
    auto found = computations.find(entry.first);
    if (found == computations.end()) {
      return ModuleError(proto, "the schedule has a computation of id ",
                         entry.first, ", which does not exist");
    }
    HloComputation* computation = found->second;
    const auto& ids = id_remap.at(entry.first);
    std::vector<HloInstruction*> sequence;
    sequence.reserve(entry.second.instruction_ids_size());
    for (int64_t id : entry.second.instruction_ids()) {
      auto local_id = ids.find(id);
      if (local_id == ids.end()) {
        return ModuleError(proto, "the schedule of '", computation->name(),
                           "' has an instruction of id ", id,
                           ", which does not exist");
      }
      sequence.push_back(
          computation->GetInstructionWithLocalId(local_id->second));
    }
    schedule.set_sequence(computation, sequence);
  }
  absl::Status status = module->set_schedule(std::move(schedule));
  if (status.ok()) return status;
  return ModuleError(proto, "invalid schedule: ", status.message());
}

HloModule::DebugAttributes FromProto(const DebugAttributesProto& proto) {
  using LogMode = HloModule::DebugAttributes::DebugLogMode;
  HloModule::DebugAttributes attributes;
  switch (proto.log_mode()) {
    case DebugAttributesProto::DEFAULT:
      attributes.log_mode = LogMode::kDefault;
      break;
    case DebugAttributesProto::FUSION_DEBUGGER:
      attributes.log_mode = LogMode::kFusionDebugger;
      break;
    default:
      attributes.log_mode = LogMode::kNone;
  }
  attributes.callback_id = proto.callback_id();
  attributes.op_id = proto.op_id();
  attributes.partitioned = proto.partitioned();
  return attributes;
}

// Everything but computations and schedule.
absl::Status ReadExtras(const HloModuleProto& proto, HloModule* module) {
  TF_ASSIGN_OR_RETURN(HloInputOutputAliasConfig aliases,
                      HloInputOutputAliasConfig::CreateFromProto(
                          module->result_shape(), proto.input_output_alias()));
  module->set_input_output_alias_config(std::move(aliases));
  TF_ASSIGN_OR_RETURN(
      HloBufferDonorConfig donors,
      HloBufferDonorConfig::CreateFromProto(proto.buffer_donor()));
  module->set_buffer_donor_config(std::move(donors));
  for (const CrossProgramPrefetch& prefetch :
       proto.cross_program_prefetches()) {
    std::optional<int64_t> offset;
    if (prefetch.offset() != 0) offset = prefetch.offset();
    module->AddCrossProgramPrefetch(
        prefetch.parameter(),
        ShapeIndex(prefetch.index().begin(), prefetch.index().end()), offset);
  }
  module->set_is_dynamic(proto.is_dynamic());
  if (proto.has_spmd_output_sharding()) {
    TF_ASSIGN_OR_RETURN(HloSharding sharding,
                        HloSharding::FromProto(proto.spmd_output_sharding()));
    module->set_spmd_output_sharding(sharding);
  }
  if (!proto.spmd_parameters_shardings().empty()) {
    std::vector<HloSharding> shardings;
    for (const OpSharding& sharding_proto : proto.spmd_parameters_shardings()) {
      TF_ASSIGN_OR_RETURN(HloSharding sharding,
                          HloSharding::FromProto(sharding_proto));
      shardings.push_back(std::move(sharding));
    }
    module->set_spmd_parameters_shardings(shardings);
  }
  module->set_use_auto_spmd_partitioning(proto.use_auto_spmd_partitioning());
  for (const HloModuleProto::ProfileInfo& info : proto.profile_info()) {
    module->add_profile_info(info);
  }
  TF_ASSIGN_OR_RETURN(StackFrames frames, StackFrames::FromProtoWithRepeats(
                                              proto.stack_frame_index()));
  if (StackFrames::HasRepeats(proto.stack_frame_index())) {
    // Equal frames become one, so that their ids tell them apart.
    module->CanonicalizeStackFrameIds(proto.stack_frame_index());
  } else {
    module->set_stack_frames(std::move(frames));
  }
  module->set_frontend_attributes(proto.frontend_attributes());
  if (proto.has_original_value_recovery_table()) {
    TF_ASSIGN_OR_RETURN(OriginalValueRecoveryTable table,
                        OriginalValueRecoveryTable::FromProto(
                            proto.original_value_recovery_table()));
    module->set_original_value_recovery_table(std::move(table));
  }
  for (const DebugAttributeTableEntryProto& entry : proto.debug_attributes()) {
    TF_RETURN_IF_ERROR(
        hlo_proto_internal::CheckOriginalArray(entry.original_array()));
    const OriginalArray array =
        OriginalArray::FromProto(entry.original_array());
    for (const DebugAttributesProto& attributes : entry.debug_attributes()) {
      module->AddDebugAttributes(array, FromProto(attributes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::CreateFromProto(
    const HloModuleProto& proto, const HloModuleConfig& module_config,
    bool prohibit_empty_literal,
    std::unique_ptr<CompilationEnvironments> comp_envs,
    bool preserve_instruction_ids,
    BufferAssignmentProto* buffer_assignment_proto) {
  if (proto.name().empty()) return ModuleError(proto, "no name");
  const std::vector<std::shared_ptr<BackendConfigWrapper>> payloads =
      ReadPayloads(proto);
  const bool keep_ids = HasUsableComputationIds(proto);
  auto module = std::make_unique<HloModule>(proto.name(), module_config,
                                            std::move(comp_envs));
  if (!proto.device_type().empty()) {
    module->mutable_config().set_device_type(proto.device_type());
  }
  ComputationMap computations;
  IdRemap id_remap;
  absl::flat_hash_set<absl::string_view> names;
  bool has_entry = false;
  // A computation knows only those before it, so that calls do not recurse.
  for (const HloComputationProto& computation_proto : proto.computations()) {
    const int64_t id = computation_proto.id();
    if (computations.contains(id)) {
      return ModuleError(proto, "two computations have the id ", id);
    }
    TF_ASSIGN_OR_RETURN(
        std::unique_ptr<HloComputation> computation,
        HloComputation::CreateFromProto(
            computation_proto, computations, prohibit_empty_literal,
            preserve_instruction_ids && keep_ids, &id_remap[id], payloads));
    const bool is_entry = id == proto.entry_computation_id();
    if (is_entry && module_config.has_entry_computation_layout()) {
      TF_RETURN_IF_ERROR(CheckEntryLayout(
          proto, *computation, module_config.entry_computation_layout()));
      AddMissingParameters(*computation, &module->mutable_config());
    }
    if (keep_ids) computation->SetUniqueId(id);
    HloComputation* added =
        module->AddComputation(std::move(computation), is_entry);
    if (!names.insert(added->name()).second) {
      return ModuleError(proto, "two computations are named '", added->name(),
                         "'");
    }
    computations[id] = added;
    has_entry |= is_entry;
  }
  if (!has_entry) {
    return ModuleError(proto, "no computation has the id of the entry, ",
                       proto.entry_computation_id());
  }
  TF_RETURN_IF_ERROR(ReadExtras(proto, module.get()));
  if (proto.has_schedule()) {
    TF_RETURN_IF_ERROR(
        ReadSchedule(proto, computations, id_remap, module.get()));
  }
  if (buffer_assignment_proto != nullptr) {
    TF_RETURN_IF_ERROR(
        UpdateBufferAssignmentProto(buffer_assignment_proto, [&] {
          // From ids in the proto to unique ids in the module.
          IdRemap unique_ids = id_remap;
          for (auto& [id, instructions] : unique_ids) {
            for (auto& entry : instructions) {
              entry.second = HloInstruction::CalculateUniqueId(
                  computations.at(id)->unique_id(), entry.second);
            }
          }
          return unique_ids;
        }()));
  }
  return module;
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::CreateFromProto(
    const HloModuleProto& proto, const HloModuleConfig& module_config,
    BufferAssignmentProto* buffer_assignment_proto,
    bool preserve_instruction_ids) {
  return CreateFromProto(proto, module_config, /*prohibit_empty_literal=*/true,
                         /*comp_envs=*/nullptr, preserve_instruction_ids,
                         buffer_assignment_proto);
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::CreateFromProtoWithConfig(
    const HloModuleProtoWithConfig& proto, bool prohibit_empty_literal,
    std::unique_ptr<CompilationEnvironments> comp_envs,
    bool preserve_instruction_ids,
    BufferAssignmentProto* buffer_assignment_proto) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModuleConfig> config,
                      HloModuleConfig::CreateFromProto(proto.config()));
  return CreateFromProto(proto.hlo_module(), *config, prohibit_empty_literal,
                         std::move(comp_envs), preserve_instruction_ids,
                         buffer_assignment_proto);
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::CreateFromProtoWithConfig(
    const HloModuleProtoWithConfig& proto,
    BufferAssignmentProto* buffer_assignment_proto,
    bool preserve_instruction_ids) {
  return CreateFromProtoWithConfig(
      proto, /*prohibit_empty_literal=*/true,
      /*comp_envs=*/nullptr, preserve_instruction_ids, buffer_assignment_proto);
}

absl::Status HloModule::UpdateIdsInSchedule(
    HloModuleProto& proto, int64_t computation_proto_id,
    absl::flat_hash_map<int64_t, int64_t>& old_instr_id_to_new_id) {
  auto& sequences = *proto.mutable_schedule()->mutable_sequences();
  auto sequence = sequences.find(computation_proto_id);
  // Fused computations have no schedule.
  if (sequence == sequences.end()) return absl::OkStatus();
  for (int64_t& id : *sequence->second.mutable_instruction_ids()) {
    auto new_id = old_instr_id_to_new_id.find(id);
    if (new_id == old_instr_id_to_new_id.end()) {
      return ModuleError(proto, "the schedule of computation ",
                         computation_proto_id, " has an instruction of id ", id,
                         ", which does not exist");
    }
    id = new_id->second;
  }
  return absl::OkStatus();
}

absl::StatusOr<HloModuleProto> HloModule::RemapInstructionIds(
    const HloModuleProto& proto) {
  HloModuleProto result = proto;
  for (HloComputationProto& computation : *result.mutable_computations()) {
    if (computation.id() < 0 ||
        computation.id() > std::numeric_limits<int32_t>::max()) {
      return ModuleError(proto, "computation id ", computation.id(),
                         " is out of range");
    }
    absl::flat_hash_map<int64_t, int64_t> new_ids;
    const auto spellings = hlo_proto_internal::OtherSpellings(computation);
    int32_t next_local_id = 0;
    auto remap = [&](int64_t* id) -> absl::Status {
      auto new_id = new_ids.find(*id);
      if (new_id == new_ids.end()) {
        return ModuleError(proto, "computation '", computation.name(),
                           "' has no instruction with id ", *id);
      }
      *id = new_id->second;
      return absl::OkStatus();
    };
    for (HloInstructionProto& instruction :
         *computation.mutable_instructions()) {
      const int64_t new_id = HloInstruction::CalculateUniqueId(
          static_cast<int32_t>(computation.id()), next_local_id++);
      if (!new_ids.try_emplace(instruction.id(), new_id).second) {
        return ModuleError(proto, "two instructions have the id ",
                           instruction.id());
      }
      if (auto others = spellings.find(instruction.id());
          others != spellings.end()) {
        for (int64_t other : others->second) new_ids.emplace(other, new_id);
      }
      instruction.set_id(new_id);
      for (int64_t& id : *instruction.mutable_operand_ids()) {
        TF_RETURN_IF_ERROR(remap(&id));
      }
      for (int64_t& id : *instruction.mutable_control_predecessor_ids()) {
        TF_RETURN_IF_ERROR(remap(&id));
      }
    }
    int64_t root_id = computation.root_id();
    TF_RETURN_IF_ERROR(remap(&root_id));
    computation.set_root_id(root_id);
    if (result.has_schedule()) {
      TF_RETURN_IF_ERROR(
          UpdateIdsInSchedule(result, computation.id(), new_ids));
    }
  }
  return result;
}

absl::Status HloModule::UpdateBufferAssignmentProto(
    BufferAssignmentProto* buffer_assignment_proto,
    const absl::flat_hash_map<int64_t, absl::flat_hash_map<int64_t, int64_t>>&
        computation_id_to_id_remap_map) {
  for (LogicalBufferProto& buffer :
       *buffer_assignment_proto->mutable_logical_buffers()) {
    LogicalBufferProto::Location* location = buffer.mutable_defined_at();
    const int64_t id = location->instruction_id();
    // An id says which computation it belongs to; those of old protos do not,
    // but are unique in the module.
    std::optional<int64_t> new_id;
    auto computation = computation_id_to_id_remap_map.find(
        HloInstruction::CalculateParentId(id));
    if (computation != computation_id_to_id_remap_map.end()) {
      auto it = computation->second.find(id);
      if (it != computation->second.end()) new_id = it->second;
    }
    if (!new_id.has_value()) {
      for (const auto& [computation_id, ids] : computation_id_to_id_remap_map) {
        auto it = ids.find(id);
        if (it == ids.end()) continue;
        new_id = it->second;
        break;
      }
    }
    if (!new_id.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("logical buffer ", buffer.id(),
                       " is defined by an instruction of id ", id,
                       ", which does not exist"));
    }
    location->set_instruction_id(*new_id);
  }
  return absl::OkStatus();
}

}  // namespace xla
