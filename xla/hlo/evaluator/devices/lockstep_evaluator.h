#ifndef XLA_HLO_EVALUATOR_DEVICES_LOCKSTEP_EVALUATOR_H_
#define XLA_HLO_EVALUATOR_DEVICES_LOCKSTEP_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/evaluator/devices/channels.h"
#include "xla/hlo/evaluator/devices/collective_groups.h"
#include "xla/hlo/evaluator/devices/collectives.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace xla {

struct LockstepOptions {
  // 0: as the module says.
  int64_t num_replicas = 0;
  int64_t num_partitions = 0;

  // Instructions that one device executes, and trips of a while loop; -1: no
  // limit.
  int64_t max_steps = -1;
  int64_t max_loop_iterations = -1;
  // The limit for all devices together.
  int64_t memory_limit_bytes = int64_t{16} << 30;
  // Seeds rng, the same on each device.
  uint64_t seed = 0;
  evaluator::ReductionOrder reduction_order = evaluator::ReductionOrder::kGroup;
  // Null: CustomCallRegistry::Default().
  const evaluator::CustomCallRegistry* custom_calls = nullptr;
  // Told of every value that a device computes, in its order.
  std::function<void(int64_t device, const HloInstruction* instruction,
                     const evaluator::Value& value)>
      observer;
  // Told of every instruction that a device has executed as one; an error ends
  // the run.
  std::function<absl::Status(int64_t device, const HloInstruction* instruction)>
      progress;
};

// Runs a module on replicas x partitions devices, one instruction stream each,
// without threads: every device runs until it meets an instruction that
// concerns others; those of a group that have met at the same instruction
// exchange their values and go on. So the result does not depend on any order
// of execution.
//
// Where no device can go on and some are not at their end, the run fails with
// FailedPrecondition, "deadlock: ...", which says where the first device that
// waits is, and where the one that it waits for is: at another instruction, in
// another trip, or done.
class LockstepEvaluator {
 public:
  // The module must outlive the evaluator.
  explicit LockstepEvaluator(const HloModule& module,
                             LockstepOptions options = LockstepOptions());
  ~LockstepEvaluator();

  const evaluator::DeviceGrid& grid() const { return grid_; }

  // Data the host provides before a run, and has received after it. Queues of
  // device ids; InvalidArgument for literals without elements.
  absl::Status PushInfeed(int64_t device, const Literal& literal);
  absl::Status PushHostMessage(int64_t device, int64_t channel,
                               const Literal& literal);
  absl::StatusOr<std::vector<Literal>> TakeOutfeed(int64_t device);
  absl::StatusOr<std::vector<Literal>> TakeHostMessages(int64_t device,
                                                        int64_t channel);

  // Runs the entry computation; `arguments[d]` are those of device d. Returns a
  // result per device. Errors name the instruction and the device.
  absl::StatusOr<std::vector<Literal>> Run(
      absl::Span<const std::vector<const Literal*>> arguments);

  // Figures of the last run, even if it failed: instructions executed by the
  // busiest device, and peak bytes.
  int64_t steps() const { return steps_; }
  int64_t peak_bytes() const { return budget_->peak_bytes(); }

 private:
  class Session;

  const HloModule& module_;
  const LockstepOptions options_;
  evaluator::DeviceGrid grid_;
  std::unique_ptr<evaluator::MemoryBudget> budget_;
  std::vector<evaluator::HostQueues> hosts_;
  int64_t steps_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICES_LOCKSTEP_EVALUATOR_H_
