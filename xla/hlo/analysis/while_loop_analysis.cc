#include "xla/hlo/analysis/while_loop_analysis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "google/protobuf/struct.pb.h"
#include "xla/comparison_util.h"
#include "xla/hlo/analysis/loop_expression.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

// Trip counts are derived in three ways, cheapest first: from the
// known_trip_count in the backend config; in closed form, when the condition
// compares an affine function of one state element with a constant and the body
// adds a constant to that element; and by executing only the scalars that the
// condition depends on, up to a limit of iterations.
//
// The closed form uses 128-bit arithmetic and then checks that no intermediate
// value of the element leaves its type, so wrap-around is never misjudged.

namespace xla {
namespace {

using Affine = LoopExpressions::Affine;
using Place = LoopExpressions::Place;

// `element direction limit` keeps a loop going; each iteration adds `step`.
struct Bound {
  ShapeIndex element;
  ComparisonDirection direction;
  int64_t limit;
  int64_t step;
  PrimitiveType type;
  // What is compared, and as which type: this function of the element.
  Affine compared;
  PrimitiveType compared_type;
};

// The value of an affine function, where the type can hold it.
std::optional<int64_t> ValueAt(const Affine& affine, int64_t element,
                               PrimitiveType type) {
  const absl::int128 value =
      absl::int128(affine.coefficient) * element + affine.offset;
  const int64_t narrow = static_cast<int64_t>(value);
  if (narrow != value || !FitsType(narrow, type)) return std::nullopt;
  return narrow;
}

// a direction b as b Swapped(direction) a.
ComparisonDirection Swapped(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kEq:
    case ComparisonDirection::kNe:
      return direction;
  }
  return direction;
}

// Normalizes one comparison of the condition to `element direction limit`:
// constant part moved to the other side, coefficient -1 turned into a swapped
// comparison. Coefficients other than +-1 are not handled here. nullopt if the
// comparison or the element's update has another form.
std::optional<Bound> BoundOf(const LoopExpressions& loop,
                             const HloInstruction* while_op,
                             const Place& comparison) {
  if (comparison.inst->opcode() != HloOpcode::kCompare) return std::nullopt;
  std::optional<Affine> lhs = loop.AffineOf(loop.Operand(comparison, 0));
  std::optional<Affine> rhs = loop.AffineOf(loop.Operand(comparison, 1));
  if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
  if (lhs->element.has_value() == rhs->element.has_value()) return std::nullopt;
  Bound bound;
  bound.compared_type = comparison.inst->operand(0)->shape().element_type();
  bound.direction = comparison.inst->comparison_direction();
  if (rhs->element.has_value()) {
    std::swap(lhs, rhs);
    bound.direction = Swapped(bound.direction);
  }
  // c * x + a against b: x against b - a, the other way round if c is -1.
  if (lhs->coefficient != 1 && lhs->coefficient != -1) return std::nullopt;
  const std::optional<int64_t> constant =
      WrapToType(rhs->offset, bound.compared_type);
  if (!constant.has_value()) return std::nullopt;
  bound.compared = *lhs;
  absl::int128 limit = absl::int128(*constant) - lhs->offset;
  if (lhs->coefficient == -1) {
    limit = -limit;
    bound.direction = Swapped(bound.direction);
  }
  bound.limit = static_cast<int64_t>(limit);
  if (bound.limit != limit) return std::nullopt;
  bound.element = *lhs->element;
  std::optional<Affine> next = loop.AffineOf(loop.Next(bound.element));
  if (!next.has_value() || next->element != bound.element ||
      next->coefficient != 1) {
    return std::nullopt;
  }
  bound.step = next->offset;
  bound.type =
      ShapeUtil::GetSubshape(while_op->shape(), bound.element).element_type();
  return bound;
}

// Whether the body stores a constant for which the comparison is false: then
// no second iteration follows, whatever the loop starts with.
bool EndsAfterOneIteration(const LoopExpressions& loop,
                           const HloInstruction* while_op,
                           const Place& comparison) {
  if (comparison.inst->opcode() != HloOpcode::kCompare) return false;
  const PrimitiveType compared =
      comparison.inst->operand(0)->shape().element_type();
  int64_t values[2];
  bool is_stored = false;
  for (int i = 0; i < 2; ++i) {
    std::optional<Affine> side = loop.AffineOf(loop.Operand(comparison, i));
    if (!side.has_value()) return false;
    int64_t stored = 0;
    if (side->element.has_value()) {
      std::optional<Affine> next = loop.AffineOf(loop.Next(*side->element));
      if (!next.has_value() || next->element.has_value()) return false;
      const std::optional<int64_t> wrapped =
          WrapToType(next->offset,
                     ShapeUtil::GetSubshape(while_op->shape(), *side->element)
                         .element_type());
      if (!wrapped.has_value()) return false;
      stored = *wrapped;
      is_stored = true;
    }
    const std::optional<int64_t> value = ValueAt(*side, stored, compared);
    if (!value.has_value()) return false;
    values[i] = *value;
  }
  return is_stored && !Comparison(comparison.inst->comparison_direction(), S64)
                           .Compare(values[0], values[1]);
}

// How often the body runs with exact arithmetic; nullopt if forever. For `!=`
// the limit must be hit exactly; for `==` a loop with a nonzero step runs at
// most once.
std::optional<absl::int128> Iterations(const Bound& bound, int64_t init) {
  const absl::int128 distance = absl::int128(bound.limit) - init;
  const absl::int128 step = bound.step;
  // The number of steps until the distance is used up, partly or fully.
  auto steps = [&](absl::int128 room) -> std::optional<absl::int128> {
    if (room <= 0) return 0;
    if (step <= 0) return std::nullopt;
    return (room + step - 1) / step;
  };
  auto steps_down = [&](absl::int128 room) -> std::optional<absl::int128> {
    if (room <= 0) return 0;
    if (step >= 0) return std::nullopt;
    return (room - step - 1) / -step;
  };
  switch (bound.direction) {
    case ComparisonDirection::kLt:
      return steps(distance);
    case ComparisonDirection::kLe:
      return steps(distance + 1);
    case ComparisonDirection::kGt:
      return steps_down(-distance);
    case ComparisonDirection::kGe:
      return steps_down(-distance + 1);
    case ComparisonDirection::kNe:
      if (distance == 0) return 0;
      if (step == 0 || distance % step != 0 || distance / step < 0) {
        return std::nullopt;
      }
      return distance / step;
    case ComparisonDirection::kEq:
      if (distance != 0) return 0;
      return step == 0 ? std::nullopt
                       : std::optional<absl::int128>(absl::int128(1));
  }
  return std::nullopt;
}

// Iterations, provided that the first and last value fit the element's type,
// and what is computed of them to compare it its own.
std::optional<int64_t> TripCount(const Bound& bound, int64_t init) {
  std::optional<absl::int128> count = Iterations(bound, init);
  if (!count.has_value()) return std::nullopt;
  // Otherwise the element wraps around before the end.
  const absl::int128 last = init + *count * bound.step;
  const int64_t last64 = static_cast<int64_t>(last);
  if (last64 != last || !FitsType(last64, bound.type) ||
      !FitsType(init, bound.type) ||
      !ValueAt(bound.compared, init, bound.compared_type).has_value() ||
      !ValueAt(bound.compared, last64, bound.compared_type).has_value()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*count);
}

std::optional<int64_t> KnownTripCount(const HloInstruction* while_op) {
  if (!while_op->has_backend_config() ||
      !absl::StrContains(while_op->raw_backend_config_string(),
                         "known_trip_count")) {
    return std::nullopt;
  }
  auto config = while_op->backend_config<google::protobuf::Struct>();
  if (!config.ok()) return std::nullopt;
  auto field = config->fields().find("known_trip_count");
  if (field == config->fields().end()) return std::nullopt;
  const auto& fields = field->second.struct_value().fields();
  auto n = fields.find("n");
  if (n == fields.end()) return std::nullopt;
  int64_t count = 0;
  if (n->second.kind_case() == google::protobuf::Value::kStringValue) {
    if (!absl::SimpleAtoi(n->second.string_value(), &count)) {
      return std::nullopt;
    }
  } else {
    const double number = n->second.number_value();
    if (!(number < 0x1p63) || number != std::trunc(number)) {
      return std::nullopt;
    }
    count = static_cast<int64_t>(std::max(number, -1.0));
  }
  // Nothing runs so often.
  return count < 0 ? std::nullopt : std::optional<int64_t>(count);
}

// Executes the condition and the integer scalars it depends on. First the set
// of state elements that matter is closed under "the next value reads it", then
// all of them step together, as in the loop itself.
std::optional<int64_t> CountByRunning(const LoopExpressions& loop,
                                      int64_t max_iterations) {
  LoopExpressions::State state;
  const Place condition = loop.ConditionRoot();
  if (!loop.Evaluate(condition, state, /*may_add=*/true).has_value()) {
    return std::nullopt;
  }
  // Next values may need elements that the condition does not.
  size_t known = 0;
  while (known != state.size()) {
    known = state.size();
    const LoopExpressions::State before = state;
    for (const auto& [element, value] : before) {
      if (!loop.Evaluate(loop.Next(element), state, true).has_value()) {
        return std::nullopt;
      }
    }
  }
  for (int64_t i = 0; i <= max_iterations; ++i) {
    std::optional<int64_t> go_on = loop.Evaluate(condition, state, false);
    if (!go_on.has_value()) return std::nullopt;
    if (*go_on == 0) return i;
    LoopExpressions::State next;
    for (const auto& [element, value] : state) {
      std::optional<int64_t> new_value =
          loop.Evaluate(loop.Next(element), state, false);
      if (!new_value.has_value()) return std::nullopt;
      next[element] = *new_value;
    }
    state = std::move(next);
  }
  return std::nullopt;
}

std::optional<Bound> ConditionBound(const LoopExpressions& loop,
                                    const HloInstruction* while_op) {
  return BoundOf(loop, while_op, loop.Trace(loop.ConditionRoot()));
}

LoopExpressions::KnownValues SingleValues(
    const absl::flat_hash_map<const HloInstruction*, Range>& ranges) {
  LoopExpressions::KnownValues known;
  for (const auto& [inst, range] : ranges) {
    if (std::optional<int64_t> value = range.GetSingleSignedValue()) {
      known[inst] = *value;
    }
  }
  return known;
}

std::optional<int64_t> InductionVariable(const LoopExpressions& loop) {
  std::optional<std::set<ShapeIndex>> elements =
      loop.Dependencies(loop.ConditionRoot());
  if (!elements.has_value() || elements->size() != 1) return std::nullopt;
  const ShapeIndex& element = *elements->begin();
  if (element.size() != 1) return std::nullopt;
  std::optional<std::set<ShapeIndex>> next =
      loop.Dependencies(loop.Next(element));
  if (next != elements) return std::nullopt;
  return element[0];
}

std::optional<Range> RangeOfBound(const Bound& bound, int64_t init) {
  std::optional<int64_t> count = TripCount(bound, init);
  if (!count.has_value() || *count == 0) return std::nullopt;
  const int64_t last = init + (*count - 1) * bound.step;
  const int width = primitive_util::BitWidth(bound.type);
  const bool is_signed = primitive_util::IsSignedIntegralType(bound.type);
  auto constant = [&](int64_t value) {
    return is_signed ? ConstantValue::GetSigned(value, width)
                     : ConstantValue::GetUnsigned(value, width);
  };
  return Range(constant(std::min(init, last)), constant(std::max(init, last)),
               constant(bound.step < 0 ? -bound.step : bound.step),
               /*is_linear=*/true);
}

// Whether the body puts the element into a tuple that also holds an array, and
// takes it out again, before it is the next value.
bool IsHandedOnBesideArrays(const HloInstruction* while_op, int64_t element) {
  const HloInstruction* root = while_op->while_body()->root_instruction();
  if (root->opcode() != HloOpcode::kTuple) return false;
  const auto is_array = [](const ShapeUtil::IndexedShape& leaf) {
    return leaf.shape.IsArray() && !ShapeUtil::IsEffectiveScalar(leaf.shape);
  };
  // Instructions, and what of their results the next value comes from.
  std::vector<std::pair<const HloInstruction*, ShapeIndex>> work;
  absl::flat_hash_set<std::pair<const HloInstruction*, ShapeIndex>> seen;
  const auto visit = [&](const HloInstruction* inst, const ShapeIndex& index) {
    if (seen.emplace(inst, index).second) work.emplace_back(inst, index);
  };
  visit(root->operand(element), {});
  while (!work.empty()) {
    auto [inst, index] = std::move(work.back());
    work.pop_back();
    switch (inst->opcode()) {
      case HloOpcode::kGetTupleElement:
        index.push_front(inst->tuple_index());
        visit(inst->operand(0), index);
        continue;
      case HloOpcode::kTuple:
        if (absl::c_any_of(ShapeUtil::GetLeafShapes(inst->shape()), is_array)) {
          return true;
        }
        if (index.empty()) break;
        visit(inst->operand(index.front()),
              ShapeIndex(index.begin() + 1, index.end()));
        continue;
      case HloOpcode::kCopy:
      case HloOpcode::kOptimizationBarrier:
      case HloOpcode::kWhile:
        visit(inst->operand(0), index);
        continue;
      default:  // Their results may depend on all of their operands.
        break;
    }
    for (const HloInstruction* operand : inst->operands()) visit(operand, {});
  }
  return false;
}

}  // namespace

