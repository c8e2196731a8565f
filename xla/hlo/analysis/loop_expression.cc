#include "xla/hlo/analysis/loop_expression.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"

// Symbolic view of the scalars of a while loop. A Place is an instruction, an
// index into its shape and the stack of callers that lead to it; Trace follows
// a place through everything that only forwards values (tuples, copies, calls,
// fusions) to where the value is computed. On top of it come three
// interpretations: affine functions of one state element (AffineOf), constants
// outside of the loop (ConstantOutside), and concrete evaluation with a given
// state (Evaluate).
//
// All recursion is bounded by depth and by a number of steps, as expressions
// may be DAGs with exponentially many paths; giving up is always safe.

namespace xla {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxSteps = 1000;

using Affine = LoopExpressions::Affine;
using Place = LoopExpressions::Place;

bool IsInteger(PrimitiveType type) {
  return primitive_util::IsIntegralType(type) || type == PRED;
}

bool IsIntegerScalar(const Shape& shape) {
  return ShapeUtil::IsEffectiveScalar(shape) && IsInteger(shape.element_type());
}

// The value of the operand is the value of the instruction.
bool IsTransparent(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kDomain:
    case HloOpcode::kOptimizationBarrier:
      return true;
    case HloOpcode::kBitcast:
      return inst.shape().IsArray() &&
             ShapeUtil::SameElementType(inst.shape(), inst.operand(0)->shape());
    case HloOpcode::kReshape:
    case HloOpcode::kBroadcast:
      return ShapeUtil::IsEffectiveScalar(inst.shape());
    default:  // Computes something.
      return false;
  }
}

