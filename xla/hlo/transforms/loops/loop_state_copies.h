#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_COPIES_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_COPIES_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Gives each element of a loop's state that the loop writes memory of its own
// to begin with.
//
//   before: b = broadcast(z); w = while(tuple(b, b, i)), body writes 0 and 1
//   after:  b = broadcast(z); c = copy(b); w = while(tuple(b, c, i))
//
// A loop updates its state in place, so that two elements that start as one
// value need two buffers, and a constant needs one that may be written. Without
// such copies, which compilers insert before they assign buffers, memory is
// counted once that is there several times: stacks of a scan mostly start as
// one broadcast. The first element that is written keeps the value itself.
//
// Run it after the last hlo-cse, which makes equal copies one. O(sizes of
// states).
//
// Leaves alone: elements that the body hands on as they are; states that are no
// `tuple` instruction, as those of one loop after another; values that are
// still read after the loop (other passes than this know the order).
class LoopStateCopies : public HloModulePass {
 public:
  absl::string_view name() const override { return "loop-state-copies"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_COPIES_H_
