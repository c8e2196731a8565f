// Out of protos: collectives, transfers, asynchronous instructions, and
// whatever has no attributes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_proto_internal {

using Result = ProtoReader::Result;

Result ProtoReader::ReadCollective() const {
  TF_ASSIGN_OR_RETURN(std::shared_ptr<CollectiveDeviceListBase> groups,
                      CollectiveDeviceListBase::CreateFromProto(proto));
  const std::optional<int64_t> channel = ChannelId();
  const bool constrain_layout = proto.constrain_layout();
  const bool global_ids = proto.use_global_device_ids();
  TF_RETURN_IF_ERROR(Check(!operands.empty(), "no operands"));
  switch (opcode) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart: {
      TF_RETURN_IF_ERROR(
          Check(proto.dimensions_size() == 1, "expected one dimension"));
      return std::make_unique<HloAllGatherInstruction>(
          opcode, shape, operands, proto.dimensions(0), std::move(groups),
          constrain_layout, channel, global_ids);
    }
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
      TF_RETURN_IF_ERROR(CheckComputations(1));
      return std::make_unique<HloAllReduceInstruction>(
          opcode, shape, operands, computations[0], std::move(groups),
          constrain_layout, channel, global_ids);
    case HloOpcode::kReduceScatter:
      TF_RETURN_IF_ERROR(CheckComputations(1));
      TF_RETURN_IF_ERROR(
          Check(proto.dimensions_size() == 1, "expected one dimension"));
      return HloInstruction::CreateReduceScatter(
          shape, operands, computations[0], std::move(groups), constrain_layout,
          channel, global_ids, proto.dimensions(0));
    case HloOpcode::kAllToAll: {
      std::optional<int64_t> split_dimension;
      TF_RETURN_IF_ERROR(Check(proto.dimensions_size() <= 1,
                               "expected at most one dimension"));
      if (proto.dimensions_size() == 1) split_dimension = proto.dimensions(0);
      return HloInstruction::CreateAllToAll(shape, operands, std::move(groups),
                                            constrain_layout, channel,
                                            split_dimension);
    }
    case HloOpcode::kRaggedAllToAll:
      return HloInstruction::CreateRaggedAllToAll(shape, operands,
                                                  std::move(groups), channel);
    case HloOpcode::kCollectiveBroadcast:
      return HloInstruction::CreateCollectiveBroadcast(
          shape, operands, std::move(groups), constrain_layout, channel,
          proto.has_dynamic_root());
    default:  // An error of the caller.
      return absl::InternalError(
          absl::StrCat("no collective: ", HloOpcodeString(opcode)));
  }
}

Result ProtoReader::ReadCollectivePermute() const {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const SourceTarget& pair : proto.source_target_pairs()) {
    pairs.emplace_back(pair.source(), pair.target());
  }
  if (operands.size() != 4 || proto.dynamic_slice_sizes().empty()) {
    TF_RETURN_IF_ERROR(Check(!operands.empty(), "no operands"));
    return std::make_unique<HloCollectivePermuteInstruction>(
        opcode, shape, operands, pairs, ChannelId());
  }
  // The lists of slice sizes stand one after the other; each has the rank of
  // the array it is about. The arrays of a tuple take turns.
  std::vector<int64_t> ranks;
  const Shape& input = operands[0]->shape();
  if (input.IsTuple()) {
    for (const Shape& element : input.tuple_shapes()) {
      if (element.IsArray()) ranks.push_back(element.dimensions().size());
    }
  } else if (input.IsArray()) {
    ranks.push_back(input.dimensions().size());
  }
  int64_t round = 0;
  for (int64_t rank : ranks) round += rank;
  const int64_t total = proto.dynamic_slice_sizes_size();
  TF_RETURN_IF_ERROR(Check(round > 0 && total % round == 0,
                           "slice sizes do not fit the input"));
  std::vector<std::vector<int64_t>> slice_sizes;
  for (int64_t next = 0; next < total;) {
    for (int64_t rank : ranks) {
      slice_sizes.emplace_back(
          proto.dynamic_slice_sizes().begin() + next,
          proto.dynamic_slice_sizes().begin() + next + rank);
      next += rank;
    }
  }
  return std::make_unique<HloCollectivePermuteInstruction>(
      opcode, shape, operands[0], operands[1], operands[2], operands[3], pairs,
      slice_sizes, ChannelId());
}

Result ProtoReader::ReadTransfer() const {
  const bool host = proto.is_host_transfer();
  const bool starts = opcode == HloOpcode::kSend || opcode == HloOpcode::kRecv;
  const size_t parts = opcode == HloOpcode::kRecvDone ? 2 : 3;
  // Sends to the host may leave out the context.
  const bool short_send =
      host && (opcode == HloOpcode::kSend || opcode == HloOpcode::kSendDone);
  const auto is_tuple_of = [&](const Shape& whole, size_t count) {
    return whole.IsTuple() && whole.tuple_shapes().size() == count;
  };
  if (opcode != HloOpcode::kSendDone) {
    TF_RETURN_IF_ERROR(Check(
        is_tuple_of(shape, parts) || (short_send && is_tuple_of(shape, 2)),
        "the shape is not a tuple of ", parts, " elements"));
  }
  if (!starts) {
    const Shape& operand = operands[0]->shape();
    TF_RETURN_IF_ERROR(
        Check((operand.IsTuple() && operand.tuple_shapes().size() >= 3) ||
                  (short_send && is_tuple_of(operand, 2)),
              "the operand's shape is not that of a send or recv"));
  }
  std::unique_ptr<HloInstruction> transfer;
  switch (opcode) {
    case HloOpcode::kSend:
      transfer = HloInstruction::CreateSend(operands[0], operands[1],
                                            ChannelId(), host);
      break;
    case HloOpcode::kSendDone:
      transfer = HloInstruction::CreateSendDone(operands[0], ChannelId(), host);
      break;
    case HloOpcode::kRecv:
      transfer = HloInstruction::CreateRecv(shape.tuple_shapes(0), operands[0],
                                            ChannelId(), host);
      break;
    case HloOpcode::kRecvDone:
      transfer = HloInstruction::CreateRecvDone(operands[0], ChannelId(), host);
      break;
    default:  // An error of the caller.
      return absl::InternalError(
          absl::StrCat("no transfer: ", HloOpcodeString(opcode)));
  }
  *transfer->mutable_shape() = shape;
  return transfer;
}

