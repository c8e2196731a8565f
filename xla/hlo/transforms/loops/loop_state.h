#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::remat_plan {

// A while whose state is a flat tuple that only get-tuple-elements read, so
// that its elements can be changed one by one.
//
//   init = tuple(a, b); w = while(init), body: root = tuple(x, y)
//   Append(c):  init = tuple(a, b, c), root = tuple(x, y, state{2})
//   Blank(1):   init = tuple(a, 0), root = tuple(x, state{1})
//
// The module's schedule has to be updated after changes.
class LoopState {
 public:
  // Nullopt if the while does not have this form.
  static std::optional<LoopState> Match(HloInstruction* loop);
  // The same whatever reads the result and whatever the loop waits for, but
  // only to change what the body and the condition compute: neither the state
  // nor the tuples around it.
  static std::optional<LoopState> MatchInside(HloInstruction* loop);
  // Also loops that start from, or hand on, the tuple as a whole: until Open(),
  // only their bodies may be looked at.
  static std::optional<LoopState> MatchClosed(HloInstruction* loop);

  HloInstruction* loop() const { return loop_; }
  HloComputation* body() const { return loop_->while_body(); }
  HloInstruction* init() const { return loop_->mutable_operand(0); }
  HloInstruction* body_root() const { return body()->root_instruction(); }
  HloInstruction* body_state() const {
    return body()->parameter_instruction(0);
  }
  int64_t size() const { return loop_->shape().tuple_shapes_size(); }

  // Whether the element is passed on unchanged.
  bool IsInvariant(int64_t element) const;
  // Whether the next value of another element is the same as the element's, or
  // what the element is now.
  bool IsShared(int64_t element) const;
  // The element that the instruction reads of `state`; nullopt: none.
  static std::optional<int64_t> ElementOf(const HloInstruction* inst,
                                          const HloInstruction* state);

  // Readers of the element: in the body, except the tuple at its end; in the
  // condition; of the loop's result.
  std::vector<HloInstruction*> BodyReaders(int64_t element) const;
  bool ConditionReads(int64_t element) const;
  std::vector<HloInstruction*> ResultReaders(int64_t element) const;
  // Whether the element of the result is a result of the computation as it is.
  bool IsResultRoot(int64_t element) const;

  // A get-tuple-element of the body's state.
  HloInstruction* BodyElement(int64_t element);

  // Gives the loop of MatchClosed() the form of Match(): it starts from a
  // tuple, and whatever reads its result as a whole reads a tuple of the
  // elements.
  absl::Status Open();

  // Passes `value`, of the loop's computation, through the loop, unless that is
  // done already; returns the element.
  absl::StatusOr<int64_t> Append(HloInstruction* value);

  // Makes `value`, of the body, the element's next value.
  absl::Status SetBodyResult(int64_t element, HloInstruction* value);

  // Makes the body pass an element on unchanged.
  absl::Status PassOn(int64_t element) {
    return SetBodyResult(element, BodyElement(element));
  }

  // Replaces an element that is no longer read with a dummy scalar.
  // FailedPrecondition if it has readers.
  absl::Status Blank(int64_t element);

 private:
  explicit LoopState(HloInstruction* loop) : loop_(loop) {}

  absl::Status SetElement(int64_t element, HloInstruction* value);

  HloInstruction* loop_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_STATE_H_
