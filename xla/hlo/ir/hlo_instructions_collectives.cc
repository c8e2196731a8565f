// Instructions that talk to other devices or to the host.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_instructions_internal.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;

namespace {

std::shared_ptr<CollectiveDeviceListBase> ListOf(
    absl::Span<const ReplicaGroup> replica_groups) {
  return std::make_shared<CollectiveDeviceList>(replica_groups);
}

}  // namespace

// --- Channels
// -----------------------------------------------------------------

HloChannelInstruction::HloChannelInstruction(
    HloOpcode opcode, const Shape& shape,
    const std::optional<int64_t>& channel_id)
    : HloInstruction(opcode, shape), channel_id_(channel_id) {}

void HloChannelInstruction::set_channel_id(
    const std::optional<int64_t>& channel_id) {
  channel_id_ = channel_id;
}

bool HloChannelInstruction::IdenticalSlowPath(const HloInstruction& other,
                                              EqComputations eq) const {
  return channel_id() == As<HloChannelInstruction>(other).channel_id() &&
         IdenticalSlowPathIgnoringChannelIdValues(other, eq);
}

HloSendRecvInstruction::HloSendRecvInstruction(
    HloOpcode opcode, const Shape& shape, std::optional<int64_t> channel_id,
    bool is_host_transfer)
    : HloChannelInstruction(opcode, shape, channel_id),
      is_host_transfer_(is_host_transfer) {}

bool HloSendRecvInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  // Frontend attributes name the partners of a transfer.
  return is_host_transfer() ==
             As<HloSendRecvInstruction>(other).is_host_transfer() &&
         google::protobuf::util::MessageDifferencer::Equals(
             frontend_attributes(), other.frontend_attributes());
}

HloSendInstruction::HloSendInstruction(HloInstruction* operand,
                                       HloInstruction* token,
                                       std::optional<int64_t> channel_id,
                                       bool is_host_transfer)
    : HloSendRecvInstruction(
          HloOpcode::kSend,
          ShapeUtil::MakeTupleShape({operand->shape(),
                                     ShapeUtil::MakeShape(U32, {}),
                                     ShapeUtil::MakeTokenShape()}),
          channel_id, is_host_transfer) {
  AppendOperands({operand, token});
}

HloPtr HloSendInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  auto clone = std::make_unique<HloSendInstruction>(
      new_operands[0], new_operands[1], channel_id(), is_host_transfer());
  *clone->mutable_shape() = shape;
  return clone;
}

HloSendDoneInstruction::HloSendDoneInstruction(HloSendInstruction* operand,
                                               bool is_host_transfer)
    : HloSendDoneInstruction(operand, operand->channel_id(), is_host_transfer) {
}

HloSendDoneInstruction::HloSendDoneInstruction(
    HloInstruction* operand, std::optional<int64_t> channel_id,
    bool is_host_transfer)
    : HloSendRecvInstruction(HloOpcode::kSendDone, ShapeUtil::MakeTokenShape(),
                             channel_id, is_host_transfer) {
  AppendOperand(operand);
}

HloPtr HloSendDoneInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  auto clone = std::make_unique<HloSendDoneInstruction>(
      new_operands[0], channel_id(), is_host_transfer());
  // If the send gives (data, token), it may give both.
  *clone->mutable_shape() = shape;
  return clone;
}

HloRecvInstruction::HloRecvInstruction(const Shape& shape,
                                       HloInstruction* token,
                                       std::optional<int64_t> channel_id,
                                       bool is_host_transfer)
    : HloSendRecvInstruction(
          HloOpcode::kRecv,
          ShapeUtil::MakeTupleShape({shape, ShapeUtil::MakeShape(U32, {}),
                                     ShapeUtil::MakeTokenShape()}),
          channel_id, is_host_transfer) {
  AppendOperand(token);
}

HloPtr HloRecvInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  auto clone = std::make_unique<HloRecvInstruction>(
      ShapeUtil::GetTupleElementShape(shape, 0), new_operands[0], channel_id(),
      is_host_transfer());
  *clone->mutable_shape() = shape;
  return clone;
}

namespace {

// (data, ...) -> (data, token)
Shape ShapeOfRecvDone(const Shape& recv_shape) {
  const bool is_tuple =
      recv_shape.IsTuple() && !recv_shape.tuple_shapes().empty();
  return ShapeUtil::MakeTupleShape(
      {is_tuple ? recv_shape.tuple_shapes(0) : recv_shape,
       ShapeUtil::MakeTokenShape()});
}

}  // namespace

HloRecvDoneInstruction::HloRecvDoneInstruction(HloRecvInstruction* operand,
                                               bool is_host_transfer)
    : HloRecvDoneInstruction(operand, operand->channel_id(), is_host_transfer) {
}

HloRecvDoneInstruction::HloRecvDoneInstruction(
    HloInstruction* operand, std::optional<int64_t> channel_id,
    bool is_host_transfer)
    : HloSendRecvInstruction(HloOpcode::kRecvDone,
                             ShapeOfRecvDone(operand->shape()), channel_id,
                             is_host_transfer) {
  AppendOperand(operand);
}

