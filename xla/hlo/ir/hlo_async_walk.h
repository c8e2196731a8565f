#ifndef XLA_HLO_IR_HLO_ASYNC_WALK_H_
#define XLA_HLO_IR_HLO_ASYNC_WALK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

// Searches for the state of asynchronous chains (hlo_async_chain.h), from place
// to place. Internal to this folder.

namespace xla::async_walk {

// A place, and the calls that the search is in: what went into a computation
// that several call comes out of the same call. Empty where the search began in
// the computation, or has come by too many paths: any of them may call it then.
struct StatePlace {
  const HloInstruction* inst;
  ShapeIndex index;
  std::vector<const HloInstruction*> calls;

  const HloInstruction* call() const {
    return calls.empty() ? nullptr : calls.back();
  }
  StatePlace At(const HloInstruction* other, ShapeIndex other_index) const {
    return {other, std::move(other_index), calls};
  }
  StatePlace Inside(const HloInstruction* call,
                    const HloInstruction* callee_inst) const {
    StatePlace place = At(callee_inst, index);
    place.calls.push_back(call);
    return place;
  }
  StatePlace Outside(const HloInstruction* caller_inst) const {
    StatePlace place = At(caller_inst, index);
    if (!place.calls.empty()) place.calls.pop_back();
    return place;
  }
  bool MayBeIn(const HloInstruction* caller) const {
    return calls.empty() || calls.back() == caller;
  }

  // By the innermost call alone: WalkState tells those further out apart.
  friend bool operator<(const StatePlace& a, const StatePlace& b) {
    if (a.inst != b.inst) return Before(a.inst, b.inst);
    if (a.call() != b.call()) return Before(a.call(), b.call());
    return a.index < b.index;
  }

 private:
  static bool Before(const HloInstruction* a, const HloInstruction* b) {
    const int64_t a_id = a == nullptr ? -1 : a->unique_id();
    const int64_t b_id = b == nullptr ? -1 : b->unique_id();
    return a_id != b_id ? a_id < b_id : a < b;
  }
};

ShapeIndex InsideElement(int64_t element, const ShapeIndex& index);
ShapeIndex OutsideElement(const ShapeIndex& index);

// Places that the state may have come from, likelier ones first.
//
// A place is an instruction with the tuple index of the state in its value; one
// step backwards or forwards maps a place to neighboring places, pushing or
// popping tuple indices and calls.
std::vector<StatePlace> StateSourcesOf(const StatePlace& place);
std::vector<StatePlace> StateTargetsOf(const StatePlace& place);

// Depth first from `from`, each place once by each path of calls, of which it
// tells a bounded number apart, so that loops do not trap it, until `visit`
// says that it has seen enough. `next` is one of the two above.
void WalkState(
    const HloInstruction* from,
    absl::FunctionRef<std::vector<StatePlace>(const StatePlace&)> next,
    absl::FunctionRef<bool(const StatePlace&)> visit);

}  // namespace xla::async_walk

#endif  // XLA_HLO_IR_HLO_ASYNC_WALK_H_
