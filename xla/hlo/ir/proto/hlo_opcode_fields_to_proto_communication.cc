// Fields that collectives, transfers and asynchronous instructions write into
// the proto.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

using hlo_proto_internal::AddAliasing;
using hlo_proto_internal::AddInts;

void HloChannelInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  if (channel_id().has_value()) proto->set_channel_id(*channel_id());
}

void HloSendRecvInstruction::ToProto(HloInstructionProto* proto) const {
  HloChannelInstruction::ToProto(proto);
  proto->set_is_host_transfer(is_host_transfer());
}

void HloCollectiveInstruction::ToProto(HloInstructionProto* proto) const {
  HloChannelInstruction::ToProto(proto);
  device_list()->ToInstructionProto(proto);
  proto->set_constrain_layout(constrain_layout());
}

void HloAllGatherInstruction::ToProto(HloInstructionProto* proto) const {
  HloCollectiveInstruction::ToProto(proto);
  proto->add_dimensions(all_gather_dimension());
  proto->set_use_global_device_ids(use_global_device_ids());
}

void HloAllReduceInstructionBase::ToProto(HloInstructionProto* proto) const {
  HloCollectiveInstruction::ToProto(proto);
  proto->set_use_global_device_ids(use_global_device_ids());
}

void HloReduceScatterInstruction::ToProto(HloInstructionProto* proto) const {
  HloAllReduceInstructionBase::ToProto(proto);
  proto->add_dimensions(scatter_dimension());
}

void HloAllToAllInstruction::ToProto(HloInstructionProto* proto) const {
  HloCollectiveInstruction::ToProto(proto);
  if (split_dimension().has_value()) proto->add_dimensions(*split_dimension());
}

void HloRaggedAllToAllInstruction::ToProto(HloInstructionProto* proto) const {
  HloCollectiveInstruction::ToProto(proto);
}

void HloCollectiveBroadcastInstruction::ToProto(
    HloInstructionProto* proto) const {
  HloCollectiveInstruction::ToProto(proto);
  proto->set_has_dynamic_root(has_dynamic_root());
}

void HloCollectivePermuteInstruction::ToProto(
    HloInstructionProto* proto) const {
  HloChannelInstruction::ToProto(proto);
  for (const auto& [source, target] : source_target_pairs()) {
    SourceTarget* pair = proto->add_source_target_pairs();
    pair->set_source(source);
    pair->set_target(target);
  }
  // The lists of slice sizes stand one after the other: all have the rank of
  // the operand.
  for (const std::vector<int64_t>& sizes : dynamic_slice_sizes_list()) {
    AddInts(sizes, proto->mutable_dynamic_slice_sizes());
  }
}

void HloInfeedInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_infeed_config(infeed_config_);
}

void HloOutfeedInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_outfeed_config(outfeed_config());
  outfeed_shape().ToProto(*proto->mutable_outfeed_shape());
}

void HloAsyncInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  absl::string_view thread = async_execution_thread();
  if (thread != kMainExecutionThread) {
    proto->set_async_execution_thread(std::string(thread));
  }
  if (async_wrapped_computation() == nullptr &&
      !HloOpcodeIsAsync(async_wrapped_opcode())) {
    proto->set_async_wrapped_opcode(
        std::string(HloOpcodeString(async_wrapped_opcode())));
  }
}

void HloAsyncStartInstruction::ToProto(HloInstructionProto* proto) const {
  HloAsyncInstruction::ToProto(proto);
  AddAliasing(output_to_operand_aliasing(), proto);
}

void HloAsyncUpdateInstruction::ToProto(HloInstructionProto* proto) const {
  HloAsyncInstruction::ToProto(proto);
  AddAliasing(output_to_operand_aliasing(), proto);
}

}  // namespace xla
