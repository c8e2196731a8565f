#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

bool Begins(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kSend || inst.opcode() == HloOpcode::kRecv;
}

// The data of what begins transfers, in any layout, and frontend attributes.
bool AreAlike(const HloInstruction& a, const HloInstruction& b) {
  const auto& attributes = a.frontend_attributes().map();
  const auto& others = b.frontend_attributes().map();
  if (attributes.size() != others.size()) return false;
  for (const auto& [key, value] : attributes) {
    const auto found = others.find(key);
    if (found == others.end() || found->second != value) return false;
  }
  return a.shape().tuple_shapes_size() > 0 &&
         b.shape().tuple_shapes_size() > 0 &&
         ShapeUtil::Compatible(a.shape().tuple_shapes(0),
                               b.shape().tuple_shapes(0));
}

}  // namespace

absl::Status CommunicationCheck::Visit(const HloInstruction& inst) {
  if (HloOpcodeIsAsync(inst.opcode())) return CheckAsyncLink(inst);
  absl::Status status = CheckStartAndDone(inst);
  if (!status.ok()) return status;
  if (HloSendRecvInstruction::ClassOf(&inst)) {
    status = VisitTransfer(inst);
    if (!status.ok()) return status;
  }
  if (inst.opcode() == HloOpcode::kAllReduce ||
      inst.opcode() == HloOpcode::kAllReduceStart) {
    status = VisitAllReduce(inst);
    if (!status.ok()) return status;
  }
  return HloChannelInstruction::ClassOf(&inst) ? VisitChannel(inst)
                                               : absl::OkStatus();
}

absl::Status CommunicationCheck::VisitTransfer(const HloInstruction& inst) {
  const HloOpcode opcode = inst.opcode();
  if (opcode != HloOpcode::kSendDone && opcode != HloOpcode::kRecvDone) {
    return absl::OkStatus();
  }
  const auto& done = *Cast<HloSendRecvInstruction>(&inst);
  // It may be in a computation that nothing calls yet, or on one of several
  // ways, as in front of a loop and in it.
  const HloSendRecvInstruction* start = nullptr;
  for (const HloInstruction* origin : AsyncStateOrigins(inst.operand(0))) {
    const auto* other = DynCast<HloSendRecvInstruction>(origin);
    if (other == nullptr) continue;
    if (other->channel_id() == done.channel_id() &&
        other->is_host_transfer() == done.is_host_transfer()) {
      return absl::OkStatus();
    }
    start = other;
  }
  if (start == nullptr) return absl::OkStatus();
  auto text = [](const HloSendRecvInstruction& transfer) {
    const std::optional<int64_t> channel = transfer.channel_id();
    return absl::StrCat(
        channel.has_value() ? absl::StrCat("channel ", *channel) : "no channel",
        transfer.is_host_transfer() ? " to the host" : "");
  };
  return Broken(
      Invariant::V164, inst,
      absl::StrCat("expected ", text(*start), ", found ", text(done)));
}

// Collectives number their channels apart from transfers.
absl::Status CommunicationCheck::VisitChannel(const HloInstruction& inst) {
  const auto* transfer = DynCast<HloSendRecvInstruction>(&inst);
  const std::optional<int64_t> channel = inst.channel_id();
  if (transfer == nullptr || !channel.has_value()) return absl::OkStatus();
  const auto [entry, is_first] = channels_.emplace(*channel, transfer);
  const HloSendRecvInstruction* first = entry->second;
  if (!is_first && first->is_host_transfer() != transfer->is_host_transfer()) {
    return Broken(
        Invariant::V163, inst,
        absl::StrCat("channel ", *channel, " is that of %", first->name(),
                     ", which is ", first->is_host_transfer() ? "" : "not ",
                     "to the host"));
  }
  if (!transfer->is_host_transfer() || !Begins(*transfer)) {
    return absl::OkStatus();
  }
  const auto [known, is_new] = host_transfers_.emplace(*channel, transfer);
  if (is_new || AreAlike(*known->second, *transfer)) return absl::OkStatus();
  return WithCode(
      absl::StatusCode::kInternal,
      Broken(Invariant::V167, inst,
             absl::StrCat("channel ", *channel, " is that of %",
                          known->second->name(),
                          ", which has other data or frontend attributes")));
}

absl::Status CommunicationCheck::VisitAllReduce(const HloInstruction& inst) {
  if (all_reduce_ == nullptr) all_reduce_ = &inst;
  const auto constrains = [](const HloInstruction& reduce) {
    return Cast<HloCollectiveInstruction>(&reduce)->constrain_layout();
  };
  if (constrains(*all_reduce_) == constrains(inst)) return absl::OkStatus();
  return Broken(Invariant::V168, inst,
                absl::StrCat("%", all_reduce_->name(),
                             constrains(inst) ? " does not" : " does"));
}

}  // namespace xla::verifier
