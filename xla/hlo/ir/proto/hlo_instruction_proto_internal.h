#ifndef XLA_HLO_IR_PROTO_HLO_INSTRUCTION_PROTO_INTERNAL_H_
#define XLA_HLO_IR_PROTO_HLO_INSTRUCTION_PROTO_INTERNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// Shared by the conversions of instructions to and from protos. Not for use
// elsewhere.

namespace xla {
namespace hlo_proto_internal {

using OutputToOperandAliasing =
    std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>;

inline void AddInts(absl::Span<const int64_t> values,
                    google::protobuf::RepeatedField<int64_t>* field) {
  field->Add(values.begin(), values.end());
}

inline std::vector<int64_t> ToVector(
    const google::protobuf::RepeatedField<int64_t>& field) {
  return {field.begin(), field.end()};
}

// An error unless the indices can be written in text: from 0 to 2^31 - 1.
absl::Status CheckOriginalArray(const OriginalArrayProto& proto);

void AddAliasing(const OutputToOperandAliasing& aliasing,
                 HloInstructionProto* proto);

// An instruction proto whose references have been looked up and whose shape and
// operand count have been checked. The functions below make the instruction;
// there is one group per file, which returns null for opcodes of other groups.
struct ProtoReader {
  using Result = absl::StatusOr<std::unique_ptr<HloInstruction>>;

  const HloInstructionProto& proto;
  HloOpcode opcode;
  Shape shape;
  HloInstruction::InstructionVector operands;
  std::vector<HloComputation*> computations;
  bool prohibit_empty_literal;

  // InvalidArgument that names the instruction.
  template <typename... Args>
  absl::Status Error(const Args&... args) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "instruction '", proto.name(), "' (", proto.opcode(), "): ", args...));
  }
  // Fails with `what` unless `condition`.
  template <typename... Args>
  absl::Status Check(bool condition, const Args&... what) const {
    return condition ? absl::OkStatus() : Error(what...);
  }
  absl::Status CheckComputations(int64_t count) const;

  OutputToOperandAliasing Aliasing() const;
  // Present if positive.
  std::optional<int64_t> ChannelId() const;

  Result ReadDimensional() const;
  Result ReadKernel() const;
  Result ReadCall() const;
  Result ReadCommunication() const;
  Result ReadOther() const;

 private:
  Result ReadConstant() const;
  Result ReadCompare() const;
  Result ReadSlice() const;
  Result ReadConvolution() const;
  Result ReadWindowed() const;
  Result ReadScan() const;
  Result ReadDomain() const;
  Result ReadDynamicIndex() const;
  absl::Status CheckDimensionNumbers() const;
  Result ReadCustomCall() const;
  Result ReadFusion() const;
  Result ReadConditional() const;
  Result ReadAsync() const;
  Result ReadCollective() const;
  Result ReadCollectivePermute() const;
  Result ReadTransfer() const;
  Result ReadPlain() const;
  Result ReadFeed() const;
};

}  // namespace hlo_proto_internal
}  // namespace xla

#endif  // XLA_HLO_IR_PROTO_HLO_INSTRUCTION_PROTO_INTERNAL_H_
