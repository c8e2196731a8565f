#ifndef XLA_HLO_UTILS_HLO_PROTO_UTIL_H_
#define XLA_HLO_UTILS_HLO_PROTO_UTIL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The module as HloProto, without a buffer assignment.
HloProto MakeHloProto(const HloModule& module);
void MakeHloProto(const HloModule& module, HloProto* proto);

// With one. `BufferAssignment` is anything with `ToProto()` that returns a
// BufferAssignmentProto: the assignment itself lives in a later layer.
template <typename BufferAssignment>
void MakeHloProto(const HloModule& module, const BufferAssignment& assignment,
                  HloProto* proto) {
  MakeHloProto(module, proto);
  *proto->mutable_buffer_assignment() = assignment.ToProto();
}
template <typename BufferAssignment>
HloProto MakeHloProto(const HloModule& module,
                      const BufferAssignment& assignment) {
  HloProto proto;
  MakeHloProto(module, assignment, &proto);
  return proto;
}

// A module out of a proto, with the config that the proto implies. Constants
// without elements are kept as elided ones. InvalidArgument for anything
// malformed.
absl::StatusOr<std::unique_ptr<HloModule>> HloModuleFromProto(
    const HloModuleProto& proto);

// Shapes of the entry computation; the pointers point into the proto. NotFound
// if the proto lacks the module or its host_program_shape.
absl::StatusOr<std::vector<const ShapeProto*>> EntryComputationParameterShapes(
    const HloProto& hlo_proto);
absl::StatusOr<const ShapeProto*> EntryComputationOutputShape(
    const HloProto& hlo_proto);

// The raw backend config, wherever the proto keeps it. InvalidArgument for the
// id of a payload if `module` is null or lacks it.
absl::StatusOr<std::string> GetBackendConfigString(
    const HloInstructionProto& instruction,
    const HloModuleProto* module = nullptr);

// `proto` with payloads in place of their ids. Ids that `module` lacks stay.
HloInstructionProto ToProtoWithInlinedPayloads(HloInstructionProto proto,
                                               const HloModuleProto* module);

// The wire form of a message, the same for equal messages: maps are written in
// order of their keys.
std::string SerializeDeterministically(
    const google::protobuf::Message& message);

}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_PROTO_UTIL_H_
