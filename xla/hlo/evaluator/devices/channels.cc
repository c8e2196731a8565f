#include "xla/hlo/evaluator/devices/channels.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

constexpr char kPairsAttribute[] = "_xla_send_recv_source_target_pairs";

absl::Status Named(const HloInstruction* instruction, absl::Status status) {
  return absl::Status(status.code(), absl::StrCat("%", instruction->name(),
                                                  ": ", status.message()));
}

bool IsHostTransfer(const HloInstruction* instruction) {
  return Cast<HloSendRecvInstruction>(instruction)->is_host_transfer();
}

// A value from the host must fit where it goes.
absl::Status CheckFits(const Value& value, const Shape& shape) {
  const Shape found = value.StaticShape();
  if (ShapeUtil::Compatible(found, shape)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", ShapeUtil::HumanString(shape), ", found ",
                   ShapeUtil::HumanString(found)));
}

}  // namespace

absl::StatusOr<std::optional<std::vector<std::pair<int64_t, int64_t>>>>
Channels::PairsOf(const HloInstruction* instruction) const {
  const auto& attributes = instruction->frontend_attributes().map();
  const auto it = attributes.find(kPairsAttribute);
  if (it == attributes.end()) return std::nullopt;
  // {{0,1},{1,2}} without braces is a list with an even number of ids.
  const std::string flat =
      absl::StrReplaceAll(it->second, {{"{", ""}, {"}", ""}, {" ", ""}});
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::vector<int64_t> ids;
  for (absl::string_view piece : absl::StrSplit(flat, ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(piece, &ids.emplace_back())) ids.clear();
  }
  if (ids.size() % 2 != 0 || (ids.empty() && !flat.empty())) {
    return Named(instruction, absl::InvalidArgumentError(absl::StrCat(
                                  kPairsAttribute, " is ", it->second)));
  }
  for (size_t i = 0; i < ids.size(); i += 2) {
    pairs.push_back({ids[i], ids[i + 1]});
  }
  return pairs;
}

absl::StatusOr<Value> Channels::Send(const HloInstruction* send, int64_t device,
                                     absl::Span<const Value> operands) {
  const int64_t channel = send->channel_id().value_or(0);
  // The token may come first; to the host there may be no context.
  const Value& data = operands[send->operand(0)->shape().IsToken() ? 1 : 0];
  const Value result =
      send->shape().tuple_shapes_size() == 2
          ? Value::Tuple({data, Value::Token()})
          : Value::Tuple({data, Value::Scalar<uint32_t>(0), Value::Token()});
  if (IsHostTransfer(send)) {
    (*hosts_)[device].from_device[channel].push_back(data);
    return result;
  }
  TF_ASSIGN_OR_RETURN(const auto pairs, PairsOf(send));
  if (!pairs.has_value()) {
    open_[channel].push_back({device, data});
    return result;
  }
  const bool partitions = grid_.partitions > 1;
  const int64_t id =
      partitions ? grid_.partition(device) : grid_.replica(device);
  for (const auto& [source, target] : *pairs) {
    if (source != id) continue;
    if (target < 0 ||
        target >= (partitions ? grid_.partitions : grid_.replicas)) {
      return Named(send, absl::InvalidArgumentError(
                             absl::StrCat("no device with id ", target)));
    }
    const int64_t to = partitions
                           ? grid_.device(grid_.replica(device), target)
                           : grid_.device(target, grid_.partition(device));
    addressed_[{to, {channel, device}}].push_back({device, data});
  }
  return result;
}

absl::StatusOr<Value> Channels::Recv(const HloInstruction* recv,
                                     int64_t device) {
  Ticket ticket;
  ticket.channel = recv->channel_id().value_or(0);
  ticket.shape = recv->shape().tuple_shapes(0);
  ticket.host = IsHostTransfer(recv);
  TF_ASSIGN_OR_RETURN(const auto pairs, PairsOf(recv));
  if (!pairs.has_value()) {
    ticket.source = -1;
  } else {
    const bool partitions = grid_.partitions > 1;
    const int64_t id =
        partitions ? grid_.partition(device) : grid_.replica(device);
    for (const auto& [source, target] : *pairs) {
      if (target != id) continue;
      ticket.source = partitions
                          ? grid_.device(grid_.replica(device), source)
                          : grid_.device(source, grid_.partition(device));
    }
  }
  // The data is not there before the recv-done.
  TF_ASSIGN_OR_RETURN(Value zeros, Value::ZerosOfShape(ticket.shape, budget_));
  const auto number = static_cast<uint32_t>(tickets_.size());
  tickets_.push_back(std::move(ticket));
  return Value::Tuple(
      {std::move(zeros), Value::Scalar<uint32_t>(number), Value::Token()});
}

// With pairs, messages wait in one queue for each receiver, channel and sender.
// Without, a channel is a single queue: a receiver takes the oldest message
// that it has not sent itself (unless there is no other device). No message
// means nullopt, and the device is asked again after others have run.
absl::StatusOr<std::optional<Value>> Channels::RecvDone(
    const HloInstruction* done, int64_t device,
    absl::Span<const Value> operands) {
  const auto number = static_cast<uint64_t>(operands[0].element(1).AsInt64());
  if (number >= tickets_.size()) {
    return Named(done, absl::FailedPreconditionError("no recv to wait for"));
  }
  const Ticket& ticket = tickets_[number];
  auto finish = [&](Value value) -> absl::StatusOr<std::optional<Value>> {
    absl::Status status = CheckFits(value, ticket.shape);
    if (!status.ok()) return Named(done, status);
    return std::optional<Value>(
        Value::Tuple({std::move(value), Value::Token()}));
  };
  if (ticket.host) {
    std::deque<Value>& queue = (*hosts_)[device].to_device[ticket.channel];
    if (queue.empty()) {
      return Named(done, absl::FailedPreconditionError(absl::StrCat(
                             "the host has sent nothing on channel ",
                             ticket.channel, " for device ", device)));
    }
    Value value = std::move(queue.front());
    queue.pop_front();
    return finish(std::move(value));
  }
  if (!ticket.source.has_value()) return finish(operands[0].element(0));
  if (*ticket.source >= 0) {
    std::deque<Message>& line =
        addressed_[{device, {ticket.channel, *ticket.source}}];
    if (line.empty()) return std::nullopt;
    Value value = std::move(line.front().value);
    line.pop_front();
    return finish(std::move(value));
  }
  std::deque<Message>& line = open_[ticket.channel];
  for (auto it = line.begin(); it != line.end(); ++it) {
    if (it->from == device && grid_.size() > 1) continue;
    Value value = std::move(it->value);
    line.erase(it);
    return finish(std::move(value));
  }
  return std::nullopt;
}

absl::StatusOr<Value> Channels::Infeed(const HloInstruction* infeed,
                                       int64_t device) {
  std::deque<Value>& queue = (*hosts_)[device].infeed;
  if (queue.empty()) {
    return Named(infeed, absl::FailedPreconditionError(absl::StrCat(
                             "the infeed of device ", device, " is empty")));
  }
  absl::Status status =
      CheckFits(queue.front(), infeed->shape().tuple_shapes(0));
  if (!status.ok()) return Named(infeed, status);
  Value value = std::move(queue.front());
  queue.pop_front();
  return Value::Tuple({std::move(value), Value::Token()});
}

absl::StatusOr<Value> Channels::Outfeed(const HloInstruction* outfeed,
                                        int64_t device,
                                        absl::Span<const Value> operands) {
  (*hosts_)[device].outfeed.push_back(operands[0]);
  return Value::Token();
}

}  // namespace evaluator
}  // namespace xla
