#include "xla/hlo/memory/timeline/memory_timeline.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/memory/accounting/hlo_memory_graph.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/status_macros.h"

// Executes the schedule symbolically, with an explicit stack of frames instead
// of recursion, and records an interval for each time a buffer is live. One
// tick is one moment at which memory is counted: after each instruction has
// produced its results and before its operands are freed, and on entering a
// callee. If entering all calls would give too many ticks, a call becomes one
// tick with an interval of the callee's peak.

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;
using Interval = MemoryTimeline::Interval;

// A computation in the order in which it runs.
struct Part {
  HloMemoryGraph memory;
  std::vector<Node> order;
  int64_t ticks = 0;  // with what it calls
};

using Parts = absl::flat_hash_map<const HloComputation*, std::unique_ptr<Part>>;

// A computation that is being run.
struct Frame {
  const Part* part;
  size_t position = 0;  // in the order
  size_t callee = 0;    // of the instruction there
  bool calling = false;
  std::vector<int32_t> uses_left;    // per value
  std::vector<int32_t> live_values;  // per buffer
  std::vector<int64_t> open;         // per buffer: index of its interval
};

class Runner {
 public:
  Runner(const Parts& parts, const HloAliasAnalysis& alias_analysis,
         bool enter_calls, MemoryTimeline* timeline)
      : parts_(parts),
        alias_analysis_(alias_analysis),
        enter_calls_(enter_calls),
        timeline_(*timeline) {}

  void Run(const HloComputation* entry) {
    Push(*parts_.at(entry));
    Tick(nullptr);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.position == frame.part->order.size()) {
        CloseAll(frame);
        stack_.pop_back();
      } else if (!frame.calling) {
        Begin(frame);
      } else if (!Call(frame)) {
        End(frame);
      }
    }
  }

 private:
  int64_t now() const { return static_cast<int64_t>(timeline_.ticks.size()); }
  void Tick(const HloInstruction* inst) { timeline_.ticks.push_back(inst); }

  void Push(const Part& part) {
    const MemoryGraph& graph = part.memory.graph;
    Frame frame;
    frame.part = &part;
    frame.live_values.resize(graph.buffer_count());
    frame.open.resize(graph.buffer_count(), -1);
    frame.uses_left.resize(graph.value_count());
    for (Value value = 0; value < graph.value_count(); ++value) {
      frame.uses_left[value] = static_cast<int32_t>(graph.uses(value).size()) +
                               graph.value(value).live_out;
      if (graph.value(value).def == MemoryGraph::kStart) Open(frame, value);
    }
    stack_.push_back(std::move(frame));
  }

  void Open(Frame& frame, Value value) {
    const MemoryGraph::ValueInfo& info = frame.part->memory.graph.value(value);
    if (frame.live_values[info.buffer]++ > 0) return;
    const HloValue* hlo_value = frame.part->memory.values[value];
    const HloBuffer* buffer =
        &alias_analysis_.GetBufferContainingValue(*hlo_value);
    frame.open[info.buffer] = static_cast<int64_t>(timeline_.intervals.size());
    // A buffer that goes on where it ended is one interval.
    auto last = last_.find(buffer);
    if (last != last_.end() && timeline_.intervals[last->second].end == now()) {
      frame.open[info.buffer] = last->second;
      return;
    }
    last_[buffer] = frame.open[info.buffer];
    timeline_.intervals.push_back(
        {hlo_value, buffer, hlo_value->instruction(), info.size, now(), -1});
  }

  void Close(Frame& frame, Value value) {
    const MemoryGraph::ValueInfo& info = frame.part->memory.graph.value(value);
    if (--frame.live_values[info.buffer] > 0) return;
    timeline_.intervals[frame.open[info.buffer]].end = now();
  }

  // The first phase of an instruction: operands that it consumes (handed over)
  // end before its callees run.
  void Begin(Frame& frame) {
    const MemoryGraph& graph = frame.part->memory.graph;
    const Node node = frame.part->order[frame.position];
    for (const MemoryGraph::Use& use : graph.reads(node)) {
      if (--frame.uses_left[use.id] == 0 && use.handed_over) {
        Close(frame, use.id);
      }
    }
    frame.calling = true;
    frame.callee = 0;
  }

  // Enters the next computation that the instruction runs; false: none left.
  bool Call(Frame& frame) {
    const Node node = frame.part->order[frame.position];
    const HloInstruction* inst = frame.part->memory.instructions[node];
    const int64_t extra = frame.part->memory.graph.extra(node);
    if (extra == 0) return false;
    if (!enter_calls_) {
      timeline_.intervals.push_back(
          {nullptr, nullptr, inst, extra, now(), now() + 1});
      Tick(inst);
      return false;
    }
    const auto callees = ComputationsRunBy(*inst);
    while (frame.callee < callees.size()) {
      auto it = parts_.find(callees[frame.callee++]);
      if (it == parts_.end()) continue;
      Push(*it->second);  // `frame` is gone
      Tick(inst);
      return true;
    }
    return false;
  }

  // The other phases: results that take an operand's memory replace it, other
  // results are added, the moment is counted, and then operands read for the
  // last time and results that nothing reads are freed.
  void End(Frame& frame) {
    const MemoryGraph& graph = frame.part->memory.graph;
    const Node node = frame.part->order[frame.position];
    absl::InlinedVector<Value, 4> taken;
    absl::InlinedVector<Value, 4> placed;
    for (const MemoryGraph::Sharing& sharing : graph.sharings(node)) {
      if (frame.uses_left[sharing.operand] != 0 ||
          absl::c_linear_search(taken, sharing.operand) ||
          absl::c_linear_search(placed, sharing.result)) {
        continue;
      }
      taken.push_back(sharing.operand);
      placed.push_back(sharing.result);
      Close(frame, sharing.operand);
    }
    for (Value value : graph.defs(node)) Open(frame, value);
    Tick(frame.part->memory.instructions[node]);
    for (const MemoryGraph::Use& use : graph.reads(node)) {
      if (frame.uses_left[use.id] == 0 && !use.handed_over &&
          !absl::c_linear_search(taken, use.id)) {
        Close(frame, use.id);
      }
    }
    for (Value value : graph.defs(node)) {
      if (frame.uses_left[value] == 0) Close(frame, value);
    }
    ++frame.position;
    frame.calling = false;
  }

  void CloseAll(Frame& frame) {
    for (size_t buffer = 0; buffer < frame.open.size(); ++buffer) {
      if (frame.live_values[buffer] > 0) {
        timeline_.intervals[frame.open[buffer]].end = now();
      }
    }
  }

  const Parts& parts_;
  const HloAliasAnalysis& alias_analysis_;
  const bool enter_calls_;
  MemoryTimeline& timeline_;
  std::vector<Frame> stack_;
  // The last interval of each buffer.
  absl::flat_hash_map<const HloBuffer*, int64_t> last_;
};

