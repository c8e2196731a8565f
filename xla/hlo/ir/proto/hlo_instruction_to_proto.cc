// Proto fields common to all instructions.

#include <string>
#include <utility>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_payload_deduplicator.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

void HloInstruction::ToProto(HloInstructionProto* proto) const {
  proto->set_id(unique_id());
  proto->set_name(name_);
  *proto->mutable_opcode() = std::string(HloOpcodeString(opcode_));
  shape_.ToProto(*proto->mutable_shape());
  for (const HloInstruction* operand : operands_) {
    proto->add_operand_ids(operand->unique_id());
  }
  for (const HloInstruction* predecessor : control_predecessors()) {
    proto->add_control_predecessor_ids(predecessor->unique_id());
  }
  for (const HloComputation* computation : called_computations()) {
    proto->add_called_computation_ids(computation->unique_id());
  }
  if (has_metadata()) *proto->mutable_metadata() = metadata();
  if (has_backend_config()) {
    proto->set_backend_config(raw_backend_config_string());
  }
  if (has_sharding()) *proto->mutable_sharding() = sharding().ToProto();
  if (has_frontend_attributes()) {
    *proto->mutable_frontend_attributes() = frontend_attributes();
  }
  if (has_statistics()) *proto->mutable_statistics_viz() = statistics_viz();
  if (has_result_accuracy()) {
    *proto->mutable_result_accuracy() = result_accuracy();
  }
  if (original_value() != nullptr) {
    *proto->mutable_original_value() = original_value()->ToProto();
  }
  proto->set_is_composite(is_composite());
  for (const auto& [name, value] : unknown_attributes()) {
    HloInstructionProto::UnknownAttribute* attribute =
        proto->add_unknown_attributes();
    attribute->set_name(name);
    attribute->set_value(value);
  }
}

HloInstructionProto HloInstruction::ToProto() const {
  HloInstructionProto proto;
  ToProto(&proto);
  return proto;
}

void HloInstruction::ToProto(HloInstructionProto* proto,
                             HloProtoOptions options) const {
  ToProto(proto);
  if (options.payload_deduplicator == nullptr) return;
  if (options.deduplicate_backend_config && !proto->backend_config().empty()) {
    proto->mutable_backend_config_payload()->set_id(
        options.payload_deduplicator->Deduplicate(proto->backend_config()));
    proto->clear_backend_config();
  }
  if (options.deduplicate_metadata && proto->has_metadata() &&
      proto->metadata().metadata_payload().payload_source_case() ==
          Payload::kValue) {
    Payload* payload = proto->mutable_metadata()->mutable_metadata_payload();
    payload->set_id(
        options.payload_deduplicator->Deduplicate(payload->value()));
  }
}

}  // namespace xla
