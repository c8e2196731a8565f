#ifndef XLA_HLO_ANALYSIS_WHILE_LOOP_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_WHILE_LOOP_ANALYSIS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/value_range.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/literal.h"

namespace xla {

// Trip counts and induction variables of whiles.
//
//   init = tuple(0, x)                              GetLoopInductionVarTupleIdx
//   0 body: tuple(get-tuple-element(p, 0) + 2, …)     trip count 5 cond:
//   get-tuple-element(p, 0) < 10              range 0 … 8, step 2, linear
//
// Values are followed through tuples, copies, converts, calls, fusions,
// loop-invariant elements of the state, calling computations and outer loops.
// All functions take O(instructions of condition and body) at most. `while_op`
// must be a while.

// How often the body runs, if that does not depend on data: from a
// known_trip_count in the backend config; else by arithmetic, if the condition
// compares an element that changes by a constant with a constant; else by
// evaluating condition and integer scalars for at most max_brute_force_iters
// iterations. Nullopt if unknown, or if the element would overflow.
std::optional<int64_t> ComputeWhileLoopTripCount(
    const HloInstruction* while_op, int64_t max_brute_force_iters = 128);

// An upper bound of it, from any part of a condition made of `and`s.
std::optional<int64_t> ComputeWhileLoopTripCountUpperBound(
    const HloInstruction* while_op);

// The element of the state that alone decides when the loop ends, and whose
// next value depends only on itself. Nullopt, as in OpenXLA, if the body takes
// the next value out of a tuple that also holds arrays: such an element is part
// of another state, say that of an inner loop. The variant with known values
// finds it all the same.
std::optional<int64_t> GetLoopInductionVarTupleIdx(
    const HloInstruction* while_op);
// Instructions of the map whose range is a single value count as constants.
std::optional<int64_t> GetLoopInductionVarTupleIdxWithKnownValues(
    const HloInstruction* while_op,
    const absl::flat_hash_map<const HloInstruction*, Range>& known_values);

// The get-tuple-elements of the body's parameter that read other elements of
// the state, integer scalars, that change only by additions, subtractions and
// multiplications with constants; includes the induction variable if the loop
// continues while it equals something.
std::vector<const HloInstruction*> GetAuxiliaryLoopInductionVars(
    const HloInstruction* while_op);

// The trip count by arithmetic alone, if element `indvar_tuple_idx` starts as
// `indvar_init`.
std::optional<int64_t> MatchTrivialLoopTripCount(const HloInstruction* while_op,
                                                 int64_t indvar_tuple_idx,
                                                 const Literal& indvar_init);

// The values of the induction variable in the body. Nullopt if the trip count
// is not known by arithmetic, or 0.
std::optional<Range> MatchTrivialLoopRange(const HloInstruction* while_op);
std::optional<Range> MatchLoopRangeWithKnownValues(
    const HloInstruction* while_op, int64_t induction_var_idx,
    const absl::flat_hash_map<const HloInstruction*, Range>& known_values);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_WHILE_LOOP_ANALYSIS_H_
