#include "xla/hlo/memory/report/memory_report_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using BufferSet = absl::flat_hash_set<const HloBuffer*>;

// Distinct buffers of an instruction's value, constants apart.
BufferSet BuffersOf(const HloInstruction& inst,
                    const HloAliasAnalysis& alias_analysis) {
  BufferSet buffers;
  for (const auto& [index, set] :
       alias_analysis.dataflow_analysis().GetInstructionValueSet(&inst)) {
    for (const HloValue* value : set.values()) {
      if (value->instruction()->opcode() == HloOpcode::kConstant) continue;
      buffers.insert(&alias_analysis.GetBufferContainingValue(*value));
    }
  }
  return buffers;
}

// Placements that the search for lower heaps tries, a fraction of a second.
constexpr int64_t kHeapSteps = 30'000;

// Offsets of the buffers. Where the heap exceeds a limit that the live bytes
// keep, the search goes on for the limit: it decides whether the module fits.
absl::StatusOr<packing::OffsetPlan> PlanHeap(
    const packing::PackingProblem& buffers, std::optional<int64_t> limit) {
  packing::OffsetPlannerOptions options;
  options.max_steps = kHeapSteps;
  TF_ASSIGN_OR_RETURN(packing::OffsetPlan plan,
                      packing::PlanOffsets(buffers, options));
  if (!limit.has_value() || plan.solution.height <= *limit ||
      plan.lower_bound > *limit) {
    return plan;
  }
  packing::OffsetPlannerOptions within_limit;
  within_limit.capacity = limit;
  TF_ASSIGN_OR_RETURN(packing::OffsetPlan fitting,
                      packing::PlanOffsets(buffers, within_limit));
  return fitting.solution.height < plan.solution.height ? fitting : plan;
}

class Builder {
 public:
  Builder(const ScheduleResult& schedule,
          const HloAliasAnalysis& alias_analysis,
          const MemoryReportOptions& options, const MemoryTimeline& timeline)
      : schedule_(schedule),
        alias_analysis_(alias_analysis),
        options_(options),
        timeline_(timeline),
        module_(*schedule.schedule.module()) {}

  void Build(int64_t heap_bytes, int64_t lower_bound_bytes) {
    report_.set_module(std::string(module_.name()));
    report_.set_instruction_count(module_.instruction_count());
    report_.set_computation_count(module_.computation_count());
    report_.set_peak_bytes(timeline_.peak_bytes);
    report_.set_any_order_lower_bound_bytes(
        schedule_.any_order_lower_bound_bytes);
    report_.set_lower_bound_bytes(lower_bound_bytes);
    report_.set_heap_bytes(heap_bytes);
    report_.set_fragmentation(
        lower_bound_bytes == 0
            ? 0
            : static_cast<double>(heap_bytes) / lower_bound_bytes - 1);
    report_.set_schedule_algorithm(AbslUnparseFlag(schedule_.algorithm));
    report_.set_schedule_winner(schedule_.winner);
    if (options_.seconds) report_.set_schedule_seconds(schedule_.seconds);
    int64_t needed_bytes = std::max(heap_bytes, timeline_.peak_bytes);
    if (options_.allocated_bytes.has_value()) {
      needed_bytes = *options_.allocated_bytes;
      report_.set_allocated_bytes(static_cast<double>(needed_bytes));
    }
    if (options_.limit_bytes.has_value()) {
      report_.set_limit_bytes(*options_.limit_bytes);
      report_.set_accounting(AbslUnparseFlag(
          options_.allocated_bytes.has_value() ? MemoryAccounting::kAllocated
                                               : MemoryAccounting::kOurs));
      report_.set_fits(needed_bytes <= *options_.limit_bytes);
    }
    FillPlaces();
    FillPeak();
    FillComputations();
    if (options_.curve) FillCurve();
  }

  MemoryReport Take() { return std::move(report_); }

