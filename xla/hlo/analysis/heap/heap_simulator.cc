#include "xla/hlo/analysis/heap/heap_simulator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
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

  // Values that start and end at one time, by id.
  struct Step {
    std::vector<const HloValue*> starts;
    std::vector<const HloValue*> ends;
  };

  bool IsIgnored(const HloValue& value) const;
  std::vector<Step> MakeSteps(const HloLiveRange& live_range);
  void Start(const HloValue& value, Step& step);
  // Frees the value now, if it ends in this step.
  void End(const HloValue& value, Step& step);
  // An operand that ends in this step and that `value` may be written over.
  const HloValue* FindReusableOperand(const HloValue& value,
                                      const Step& step) const;
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

  // The first value of each HloBuffer, by its id, that was allocated.
  absl::flat_hash_map<HloBuffer::Id, const HloValue*> first_of_buffer_;
  // By id of the value.
  absl::flat_hash_map<HloValue::Id, int64_t> size_;
  HeapSimulatorTrace trace_;
};

bool Replay::IsIgnored(const HloValue& value) const {
  if (!options_.alloc_constants &&
      value.instruction()->opcode() == HloOpcode::kConstant) {
    return true;
  }
  return options_.buffers_to_assign != nullptr &&
         !options_.buffers_to_assign->contains(&value);
}

std::vector<Replay::Step> Replay::MakeSteps(const HloLiveRange& live_range) {
  const Time end_time = live_range.schedule_end_time();
  std::vector<Step> steps(end_time + 1);
  const auto& ranges = live_range.buffer_live_ranges();
  for (const HloValue* value : dataflow_.values()) {
    auto it = ranges.find(value);
    if (it == ranges.end() || IsIgnored(*value)) continue;
    const auto& [start, end, end_position] = it->second;
    // A value that another one of its buffer replaces at once takes no time.
    if (start > end) continue;
    steps[start].starts.push_back(value);
    steps[std::min(end, end_time)].ends.push_back(value);
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

void Replay::Free(const HloValue& value) {
  const int64_t size = size_.at(value.id());
  algorithm_->Free(&value, size);
  live_bytes_.Free(&value, size);
  Trace(Event::FREE, value);
}

void Replay::Share(const HloValue& value, const HloValue& with) {
  const int64_t size = size_.at(value.id());
  algorithm_->ShareWith(&value, &with, size);
  live_bytes_.ShareWith(&value, &with, size);
  Trace(Event::SHARE_WITH, value, with.id());
}

const HloValue* Replay::FindReusableOperand(const HloValue& value,
                                            const Step& step) const {
  HloInstruction* inst = value.instruction();
  if (inst->opcode() == HloOpcode::kCopy) return nullptr;
  for (const HloInstruction* operand : inst->operands()) {
    for (const HloValue* candidate : dataflow_.GetValueSet(operand).values()) {
      HloInstruction* source = candidate->instruction();
      if (!absl::c_linear_search(step.ends, candidate) ||
          !size_.contains(candidate->id()) || !inst->IsUserOf(source) ||
          alias_analysis_.GetBufferContainingValue(*candidate).values().size() >
              1) {
        continue;
      }
      if (dataflow_.CanShareOperandBufferWithUser(
              source, candidate->index(), inst, value.index(), alias_info_)) {
        return candidate;
      }
    }
  }
  return nullptr;
}

void Replay::End(const HloValue& value, Step& step) {
  auto it = absl::c_find(step.ends, &value);
  if (it == step.ends.end()) return;
  Free(value);
  step.ends.erase(it);
}

void Replay::Start(const HloValue& value, Step& step) {
  const int64_t size = size_fn_(value);
  size_[value.id()] = size;
  const HloBuffer& buffer = alias_analysis_.GetBufferContainingValue(value);
  auto [first, is_first] = first_of_buffer_.emplace(buffer.id(), &value);
  if (!is_first) {
    // The value before it ends at the latest where this one starts.
    for (const HloValue* other : buffer.values()) {
      if (other != &value && size_.contains(other->id())) End(*other, step);
    }
    Share(value, *first->second);
    return;
  }
  if (options_.may_reuse_operand_buffers && buffer.values().size() == 1) {
    if (const HloValue* operand = FindReusableOperand(value, step)) {
      End(*operand, step);
      Share(value, *operand);
      return;
    }
  }
  algorithm_->Alloc(&value, size);
  live_bytes_.Alloc(&value, size);
  Trace(Event::ALLOC, value);
}

absl::StatusOr<HeapSimulator::Result<HloValue>> Replay::Run(
    const HloLiveRange& live_range, bool whole_module) {
  std::vector<Step> steps = MakeSteps(live_range);
  for (Step& step : steps) {
    for (const HloValue* value : step.starts) Start(*value, step);
    for (const HloValue* value : step.ends) Free(*value);
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
