#ifndef XLA_HLO_TRANSFORMS_LOOPS_COUNTED_LOOP_H_
#define XLA_HLO_TRANSFORMS_LOOPS_COUNTED_LOOP_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/shape.h"

namespace xla::remat_plan {

// A loop that counts 0, 1, … n-1 in an element of its state.
struct CountedLoop {
  LoopState state;
  int64_t counter = 0;
  int64_t trips = 0;
};

// Nullopt if the while does not have this form.
std::optional<CountedLoop> MatchCounted(HloInstruction* loop);

// An integer scalar of the body as a function of the trip: scale * trip +
// offset, in every trip.
struct TripFunction {
  int64_t scale = 0;
  int64_t offset = 0;

  bool operator==(const TripFunction& other) const {
    return scale == other.scale && offset == other.offset;
  }
  bool operator!=(const TripFunction& other) const { return !(*this == other); }
};

// Follows the counter and constants through add, subtract, convert, copy,
// select(x < 0, …, x) and clamp, where none of them overflows, and no clamp
// changes its operand, in any trip; nullopt for anything else.
std::optional<TripFunction> FunctionOfTrip(const HloInstruction* index,
                                           const CountedLoop& loop);

// Whether a dynamic-slice or -update-slice takes all of one place in a
// dimension, with the same layout. `stack`: what it takes it from; `slice`:
// what it takes.
bool TakesOnePlace(const HloInstruction* inst, const Shape& stack,
                   const Shape& slice, int64_t dim = 0);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_COUNTED_LOOP_H_