// Difference array over ticks; intervals are half-open.
void FillLiveBytes(MemoryTimeline& timeline) {
  timeline.live_bytes.assign(timeline.ticks.size() + 1, 0);
  for (const Interval& interval : timeline.intervals) {
    timeline.live_bytes[interval.begin] += interval.bytes;
    timeline.live_bytes[interval.end] -= interval.bytes;
  }
  timeline.live_bytes.pop_back();
  int64_t live = 0;
  for (size_t tick = 0; tick < timeline.ticks.size(); ++tick) {
    live += timeline.live_bytes[tick];
    timeline.live_bytes[tick] = live;
    if (live > timeline.peak_bytes) {
      timeline.peak_bytes = live;
      timeline.peak_tick = static_cast<int64_t>(tick);
    }
  }
}

}  // namespace

absl::StatusOr<MemoryTimeline> BuildMemoryTimeline(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info,
    const BufferValue::SizeFunction& size_function) {
  const HloModule& module = *schedule.module();
  Parts parts;
  ComputationPeaks peaks;
  for (const HloComputation* computation : ComputationsWithMemory(module)) {
    if (!schedule.is_computation_scheduled(computation)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "computation ", computation->name(), " is not scheduled"));
    }
    auto part = std::make_unique<Part>();
    TF_ASSIGN_OR_RETURN(
        part->memory, BuildMemoryGraph(*computation, alias_analysis, alias_info,
                                       size_function, peaks));
    TF_ASSIGN_OR_RETURN(
        part->order,
        part->memory.ToNodes(schedule.sequence(computation).instructions()));
    peaks[computation] = ReplayPeak(part->memory.graph, part->order).bytes;
    for (const HloInstruction* inst : part->memory.instructions) {
      ++part->ticks;
      for (const HloComputation* callee : ComputationsRunBy(*inst)) {
        auto it = parts.find(callee);
        if (it != parts.end()) part->ticks += 1 + it->second->ticks;
      }
      part->ticks = std::min(part->ticks, MemoryTimeline::kMaxTicks + 1);
    }
    parts[computation] = std::move(part);
  }
  MemoryTimeline timeline;
  const HloComputation* entry = module.entry_computation();
  Runner(parts, alias_analysis,
         parts.at(entry)->ticks <= MemoryTimeline::kMaxTicks, &timeline)
      .Run(entry);
  FillLiveBytes(timeline);
  return timeline;
}

packing::PackingProblem MemoryTimeline::ToPackingProblem() const {
  // Per buffer: the index of its first interval, and where its last one ends.
  absl::flat_hash_map<const HloBuffer*, std::pair<int64_t, int64_t>> groups;
  packing::PackingProblem problem;
  problem.buffers.reserve(intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    packing::PackingBuffer buffer;
    buffer.id = interval.at->name();
    buffer.lower = interval.begin;
    buffer.upper = std::max(interval.end, interval.begin + 1);
    buffer.size = interval.bytes;
    if (interval.buffer != nullptr) {
      auto [it, is_new] = groups.emplace(
          interval.buffer, std::make_pair(static_cast<int64_t>(i), 0));
      // An argument that a loop changes is live beside the loop's state.
      if (interval.begin >= it->second.second) {
        buffer.colocation = it->second.first;
        it->second.second = buffer.upper;
      }
    }
    problem.buffers.push_back(std::move(buffer));
  }
  return problem;
}

}  // namespace xla
