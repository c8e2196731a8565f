#include "xla/hlo/analysis/heap/heap_simulator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/may_write_over.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {
namespace {

using Time = HloLiveRange::LogicalTime;

// The cap on the sum of all value sizes, so that no sum overflows.
constexpr int64_t kMaxBytes = int64_t{1} << 62;

// Hands one simulation's calls to an algorithm and to a counter of live bytes.
class Replay {
 public:
  Replay(std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
         const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
         const BufferValue::SizeFunction& size_fn,
         const HeapSimulator::Options& options)
      : algorithm_(std::move(algorithm)),
        alias_analysis_(alias_analysis),
        dataflow_(alias_analysis.dataflow_analysis()),
        alias_info_(alias_info),
        size_fn_(size_fn),
        options_(options) {}

  absl::StatusOr<HeapSimulator::Result<HloValue>> Run(
      const HloLiveRange& live_range, bool whole_module);

 private:
  using Event = HeapSimulatorTrace::Event;

  // Values that start at one time, by end and id, and that end, by start and
  // id: the order in which OpenXLA hands them to the algorithm, which decides
  // ties between lifetimes.
  struct Step {
    std::vector<const HloValue*> starts;
    std::vector<const HloValue*> ends;
  };

  // A value of the simulation.
  struct State {
    int64_t size = 0;         // bytes
    Time end = -1;            // -1: it takes no part
    bool is_live = false;     // allocated and not yet freed
    bool is_counted = false;  // the same for live_bytes_
  };

  // The values of an HloBuffer that were allocated: the first, and those that
  // are live, which are few.
  struct Sharers {
    const HloValue* first = nullptr;
    std::vector<const HloValue*> live;
  };

  bool IsIgnored(const HloValue& value) const;
  absl::StatusOr<std::vector<Step>> MakeSteps(const HloLiveRange& live_range);
  void Start(const HloValue& value);
  bool EndsNow(const HloValue& value) const {
    const State& state = state_[value.id()];
    return state.is_live && state.end == now_;
  }
  // An operand that ends now and that `value` may be written over.
  const HloValue* FindReusableOperand(const HloValue& value) const;
  void Uncount(const HloValue& value);
  void Free(const HloValue& value);
  void Share(const HloValue& value, const HloValue& with);
  void Trace(Event::Kind kind, const HloValue& value, int64_t share_with = -1);

  std::unique_ptr<HeapAlgorithm<HloValue>> algorithm_;
  NoFragmentationStatsHeap<HloValue> live_bytes_;
  const HloAliasAnalysis& alias_analysis_;
  const HloDataflowAnalysis& dataflow_;
  const AliasInfo* alias_info_;
  const BufferValue::SizeFunction& size_fn_;
  const HeapSimulator::Options& options_;