HloPtr HloRecvDoneInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  auto clone = std::make_unique<HloRecvDoneInstruction>(
      new_operands[0], channel_id(), is_host_transfer());
  *clone->mutable_shape() = shape;
  return clone;
}

// --- Collectives
// --------------------------------------------------------------

HloCollectiveInstruction::HloCollectiveInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id)
    : HloChannelInstruction(opcode, shape, channel_id),
      device_list_(std::move(device_list)),
      constrain_layout_(constrain_layout) {
  if (device_list_ == nullptr) {
    device_list_ = std::make_shared<CollectiveDeviceList>();
  }
  AppendOperands(operands);
}

bool HloCollectiveInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  const auto& that = As<HloCollectiveInstruction>(other);
  return constrain_layout() == that.constrain_layout() &&
         (device_list_ == that.device_list_ ||
          *device_list_ == *that.device_list_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloAllGatherInstruction::HloAllGatherInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    int64_t all_gather_dimension,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    bool use_global_device_ids)
    : HloCollectiveInstruction(opcode, shape, operands, std::move(device_list),
                               constrain_layout, channel_id),
      all_gather_dimension_(all_gather_dimension),
      use_global_device_ids_(use_global_device_ids) {}

HloAllGatherInstruction::HloAllGatherInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    int64_t all_gather_dimension, absl::Span<const ReplicaGroup> replica_groups,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    bool use_global_device_ids)
    : HloAllGatherInstruction(opcode, shape, operands, all_gather_dimension,
                              ListOf(replica_groups), constrain_layout,
                              channel_id, use_global_device_ids) {}

bool HloAllGatherInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  const auto& that = As<HloAllGatherInstruction>(other);
  return all_gather_dimension_ == that.all_gather_dimension_ &&
         use_global_device_ids_ == that.use_global_device_ids_ &&
         HloCollectiveInstruction::IdenticalSlowPathIgnoringChannelIdValues(
             other, eq);
}

HloPtr HloAllGatherInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloAllGatherInstruction>(
      opcode(), shape, new_operands, all_gather_dimension(), device_list(),
      constrain_layout(), channel_id(), use_global_device_ids());
}

HloAllReduceInstructionBase::HloAllReduceInstructionBase(
    HloOpcode opcode, const Shape& shape, Operands operands,
    HloComputation* reduce_computation,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    bool use_global_device_ids)
    : HloCollectiveInstruction(opcode, shape, operands, std::move(device_list),
                               constrain_layout, channel_id),
      use_global_device_ids_(use_global_device_ids) {
  AppendComputation(reduce_computation);
}

bool HloAllReduceInstructionBase::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  const auto& that = As<HloAllReduceInstructionBase>(other);
  return use_global_device_ids_ == that.use_global_device_ids_ &&
         HloCollectiveInstruction::IdenticalSlowPathIgnoringChannelIdValues(
             other, eq);
}

bool HloAllReduceInstruction::IsNoop() const {
  return device_list()->num_replica_groups() > 0 &&
         absl::c_all_of(replica_groups(), [](const ReplicaGroup& group) {
           return group.replica_ids_size() == 1;
         });
}

HloPtr HloAllReduceInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloAllReduceInstruction>(
      opcode(), shape, new_operands, to_apply(), device_list(),
      constrain_layout(), channel_id(), use_global_device_ids());
}

HloReduceScatterInstruction::HloReduceScatterInstruction(
    const Shape& shape, Operands operands, HloComputation* reduce_computation,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    bool use_global_device_ids, int64_t scatter_dimension)
    : HloAllReduceInstructionBase(HloOpcode::kReduceScatter, shape, operands,
                                  reduce_computation, std::move(device_list),
                                  constrain_layout, channel_id,
                                  use_global_device_ids),
      scatter_dimension_(scatter_dimension) {}

HloReduceScatterInstruction::HloReduceScatterInstruction(
    const Shape& shape, Operands operands, HloComputation* reduce_computation,
    absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
    const std::optional<int64_t>& channel_id, bool use_global_device_ids,
    int64_t scatter_dimension)
    : HloReduceScatterInstruction(shape, operands, reduce_computation,
                                  ListOf(replica_groups), constrain_layout,
                                  channel_id, use_global_device_ids,
                                  scatter_dimension) {}

bool HloReduceScatterInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  return scatter_dimension_ ==
             As<HloReduceScatterInstruction>(other).scatter_dimension_ &&
         HloAllReduceInstructionBase::IdenticalSlowPathIgnoringChannelIdValues(
             other, eq);
}

HloPtr HloReduceScatterInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloReduceScatterInstruction>(
      shape, new_operands, to_apply(), device_list(), constrain_layout(),
      channel_id(), use_global_device_ids(), scatter_dimension());
}

HloAllToAllInstruction::HloAllToAllInstruction(
    const Shape& shape, Operands operands,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    const std::optional<int64_t>& split_dimension)
    : HloCollectiveInstruction(HloOpcode::kAllToAll, shape, operands,
                               std::move(device_list), constrain_layout,
                               channel_id),
      split_dimension_(split_dimension) {}

