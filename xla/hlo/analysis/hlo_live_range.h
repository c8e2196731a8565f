#ifndef XLA_HLO_ANALYSIS_HLO_LIVE_RANGE_H_
#define XLA_HLO_ANALYSIS_HLO_LIVE_RANGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/shape_util.h"

namespace xla {

// From when to when each value of a scheduled module lives, on one time line.
//
//   0 p        p [0, 5)  an entry parameter lives to the end
//   1 a = negate(p)      [1, 2]
//   2 b = exp(a)         [2, 4]
//   3 c = log(p)         [3, 4]
//   4 ROOT d = add(b, c) [4, 5]   what leaves the computation lives to its end
//
// The time line: computations are laid out where they are called, before the
// instruction that calls them; a while's condition comes before its body; the
// computation of an asynchronous chain comes before the first link that has
// bound all operands and the whole output, at the latest before the done. The
// time of an instruction is its place on the line. A range is closed; a
// computation that ends before time t has end t, and so has what leaves it.
//
// Ends: the last use. A call does not use its operands, the computation it
// calls does; a while uses them until its body starts, an asynchronous start
// until its done (its tuple forwards them). Starts: parameters start with their
// computation. Values defined in an asynchronous computation, or in
// computations it calls, live until the chain is done: they run in parallel to
// everything that the caller does meanwhile. Entry parameters that no output is
// aliased to live to the end of the module. Values of one HloBuffer follow one
// another: if two would overlap, the earlier one ends when the later one
// starts, which inherits its end.
//
// Computations with several callers (see FlattenCallGraph) are laid out at the
// first call, and every call of them counts as a use.
// O(positions + uses + values log values).
class HloLiveRange {
 public:
  using LogicalTime = int64_t;

  struct TimeBound {
    LogicalTime start;
    LogicalTime end;
    // The position of the value at its end: that of the last operand read, or
    // the root through which it leaves.
    HloPosition end_position;

    friend bool operator==(const TimeBound& a, const TimeBound& b) {
      return a.start == b.start && a.end == b.end;
    }
    friend bool operator!=(const TimeBound& a, const TimeBound& b) {
      return !(a == b);
    }
  };

  // OpenXLA's name.
  using LiveRangeBounds = TimeBound;

  // Computes the live ranges of `computation`, and with module_scoped_analysis
  // also those of the computations it calls. The alias analysis must describe
  // the module in its current state. InvalidArgument, naming the instruction,
  // for a sequence that repeats one or misses one that anything needs: what is
  // dead need not run, and has no range then.
  static absl::StatusOr<std::unique_ptr<HloLiveRange>> Run(
      const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
      const HloComputation* computation, bool module_scoped_analysis = true);

  std::string ToString() const;

  // The line: time -> instruction.
  const HloInstructionSequence& flattened_instruction_sequence() const {
    return flattened_instruction_sequence_;
  }
  // Instruction -> time. Made by the first call, which takes O(the line); safe
  // to call from many threads.
  const absl::flat_hash_map<const HloInstruction*, LogicalTime>&
  instruction_schedule() const;

  // The live ranges of all values defined on the line.
  const absl::flat_hash_map<const HloValue*, TimeBound>& buffer_live_ranges()
      const {
    return buffer_live_ranges_;
  }
  absl::flat_hash_map<const HloValue*, TimeBound>& buffer_live_ranges() {
    return buffer_live_ranges_;
  }
  // The end of a value that has a range, were it alone in its HloBuffer.
  LogicalTime OwnEnd(const HloValue& value) const {
    return own_ends_[value.id()];
  }

  // [start, end) of each computation on the line.
  const absl::flat_hash_map<const HloComputation*, TimeBound>&
  computation_span_times() const {
    return computation_span_times_;
  }

  // The number of instructions on the line.
  LogicalTime schedule_end_time() const {
    return flattened_instruction_sequence_.size();
  }

  // False if some computation on the line has no schedule: it takes no time
  // then, and its values have no range.
  bool total_order_scheduled() const { return total_order_scheduled_; }

 private:
  HloLiveRange(const HloSchedule& schedule,
               const HloAliasAnalysis& alias_analysis,
               const HloComputation* computation, bool module_scoped_analysis)
      : schedule_(schedule),
        alias_analysis_(alias_analysis),
        computation_(computation),
        module_scoped_analysis_(module_scoped_analysis) {}

  absl::Status FlattenSchedule();
  // Checks that every instruction of a computation on the line is on it.
  absl::Status CheckNothingIsMissing() const;
  // Fills runs_until_. O(line * depth of asynchronous calls in each other).
  void FindConcurrentCode();
  void ComputeRanges();
  TimeBound RangeOf(const HloValue& value, LogicalTime start) const;
  void SeparateAliasedValues();

  // Whether the computations called are laid out right before the caller.
  bool CalleesAreInline(const HloInstruction* caller) const;
  // -1 if it is off the line.
  LogicalTime TimeOf(const HloInstruction* instruction) const {
    const int32_t slot = slots_.Find(instruction);
    return slot < 0 ? -1 : times_[slot];
  }
  // -1 for a use that is off the line or not counted.
  LogicalTime TimeOfUse(const HloUse& use) const;

  const HloSchedule& schedule_;
  const HloAliasAnalysis& alias_analysis_;
  const HloComputation* computation_;
  const bool module_scoped_analysis_;
  bool total_order_scheduled_ = true;

  // Parts of entry parameters, by number and index.
  absl::flat_hash_set<std::pair<int64_t, ShapeIndex>> aliased_parameters_;
  HloInstructionSequence flattened_instruction_sequence_;
  // Slots for the instructions on the line.
  InstructionSlots slots_;
  std::vector<LogicalTime> times_;
  // By time: the done of the asynchronous call that runs the instruction; -1
  // for others. Empty without such calls.
  std::vector<LogicalTime> runs_until_;
  // By id of the value; start -1 for those that are not defined on the line.
  std::vector<TimeBound> ranges_;
  std::vector<LogicalTime> own_ends_;  // By value, as the ranges were.
  mutable absl::once_flag instruction_schedule_is_made_;
  mutable absl::flat_hash_map<const HloInstruction*, LogicalTime>
      instruction_schedule_;
  absl::flat_hash_map<const HloComputation*, TimeBound> computation_span_times_;
  absl::flat_hash_map<const HloValue*, TimeBound> buffer_live_ranges_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_LIVE_RANGE_H_
