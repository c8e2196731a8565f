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
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

using Callees = absl::InlinedVector<const HloComputation*, 2>;

// What runs when the instruction does, in the order of the time line.
Callees CalleesOnTheLine(const HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kWhile:
      return {inst->while_condition(), inst->while_body()};
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kAsyncStart:
      return Callees(inst->called_computations().begin(),
                     inst->called_computations().end());
    default:
      return {};
  }
}

// Every instruction of a computation on the line stands on it once.
absl::Status CheckTimeLine(const HloLiveRange& live_range,
                           const HloSchedule& schedule,
                           const HloModule& module) {
  auto bad = [](const HloInstruction& inst, absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("live ranges: the schedule of ", inst.parent()->name(),
                     " ", what, " ", inst.name()));
  };
  const auto& time_of = live_range.instruction_schedule();
  if (static_cast<int64_t>(time_of.size()) != live_range.schedule_end_time()) {
    HloLiveRange::LogicalTime time = 0;
    for (const HloInstruction* inst :
         live_range.flattened_instruction_sequence().instructions()) {
      if (time_of.at(inst) != time++) return bad(*inst, "repeats");
    }
  }
  for (const HloComputation* computation : module.computations()) {
    if (!live_range.computation_span_times().contains(computation) ||
        !schedule.is_computation_scheduled(computation)) {
      continue;
    }
    for (const HloInstruction* inst : computation->instructions()) {
      if (!time_of.contains(inst)) return bad(*inst, "misses");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloLiveRange>> HloLiveRange::Run(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const HloComputation* computation, bool module_scoped_analysis) {
  std::unique_ptr<HloLiveRange> result(new HloLiveRange(
      schedule, alias_analysis, computation, module_scoped_analysis));
  result->FlattenSchedule();
  absl::Status status =
      CheckTimeLine(*result, schedule, *computation->parent());
  if (!status.ok()) return status;
  result->ComputeRanges();
  result->SeparateAliasedValues();
  return result;
}

void HloLiveRange::FlattenSchedule() {
  struct Frame {
    const HloComputation* computation;
    const std::vector<HloInstruction*>* sequence;
    size_t position = 0;
    Callees callees;
    size_t next_callee = 0;
  };
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
    HloInstruction* inst = (*frame.sequence)[frame.position++];
    instruction_schedule_[inst] = schedule_end_time();
    flattened_instruction_sequence_.push_back(inst);
    frame.next_callee = 0;
    frame.callees.clear();
    if (module_scoped_analysis_ && frame.position < frame.sequence->size()) {
      frame.callees = CalleesOnTheLine((*frame.sequence)[frame.position]);
    }
  }
}

bool HloLiveRange::CalleesAreInline(const HloInstruction* caller) const {
  return module_scoped_analysis_ &&
         absl::c_all_of(caller->called_computations(),
                        [&](const HloComputation* callee) {
                          return callee->caller_instructions().size() == 1 &&
                                 schedule_.is_computation_scheduled(callee);
                        });
}

HloLiveRange::LogicalTime HloLiveRange::TimeOfUse(const HloUse& use) const {
  auto it = instruction_schedule_.find(use.instruction);
  if (it == instruction_schedule_.end()) return -1;
  if (use.instruction->opcode() == HloOpcode::kCall &&
      CalleesAreInline(use.instruction)) {
    return -1;
  }
  if (use.instruction->opcode() == HloOpcode::kWhile &&
      CalleesAreInline(use.instruction)) {
    return computation_span_times_.at(use.instruction->while_body()).start;
  }
  return it->second;
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
  if (def->opcode() == HloOpcode::kParameter && def->parent() == computation_ &&
      computation_->IsEntryComputation() &&
      !aliased_parameters_.contains(
          {def->parameter_number(), value.defining_index()})) {
    range.end = schedule_end_time();
  }
  return range;
}

void HloLiveRange::ComputeRanges() {
  // The config itself searches all outputs for a parameter.
  if (computation_->IsEntryComputation()) {
    computation_->parent()->input_output_alias_config().ForEachAlias(
        [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias& alias) {
          aliased_parameters_.insert(
              {alias.parameter_number, alias.parameter_index});
        });
  }
  for (const HloValue* value : alias_analysis_.dataflow_analysis().values()) {
    const HloInstruction* def = value->defining_instruction();
    auto it = instruction_schedule_.find(def);
    if (it == instruction_schedule_.end()) continue;
    const LogicalTime start =
        def->opcode() == HloOpcode::kParameter
            ? computation_span_times_.at(def->parent()).start
            : it->second;
    buffer_live_ranges_[value] = RangeOf(*value, start);
  }
}

void HloLiveRange::SeparateAliasedValues() {
  std::vector<std::pair<const HloValue*, TimeBound*>> ranges;
  for (const HloBuffer& buffer : alias_analysis_.buffers()) {
    ranges.clear();
    for (const HloValue* value : buffer.values()) {
      auto it = buffer_live_ranges_.find(value);
      if (it != buffer_live_ranges_.end()) {
        ranges.emplace_back(value, &it->second);
      }
    }
    absl::c_sort(ranges, [](const auto& a, const auto& b) {
      return std::make_tuple(a.second->start, a.second->end, a.first->id()) <
             std::make_tuple(b.second->start, b.second->end, b.first->id());
    });
    for (size_t i = 0; i + 1 < ranges.size(); ++i) {
      TimeBound& first = *ranges[i].second;
      TimeBound& second = *ranges[i + 1].second;
      // Values that start together (parameters) cannot be told apart.
      if (first.end < second.start || first.start == second.start) continue;
      if (first.end > second.end) {
        second.end = first.end;
        second.end_position = first.end_position;
      }
      first.end = second.start - 1;
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
