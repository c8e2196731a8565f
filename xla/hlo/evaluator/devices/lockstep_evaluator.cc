#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/devices/manual_regions.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/spmd_custom_calls.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

using evaluator::Channels;
using evaluator::CollectiveContext;
using evaluator::Device;
using evaluator::DeviceGrid;
using evaluator::DeviceOptions;
using evaluator::HostQueues;
using evaluator::MemoryBudget;
using evaluator::Program;
using evaluator::Value;

// One run. Devices take turns on one thread: each runs until it needs others
// (RunAlone), and when all wait, groups whose members have all reached the same
// collective exchange values (Meet) and go on. If none can go on, the run is a
// deadlock and the error says who waits for whom. The schedule is deterministic
// and does not depend on timing.
class LockstepEvaluator::Session {
 public:
  explicit Session(LockstepEvaluator& owner)
      : owner_(owner),
        grid_(owner.grid_),
        channels_(owner.grid_, &owner.hosts_, owner.budget_.get()) {
    for (int64_t d = 0; d < grid_.size(); ++d) {
      DeviceOptions& options = device_options_.emplace_back();
      options.max_steps = owner.options_.max_steps;
      options.max_loop_iterations = owner.options_.max_loop_iterations;
      options.seed = owner.options_.seed;
      options.budget = owner.budget_.get();
      options.custom_calls = owner.options_.custom_calls;
      if (owner.options_.observer != nullptr) {
        options.observer = [this, d](const HloInstruction* instruction,
                                     const Value& value) {
          owner_.options_.observer(d, instruction, value);
        };
      }
      if (owner.options_.progress != nullptr) {
        options.progress = [this, d](const HloInstruction* instruction) {
          return owner_.options_.progress(d, instruction);
        };
      }
    }
    // The options are complete: their addresses stay.
    for (DeviceOptions& options : device_options_) {
      devices_.push_back(std::make_unique<Device>(&program_, &options));
    }
  }

  absl::Status Start(const HloComputation* entry, int64_t device,
                     absl::Span<const Literal* const> arguments) {
    std::vector<Value> values;
    for (const Literal* argument : arguments) {
      TF_ASSIGN_OR_RETURN(Value value,
                          Value::FromLiteral(*argument, owner_.budget_.get(),
                                             /*borrow=*/true));
      values.push_back(std::move(value));
    }
    return Named(device, devices_[device]->Start(entry, std::move(values)));
  }

  absl::Status RunAll() {
    while (true) {
      bool all_done = true;
      for (int64_t d = 0; d < grid_.size(); ++d) {
        TF_RETURN_IF_ERROR(RunAlone(d));
        all_done &= devices_[d]->state() == Device::State::kDone;
      }
      if (all_done) return absl::OkStatus();
      TF_ASSIGN_OR_RETURN(const bool met, Meet());
      if (!met) return Deadlock();
    }
  }

  absl::StatusOr<Literal> Result(int64_t device, const Shape& shape) {
    return devices_[device]->TakeResult().ToLiteral(shape);
  }

  int64_t MaxSteps() const {
    int64_t steps = 0;
    for (const auto& device : devices_) {
      steps = std::max(steps, device->steps());
    }
    return steps;
  }

 private:
  std::string NameOf(int64_t device) const {
    return absl::StrCat("device ", device, " (replica ", grid_.replica(device),
                        ", partition ", grid_.partition(device), ")");
  }

  // With a single device, which one is obvious.
  absl::Status Named(int64_t device, absl::Status status) const {
    if (status.ok() || grid_.size() == 1) return status;
    return absl::Status(status.code(),
                        absl::StrCat(NameOf(device), ": ", status.message()));
  }

  // Runs a device until it is done or has to wait for another one.
  absl::Status RunAlone(int64_t d) {
    Device& device = *devices_[d];
    while (true) {
      if (device.state() == Device::State::kRunning) {
        TF_RETURN_IF_ERROR(Named(d, device.Run().status()));
      }
      if (device.state() != Device::State::kWaiting) return absl::OkStatus();
      absl::StatusOr<std::optional<Value>> value = ValueAlone(d, device);
      if (!value.ok()) return Named(d, value.status());
      if (!value->has_value()) return absl::OkStatus();
      TF_RETURN_IF_ERROR(Named(d, device.Resume(**std::move(value))));
    }
  }