std::optional<int64_t> ComputeWhileLoopTripCount(
    const HloInstruction* while_op, int64_t max_brute_force_iters) {
  CHECK(while_op->opcode() == HloOpcode::kWhile) << while_op->name();
  if (std::optional<int64_t> known = KnownTripCount(while_op)) return known;
  LoopExpressions loop(while_op);
  if (std::optional<Bound> bound = ConditionBound(loop, while_op)) {
    if (std::optional<int64_t> init = loop.Initial(bound->element)) {
      if (std::optional<int64_t> count = TripCount(*bound, *init)) return count;
    }
  }
  return CountByRunning(loop, max_brute_force_iters);
}

// A conjunction ends when its first conjunct fails, so each conjunct of known
// trip count is an upper bound.
std::optional<int64_t> ComputeWhileLoopTripCountUpperBound(
    const HloInstruction* while_op) {
  if (auto count = ComputeWhileLoopTripCount(while_op)) return count;
  LoopExpressions loop(while_op);
  std::optional<int64_t> best;
  std::vector<Place> parts = {loop.ConditionRoot()};
  for (size_t i = 0; i < parts.size() && parts.size() < 100; ++i) {
    const Place part = loop.Trace(parts[i]);
    if (part.inst->opcode() == HloOpcode::kAnd) {
      parts.push_back(loop.Operand(part, 0));
      parts.push_back(loop.Operand(part, 1));
    }
    if (EndsAfterOneIteration(loop, while_op, part) && best != 0) best = 1;
    std::optional<Bound> bound = BoundOf(loop, while_op, part);
    if (!bound.has_value()) continue;
    std::optional<int64_t> init = loop.Initial(bound->element);
    if (!init.has_value()) continue;
    std::optional<int64_t> count = TripCount(*bound, *init);
    if (count.has_value() && (!best.has_value() || *count < *best)) {
      best = count;
    }
  }
  return best;
}

