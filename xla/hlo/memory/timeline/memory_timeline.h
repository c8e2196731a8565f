#ifndef XLA_HLO_MEMORY_TIMELINE_MEMORY_TIMELINE_H_
#define XLA_HLO_MEMORY_TIMELINE_MEMORY_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// A scheduled module as one time line, with the times at which each buffer is
// live. The computations that a while, conditional or call runs are laid out
// where it runs, once each, one after the other.
//
//   a = param; b = f(a); c = while(b), body { x; y }
//     → a f | x y | c            (each instruction has one or two ticks)
//
// The maximum of live bytes over all ticks is PeakOfSchedule().
//
// Linear in instructions run. If calls of shared computations would make the
// line longer than kMaxTicks, calls of the entry are not entered: the memory
// they hold is then one interval without a value.
struct MemoryTimeline {
  static constexpr int64_t kMaxTicks = int64_t{1} << 22;

  struct Interval {
    // The value that is live first, and its buffer; null: see above.
    const HloValue* value = nullptr;
    const HloBuffer* buffer = nullptr;
    // Where it is live first.
    const HloInstruction* at = nullptr;
    int64_t bytes = 0;
    int64_t begin = 0;  // ticks: live in [begin, end)
    int64_t end = 0;
  };

  // The instruction that runs at each tick; null before the first one.
  std::vector<const HloInstruction*> ticks;
  std::vector<int64_t> live_bytes;  // of each tick
  std::vector<Interval> intervals;  // by begin

  int64_t peak_bytes = 0;
  int64_t peak_tick = 0;  // the first one with the peak

  // The problem of finding offsets for the intervals, with the same indices.
  // Intervals of one HloBuffer get one offset, unless they overlap in time.
  packing::PackingProblem ToPackingProblem() const;
};

// InvalidArgument as PeakOfSchedule().
absl::StatusOr<MemoryTimeline> BuildMemoryTimeline(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info,
    const BufferValue::SizeFunction& size_function);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_TIMELINE_MEMORY_TIMELINE_H_