  // The value of the instruction that the device waits at, if that needs no
  // other device: ids, messages that have arrived, infeeds. nullopt: it has to
  // wait.
  absl::StatusOr<std::optional<Value>> ValueAlone(int64_t d, Device& device) {
    const HloInstruction* instruction = device.pending();
    auto wrap = [](absl::StatusOr<Value> value)
        -> absl::StatusOr<std::optional<Value>> {
      if (!value.ok()) return value.status();
      return std::optional<Value>(*std::move(value));
    };
    switch (instruction->opcode()) {
      case HloOpcode::kPartitionId:
        return wrap(
            Value::Scalar<uint32_t>(static_cast<uint32_t>(grid_.partition(d))));
      case HloOpcode::kReplicaId:
        return wrap(
            Value::Scalar<uint32_t>(static_cast<uint32_t>(grid_.replica(d))));
      case HloOpcode::kSend:
        return wrap(channels_.Send(instruction, d, device.pending_operands()));
      case HloOpcode::kRecv:
        return wrap(channels_.Recv(instruction, d));
      case HloOpcode::kSendDone:
        return wrap(instruction->shape().IsTuple()
                        ? device.pending_operands()[0]
                        : Value::Token());
      case HloOpcode::kRecvDone:
        return channels_.RecvDone(instruction, d, device.pending_operands());
      case HloOpcode::kInfeed:
        return wrap(channels_.Infeed(instruction, d));
      case HloOpcode::kOutfeed:
        return wrap(
            channels_.Outfeed(instruction, d, device.pending_operands()));
      case HloOpcode::kCustomCall:
        if (!evaluator::EntersManualRegion(instruction)) return std::nullopt;
        return wrap(InCall(
            instruction,
            evaluator::EnterManualRegion(
                instruction, device.pending_operands()[0], grid_.partition(d),
                grid_.partitions, owner_.budget_.get())));
      default:  // Needs more than one device.
        return std::nullopt;
    }
  }

  template <typename T>
  static absl::StatusOr<T> InCall(const HloInstruction* call,
                                  absl::StatusOr<T> value) {
    if (value.ok()) return value;
    return absl::Status(
        value.status().code(),
        absl::StrCat("%", call->name(), ": ", value.status().message()));
  }

  absl::StatusOr<const std::vector<std::vector<int64_t>>*> GroupsOf(
      const HloInstruction* instruction) {
    auto it = groups_.find(instruction);
    if (it == groups_.end()) {
      TF_ASSIGN_OR_RETURN(
          std::vector<std::vector<int64_t>> groups,
          instruction->opcode() == HloOpcode::kCustomCall
              ? InCall(instruction,
                       evaluator::ManualRegionGroups(instruction, grid_))
              : evaluator::CollectiveGroups(instruction, grid_));
      it =
          groups_
              .emplace(instruction, std::make_unique<Groups>(std::move(groups)))
              .first;
    }
    return it->second.get();
  }

  // One round over all waiting devices. Returns false if no group was complete.
  // A group is complete if all its members wait at that very instruction.
  // Devices that were resumed in this round wait no more, so nobody meets
  // twice; they run only when the round is over. As all run one program,
  // devices that take different branches around a collective never meet, which
  // is then a deadlock, and not a wrong result.
  absl::StatusOr<bool> Meet() {
    bool met = false;
    for (int64_t d = 0; d < grid_.size(); ++d) {
      if (devices_[d]->state() != Device::State::kWaiting) continue;
      const HloInstruction* instruction = devices_[d]->pending();
      if (instruction->opcode() == HloOpcode::kRecvDone) {
        // A message may have come in this round, from a later device.
        TF_ASSIGN_OR_RETURN(
            std::optional<Value> value,
            channels_.RecvDone(instruction, d,
                               devices_[d]->pending_operands()));
        if (!value.has_value()) continue;
        TF_RETURN_IF_ERROR(Named(d, devices_[d]->Resume(*std::move(value))));
        met = true;
        continue;
      }
      TF_ASSIGN_OR_RETURN(const Groups* groups, GroupsOf(instruction));
      const std::vector<int64_t>* group = GroupOf(*groups, d);
      if (group == nullptr) {
        TF_RETURN_IF_ERROR(ResumeOutsider(instruction, d));
        met = true;
        continue;
      }
      // Each group once: at its first member.
      if (*std::min_element(group->begin(), group->end()) != d) continue;
      if (Missing(*group, instruction) >= 0) continue;
      TF_RETURN_IF_ERROR(Exchange(instruction, *group));
      met = true;
    }
    return met;
  }