std::optional<int64_t> GetLoopInductionVarTupleIdx(
    const HloInstruction* while_op) {
  const std::optional<int64_t> index =
      InductionVariable(LoopExpressions(while_op));
  if (!index.has_value() || IsHandedOnBesideArrays(while_op, *index)) {
    return std::nullopt;
  }
  return index;
}

std::optional<int64_t> GetLoopInductionVarTupleIdxWithKnownValues(
    const HloInstruction* while_op,
    const absl::flat_hash_map<const HloInstruction*, Range>& known_values) {
  LoopExpressions::KnownValues known = SingleValues(known_values);
  return InductionVariable(LoopExpressions(while_op, &known));
}

std::vector<const HloInstruction*> GetAuxiliaryLoopInductionVars(
    const HloInstruction* while_op) {
  std::vector<const HloInstruction*> result;
  if (!while_op->shape().IsTuple()) return result;
  LoopExpressions loop(while_op);
  std::optional<int64_t> main = InductionVariable(loop);
  // What ends with equality counts nothing.
  const HloInstruction* ends = loop.Trace(loop.ConditionRoot()).inst;
  if (ends->opcode() == HloOpcode::kCompare &&
      ends->comparison_direction() == ComparisonDirection::kEq) {
    main = std::nullopt;
  }
  const HloInstruction* parameter =
      while_op->while_body()->parameter_instruction(0);
  for (const HloInstruction* user : parameter->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement ||
        user->tuple_index() == main || !user->shape().IsArray()) {
      continue;
    }
    const ShapeIndex element = {user->tuple_index()};
    std::optional<Affine> next = loop.AffineOf(loop.Next(element));
    if (next.has_value() && next->element == element &&
        (next->coefficient != 1 || next->offset != 0)) {
      result.push_back(user);
    }
  }
  return result;
}