HloAllToAllInstruction::HloAllToAllInstruction(
    const Shape& shape, Operands operands,
    absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
    const std::optional<int64_t>& channel_id,
    const std::optional<int64_t>& split_dimension)
    : HloAllToAllInstruction(shape, operands, ListOf(replica_groups),
                             constrain_layout, channel_id, split_dimension) {}

bool HloAllToAllInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  return split_dimension_ ==
             As<HloAllToAllInstruction>(other).split_dimension_ &&
         HloCollectiveInstruction::IdenticalSlowPathIgnoringChannelIdValues(
             other, eq);
}

HloPtr HloAllToAllInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloAllToAllInstruction>(
      shape, new_operands, device_list(), constrain_layout(), channel_id(),
      split_dimension());
}

HloRaggedAllToAllInstruction::HloRaggedAllToAllInstruction(
    const Shape& shape, Operands operands,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    const std::optional<int64_t>& channel_id)
    : HloCollectiveInstruction(HloOpcode::kRaggedAllToAll, shape, operands,
                               std::move(device_list),
                               /*constrain_layout=*/false, channel_id) {}

HloRaggedAllToAllInstruction::HloRaggedAllToAllInstruction(
    const Shape& shape, Operands operands,
    absl::Span<const ReplicaGroup> replica_groups,
    const std::optional<int64_t>& channel_id)
    : HloRaggedAllToAllInstruction(shape, operands, ListOf(replica_groups),
                                   channel_id) {}

HloPtr HloRaggedAllToAllInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloRaggedAllToAllInstruction>(
      shape, new_operands, device_list(), channel_id());
}

HloCollectiveBroadcastInstruction::HloCollectiveBroadcastInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    std::shared_ptr<CollectiveDeviceListBase> device_list,
    bool constrain_layout, const std::optional<int64_t>& channel_id,
    bool has_dynamic_root)
    : HloCollectiveInstruction(opcode, shape, operands, std::move(device_list),
                               constrain_layout, channel_id),
      has_dynamic_root_(has_dynamic_root) {}

HloCollectiveBroadcastInstruction::HloCollectiveBroadcastInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
    const std::optional<int64_t>& channel_id, bool has_dynamic_root)
    : HloCollectiveBroadcastInstruction(
          opcode, shape, operands, ListOf(replica_groups), constrain_layout,
          channel_id, has_dynamic_root) {}

bool HloCollectiveBroadcastInstruction::
    IdenticalSlowPathIgnoringChannelIdValues(const HloInstruction& other,
                                             EqComputations eq) const {
  return has_dynamic_root_ ==
             As<HloCollectiveBroadcastInstruction>(other).has_dynamic_root_ &&
         HloCollectiveInstruction::IdenticalSlowPathIgnoringChannelIdValues(
             other, eq);
}

HloPtr HloCollectiveBroadcastInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloCollectiveBroadcastInstruction>(
      opcode(), shape, new_operands, device_list(), constrain_layout(),
      channel_id(), has_dynamic_root());
}

// --- Permutes
// -----------------------------------------------------------------

HloCollectivePermuteInstruction::HloCollectivePermuteInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
    const std::optional<int64_t>& channel_id)
    : HloChannelInstruction(opcode, shape, channel_id),
      source_target_pairs_(source_target_pairs) {
  AppendOperands(operands);
}

HloCollectivePermuteInstruction::HloCollectivePermuteInstruction(
    HloOpcode opcode, const Shape& shape, HloInstruction* input,
    HloInstruction* output, HloInstruction* input_start_indices,
    HloInstruction* output_start_indices,
    absl::Span<const std::pair<int64_t, int64_t>> source_target_pairs,
    absl::Span<const std::vector<int64_t>> slice_sizes,
    const std::optional<int64_t>& channel_id)
    : HloChannelInstruction(opcode, shape, channel_id),
      source_target_pairs_(source_target_pairs.begin(),
                           source_target_pairs.end()),
      slice_sizes_(slice_sizes.begin(), slice_sizes.end()),
      inplace_(true) {
  AppendOperands({input, output, input_start_indices, output_start_indices});
}

bool HloCollectivePermuteInstruction::IdenticalSlowPathIgnoringChannelIdValues(
    const HloInstruction& other, EqComputations eq) const {
  const auto& that = As<HloCollectivePermuteInstruction>(other);
  return inplace_ == that.inplace_ && slice_sizes_ == that.slice_sizes_ &&
         source_target_pairs_ == that.source_target_pairs_;
}

HloPtr HloCollectivePermuteInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  if (!inplace_) {
    return std::make_unique<HloCollectivePermuteInstruction>(
        opcode(), shape, new_operands, source_target_pairs_, channel_id());
  }
  CHECK_EQ(new_operands.size(), 4);
  return std::make_unique<HloCollectivePermuteInstruction>(
      opcode(), shape, new_operands[0], new_operands[1], new_operands[2],
      new_operands[3], source_target_pairs_, slice_sizes_, channel_id());
}

}  // namespace xla