  Time now_ = 0;
  absl::flat_hash_map<HloBuffer::Id, Sharers> sharers_;
  std::vector<State> state_;  // by id of the value
  HeapSimulatorTrace trace_;
};

// Values that take no part: constants unless asked for, and anything outside of
// buffers_to_assign.
bool Replay::IsIgnored(const HloValue& value) const {
  if (!options_.alloc_constants &&
      value.instruction()->opcode() == HloOpcode::kConstant) {
    return true;
  }
  return options_.buffers_to_assign != nullptr &&
         !options_.buffers_to_assign->contains(&value);
}

absl::StatusOr<std::vector<Replay::Step>> Replay::MakeSteps(
    const HloLiveRange& live_range) {
  struct Life {
    Time start, end;
    const HloValue* value;
  };
  std::vector<Life> lives;
  int64_t total = 0;
  const Time end_time = live_range.schedule_end_time();
  std::vector<Step> steps(end_time + 1);
  const auto& ranges = live_range.buffer_live_ranges();
  for (const HloValue* value : dataflow_.values()) {
    if (value->id() >= state_.size()) state_.resize(value->id() + 1);
    auto it = ranges.find(value);
    if (it == ranges.end() || IsIgnored(*value)) continue;
    const auto& [start, end, end_position] = it->second;
    // A value that another one of its buffer replaces at once takes no time.
    if (start > end) continue;
    State& state = state_[value->id()];
    state.size = size_fn_(*value);
    if (state.size < 0 || state.size > kMaxBytes - total) {
      return absl::InvalidArgumentError(
          absl::StrCat("heap simulator: the values up to ",
                       value->ToShortString(), " have more than 2^62 bytes"));
    }
    total += state.size;
    state.end = std::min(end, end_time);
    lives.push_back({start, state.end, value});
  }
  absl::c_sort(lives, [](const Life& a, const Life& b) {
    return std::make_tuple(a.start, a.end, a.value->id()) <
           std::make_tuple(b.start, b.end, b.value->id());
  });
  for (const Life& life : lives) {
    steps[life.start].starts.push_back(life.value);
    steps[life.end].ends.push_back(life.value);
  }
  return steps;
}

void Replay::Trace(Event::Kind kind, const HloValue& value,
                   int64_t share_with) {
  Event* event = trace_.add_events();
  event->set_kind(kind);
  event->set_buffer_id(value.id());
  event->set_computation_name(
      std::string(value.instruction()->parent()->name()));
  event->set_instruction_name(std::string(value.instruction()->name()));
  if (share_with >= 0) event->set_share_with_canonical_id(share_with);
}

void Replay::Uncount(const HloValue& value) {
  State& state = state_[value.id()];
  if (!state.is_counted) return;
  state.is_counted = false;
  live_bytes_.Free(&value, state.size);
}

void Replay::Free(const HloValue& value) {
  State& state = state_[value.id()];
  Uncount(value);
  state.is_live = false;
  algorithm_->Free(&value, state.size);
  Trace(Event::FREE, value);
}

void Replay::Share(const HloValue& value, const HloValue& with) {
  const int64_t size = state_[value.id()].size;
  algorithm_->ShareWith(&value, &with, size);
  live_bytes_.ShareWith(&value, &with, size);
  Trace(Event::SHARE_WITH, value, with.id());
}

// Only an operand that is alone in its buffer qualifies: the other values of a
// shared buffer may be needed later.
const HloValue* Replay::FindReusableOperand(const HloValue& value) const {
  HloInstruction* inst = value.instruction();
  if (inst->opcode() == HloOpcode::kCopy) return nullptr;
  for (const HloInstruction* operand : inst->operands()) {
    for (const HloValue* candidate : dataflow_.GetValueSet(operand).values()) {
      HloInstruction* source = candidate->instruction();
      if (!EndsNow(*candidate) || !inst->IsUserOf(source) ||
          alias_analysis_.GetBufferContainingValue(*candidate).values().size() >
              1) {
        continue;
      }
      if (MayWriteOver(dataflow_, value, *candidate, alias_info_)) {
        return candidate;
      }
    }
  }
  return nullptr;
}

// Values of one HloBuffer share memory by construction (ShareWith its first
// value). Other values may take over the memory of an operand that ends at this
// very time; it is freed first, so that the algorithm sees one continuous use.
void Replay::Start(const HloValue& value) {
  State& state = state_[value.id()];
  state.is_live = state.is_counted = true;
  const HloBuffer& buffer = alias_analysis_.GetBufferContainingValue(value);
  if (buffer.values().size() > 1) {
    Sharers& sharers = sharers_[buffer.id()];
    // The value before it ends at the latest where this one starts: the bytes
    // of both are there once.
    std::vector<const HloValue*> live = {&value};
    for (const HloValue* other : sharers.live) {
      if (EndsNow(*other)) Uncount(*other);
      if (state_[other->id()].is_counted) live.push_back(other);
    }
    sharers.live = std::move(live);
    if (sharers.first != nullptr) {
      Share(value, *sharers.first);
      return;
    }
    sharers.first = &value;
  } else if (options_.may_reuse_operand_buffers) {
    if (const HloValue* operand = FindReusableOperand(value)) {
      Free(*operand);
      Share(value, *operand);
      return;
    }
  }
  algorithm_->Alloc(&value, state.size);
  live_bytes_.Alloc(&value, state.size);
  Trace(Event::ALLOC, value);
}

// Plays the live ranges time by time, starts before ends. The second algorithm
// counts live bytes without placing anything; the difference between the two
// heap sizes is the fragmentation.
absl::StatusOr<HeapSimulator::Result<HloValue>> Replay::Run(
    const HloLiveRange& live_range, bool whole_module) {
  absl::StatusOr<std::vector<Step>> steps = MakeSteps(live_range);
  if (!steps.ok()) return steps.status();
  for (const Step& step : *steps) {
    for (const HloValue* value : step.starts) Start(*value);
    for (const HloValue* value : step.ends) {
      if (EndsNow(*value)) Free(*value);
    }
    ++now_;
  }
  absl::StatusOr<HeapSimulator::Result<HloValue>> result = algorithm_->Finish();
  if (!result.ok()) return result.status();
  absl::StatusOr<HeapSimulator::Result<HloValue>> least = live_bytes_.Finish();
  if (!least.ok()) return least.status();
  result->fragmentation_size = result->heap_size - least->heap_size;
  trace_.set_whole_module_simulation(whole_module);
  result->debug_trace = std::move(trace_);
  return result;
}

absl::StatusOr<HeapSimulator::Result<HloValue>> RunOnSchedule(
    std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
    const HloComputation* computation, const HloSchedule& schedule,
    bool with_callees, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_fn,
    const HeapSimulator::Options& options) {
  absl::StatusOr<std::unique_ptr<HloLiveRange>> live_range =
      HloLiveRange::Run(schedule, alias_analysis, computation, with_callees);
  if (!live_range.ok()) return live_range.status();
  if (with_callees && !(*live_range)->total_order_scheduled()) {
    return absl::FailedPreconditionError(
        absl::StrCat("heap simulator: a computation that ", computation->name(),
                     " calls is not scheduled"));
  }
  return Replay(std::move(algorithm), alias_analysis, alias_info, size_fn,
                options)
      .Run(**live_range, with_callees);
}

}  // namespace

