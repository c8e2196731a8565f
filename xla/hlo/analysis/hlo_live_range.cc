#include "xla/hlo/analysis/hlo_live_range.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape_util.h"

// Two linear passes: lay out all computations on one time line
// (FlattenSchedule), then give each value the range from its definition to the
// last of its uses, of the computations it leaves, and of the asynchronous
// chains it runs beside. Finally, ranges of values in the same buffer are cut
// where the next one starts.

namespace xla {
namespace {

using Callees = absl::InlinedVector<const HloComputation*, 2>;

// An asynchronous computation runs with the first link that has bound all
// operands and the whole output, at the latest with the done.
Callees CalleesOfLink(const HloInstruction* link) {
  const bool is_start = link->opcode() == HloOpcode::kAsyncStart;
  // Most updates bind nothing, and links know what they call by their start
  // alone, which may be far.
  if (link->opcode() == HloOpcode::kAsyncUpdate &&
      ShapeUtil::Compatible(link->shape(), link->operand(0)->shape())) {
    return {};
  }
  const HloComputation* callee = link->async_wrapped_computation();
  if (callee == nullptr ||
      (link->opcode() != HloOpcode::kAsyncDone &&
       !IsCompleteAsyncState(link->shape(), *callee)) ||
      (!is_start && IsCompleteAsyncState(link->operand(0)->shape(), *callee))) {
    return {};
  }
  return {callee};
}

// The computations that run with the instruction, in the order of the time
// line.
Callees CalleesOnTheLine(const HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kWhile:
      return {inst->while_condition(), inst->while_body()};
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      return CalleesOfLink(inst);
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
      return Callees(inst->called_computations().begin(),
                     inst->called_computations().end());
    case XLA_ANY_WITHOUT_SCHEDULE:
      break;
  }
  return {};
}

// Values, their uses and the instructions there lie apart in memory; what the
// next values lead to is fetched some steps ahead.
void PrefetchForRange(const std::vector<HloValue*>& values, size_t i) {
  constexpr size_t kStep = 4;
  if (i + 3 * kStep >= values.size()) return;
  const char* bytes = reinterpret_cast<const char*>(values[i + 3 * kStep]);
  for (size_t line = 0; line < sizeof(HloValue); line += 64) {
    __builtin_prefetch(bytes + line);
  }
  __builtin_prefetch(values[i + 2 * kStep]->defining_instruction());
  __builtin_prefetch(values[i + 2 * kStep]->GetUses().data());
  for (const HloUse& use : values[i + kStep]->GetUses()) {
    __builtin_prefetch(use.instruction);
  }
}

absl::Status BadSchedule(const HloComputation& computation,
                         absl::string_view what, const HloInstruction& inst) {
  return absl::InvalidArgumentError(
      absl::StrCat("live ranges: the schedule of ", computation.name(), " ",
                   what, " ", inst.name()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloLiveRange>> HloLiveRange::Run(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const HloComputation* computation, bool module_scoped_analysis) {
  std::unique_ptr<HloLiveRange> result(new HloLiveRange(
      schedule, alias_analysis, computation, module_scoped_analysis));
  absl::Status status = result->FlattenSchedule();
  if (status.ok()) status = result->CheckNothingIsMissing();
  if (!status.ok()) return status;
  result->ComputeRanges();
  result->SeparateAliasedValues();
  const std::vector<HloValue*>& values =
      alias_analysis.dataflow_analysis().values();
  result->buffer_live_ranges_.reserve(values.size());
  for (const HloValue* value : values) {
    TimeBound& range = result->ranges_[value->id()];
    if (range.start < 0) continue;
    result->buffer_live_ranges_.emplace(value, std::move(range));
  }
  result->ranges_ = {};
  return result;
}

const absl::flat_hash_map<const HloInstruction*, HloLiveRange::LogicalTime>&
HloLiveRange::instruction_schedule() const {
  absl::call_once(instruction_schedule_is_made_, [this] {
    LogicalTime time = 0;
    instruction_schedule_.reserve(schedule_end_time());
    for (const HloInstruction* inst :
         flattened_instruction_sequence_.instructions()) {
      instruction_schedule_[inst] = time++;
    }
  });
  return instruction_schedule_;
}

absl::Status HloLiveRange::CheckNothingIsMissing() const {
  LogicalTime expected = 0;
  for (const auto& [computation, span] : computation_span_times_) {
    if (schedule_.is_computation_scheduled(computation)) {
      expected += computation->instruction_count();
    }
  }
  // Nothing stands there twice.
  if (expected == schedule_end_time()) return absl::OkStatus();
  for (const HloComputation* computation :
       computation_->parent()->computations()) {
    if (!computation_span_times_.contains(computation) ||
        !schedule_.is_computation_scheduled(computation)) {
      continue;
    }
    // Users come first, and all that are missing so far are dead.
    const std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const HloInstruction* inst = *it;
      if (TimeOf(inst) >= 0) continue;
      const auto is_there = [this](const HloInstruction* user) {
        return TimeOf(user) >= 0;
      };
      if (inst->IsRoot() || absl::c_any_of(inst->users(), is_there) ||
          absl::c_any_of(inst->control_successors(), is_there) ||
          inst->HasSideEffect() || inst->opcode() == HloOpcode::kParameter ||
          HloDataflowAnalysis::IsAsynchronousOperationDone(inst->opcode())) {
        return BadSchedule(*computation, "misses", *inst);
      }
    }
  }
  return absl::OkStatus();
}

// Iterative traversal: before an instruction is laid out, the computations that
// it calls are, each once.
absl::Status HloLiveRange::FlattenSchedule() {
  struct Frame {
    const HloComputation* computation;
    const std::vector<HloInstruction*>* sequence;
    size_t position = 0;
    Callees callees;
    size_t next_callee = 0;
  };
  const std::vector<HloComputation*> computations(
      computation_->parent()->computations().begin(),
      computation_->parent()->computations().end());
  slots_ = InstructionSlots::Empty(computations);
  times_.resize(slots_.size(), -1);
  std::vector<Frame> stack;
  auto enter = [&](const HloComputation* computation) {
    if (computation_span_times_.contains(computation)) return;
    const LogicalTime start = schedule_end_time();
    computation_span_times_[computation] = {start, start, {}};
    if (!schedule_.is_computation_scheduled(computation)) {
      total_order_scheduled_ = false;
      return;
    }
    Frame frame;
    frame.computation = computation;
    frame.sequence = &schedule_.sequence(computation).instructions();
    stack.push_back(std::move(frame));
    const auto& sequence = *stack.back().sequence;
    if (module_scoped_analysis_ && !sequence.empty()) {
      stack.back().callees = CalleesOnTheLine(sequence[0]);
    }
  };
  enter(computation_);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.position == frame.sequence->size()) {
      computation_span_times_[frame.computation].end = schedule_end_time();
      stack.pop_back();
      continue;
    }
    if (frame.next_callee < frame.callees.size()) {
      enter(frame.callees[frame.next_callee++]);
      continue;
    }
    if (frame.position + kInstructionsAhead < frame.sequence->size()) {
      PrefetchInstruction(
          (*frame.sequence)[frame.position + kInstructionsAhead]);
    }
    HloInstruction* inst = (*frame.sequence)[frame.position++];
    if (inst->parent() != frame.computation) {
      return BadSchedule(
          *frame.computation,
          "contains an instruction of another computation:", *inst);
    }
    LogicalTime& time = times_[slots_.Add(inst)];
    if (time >= 0) return BadSchedule(*frame.computation, "repeats", *inst);
    time = schedule_end_time();
    flattened_instruction_sequence_.push_back(inst);
    frame.next_callee = 0;
    frame.callees.clear();
    if (module_scoped_analysis_ && frame.position < frame.sequence->size()) {
      frame.callees = CalleesOnTheLine((*frame.sequence)[frame.position]);
    }
  }
  return absl::OkStatus();
}

bool HloLiveRange::CalleesAreInline(const HloInstruction* caller) const {
  return module_scoped_analysis_ &&
         absl::c_all_of(caller->called_computations(),
                        [&](const HloComputation* callee) {
                          return callee->caller_instructions().size() == 1 &&
                                 schedule_.is_computation_scheduled(callee);
                        });
}

// When a use ends. Calls whose callees are on the line do not count themselves:
// what the callee does with the operand does. -1: does not count.
HloLiveRange::LogicalTime HloLiveRange::TimeOfUse(const HloUse& use) const {
  const LogicalTime time = TimeOf(use.instruction);
  if (time < 0) return -1;
  if (use.instruction->opcode() == HloOpcode::kCall &&
      CalleesAreInline(use.instruction)) {
    return -1;
  }
  if (use.instruction->opcode() == HloOpcode::kWhile &&
      CalleesAreInline(use.instruction)) {
    return computation_span_times_.at(use.instruction->while_body()).start;
  }
  return time;
}

HloLiveRange::TimeBound HloLiveRange::RangeOf(const HloValue& value,
                                              LogicalTime start) const {
  TimeBound range = {start, start, value.defining_position()};
  for (const HloPosition& position : value.positions()) {
    if (!position.instruction->IsRoot()) continue;
    auto span = computation_span_times_.find(position.instruction->parent());
    if (span == computation_span_times_.end() ||
        span->second.end <= range.end) {
      continue;
    }
    range.end = span->second.end;
    range.end_position = position;
  }
  for (const HloUse& use : value.GetUses()) {
    const LogicalTime time = TimeOfUse(use);
    if (time <= range.end) continue;
    range.end = time;
    range.end_position = {use.instruction->mutable_operand(use.operand_number),
                          use.operand_index};
  }
  const HloInstruction* def = value.defining_instruction();
  if (!runs_until_.empty() && runs_until_[TimeOf(def)] > range.end) {
    range.end = runs_until_[TimeOf(def)];
    range.end_position = value.defining_position();
  }
  if (def->opcode() == HloOpcode::kParameter && def->parent() == computation_ &&
      computation_->IsEntryComputation() &&
      !aliased_parameters_.contains(
          {def->parameter_number(), value.defining_index()})) {
    range.end = schedule_end_time();
  }
  return range;
}

// Code between an asynchronous start and its done runs beside the rest of the
// caller, so whatever it defines must be kept until the done.
void HloLiveRange::FindConcurrentCode() {
  const auto& line = flattened_instruction_sequence_.instructions();
  for (HloInstruction* inst : line) {
    if (inst->opcode() != HloOpcode::kAsyncStart) continue;
    const HloInstruction* done = inst->async_chain_done();
    const LogicalTime end = done == nullptr ? -1 : TimeOf(done);
    for (const HloComputation* callee : inst->called_computations()) {
      // Computations that the callee calls are laid out within its span.
      const auto span = computation_span_times_.find(callee);
      if (span == computation_span_times_.end()) continue;
      if (runs_until_.empty()) runs_until_.resize(line.size(), -1);
      for (LogicalTime t = span->second.start; t < span->second.end; ++t) {
        runs_until_[t] = std::max(runs_until_[t], end);
      }
    }
  }
}

void HloLiveRange::ComputeRanges() {
  FindConcurrentCode();
  // The config itself searches all outputs for a parameter.
  if (computation_->IsEntryComputation()) {
    computation_->parent()->input_output_alias_config().ForEachAlias(
        [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias& alias) {
          aliased_parameters_.insert(
              {alias.parameter_number, alias.parameter_index});
        });
  }
  const std::vector<HloValue*>& values =
      alias_analysis_.dataflow_analysis().values();
  ranges_.resize(values.size(), {-1, -1, {}});
  own_ends_.resize(values.size(), -1);
  for (size_t i = 0; i < values.size(); ++i) {
    PrefetchForRange(values, i);
    const HloValue* value = values[i];
    const HloInstruction* def = value->defining_instruction();
    LogicalTime start = TimeOf(def);
    if (start < 0) continue;
    if (def->opcode() == HloOpcode::kParameter) {
      start = computation_span_times_.at(def->parent()).start;
    }
    ranges_[value->id()] = RangeOf(*value, start);
    own_ends_[value->id()] = ranges_[value->id()].end;
  }
}

// Sorts the ranges of each buffer and cuts an earlier range where the next one
// starts, so that they touch. If the earlier one was to live longer, the later
// one takes over its end, so that the buffer as a whole stays live as long.
void HloLiveRange::SeparateAliasedValues() {
  std::vector<std::pair<const HloValue*, TimeBound*>> ranges;
  for (const HloBuffer& buffer : alias_analysis_.buffers()) {
    if (buffer.values().size() < 2) continue;
    ranges.clear();
    for (const HloValue* value : buffer.values()) {
      TimeBound& range = ranges_[value->id()];
      if (range.start >= 0) ranges.emplace_back(value, &range);
    }
    absl::c_sort(ranges, [](const auto& a, const auto& b) {
      return std::make_tuple(a.second->start, a.second->end, a.first->id()) <
             std::make_tuple(b.second->start, b.second->end, b.first->id());
    });
    for (size_t i = 0; i + 1 < ranges.size(); ++i) {
      TimeBound& first = *ranges[i].second;
      TimeBound& second = *ranges[i + 1].second;
      // Values that start together (parameters) cannot be told apart.
      if (first.end <= second.start || first.start == second.start) continue;
      if (first.end > second.end) {
        second.end = first.end;
        second.end_position = first.end_position;
      }
      first.end = second.start;
    }
  }
}

std::string HloLiveRange::ToString() const {
  std::string text = "HloLiveRange (max " + absl::StrCat(schedule_end_time()) +
                     "):\n  sequence:\n";
  const auto& line = flattened_instruction_sequence_.instructions();
  for (size_t i = 0; i < line.size(); ++i) {
    absl::StrAppend(&text, "    ", i, " ", line[i]->name(), "\n");
  }
  absl::StrAppend(&text, "  ranges:\n");
  for (const HloValue* value : alias_analysis_.dataflow_analysis().values()) {
    auto it = buffer_live_ranges_.find(value);
    if (it == buffer_live_ranges_.end()) continue;
    absl::StrAppend(&text, "    ", value->ToShortString(), ": ",
                    it->second.start, "-", it->second.end, "\n");
  }
  return text;
}

}  // namespace xla
