#ifndef XLA_HLO_TRANSFORMS_COPIES_LIVE_INTERVALS_H_
#define XLA_HLO_TRANSFORMS_COPIES_LIVE_INTERVALS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/async_in_place.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/transforms/copies/copy_sites.h"
#include "xla/hlo/transforms/copies/execution_line.h"
#include "xla/shape_util.h"

namespace xla {

// From a write or the start of a branch to the last read, both included.
struct LiveInterval {
  ExecutionLine::Time start;
  ExecutionLine::Time end;
  // From the start of an asynchronous chain until it is done, for everything
  // that it computes: it runs concurrently with the rest, but its own
  // instructions run one after the other.
  bool is_hold = false;
};

// When the nodes of `sites` hold a value that is still to be read, if there is
// a copy at each site.
//
//   x = ...                 x [write of x, read of the copy before u]
//   u = dynamic-update-slice(x, ...)
//
// A value from outside of a loop that is read in it lives through all of it; of
// a conditional, only in the branches that read it, up to the last read there.
// What an asynchronous chain reads or computes lives until it is done. An
// operand that it updates in place does not live in its state: there is nobody
// who reads it but for the result that is there.
class LiveIntervals {
 public:
  LiveIntervals(const HloDataflowAnalysis& dataflow,
                const AliasInfo& alias_info, const CopySites& sites,
                const ExecutionLine& line);

  // Disjoint; none if it only is where the result of an asynchronous operation
  // is, or off the line. O(uses * depth of calls).
  std::vector<LiveInterval> OfValue(const HloValue& value) const;
  std::vector<LiveInterval> OfCopy(const CopySite& site) const;

  // Whether the memory of the value must not be overwritten: a constant, or a
  // parameter of the entry that no result is aliased to.
  bool IsReadOnly(const HloValue& value) const;

 private:
  using Time = ExecutionLine::Time;

  // When what an asynchronous chain reads or computes, `part` of its state, is
  // no longer in the buffers in which `link` has it: when it is done, or a loop
  // or the caller of its computation takes the part into buffers of its own;
  // the line's end if nothing ends it.
  Time End(const HloInstruction* link, const ShapeIndex& part) const;
  // When a loop, or the caller of a computation that returns it, takes the
  // part of the state there; -1 if it stays what it is.
  Time TakenAt(const AsyncStatePlace& place, const ShapeIndex& part) const;
  // Whether a state has its operand there where a result is.
  bool IsInPlace(const HloInstruction* inst, const ShapeIndex& index) const {
    return !in_place_.ResultsInPlaceOf(inst, index).empty();
  }
  // With the holds of the chains that run what the computation does.
  std::vector<LiveInterval> WithHolds(
      const HloComputation* computation,
      std::vector<LiveInterval> intervals) const;
  Time StartOf(const HloValue& value) const;
  void AddUses(const HloValue& value, Time start,
               std::vector<LiveInterval>* intervals) const;
  void AddResults(const HloValue& value, Time start,
                  std::vector<LiveInterval>* intervals) const;
  // It is read at `time`, in `computation`.
  void AddRead(Time start, const HloComputation* computation, Time time,
               std::vector<LiveInterval>* intervals) const;

  const HloDataflowAnalysis& dataflow_;
  const CopySites& sites_;
  const ExecutionLine& line_;
  mutable AsyncInPlace in_place_;
  // Parts of the entry's parameters that a result is aliased to.
  absl::flat_hash_set<std::pair<int64_t, ShapeIndex>> aliased_;
  mutable absl::flat_hash_map<std::pair<const HloInstruction*, ShapeIndex>,
                              Time>
      ends_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_LIVE_INTERVALS_H_