absl::StatusOr<int64_t> HeapSimulator::MinimumMemoryForModule(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info,
    const BufferValue::SizeFunction* size_function) {
  if (schedule.empty()) return 0;
  absl::StatusOr<Result<HloValue>> result = Run(
      std::make_unique<NoFragmentationStatsHeap<HloValue>>(),
      *schedule.module(), schedule, alias_analysis, alias_info, size_function);
  if (!result.ok()) return result.status();
  return result->heap_size;
}

absl::StatusOr<int64_t> HeapSimulator::MinimumMemoryForComputation(
    const HloComputation& computation, const HloInstructionSequence& sequence,
    const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
    const BufferValue::SizeFunction* size_function) {
  absl::StatusOr<Result<HloValue>> result =
      Run(std::make_unique<NoFragmentationStatsHeap<HloValue>>(), computation,
          sequence, alias_analysis, alias_info, size_function);
  if (!result.ok()) return result.status();
  return result->heap_size;
}

absl::StatusOr<HeapSimulator::Result<HloValue>> HeapSimulator::Run(
    std::unique_ptr<HeapAlgorithm<HloValue>> algorithm, const HloModule& module,
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction* size_fn,
    const Options& options) {
  return RunOnSchedule(std::move(algorithm), module.entry_computation(),
                       schedule, /*with_callees=*/true, alias_analysis,
                       alias_info, *size_fn, options);
}

absl::StatusOr<HeapSimulator::Result<HloValue>> HeapSimulator::Run(
    std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
    const HloComputation& computation,
    const HloInstructionSequence& instruction_sequence,
    const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
    const BufferValue::SizeFunction* size_fn, const Options& options) {
  return Run(std::move(algorithm), computation, instruction_sequence,
             alias_analysis, alias_info, size_fn, /*schedule=*/nullptr,
             options);
}

absl::StatusOr<HeapSimulator::Result<HloValue>> HeapSimulator::Run(
    std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
    const HloComputation& computation,
    const HloInstructionSequence& instruction_sequence,
    const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
    const BufferValue::SizeFunction* size_fn, const HloSchedule* schedule,
    const Options& options) {
  HloSchedule own_schedule =
      schedule != nullptr ? *schedule : HloSchedule(computation.parent());
  own_schedule.set_sequence(&computation, instruction_sequence);
  return RunOnSchedule(std::move(algorithm), &computation, own_schedule,
                       /*with_callees=*/schedule != nullptr, alias_analysis,
                       alias_info, *size_fn, options);
}

}  // namespace xla