std::optional<int64_t> MatchTrivialLoopTripCount(const HloInstruction* while_op,
                                                 int64_t indvar_tuple_idx,
                                                 const Literal& indvar_init) {
  LoopExpressions loop(while_op);
  std::optional<Bound> bound = ConditionBound(loop, while_op);
  if (!bound.has_value() || bound->element != ShapeIndex{indvar_tuple_idx} ||
      indvar_init.is_elided()) {
    return std::nullopt;
  }
  std::optional<int64_t> init = indvar_init.GetFirstInteger();
  if (!init.has_value()) return std::nullopt;
  return TripCount(*bound, *init);
}

std::optional<Range> MatchTrivialLoopRange(const HloInstruction* while_op) {
  LoopExpressions loop(while_op);
  std::optional<Bound> bound = ConditionBound(loop, while_op);
  if (!bound.has_value()) return std::nullopt;
  std::optional<int64_t> init = loop.Initial(bound->element);
  if (!init.has_value()) return std::nullopt;
  return RangeOfBound(*bound, *init);
}

std::optional<Range> MatchLoopRangeWithKnownValues(
    const HloInstruction* while_op, int64_t induction_var_idx,
    const absl::flat_hash_map<const HloInstruction*, Range>& known_values) {
  LoopExpressions::KnownValues known = SingleValues(known_values);
  LoopExpressions loop(while_op, &known);
  std::optional<Bound> bound = ConditionBound(loop, while_op);
  if (!bound.has_value() || bound->element != ShapeIndex{induction_var_idx}) {
    return std::nullopt;
  }
  std::optional<int64_t> init = loop.Initial(bound->element);
  if (!init.has_value()) return std::nullopt;
  return RangeOfBound(*bound, *init);
}

}  // namespace xla
