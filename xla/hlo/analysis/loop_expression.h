#ifndef XLA_HLO_ANALYSIS_LOOP_EXPRESSION_H_
#define XLA_HLO_ANALYSIS_LOOP_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The computation of condition and body of a while on integer scalars, in terms
// of the elements of its state.
//
//   body: root{0} = add(get-tuple-element(p), index=0; constant(1))
//   → the next value of element {0} is {0} + 1
//
// Follows values through tuples, copies, calls, fusions and, where the state
// carries an element unchanged, out of the loop to its initial value, to
// callers and outer loops. Gives up (nullopt) beyond a depth of 64 steps.
class LoopExpressions {
 public:
  // coefficient * element + offset; a constant if there is no element.
  struct Affine {
    std::optional<ShapeIndex> element;
    int64_t coefficient = 0;
    int64_t offset = 0;
  };
  // Values of elements of the state.
  using State = absl::btree_map<ShapeIndex, int64_t>;
  // Instructions treated as constants.
  using KnownValues = absl::flat_hash_map<const HloInstruction*, int64_t>;

  // `known` may be null, and must outlive this.
  explicit LoopExpressions(const HloInstruction* while_op,
                           const KnownValues* known = nullptr)
      : while_op_(while_op), known_(known) {}

  // A part of a value, inside the calls that lead to it from condition or body,
  // outermost first.
  struct Place {
    const HloInstruction* inst;
    ShapeIndex index;
    std::vector<const HloInstruction*> callers;
  };
  Place ConditionRoot() const;
  // The next value of an element.
  Place Next(const ShapeIndex& element) const;
  Place Operand(const Place& place, int64_t number) const;

  // Traces a value to its origin: a parameter of condition or body, or an
  // instruction that computes it.
  Place Trace(Place place) const;

  // Integers only, modulo 2 to the width of the place's type: exact where the
  // type can hold the value (FitsType).
  std::optional<Affine> AffineOf(const Place& place) const;

  // The element has the same value in all iterations.
  bool IsInvariant(const ShapeIndex& element) const;
  // Value of an element in the first iteration.
  std::optional<int64_t> Initial(const ShapeIndex& element) const;

  // Value of a place given the state; elements that the state lacks get their
  // initial values, and are added to it, if may_add; otherwise nullopt.
  std::optional<int64_t> Evaluate(const Place& place, State& state,
                                  bool may_add) const;

  // Elements (those that change) that a scalar depends on; nullopt if it
  // depends on anything else but constants.
  std::optional<std::set<ShapeIndex>> Dependencies(const Place& place) const;

 private:
  std::optional<Affine> AffineOf(Place place, int depth) const;
  std::optional<Affine> AffineOfConvert(const Place& place, int depth) const;
  std::optional<int64_t> Evaluate(Place place, State& state, bool may_add,
                                  int depth, int& budget) const;
  // The value of a place outside of this loop.
  std::optional<int64_t> ConstantOutside(Place place, int depth) const;
  bool AddDependencies(Place place, std::set<ShapeIndex>& elements, int depth,
                       int& budget) const;
  // The value of a constant or known instruction.
  std::optional<int64_t> Known(const Place& place) const;
  bool IsState(const Place& place) const;

  const HloInstruction* while_op_;
  const KnownValues* known_;
};

// `value` wrapped around to the width of the type. Nullopt for types other than
// pred and integers of at most 64 bits, and for results that int64_t cannot
// hold.
std::optional<int64_t> WrapToType(int64_t value, PrimitiveType type);

// Whether the type can hold the value.
bool FitsType(int64_t value, PrimitiveType type);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_LOOP_EXPRESSION_H_
