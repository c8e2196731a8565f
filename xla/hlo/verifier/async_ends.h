#ifndef XLA_HLO_VERIFIER_ASYNC_ENDS_H_
#define XLA_HLO_VERIFIER_ASYNC_ENDS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla::verifier {

// The elements of its initial value that the state in an element behind a loop
// may come from, by the body of the loop and that element.
using InitialElements =
    absl::flat_hash_map<std::pair<const HloComputation*, ShapeIndex>,
                        std::vector<ShapeIndex>>;

// The links that may take the state of one start, by computation: one in each,
// as one in a loop may do so, and one behind it. What a loop starts in several
// iterations leaves it in several elements, which have a link each, though
// perhaps behind further loops:
//
//   w = while(t), …               // two are in flight
//   a = get-tuple-element(w), index=1
//   b = get-tuple-element(w), index=2
//   c = async-done(a)
//   v = while(tuple(b)), …        // hands it on
//   d = async-done(get-tuple-element(v), index=0)
//
// Two links behind two loops that share a body do not take the state of one
// start either, unless that state may have gone into both loops.
class AsyncEnds {
 public:
  // Whether `link` does not take what another has taken.
  bool Add(const HloInstruction& link);
  int64_t CountIn(const HloComputation* computation) const;
  bool empty() const { return taken_.empty(); }

 private:
  // What a state may be in its computation.
  struct Sources {
    // Loops that it has come through, and in which of their elements.
    absl::flat_hash_map<const HloInstruction*, absl::flat_hash_set<ShapeIndex>>
        loops;
    absl::flat_hash_set<const HloInstruction*> starts;
    // Whether it may be that of a caller, or handed on by a call.
    bool may_be_others = false;
  };
  static bool Differ(const Sources& a, const Sources& b);

  absl::flat_hash_map<const HloComputation*, std::vector<Sources>> taken_;
  // What has been found: loops that share a body nested in others that do would
  // otherwise be searched as often as they run, not as they are written.
  InitialElements initial_elements_;
};

}  // namespace xla::verifier

#endif  // XLA_HLO_VERIFIER_ASYNC_ENDS_H_
