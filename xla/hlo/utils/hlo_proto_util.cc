#include "xla/hlo/utils/hlo_proto_util.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/service/hlo.pb.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

absl::StatusOr<const ProgramShapeProto*> HostProgramShape(
    const HloProto& hlo_proto) {
  if (!hlo_proto.has_hlo_module()) {
    return absl::NotFoundError("HloProto has no module");
  }
  if (!hlo_proto.hlo_module().has_host_program_shape()) {
    return absl::NotFoundError("HloProto has no host_program_shape");
  }
  return &hlo_proto.hlo_module().host_program_shape();
}

// Null if there is no such payload.
const std::string* FindPayload(const HloModuleProto* module, int64_t id) {
  if (module == nullptr || id < 0 || id >= module->payloads_size()) {
    return nullptr;
  }
  return &module->payloads(static_cast<int>(id));
}

}  // namespace

void MakeHloProto(const HloModule& module, HloProto* proto) {
  module.ToProto(proto->mutable_hlo_module());
}

HloProto MakeHloProto(const HloModule& module) {
  HloProto proto;
  MakeHloProto(module, &proto);
  return proto;
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModuleFromProto(
    const HloModuleProto& proto) {
  TF_ASSIGN_OR_RETURN(
      HloModuleConfig config,
      HloModule::CreateModuleConfigFromProto(proto, DebugOptions()));
  return HloModule::CreateFromProto(proto, config,
                                    /*prohibit_empty_literal=*/false);
}

absl::StatusOr<std::vector<const ShapeProto*>> EntryComputationParameterShapes(
    const HloProto& hlo_proto) {
  TF_ASSIGN_OR_RETURN(const ProgramShapeProto* program_shape,
                      HostProgramShape(hlo_proto));
  std::vector<const ShapeProto*> shapes;
  for (const ShapeProto& shape : program_shape->parameters()) {
    shapes.push_back(&shape);
  }
  return shapes;
}

absl::StatusOr<const ShapeProto*> EntryComputationOutputShape(
    const HloProto& hlo_proto) {
  TF_ASSIGN_OR_RETURN(const ProgramShapeProto* program_shape,
                      HostProgramShape(hlo_proto));
  if (!program_shape->has_result()) {
    return absl::NotFoundError("HloProto has no result shape");
  }
  return &program_shape->result();
}

absl::StatusOr<std::string> GetBackendConfigString(
    const HloInstructionProto& instruction, const HloModuleProto* module) {
  const Payload& payload = instruction.backend_config_payload();
  switch (payload.payload_source_case()) {
    case Payload::kValue:
      return payload.value();
    case Payload::kId: {
      const std::string* text = FindPayload(module, payload.id());
      if (text != nullptr) return *text;
      return absl::InvalidArgumentError(
          absl::StrCat("instruction '", instruction.name(),
                       "': no payload with id ", payload.id()));
    }
    default:
      return instruction.backend_config();
  }
}

HloInstructionProto ToProtoWithInlinedPayloads(HloInstructionProto proto,
                                               const HloModuleProto* module) {
  absl::StatusOr<std::string> config = GetBackendConfigString(proto, module);
  if (config.ok()) {
    proto.clear_backend_config_payload();
    proto.set_backend_config(*config);
  }
  const Payload& payload = proto.metadata().metadata_payload();
  if (payload.payload_source_case() == Payload::kId) {
    const std::string* text = FindPayload(module, payload.id());
    if (text != nullptr) {
      proto.mutable_metadata()->mutable_metadata_payload()->set_value(*text);
    }
  }
  return proto;
}

std::string SerializeDeterministically(
    const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace xla
