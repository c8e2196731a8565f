#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/log/log.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"

namespace xla::hlo_text {

using A = Attribute;

// Collectives, and data exchange with the host and other programs.
std::unique_ptr<HloInstruction> ModuleParser::BuildCommunication(
    const Draft& draft, bool* handled) {
  switch (draft.opcode) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kCollectiveBroadcast:
      return BuildCollective(draft);
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return BuildCollectivePermute(draft);
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
      return BuildTransfer(draft);
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
      return BuildFeed(draft);
    case HloOpcode::kReplicaId:
      return HloInstruction::CreateReplicaId(*draft.shape);
    case HloOpcode::kPartitionId:
      return HloInstruction::CreatePartitionId(*draft.shape);
    case HloOpcode::kCopyStart: {
      std::optional<int> index;
      if (draft.values.Has(A::kCrossProgramPrefetchIndex)) {
        index =
            static_cast<int>(draft.values.Int(A::kCrossProgramPrefetchIndex));
      }
      return HloInstruction::CreateCopyStart(*draft.shape, draft.operands[0],
                                             index);
    }
    default:  // Built elsewhere.
      *handled = false;
      return nullptr;
  }
}

std::unique_ptr<HloInstruction> ModuleParser::BuildCollective(
    const Draft& draft) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  absl::Span<const int64_t> dims = values.Ints(A::kDimensions);
  std::shared_ptr<CollectiveDeviceListBase> groups =
      values.Has(A::kReplicaGroups) ? values.device_list
                                    : std::make_shared<CollectiveDeviceList>();
  const bool constrain_layout = values.Flag(A::kConstrainLayout);
  const bool global_ids = values.Flag(A::kUseGlobalDeviceIds);
  const std::optional<int64_t> channel = values.ChannelId();
  if (!ExpectOperands(draft, !global_ids || channel.has_value(),
                      "use_global_device_ids= needs channel_id=")) {
    return nullptr;
  }
  auto one_dimension = [&] {
    return ExpectOperands(draft, dims.size() == 1,
                          "dimensions= needs one entry");
  };
  switch (draft.opcode) {
    case HloOpcode::kAllGather:
      if (!one_dimension()) return nullptr;
      return HloInstruction::CreateAllGather(shape, operands, dims[0], groups,
                                             constrain_layout, channel,
                                             global_ids);
    case HloOpcode::kAllGatherStart:
      if (!one_dimension()) return nullptr;
      return HloInstruction::CreateAllGatherStart(shape, operands, dims[0],
                                                  groups, constrain_layout,
                                                  channel, global_ids);
    case HloOpcode::kAllReduce:
      return HloInstruction::CreateAllReduce(
          shape, operands, values.Computation(A::kToApply), groups,
          constrain_layout, channel, global_ids);
    case HloOpcode::kAllReduceStart:
      return HloInstruction::CreateAllReduceStart(
          shape, operands, values.Computation(A::kToApply), groups,
          constrain_layout, channel, global_ids);
    case HloOpcode::kReduceScatter:
      if (!one_dimension()) return nullptr;
      return HloInstruction::CreateReduceScatter(
          shape, operands, values.Computation(A::kToApply), groups,
          constrain_layout, channel, global_ids, dims[0]);
    case HloOpcode::kAllToAll: {
      std::optional<int64_t> split;
      if (values.Has(A::kDimensions)) {
        if (!one_dimension()) return nullptr;
        split = dims[0];
      }
      return HloInstruction::CreateAllToAll(shape, operands, groups,
                                            constrain_layout, channel, split);
    }
    case HloOpcode::kRaggedAllToAll:
      return HloInstruction::CreateRaggedAllToAll(shape, operands, groups,
                                                  channel);
    case HloOpcode::kCollectiveBroadcast:
      return HloInstruction::CreateCollectiveBroadcast(
          shape, operands, groups, constrain_layout, channel,
          values.Flag(A::kHasDynamicRoot));
    default:  // An error of the caller.
      LOG(FATAL) << "no collective: " << draft.opcode;
  }
}