Result ProtoReader::ReadFeed() const {
  if (opcode == HloOpcode::kOutfeed) {
    TF_ASSIGN_OR_RETURN(Shape outfeed_shape,
                        Shape::FromProto(proto.outfeed_shape()));
    TF_RETURN_IF_ERROR(
        ShapeUtil::ValidateShapeWithOptionalLayout(outfeed_shape));
    return HloInstruction::CreateOutfeed(outfeed_shape, operands[0],
                                         operands[1], proto.outfeed_config());
  }
  TF_RETURN_IF_ERROR(Check(shape.IsTuple() && shape.tuple_shapes().size() == 2,
                           "the shape is not a tuple of 2 elements"));
  std::unique_ptr<HloInstruction> infeed = HloInstruction::CreateInfeed(
      shape.tuple_shapes(0), operands[0], proto.infeed_config());
  *infeed->mutable_shape() = shape;
  return infeed;
}

Result ProtoReader::ReadAsync() const {
  TF_RETURN_IF_ERROR(
      Check(computations.size() <= 1, "expected one called computation"));
  if (opcode == HloOpcode::kAsyncStart) {
    TF_RETURN_IF_ERROR(
        Check(shape.IsTuple() && shape.tuple_shapes().size() >= 2,
              "the shape is not a tuple of operands, results and context"));
  }
  if (opcode == HloOpcode::kAsyncStart) {
    TF_RETURN_IF_ERROR(CheckComputations(1));
    auto start = HloInstruction::CreateAsyncStart(
        shape, operands, computations[0],
        proto.async_execution_thread().empty()
            ? absl::string_view(HloInstruction::kMainExecutionThread)
            : absl::string_view(proto.async_execution_thread()));
    start->set_output_to_operand_aliasing(Aliasing());
    return start;
  }
  TF_RETURN_IF_ERROR(Check(!operands.empty(), "no operands"));
  // A chain that can be followed to its start learns from there what it runs.
  HloComputation* computation = nullptr;
  std::optional<HloOpcode> wrapped_opcode;
  if (operands[0]->opcode() != HloOpcode::kAsyncStart &&
      operands[0]->opcode() != HloOpcode::kAsyncUpdate) {
    if (!computations.empty()) {
      computation = computations[0];
      wrapped_opcode = computation->root_instruction()->opcode();
    } else if (!proto.async_wrapped_opcode().empty()) {
      wrapped_opcode = TryStringToHloOpcode(proto.async_wrapped_opcode());
      TF_RETURN_IF_ERROR(
          Check(wrapped_opcode.has_value(), "unknown async_wrapped_opcode"));
    }
  }
  if (opcode == HloOpcode::kAsyncDone) {
    return HloInstruction::CreateAsyncDone(shape, operands[0], wrapped_opcode,
                                           computation);
  }
  auto update = HloInstruction::CreateAsyncUpdate(shape, operands,
                                                  wrapped_opcode, computation);
  update->set_output_to_operand_aliasing(Aliasing());
  return update;
}

Result ProtoReader::ReadCommunication() const {
  switch (opcode) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kCollectiveBroadcast:
      return ReadCollective();
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return ReadCollectivePermute();
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
      return ReadTransfer();
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
      return ReadFeed();
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      return ReadAsync();
    case HloOpcode::kReplicaId:
      return HloInstruction::CreateReplicaId(shape);
    case HloOpcode::kPartitionId:
      return HloInstruction::CreatePartitionId(shape);
    default:  // Operands and shape are all that it has.
      return ReadPlain();
  }
}

Result ProtoReader::ReadPlain() const {
  switch (HloOpcodeArity(opcode).value_or(-1)) {
    case 1: {
      std::optional<ResultAccuracy> accuracy;
      if (proto.has_result_accuracy() && IsUnaryOpWithResultAccuracy(opcode)) {
        TF_RETURN_IF_ERROR(Check(IsValidResultAccuracy(proto.result_accuracy()),
                                 "invalid result_accuracy"));
        accuracy = proto.result_accuracy();
      }
      return HloInstruction::CreateUnary(shape, opcode, operands[0],
                                         std::move(accuracy));
    }
    case 2:
      return HloInstruction::CreateBinary(shape, opcode, operands[0],
                                          operands[1]);
    case 3:
      return HloInstruction::CreateTernary(shape, opcode, operands[0],
                                           operands[1], operands[2]);
    case -1:
      return HloInstruction::CreateVariadic(shape, opcode, operands);
    default:
      return nullptr;
  }
}

}  // namespace hlo_proto_internal
}  // namespace xla
