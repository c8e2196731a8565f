#ifndef XLA_HLO_IR_HLO_ASYNC_CHAIN_H_
#define XLA_HLO_IR_HLO_ASYNC_CHAIN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// The state of an asynchronous chain on its way from link to link. It may lie
// in tuples, pass barriers, copies and annotations, and enter and leave loops,
// calls and branches:
//
//   s = ((f32[4]), f32[4]) async-start(x), calls=f
//   t = tuple(s, i)
//   w = while(t), …                 // the body may update the state
//   g = get-tuple-element(w), index=0
//   d = f32[4] async-done(g)        // state comes from s
//
// Only paths that keep the state whole are followed. Each place is visited
// once, so that loops end the search.

namespace xla {

// Whether the state leaves `inst` as it came in through operand 0, in the same
// computation.
bool ForwardsAsyncState(const HloInstruction& inst);

// The async-start or async-update whose state `value` is, or null. Where
// several may be, the one before a loop comes before those in it.
HloInstruction* AsyncStateProducer(const HloInstruction* value);

// The updates and dones that take the state of `producer`; those after a loop
// before those in its next iteration.
std::vector<HloInstruction*> AsyncStateConsumers(
    const HloInstruction* producer);

// Of the links that hand on the state which the end `done` takes, the first
// that `stays` says will be there when `done` is removed; null if there is
// none, so that nothing is left without an end. A state that comes in through a
// parameter stays; one that a call or branch makes goes with it.
const HloInstruction* AsyncLinkThatStays(
    const HloInstruction& done,
    absl::FunctionRef<bool(const HloInstruction&)> stays);

// Whether a state of this shape has all operands of `callee` and its whole
// output: the first such link of a chain runs it, at latest the done.
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
