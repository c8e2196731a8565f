#ifndef XLA_HLO_IR_HLO_ASYNC_CHAIN_H_
#define XLA_HLO_IR_HLO_ASYNC_CHAIN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// Follows the state of an asynchronous chain from link to link. The state may
// be an element of a tuple, pass through barriers, copies and annotations, and
// enter and leave loops, calls and branches:
//
//   s = ((f32[4]), f32[4]) async-start(x), calls=f
//   t = tuple(s, i)
//   w = while(t), …                 // the body may update the state
//   g = get-tuple-element(w), index=0
//   d = f32[4] async-done(g)        // state comes from s
//
// Only paths that keep the state whole are followed. Each place is visited
// once, so the search ends on loops.

namespace xla {

// Whether `inst` returns the state in its operand 0 unchanged, in the same
// computation.
bool ForwardsAsyncState(const HloInstruction& inst);

// The async-start or async-update whose state `value` is, or null. If there are
// several, one before a loop is preferred to those inside it.
HloInstruction* AsyncStateProducer(const HloInstruction* value);

// Where a state is: the value of `inst`, or the part of a tuple at `index`.
struct AsyncStatePlace {
  const HloInstruction* inst;
  ShapeIndex index;
};

// Where the state that `start` makes goes, `start` itself first; also of starts
// and dones that have opcodes of their own.
std::vector<AsyncStatePlace> AsyncStatePlaces(const HloInstruction* start);

// Where the state `value` comes from, as far as it can be followed: starts and
// updates; anything else is no state.
std::vector<const HloInstruction*> AsyncStateOrigins(
    const HloInstruction* value);

// The updates and dones that take the state of `producer`; those after a loop
// before those in its next iteration.
std::vector<HloInstruction*> AsyncStateConsumers(
    const HloInstruction* producer);

// Following the state that `done` takes backwards, the first instruction that
// outlives `done` according to `stays`, and would thus be left without an end;
// null if there is none. A parameter always outlives it; a state made inside a
// call or branch is removed with that.
const HloInstruction* AsyncLinkThatStays(
    const HloInstruction& done,
    absl::FunctionRef<bool(const HloInstruction&)> stays);

// Whether a state of this shape holds all operands of `callee` and its whole
// output: the first such link of a chain, at the latest the done, runs it.
bool IsCompleteAsyncState(const Shape& state, const HloComputation& callee);

// Whether `part` is what a chain may show of `whole` so far: nothing, (); all
// of it; or, of a tuple, the first elements. `equal` compares shapes.
template <typename Equal>
bool IsAsyncPrefix(const Shape& part, const Shape& whole, Equal equal) {
  if (equal(part, whole)) return true;
  if (!part.IsTuple()) return false;
  if (part.tuple_shapes().empty()) return true;
  if (!whole.IsTuple() ||
      part.tuple_shapes().size() > whole.tuple_shapes().size()) {
    return false;
  }
  for (int i = 0; i < static_cast<int>(part.tuple_shapes().size()); ++i) {
    if (!equal(part.tuple_shapes(i), whole.tuple_shapes(i))) return false;
  }
  return true;
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_ASYNC_CHAIN_H_