std::optional<int64_t> Checked(absl::int128 value) {
  if (value > std::numeric_limits<int64_t>::max() ||
      value < std::numeric_limits<int64_t>::min()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

std::optional<Affine> MakeAffine(std::optional<ShapeIndex> element,
                                 absl::int128 coefficient,
                                 absl::int128 offset) {
  std::optional<int64_t> c = Checked(coefficient);
  std::optional<int64_t> o = Checked(offset);
  if (!c.has_value() || !o.has_value()) return std::nullopt;
  if (*c == 0) element.reset();
  return Affine{std::move(element), *c, *o};
}

// Sums and products of affine functions, if the result is affine in one element
// again.
std::optional<Affine> Combine(HloOpcode opcode, const Affine& a,
                              const Affine& b) {
  absl::int128 ac = a.coefficient, ao = a.offset;
  absl::int128 bc = b.coefficient, bo = b.offset;
  switch (opcode) {
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract:
      if (a.element && b.element && *a.element != *b.element) {
        return std::nullopt;
      }
      if (opcode == HloOpcode::kSubtract) {
        bc = -bc;
        bo = -bo;
      }
      return MakeAffine(a.element ? a.element : b.element, ac + bc, ao + bo);
    case HloOpcode::kMultiply:
      if (a.element && b.element) return std::nullopt;
      if (a.element) return MakeAffine(a.element, ac * bo, ao * bo);
      return MakeAffine(b.element, bc * ao, bo * ao);
    default:  // Not affine.
      return std::nullopt;
  }
}

// The result of an operation on scalars before it is wrapped.
std::optional<int64_t> Apply(const HloInstruction& inst,
                             const std::vector<int64_t>& x) {
  using U = uint64_t;
  const int64_t width = primitive_util::BitWidth(inst.shape().element_type());
  switch (inst.opcode()) {
    case HloOpcode::kAdd:
      return static_cast<int64_t>(U(x[0]) + U(x[1]));
    case HloOpcode::kSubtract:
      return static_cast<int64_t>(U(x[0]) - U(x[1]));
    case HloOpcode::kMultiply:
      return static_cast<int64_t>(U(x[0]) * U(x[1]));
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
      if (x[1] == 0 || x[1] == -1) return std::nullopt;
      return inst.opcode() == HloOpcode::kDivide ? x[0] / x[1] : x[0] % x[1];
    case HloOpcode::kMaximum:
      return std::max(x[0], x[1]);
    case HloOpcode::kMinimum:
      return std::min(x[0], x[1]);
    case HloOpcode::kClamp:
      return std::min(std::max(x[0], x[1]), x[2]);
    case HloOpcode::kAnd:
      return x[0] & x[1];
    case HloOpcode::kOr:
      return x[0] | x[1];
    case HloOpcode::kXor:
      return x[0] ^ x[1];
    case HloOpcode::kNot:
      return inst.shape().element_type() == PRED ? !x[0] : ~x[0];
    case HloOpcode::kNegate:
      return static_cast<int64_t>(-U(x[0]));
    case HloOpcode::kAbs:
      return x[0] < 0 ? static_cast<int64_t>(-U(x[0])) : x[0];
    case HloOpcode::kSign:
      return (x[0] > 0) - (x[0] < 0);
    case HloOpcode::kShiftLeft:
      if (x[1] < 0 || x[1] >= width) return 0;
      return static_cast<int64_t>(U(x[0]) << x[1]);
    case HloOpcode::kShiftRightArithmetic: {
      // The highest bit is the sign, of numbers without one, too.
      const int unused = static_cast<int>(64 - width);
      const int64_t bits = static_cast<int64_t>(U(x[0]) << unused) >> unused;
      return bits >> (x[1] < 0 || x[1] >= width ? width - 1 : x[1]);
    }
    case HloOpcode::kSelect:
      return x[0] ? x[1] : x[2];
    case HloOpcode::kConvert:
      return inst.shape().element_type() == PRED ? x[0] != 0 : x[0];
    case HloOpcode::kCompare:
      return Comparison(inst.comparison_direction(), S64).Compare(x[0], x[1]);
    default:  // Unknown.
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> WrapToType(int64_t value, PrimitiveType type) {
  if (type == PRED) return value != 0;
  if (!primitive_util::IsIntegralType(type)) return std::nullopt;
  const int width = primitive_util::BitWidth(type);
  const bool is_signed = primitive_util::IsSignedIntegralType(type);
  if (width >= 64) {
    if (!is_signed && value < 0) return std::nullopt;
    return value;
  }
  const uint64_t bits =
      static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
  if (is_signed && (bits >> (width - 1)) != 0) {
    return static_cast<int64_t>(bits | ~((uint64_t{1} << width) - 1));
  }
  return static_cast<int64_t>(bits);
}

bool FitsType(int64_t value, PrimitiveType type) {
  return WrapToType(value, type) == value;
}

Place LoopExpressions::ConditionRoot() const {
  return {while_op_->while_condition()->root_instruction(), {}, {}};
}

Place LoopExpressions::Next(const ShapeIndex& element) const {
  return {while_op_->while_body()->root_instruction(), element, {}};
}

Place LoopExpressions::Operand(const Place& place, int64_t number) const {
  return {place.inst->operand(number), {}, place.callers};
}

// Steps into called computations by pushing the caller, and out again through
// parameters by popping it.
Place LoopExpressions::Trace(Place place) const {
  for (int step = 0; step < kMaxSteps; ++step) {
    const HloInstruction* inst = place.inst;
    if (known_ != nullptr && known_->contains(inst)) return place;
    if (inst->opcode() == HloOpcode::kGetTupleElement) {
      place.index.insert(place.index.begin(), inst->tuple_index());
      place.inst = inst->operand(0);
    } else if (inst->opcode() == HloOpcode::kTuple && !place.index.empty()) {
      place.inst = inst->operand(place.index[0]);
      place.index.erase(place.index.begin());
    } else if (IsTransparent(*inst)) {
      place.inst = inst->operand(0);
    } else if (inst->opcode() == HloOpcode::kCall ||
               inst->opcode() == HloOpcode::kFusion) {
      if (place.callers.size() >= kMaxDepth) return place;
      place.callers.push_back(inst);
      place.inst = inst->called_computations()[0]->root_instruction();
    } else if (inst->opcode() == HloOpcode::kParameter &&
               !place.callers.empty()) {
      place.inst = place.callers.back()->operand(inst->parameter_number());
      place.callers.pop_back();
    } else {
      return place;
    }
  }
  return place;
}

bool LoopExpressions::IsState(const Place& place) const {
  return place.inst->opcode() == HloOpcode::kParameter &&
         place.callers.empty() &&
         (place.inst->parent() == while_op_->while_body() ||
          place.inst->parent() == while_op_->while_condition());
}

std::optional<int64_t> LoopExpressions::Known(const Place& place) const {
  if (known_ != nullptr) {
    auto it = known_->find(place.inst);
    if (it != known_->end() && place.index.empty()) return it->second;
  }
  if (place.inst->opcode() != HloOpcode::kConstant) return std::nullopt;
  const Literal& literal = place.inst->literal();
  if (literal.is_elided() || !IsIntegerScalar(literal.shape())) {
    return std::nullopt;
  }
  if (literal.shape().element_type() == PRED) return literal.IsAll(0) ? 0 : 1;
  return literal.GetFirstInteger();
}

// The body returns the element unchanged.
bool LoopExpressions::IsInvariant(const ShapeIndex& element) const {
  Place next = Trace(Next(element));
  return IsState(next) && next.index == element;
}

std::optional<int64_t> LoopExpressions::Initial(
    const ShapeIndex& element) const {
  return ConstantOutside({while_op_->while_init(), element, {}}, 0);
}

// Constant folding outside of the loop. May leave the computation upwards
// through a single caller, also through an enclosing loop if the value is
// invariant there.
std::optional<int64_t> LoopExpressions::ConstantOutside(Place place,
                                                        int depth) const {
  if (depth > kMaxDepth) return std::nullopt;
  place = Trace(std::move(place));
  if (std::optional<int64_t> known = Known(place)) return known;
  const HloInstruction* inst = place.inst;
  if (inst->opcode() == HloOpcode::kParameter && place.callers.empty()) {
    auto callers = inst->parent()->caller_instructions();
    if (callers.size() != 1) return std::nullopt;
    const HloInstruction* caller = callers[0];
    if (caller->opcode() == HloOpcode::kCall) {
      return ConstantOutside(
          {caller->operand(inst->parameter_number()), place.index, {}},
          depth + 1);
    }
    if (caller->opcode() == HloOpcode::kWhile && caller != while_op_ &&
        LoopExpressions(caller).IsInvariant(place.index)) {
      return ConstantOutside({caller->while_init(), place.index, {}},
                             depth + 1);
    }
    return std::nullopt;
  }
  // Initial values may be computed: -1, or the convert of a constant.
  if (!place.index.empty() || !IsIntegerScalar(inst->shape()) ||
      inst->operand_count() == 0 || inst->operand_count() > 3) {
    return std::nullopt;
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < inst->operand_count(); ++i) {
    std::optional<int64_t> value =
        ConstantOutside(Operand(place, i), depth + 8);
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  std::optional<int64_t> result = Apply(*inst, values);
  return result ? WrapToType(*result, inst->shape().element_type())
                : std::nullopt;
}

std::optional<Affine> LoopExpressions::AffineOf(const Place& place) const {
  return AffineOf(place, 0);
}

// Additions, multiplications and conversions to fewer bits keep what is left of
// a number modulo a power of two, whether it has wrapped around or not; one
// that is given more bits must not have wrapped around before.
std::optional<Affine> LoopExpressions::AffineOfConvert(const Place& place,
                                                       int depth) const {
  const Shape& shape = place.inst->operand(0)->shape();
  const PrimitiveType from = shape.element_type();
  const PrimitiveType to = place.inst->shape().element_type();
  if (!IsIntegerScalar(shape)) return std::nullopt;
  std::optional<Affine> a = AffineOf(Operand(place, 0), depth + 1);
  if (!a.has_value()) return std::nullopt;
  if (!a->element.has_value()) {
    std::optional<int64_t> value = WrapToType(a->offset, from);
    if (value.has_value()) value = WrapToType(*value, to);
    return value ? MakeAffine(std::nullopt, 0, *value) : std::nullopt;
  }
  if (to == PRED) return std::nullopt;
  if (primitive_util::BitWidth(to) <= primitive_util::BitWidth(from)) return a;
  const PrimitiveType element =
      ShapeUtil::GetSubshape(while_op_->shape(), *a->element).element_type();
  return a->coefficient == 1 && a->offset == 0 &&
                 primitive_util::CastPreservesValues(element, from)
             ? a
             : std::nullopt;
}

std::optional<Affine> LoopExpressions::AffineOf(Place place, int depth) const {
  if (depth > 8) return std::nullopt;
  place = Trace(std::move(place));
  if (std::optional<int64_t> known = Known(place)) {
    return Affine{std::nullopt, 0, *known};
  }
  if (IsState(place)) {
    if (IsInvariant(place.index)) {
      if (std::optional<int64_t> initial = Initial(place.index)) {
        return Affine{std::nullopt, 0, *initial};
      }
    }
    const Shape* shape =
        &ShapeUtil::GetSubshape(place.inst->shape(), place.index);
    if (!IsIntegerScalar(*shape)) return std::nullopt;
    return Affine{place.index, 1, 0};
  }
  const HloInstruction* inst = place.inst;
  if (!place.index.empty() || !IsIntegerScalar(inst->shape())) {
    return std::nullopt;
  }
  switch (inst->opcode()) {
    case HloOpcode::kConvert:
      return AffineOfConvert(place, depth);
    case HloOpcode::kNegate: {
      std::optional<Affine> a = AffineOf(Operand(place, 0), depth + 1);
      return a ? Combine(HloOpcode::kSubtract, Affine(), *a) : std::nullopt;
    }
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract:
    case HloOpcode::kMultiply: {
      std::optional<Affine> a = AffineOf(Operand(place, 0), depth + 1);
      if (!a.has_value()) return std::nullopt;
      std::optional<Affine> b = AffineOf(Operand(place, 1), depth + 1);
      return b ? Combine(inst->opcode(), *a, *b) : std::nullopt;
    }
    default:  // Not affine.
      return std::nullopt;
  }
}

std::optional<int64_t> LoopExpressions::Evaluate(const Place& place,
                                                 State& state,
                                                 bool may_add) const {
  int budget = kMaxSteps;
  return Evaluate(place, state, may_add, 0, budget);
}

std::optional<int64_t> LoopExpressions::Evaluate(Place place, State& state,
                                                 bool may_add, int depth,
                                                 int& budget) const {
  if (depth > kMaxDepth || --budget < 0) return std::nullopt;
  place = Trace(std::move(place));
  if (std::optional<int64_t> known = Known(place)) return known;
  if (IsState(place)) {
    auto it = state.find(place.index);
    if (it != state.end()) return it->second;
    if (!may_add) return std::nullopt;
    std::optional<int64_t> initial = Initial(place.index);
    if (initial.has_value()) state[place.index] = *initial;
    return initial;
  }
  const HloInstruction* inst = place.inst;
  if (!place.index.empty() || !IsIntegerScalar(inst->shape()) ||
      inst->operand_count() == 0 || inst->operand_count() > 3) {
    return std::nullopt;
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < inst->operand_count(); ++i) {
    if (!IsIntegerScalar(inst->operand(i)->shape())) return std::nullopt;
    std::optional<int64_t> value =
        Evaluate(Operand(place, i), state, may_add, depth + 1, budget);
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  std::optional<int64_t> result = Apply(*inst, values);
  return result ? WrapToType(*result, inst->shape().element_type())
                : std::nullopt;
}

std::optional<std::set<ShapeIndex>> LoopExpressions::Dependencies(
    const Place& place) const {
  std::set<ShapeIndex> elements;
  int budget = kMaxSteps;
  if (!AddDependencies(place, elements, 0, budget)) return std::nullopt;
  return elements;
}

// Collects the varying state elements that a scalar depends on; false if it
// depends on anything else.
bool LoopExpressions::AddDependencies(Place place,
                                      std::set<ShapeIndex>& elements, int depth,
                                      int& budget) const {
  if (depth > kMaxDepth || --budget < 0) return false;
  place = Trace(std::move(place));
  if (known_ != nullptr && known_->contains(place.inst)) return true;
  if (place.inst->opcode() == HloOpcode::kConstant) return true;
  if (IsState(place)) {
    if (!IsInvariant(place.index)) elements.insert(place.index);
    return true;
  }
  if (!place.index.empty() || place.inst->operand_count() == 0 ||
      !ShapeUtil::IsEffectiveScalar(place.inst->shape()) ||
      place.inst->has_called_computations() ||
      place.inst->HasSideEffectNoRecurse()) {
    return false;
  }
  for (int64_t i = 0; i < place.inst->operand_count(); ++i) {
    if (!AddDependencies(Operand(place, i), elements, depth + 1, budget)) {
      return false;
    }
  }
  return true;
}

}  // namespace xla
