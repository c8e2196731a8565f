#ifndef XLA_HLO_IR_HLO_ASYNC_SEGMENTS_H_
#define XLA_HLO_IR_HLO_ASYNC_SEGMENTS_H_

#include <atomic>

#include "xla/hlo/ir/hlo_instruction.h"

// Segments of asynchronous chains: links that follow one another in one
// computation, where the state passes through tuples and what forwards it.
//
//   s = async-start(x); u = async-update(s); b = opt-barrier(u)
//   v = async-update(b); w = while(v); d = async-done(w)   // s u v, and d
//
// Links are asked for their start again and again, and a chain may have any
// number of updates. Ends further than a few links away are therefore
// remembered, by one table for the process that a mutex guards, until an
// operand on the way changes. Internal to this folder.

namespace xla::async_segments {

// Whether operand 0 of `link` is the state of another link itself.
bool DirectlyFollowsLink(const HloInstruction& link);

// The link before or after `link`, an asynchronous instruction, in its segment;
// null at the end. Where several take a state, one of them.
HloInstruction* Previous(const HloInstruction* link);
HloInstruction* Next(const HloInstruction* link);

// The ends of the segment of `link`. In amortized constant time, as long as
// nothing changes, where links follow directly.
HloInstruction* First(const HloInstruction* link);
HloInstruction* Last(const HloInstruction* link);

// Whether any ends are remembered: they rarely are.
extern std::atomic<bool> remembers;
void Forget(const HloInstruction& user);

// To be called with each change of the operands of `user`, of any opcode, and
// where it goes with operands still there. Nothing else may ask for ends
// between the call and the change.
inline void OperandsChange(const HloInstruction& user) {
  if (remembers.load(std::memory_order_acquire)) Forget(user);
}

}  // namespace xla::async_segments

#endif  // XLA_HLO_IR_HLO_ASYNC_SEGMENTS_H_