  static const std::vector<int64_t>* GroupOf(
      const std::vector<std::vector<int64_t>>& groups, int64_t device) {
    for (const std::vector<int64_t>& group : groups) {
      if (std::find(group.begin(), group.end(), device) != group.end()) {
        return &group;
      }
    }
    return nullptr;
  }

  // The first member that is not at the instruction; -1 if all are.
  int64_t Missing(const std::vector<int64_t>& group,
                  const HloInstruction* instruction) const {
    for (int64_t member : group) {
      if (devices_[member]->state() != Device::State::kWaiting ||
          devices_[member]->pending() != instruction) {
        return member;
      }
    }
    return -1;
  }

  // A device that is in no group of a collective.
  absl::Status ResumeOutsider(const HloInstruction* instruction, int64_t d) {
    if (instruction->opcode() != HloOpcode::kCollectiveBroadcast) {
      return Named(d, absl::InvalidArgumentError(absl::StrCat(
                          "%", instruction->name(),
                          ": the device is in none of its groups")));
    }
    TF_ASSIGN_OR_RETURN(Value zeros, Value::ZerosOfShape(instruction->shape(),
                                                         owner_.budget_.get()));
    return devices_[d]->Resume(std::move(zeros));
  }

  absl::Status Exchange(const HloInstruction* instruction,
                        const std::vector<int64_t>& group) {
    absl::StatusOr<std::vector<Value>> results =
        ExchangedValues(instruction, group);
    if (!results.ok()) {
      return absl::Status(results.status().code(),
                          absl::StrCat("%", instruction->name(), ": ",
                                       results.status().message()));
    }
    for (size_t k = 0; k < group.size(); ++k) {
      TF_RETURN_IF_ERROR(Named(
          group[k], devices_[group[k]]->Resume(std::move((*results)[k]))));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Value>> ExchangedValues(
      const HloInstruction* instruction, const std::vector<int64_t>& group) {
    std::vector<absl::Span<const Value>> operands;
    for (int64_t member : group) {
      operands.push_back(devices_[member]->pending_operands());
    }
    if (instruction->opcode() == HloOpcode::kCustomCall) {
      return evaluator::LeaveManualRegion(instruction, group, operands, grid_,
                                          owner_.budget_.get());
    }
    if (instruction->opcode() != HloOpcode::kCollectivePermute &&
        instruction->opcode() != HloOpcode::kCollectivePermuteStart) {
      CollectiveContext context{program_, *devices_[group[0]],
                                owner_.budget_.get(),
                                owner_.options_.reduction_order};
      return EvaluateCollective(instruction, operands, context);
    }
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> sources,
                        evaluator::PermuteSources(instruction, grid_));
    std::vector<Value> results;
    for (size_t k = 0; k < group.size(); ++k) {
      const int64_t from = sources[group[k]];
      absl::Span<const Value> source;
      if (from >= 0) source = devices_[from]->pending_operands();
      TF_ASSIGN_OR_RETURN(
          Value value,
          EvaluatePermute(instruction, operands[k],
                          from >= 0 ? &source : nullptr, owner_.budget_.get()));
      results.push_back(std::move(value));
    }
    return results;
  }

  // No device can go on: says why the first waiting one is waiting.
  absl::Status Deadlock() {
    for (int64_t d = 0; d < grid_.size(); ++d) {
      if (devices_[d]->state() != Device::State::kWaiting) continue;
      const HloInstruction* instruction = devices_[d]->pending();
      std::string text = absl::StrCat("deadlock: ", NameOf(d), " waits at ",
                                      devices_[d]->Position());
      if (instruction->opcode() == HloOpcode::kRecvDone) {
        return absl::FailedPreconditionError(
            absl::StrCat(text, " for a message that is never sent"));
      }
      TF_ASSIGN_OR_RETURN(const Groups* groups, GroupsOf(instruction));
      const std::vector<int64_t>* group = GroupOf(*groups, d);
      if (group == nullptr) continue;
      const int64_t other = Missing(*group, instruction);
      if (other < 0) continue;
      absl::StrAppend(&text, " for ", NameOf(other), ", which ");
      if (devices_[other]->state() == Device::State::kDone) {
        absl::StrAppend(&text, "is done");
      } else {
        absl::StrAppend(&text, "is at ", devices_[other]->Position());
      }
      return absl::FailedPreconditionError(text);
    }
    return absl::InternalError("no device runs, and none waits");
  }

  using Groups = std::vector<std::vector<int64_t>>;

  LockstepEvaluator& owner_;
  const DeviceGrid grid_;
  Program program_;
  Channels channels_;
  std::deque<DeviceOptions> device_options_;
  std::vector<std::unique_ptr<Device>> devices_;
  absl::flat_hash_map<const HloInstruction*, std::unique_ptr<Groups>> groups_;
};

LockstepEvaluator::LockstepEvaluator(const HloModule& module,
                                     LockstepOptions options)
    : module_(module),
      options_(std::move(options)),
      budget_(std::make_unique<MemoryBudget>(options_.memory_limit_bytes)) {
  grid_.replicas = options_.num_replicas > 0 ? options_.num_replicas
                                             : module.config().replica_count();
  grid_.partitions = options_.num_partitions > 0
                         ? options_.num_partitions
                         : module.config().num_partitions();
  grid_.replicas = std::max<int64_t>(grid_.replicas, 1);
  grid_.partitions = std::max<int64_t>(grid_.partitions, 1);
  hosts_.resize(grid_.size());
}

LockstepEvaluator::~LockstepEvaluator() = default;

absl::Status LockstepEvaluator::PushInfeed(int64_t device,
                                           const Literal& literal) {
  TF_ASSIGN_OR_RETURN(Value value, Value::FromLiteral(literal, budget_.get(),
                                                      /*borrow=*/false));
  hosts_.at(device).infeed.push_back(std::move(value));
  return absl::OkStatus();
}

absl::Status LockstepEvaluator::PushHostMessage(int64_t device, int64_t channel,
                                                const Literal& literal) {
  TF_ASSIGN_OR_RETURN(Value value, Value::FromLiteral(literal, budget_.get(),
                                                      /*borrow=*/false));
  hosts_.at(device).to_device[channel].push_back(std::move(value));
  return absl::OkStatus();
}

namespace {

absl::StatusOr<std::vector<Literal>> TakeLiterals(std::vector<Value> values) {
  std::vector<Literal> literals;
  for (const Value& value : values) {
    TF_ASSIGN_OR_RETURN(Literal literal, value.ToLiteral(value.StaticShape()));
    literals.push_back(std::move(literal));
  }
  return literals;
}

}  // namespace

absl::StatusOr<std::vector<Literal>> LockstepEvaluator::TakeOutfeed(
    int64_t device) {
  return TakeLiterals(std::exchange(hosts_.at(device).outfeed, {}));
}

absl::StatusOr<std::vector<Literal>> LockstepEvaluator::TakeHostMessages(
    int64_t device, int64_t channel) {
  return TakeLiterals(
      std::exchange(hosts_.at(device).from_device[channel], {}));
}

absl::StatusOr<std::vector<Literal>> LockstepEvaluator::Run(
    absl::Span<const std::vector<const Literal*>> arguments) {
  if (static_cast<int64_t>(arguments.size()) != grid_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got arguments for ", arguments.size(),
                     " devices; there are ", grid_.size()));
  }
  if (!module_.has_entry_computation()) {
    return absl::InvalidArgumentError("the module has no entry computation");
  }
  Session session(*this);
  for (int64_t d = 0; d < grid_.size(); ++d) {
    TF_RETURN_IF_ERROR(
        session.Start(module_.entry_computation(), d, arguments[d]));
  }
  const absl::Status status = session.RunAll();
  steps_ = session.MaxSteps();
  TF_RETURN_IF_ERROR(status);
  std::vector<Literal> results;
  for (int64_t d = 0; d < grid_.size(); ++d) {
    TF_ASSIGN_OR_RETURN(Literal result,
                        session.Result(d, module_.result_shape()));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace xla
