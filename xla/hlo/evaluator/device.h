#ifndef XLA_HLO_EVALUATOR_DEVICE_H_
#define XLA_HLO_EVALUATOR_DEVICE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace evaluator {

// Limits of a run and what it is given; the same object may serve all devices.
struct DeviceOptions {
  // Instructions executed per device, embedded computations that are not
  // compiled included; -1 for no limit.
  int64_t max_steps = -1;
  // Trips of each execution of a while loop; -1 for no limit.
  int64_t max_loop_iterations = -1;
  // Seeds rng and rng-get-and-update-state.
  uint64_t seed = 0;
  // Null: no limit.
  MemoryBudget* budget = nullptr;
  // Null: CustomCallRegistry::Default().
  const CustomCallRegistry* custom_calls = nullptr;
  // Called with each value as it is computed, on every device, in order.
  std::function<void(const HloInstruction*, const Value&)> observer;
  // Called after each instruction that is executed as one; compiled loops and
  // fusions are not opened up for it. An error ends the run.
  std::function<absl::Status(const HloInstruction*)> progress;
  // Values of instructions that are not to be computed; null: none.
  const absl::flat_hash_map<const HloInstruction*, Value>* given = nullptr;
  // Values of constants; null: their literals.
  std::function<absl::StatusOr<Literal>(const HloInstruction*)> constants;
};

// One device that runs a computation: an explicit stack of frames, one per
// computation that is being executed (callees of call, fusion, while,
// conditional and async-start), so that neither depth nor loops use the C++
// stack, and so that it can stop anywhere.
//
// It stops at each instruction that concerns other devices or the host:
//
//   all-reduce(-start), all-gather(-start), reduce-scatter, all-to-all,
//   ragged-all-to-all, collective-permute(-start), collective-broadcast,
//   partition-id, replica-id, send, recv, send-done, recv-done, infeed,
//   outfeed, custom calls into a manual region and out of it
//   (spmd_custom_calls.h)
//
// also in bodies of loops, branches, calls and async computations. N devices
// run in lockstep without threads:
//
//   for (Device& d : devices) d.Start(entry, arguments of d);
//   while (true) {
//     for (Device& d : devices) { if (d.Run() is kDone) ...; }
//     // All wait: match d.pending() across devices, then d.Resume(result).
//   }
//
// The result given to Resume has the instruction's shape: for a -start that is
// the tuple that the -done takes apart. The dones all-reduce-done (operand),
// all-gather-done and collective-permute-done (element 1), copy-done (element
// 0) and async-done run without stopping.
class Device {
 public:
  enum class State { kIdle, kRunning, kWaiting, kDone, kFailed };

  // All must outlive the device.
  Device(Program* program, const DeviceOptions* options);
  Device(Device&&) = default;

  // Pushes the first frame. InvalidArgument if number, types or sizes of the
  // arguments are not those of the parameters.
  absl::Status Start(const HloComputation* computation,
                     std::vector<Value> arguments);
  // A plan, which must outlive the run, instead of a whole computation.
  absl::Status StartPlan(const ComputationPlan* plan,
                         std::vector<Value> arguments);

  // Runs to the end (kDone) or to the next instruction that concerns others
  // (kWaiting). Errors name the instruction; the device is kFailed then.
  absl::StatusOr<State> Run();
  State state() const { return state_; }

  // While kWaiting: the instruction and its operands.
  const HloInstruction* pending() const { return pending_; }
  absl::Span<const Value> pending_operands() const { return pending_operands_; }
  // Gives the instruction its value, in mixed precision also of other floats.
  // Internal if sizes or types are not those of its shape.
  absl::Status Resume(Value result);

  // When kDone.
  Value TakeResult() { return std::move(result_); }

  // Where the device is: "%all-reduce.1 in body (trip 3 of %while.2 in main)".
  std::string Position() const;
  int64_t steps() const { return steps_; }

  // Runs `computation` to its end synchronously, for an instruction that
  // applies a computation that is not a lane program. Unimplemented if it waits
  // for other devices, ResourceExhausted if such instructions nest too deeply.
  absl::StatusOr<Value> RunEmbedded(const HloComputation* computation,
                                    std::vector<Value> arguments);

  const DeviceOptions& options() const { return *options_; }
  Program& program() { return *program_; }
  // Counters of rng and of rng-get-and-update-state.
  struct RandomState {
    uint64_t drawn = 0;
    unsigned __int128 global = 0;
  };
  RandomState& random_state() { return random_state_; }

 private:
  // Destination of the result of a frame.
  enum class Role { kEntry, kCall, kCondition, kBody, kAsync };
  struct Frame {
    const ComputationPlan* plan;
    Role role;
    std::vector<Value> arguments;
    std::vector<Value> slots;
    int32_t next = 0;
    // State of the current step: a while loop's state and trips, or the
    // operands of an async computation.
    Value held;
    int64_t trips = 0;
  };
  using Step = ComputationPlan::Step;

  absl::Status RunStep();
  absl::Status Execute(const Step& step);
  absl::Status ExecuteControl(const HloInstruction* inst,
                              std::vector<Value> operands);
  absl::Status ExecuteAsync(const HloInstruction* inst,
                            std::vector<Value> operands);
  absl::Status ExecuteWhile(const HloInstruction* loop, Value state);
  const LaneProgram* LoopOf(const HloInstruction* fusion);
  bool ChangesManualRegion(const HloInstruction* inst) const;
  absl::Status ExecuteCustomCall(const HloInstruction* inst,
                                 absl::Span<const Value> operands);
  absl::StatusOr<Value> ConstantValue(const HloInstruction* constant);
  // Pushes a frame; its result goes to the current step.
  absl::Status Push(const HloComputation* computation,
                    std::vector<Value> arguments, Role role);
  // Pops the frame and gives its result to the step below.
  absl::Status Return();
  absl::Status ReturnToWhile(Role role, Value result);
  absl::StatusOr<Value> AsyncState(const HloInstruction* inst, Value operands,
                                   Value result);
  absl::Status ShowAsyncResult(const HloInstruction* link,
                               const Value& operands, const Value& result);
  // The current step has this value.
  absl::Status Finish(Value result);
  absl::Status Annotate(absl::Status status) const;

  Program* program_;
  const DeviceOptions* options_;
  const CustomCallRegistry* custom_calls_;
  std::vector<Frame> frames_;
  State state_ = State::kIdle;
  const HloInstruction* pending_ = nullptr;
  std::vector<Value> pending_operands_;
  Value result_;
  int64_t steps_ = 0;
  int embedded_depth_ = 0;
  RandomState random_state_;
};

// Whether a device stops at the opcode.
bool ConcernsOtherDevices(HloOpcode opcode);

// Whether a value has types and sizes of a shape (at most its bounds where the
// shape is dynamic). The second form looks at the top of tuples only.
bool ValueHasShape(const Value& value, const Shape& shape);
bool ValueMayHaveShape(const Value& value, const Shape& shape);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICE_H_
