#ifndef XLA_HLO_EVALUATOR_DEVICES_CHANNELS_H_
#define XLA_HLO_EVALUATOR_DEVICES_CHANNELS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/devices/collective_groups.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// Queues between the host and one device.
struct HostQueues {
  // Taken by infeed, and by recv from the host, per channel.
  std::deque<Value> infeed;
  std::map<int64_t, std::deque<Value>> to_device;
  // Put there by outfeed and by send to the host.
  std::vector<Value> outfeed;
  std::map<int64_t, std::vector<Value>> from_device;
};

// Messages between devices: messages of send, first in, first out.
//
// A send and a recv of one channel belong together. Who sends to whom says the
// frontend attribute _xla_send_recv_source_target_pairs="{{0,1},{1,2}}" of
// each, in partition ids (replica ids if there is one partition). Without it a
// recv takes the oldest message of another device that has not been taken. A
// device that is not a target receives zeros; what a device sends that is not a
// source is lost. The k-th recv of a device gets the k-th message, even if its
// recv-done comes later.
class Channels {
 public:
  Channels(const DeviceGrid& grid, std::vector<HostQueues>* hosts,
           MemoryBudget* budget)
      : grid_(grid), hosts_(hosts), budget_(budget) {}

  // The values of send, recv, infeed and outfeed, which never wait. Errors name
  // the instruction: FailedPrecondition for an empty queue of the host,
  // InvalidArgument for a value of another shape there.
  absl::StatusOr<Value> Send(const HloInstruction* send, int64_t device,
                             absl::Span<const Value> operands);
  absl::StatusOr<Value> Recv(const HloInstruction* recv, int64_t device);
  absl::StatusOr<Value> Infeed(const HloInstruction* infeed, int64_t device);
  absl::StatusOr<Value> Outfeed(const HloInstruction* outfeed, int64_t device,
                                absl::Span<const Value> operands);

  // The value of a recv-done, or nothing while the message is not there.
  absl::StatusOr<std::optional<Value>> RecvDone(
      const HloInstruction* done, int64_t device,
      absl::Span<const Value> operands);

 private:
  // Channel and device that sends; -1 where any may.
  using Line = std::pair<int64_t, int64_t>;
  struct Message {
    int64_t from;
    Value value;
  };
  struct Ticket {
    // Unset: there will be no message.
    std::optional<int64_t> source;
    Shape shape;
    int64_t channel = 0;
    bool host = false;
  };

  absl::StatusOr<std::optional<std::vector<std::pair<int64_t, int64_t>>>>
  PairsOf(const HloInstruction* instruction) const;

  const DeviceGrid grid_;
  std::vector<HostQueues>* hosts_;
  MemoryBudget* budget_;
  // Messages for a device that knows the sender, by (receiver, line).
  std::map<std::pair<int64_t, Line>, std::deque<Message>> addressed_;
  // Messages for anyone, by channel.
  std::map<int64_t, std::deque<Message>> open_;
  // The message that each recv waits for; its index is in the recv's u32.
  std::vector<Ticket> tickets_;
};

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICES_CHANNELS_H_