std::unique_ptr<HloInstruction> ModuleParser::BuildCollectivePermute(
    const Draft& draft) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  const bool starts = draft.opcode == HloOpcode::kCollectivePermuteStart;
  if (!ExpectOperands(draft, !operands.empty(),
                      "at least one operand is needed")) {
    return nullptr;
  }
  if (values.Has(A::kSliceSizes)) {
    // Sends pieces of one array into pieces of another one, in place.
    if (!ExpectOperands(draft, operands.size() == 4,
                        "slice_sizes= needs input, output, and start indices "
                        "of both")) {
      return nullptr;
    }
    return starts ? HloInstruction::CreateCollectivePermuteStart(
                        shape, operands[0], operands[1], operands[2],
                        operands[3], values.source_target_pairs,
                        values.slice_sizes, values.ChannelId())
                  : HloInstruction::CreateCollectivePermute(
                        shape, operands[0], operands[1], operands[2],
                        operands[3], values.source_target_pairs,
                        values.slice_sizes, values.ChannelId());
  }
  return starts ? HloInstruction::CreateCollectivePermuteStart(
                      shape, operands, values.source_target_pairs,
                      values.ChannelId())
                : HloInstruction::CreateCollectivePermute(
                      shape, operands, values.source_target_pairs,
                      values.ChannelId());
}

std::unique_ptr<HloInstruction> ModuleParser::BuildTransfer(
    const Draft& draft) {
  const Shape& shape = *draft.shape;
  const auto& operands = draft.operands;
  const bool host = draft.values.Flag(A::kIsHostTransfer);
  const std::optional<int64_t> channel = draft.values.ChannelId();
  auto expect = [&](bool ok, absl::string_view rule) {
    return ExpectOperands(draft, ok, rule);
  };
  auto is_tuple = [](const Shape& s, int size) {
    return s.IsTuple() && s.tuple_shapes_size() == size;
  };
  std::unique_ptr<HloInstruction> transfer;
  switch (draft.opcode) {
    case HloOpcode::kSend:
      if (!expect(is_tuple(shape, 3) || (host && is_tuple(shape, 2)),
                  "the shape is (data, u32[], token[])")) {
        return nullptr;
      }
      transfer =
          HloInstruction::CreateSend(operands[0], operands[1], channel, host);
      break;
    case HloOpcode::kRecv:
      if (!expect(is_tuple(shape, 3), "the shape is (data, u32[], token[])")) {
        return nullptr;
      }
      transfer = HloInstruction::CreateRecv(shape.tuple_shapes(0), operands[0],
                                            channel, host);
      break;
    case HloOpcode::kSendDone:
    case HloOpcode::kRecvDone: {
      const bool sent = draft.opcode == HloOpcode::kSendDone;
      const bool is_start = is_tuple(operands[0]->shape(), 3) ||
                            (sent && host && is_tuple(operands[0]->shape(), 2));
      if (!expect(is_start, "the operand's shape is (data, u32[], token[])") ||
          !expect(sent || is_tuple(shape, 2), "the shape is (data, token[])")) {
        return nullptr;
      }
      transfer =
          sent ? HloInstruction::CreateSendDone(operands[0], channel, host)
               : HloInstruction::CreateRecvDone(operands[0], channel, host);
      break;
    }
    default:  // An error of the caller.
      LOG(FATAL) << "no transfer: " << draft.opcode;
  }
  *transfer->mutable_shape() = shape;
  return transfer;
}

std::unique_ptr<HloInstruction> ModuleParser::BuildFeed(const Draft& draft) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  if (draft.opcode == HloOpcode::kOutfeed) {
    // The data sent has the layout of outfeed_shape, or of the operand.
    return HloInstruction::CreateOutfeed(
        values.Has(A::kOutfeedShape) ? values.outfeed_shape
                                     : draft.operands[0]->shape(),
        draft.operands[0], draft.operands[1], values.String(A::kOutfeedConfig));
  }
  if (!ExpectOperands(draft, shape.IsTuple() && shape.tuple_shapes_size() == 2,
                      "the shape is (data, token[])")) {
    return nullptr;
  }
  std::unique_ptr<HloInstruction> infeed =
      HloInstruction::CreateInfeed(shape.tuple_shapes(0), draft.operands[0],
                                   values.String(A::kInfeedConfig));
  *infeed->mutable_shape() = shape;
  return infeed;
}

}  // namespace xla::hlo_text