  // The kind of each interval of the time line.
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    kinds.reserve(timeline_.intervals.size());
    for (const MemoryTimeline::Interval& interval : timeline_.intervals) {
      kinds.push_back(KindOf(interval.buffer));
    }
    return kinds;
  }

 private:
  int64_t Bytes(const HloBuffer& buffer) const {
    int64_t bytes = 0;
    for (const HloValue* value : buffer.values()) {
      bytes = std::max(bytes, options_.size_function(*value));
    }
    return bytes;
  }

  // Arguments, outputs, what is both, constants.
  void FillPlaces() {
    const HloComputation& entry = *module_.entry_computation();
    for (const HloInstruction* parameter : entry.parameter_instructions()) {
      for (const HloBuffer* buffer : BuffersOf(*parameter, alias_analysis_)) {
        if (arguments_.insert(buffer).second) argument_bytes_ += Bytes(*buffer);
      }
    }
    outputs_ = BuffersOf(*entry.root_instruction(), alias_analysis_);
    int64_t output_bytes = 0;
    int64_t aliased_bytes = 0;
    for (const HloBuffer* buffer : outputs_) {
      output_bytes += Bytes(*buffer);
      if (arguments_.contains(buffer)) aliased_bytes += Bytes(*buffer);
    }
    int64_t constant_bytes = 0;
    for (const HloComputation* computation : module_.computations()) {
      if (computation->IsFusionComputation()) continue;
      for (const HloInstruction* inst : computation->instructions()) {
        if (inst->opcode() == HloOpcode::kConstant) {
          constant_bytes += ShapeUtil::ByteSizeOf(inst->shape(), 8);
        }
      }
    }
    report_.set_argument_bytes(argument_bytes_);
    report_.set_output_bytes(output_bytes);
    report_.set_aliased_bytes(aliased_bytes);
    report_.set_constant_bytes(constant_bytes);
  }

  std::string KindOf(const HloBuffer* buffer) const {
    if (buffer == nullptr) return "call";
    const bool argument = arguments_.contains(buffer);
    const bool output = outputs_.contains(buffer);
    if (argument && output) return "argument+output";
    return argument ? "argument" : output ? "output" : "temporary";
  }

  void FillPeak() {
    const HloInstruction* at = timeline_.ticks[timeline_.peak_tick];
    report_.set_peak_point(timeline_.peak_tick);
    if (at != nullptr) {
      report_.set_peak_instruction(std::string(at->name()));
      report_.set_peak_computation(std::string(at->parent()->name()));
      report_.set_peak_opcode(std::string(HloOpcodeString(at->opcode())));
      report_.set_peak_op_name(std::string(at->metadata().op_name()));
      report_.set_peak_source(InstructionSource(*at));
    }
    std::vector<const MemoryTimeline::Interval*> live;
    for (const MemoryTimeline::Interval& interval : timeline_.intervals) {
      if (interval.begin <= timeline_.peak_tick &&
          timeline_.peak_tick < interval.end) {
        live.push_back(&interval);
      }
    }
    absl::c_stable_sort(
        live, [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    int64_t temp_bytes = 0, argument_bytes = 0, output_bytes = 0;
    for (const MemoryTimeline::Interval* interval : live) {
      MemoryReport::Buffer& buffer = *report_.add_live_at_peak();
      const HloInstruction& inst = *interval->at;
      buffer.set_name(std::string(inst.name()));
      buffer.set_computation(std::string(inst.parent()->name()));
      buffer.set_opcode(std::string(HloOpcodeString(inst.opcode())));
      const Shape& shape =
          interval->value == nullptr ? inst.shape() : interval->value->shape();
      buffer.set_shape(ShapeUtil::HumanString(shape));
      buffer.set_shape_index(interval->value == nullptr
                                 ? "{}"
                                 : interval->value->index().ToString());
      buffer.set_bytes(interval->bytes);
      buffer.set_op_name(std::string(inst.metadata().op_name()));
      buffer.set_source(InstructionSource(inst));
      buffer.set_kind(KindOf(interval->buffer));
      buffer.set_first(static_cast<int32_t>(interval->begin));
      buffer.set_last(static_cast<int32_t>(interval->end - 1));
      (arguments_.contains(interval->buffer) ? argument_bytes
       : outputs_.contains(interval->buffer) ? output_bytes
                                             : temp_bytes) += interval->bytes;
    }
    report_.set_temp_bytes(temp_bytes);
    report_.set_peak_argument_bytes(argument_bytes);
    report_.set_peak_output_bytes(output_bytes);
  }

  void FillComputations() {
    struct Peak {
      int64_t bytes = -1;
      const HloInstruction* at = nullptr;
    };
    absl::flat_hash_map<const HloComputation*, Peak> peaks;
    std::vector<const HloComputation*> order;
    for (size_t tick = 0; tick < timeline_.ticks.size(); ++tick) {
      const HloInstruction* at = timeline_.ticks[tick];
      if (at == nullptr) continue;
      auto [it, is_new] = peaks.emplace(at->parent(), Peak());
      if (is_new) order.push_back(at->parent());
      if (timeline_.live_bytes[tick] > it->second.bytes) {
        it->second = {timeline_.live_bytes[tick], at};
      }
    }
    for (const HloComputation* computation : order) {
      MemoryReport::Computation& entry = *report_.add_computations();
      entry.set_name(std::string(computation->name()));
      entry.set_instruction_count(computation->instruction_count());
      entry.set_peak_bytes(peaks[computation].bytes);
      entry.set_peak_instruction(std::string(peaks[computation].at->name()));
    }
  }

  void FillCurve() {
    for (size_t tick = 0; tick < timeline_.ticks.size(); ++tick) {
      MemoryReport::Point& point = *report_.add_curve();
      const HloInstruction* at = timeline_.ticks[tick];
      if (at != nullptr) {
        point.set_instruction(std::string(at->name()));
        point.set_computation(std::string(at->parent()->name()));
      }
      point.set_bytes(timeline_.live_bytes[tick]);
    }
  }

  const ScheduleResult& schedule_;
  const HloAliasAnalysis& alias_analysis_;
  const MemoryReportOptions& options_;
  const MemoryTimeline& timeline_;
  const HloModule& module_;
  MemoryReport report_;
  BufferSet arguments_;
  BufferSet outputs_;
  int64_t argument_bytes_ = 0;
};

}  // namespace

absl::StatusOr<BuiltMemoryReport> BuildMemoryReport(
    const ScheduleResult& schedule, const HloAliasAnalysis& alias_analysis,
    const MemoryReportOptions& given) {
  MemoryReportOptions options = given;
  if (!options.size_function) options.size_function = DefaultSizeFunction();
  AliasInfo default_alias_info;
  if (options.alias_info == nullptr) options.alias_info = &default_alias_info;
  TF_ASSIGN_OR_RETURN(
      MemoryTimeline timeline,
      BuildMemoryTimeline(schedule.schedule, alias_analysis, options.alias_info,
                          options.size_function));
  BuiltMemoryReport built;
  built.buffers = timeline.ToPackingProblem();
  TF_ASSIGN_OR_RETURN(packing::OffsetPlan plan,
                      PlanHeap(built.buffers, options.limit_bytes));
  Builder builder(schedule, alias_analysis, options, timeline);
  builder.Build(plan.solution.height, timeline.peak_bytes);
  built.kinds = builder.Kinds();
  built.report = builder.Take();
  built.curve.assign(timeline.live_bytes.begin(), timeline.live_bytes.end());
  built.offsets = std::move(plan.solution.offsets);
  built.timeline = std::move(timeline);
  return built;
}

}  // namespace xla
