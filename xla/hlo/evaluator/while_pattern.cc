// Loops that count, as patterns of their condition and body.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "xla/comparison_util.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Steps from a value to where it comes from; operations of a loop that is run
// to find a bound.
constexpr int kMaxTrace = 256;
constexpr int64_t kMaxTrips = int64_t{1} << 16;
constexpr int64_t kMaxSteps = int64_t{1} << 22;

// A part of a value, in the calls that lead to it, outermost first.
struct Place {
  const HloInstruction* inst;
  ShapeIndex index;
  std::vector<const HloInstruction*> callers;
};

// Goes back through tuples, copies, calls and fusions to a parameter of the
// loop's condition or body, or to an instruction that computes.
Place Trace(Place place) {
  for (int step = 0; step < kMaxTrace; ++step) {
    const HloInstruction* inst = place.inst;
    switch (inst->opcode()) {
      case HloOpcode::kGetTupleElement:
        place.index.push_front(inst->tuple_index());
        place.inst = inst->operand(0);
        break;
      case HloOpcode::kTuple:
        if (place.index.empty()) return place;
        place.inst = inst->operand(place.index[0]);
        place.index.pop_front();
        break;
      case HloOpcode::kCopy:
      case HloOpcode::kOptimizationBarrier:
        place.inst = inst->operand(0);
        break;
      case HloOpcode::kCall:
      case HloOpcode::kFusion:
        place.callers.push_back(inst);
        place.inst = inst->called_computations()[0]->root_instruction();
        break;
      case HloOpcode::kParameter:
        if (place.callers.empty()) return place;
        place.inst = place.callers.back()->operand(inst->parameter_number());
        place.callers.pop_back();
        break;
      default:  // The value is made here.
        return place;
    }
  }
  return place;
}

Place Operand(const Place& place, int64_t number) {
  return Trace({place.inst->operand(number), {}, place.callers});
}

// The element of the loop's state that a place is, if it is one.
std::optional<ShapeIndex> StateElement(const Place& place) {
  if (place.inst->opcode() != HloOpcode::kParameter || !place.callers.empty()) {
    return std::nullopt;
  }
  return place.index;
}

// A number that does not change while the loop runs: known, known only when
// the program runs, or neither.
struct Number {
  enum Kind { kKnown, kDynamic, kUnknown };
  Kind kind = kUnknown;
  int64_t value = 0;
};

class LoopPattern {
 public:
  LoopPattern(const HloInstruction* while_op,
              HloEvaluator::PrecomputedAnalyses analyses)
      : while_op_(while_op), analyses_(analyses), evaluator_(kMaxTrips) {
    evaluator_.set_max_steps(kMaxSteps);
  }

  std::optional<ParsedWhileLoop> Parse() {
    const Place condition =
        Trace({while_op_->while_condition()->root_instruction(), {}, {}});
    if (condition.inst->opcode() != HloOpcode::kCompare) return std::nullopt;
    ComparisonDirection direction = condition.inst->comparison_direction();
    const Place lhs = Operand(condition, 0), rhs = Operand(condition, 1);
    if (std::optional<ParsedWhileLoop> loop = Parse(lhs, direction, rhs)) {
      return loop;
    }
    return Parse(rhs, Comparison(direction, S64).Converse().GetDirection(),
                 lhs);
  }

 private:
  // The loop that goes on while `counter` compares so with `limit`.
  std::optional<ParsedWhileLoop> Parse(const Place& counter,
                                       ComparisonDirection direction,
                                       const Place& limit) {
    std::optional<ShapeIndex> element = StateElement(counter);
    if (!element.has_value() || element->size() != 1 || IsInvariant(*element)) {
      return std::nullopt;
    }
    const PrimitiveType type =
        ShapeUtil::GetSubshape(while_op_->shape(), *element).element_type();
    if (!primitive_util::IsIntegralType(type)) return std::nullopt;
    const Number step = StepOf(*element);
    if (step.kind == Number::kUnknown) return std::nullopt;
    const Number bound = InvariantAt(limit);
    const Number init = Outside(Initial(*element));
    if (bound.kind == Number::kUnknown || init.kind == Number::kUnknown) {
      return std::nullopt;
    }
    ParsedWhileLoop loop;
    if (bound.kind == Number::kDynamic || init.kind == Number::kDynamic ||
        step.kind == Number::kDynamic) {
      return loop;
    }
    std::optional<int64_t> trips =
        TripCount(init.value, direction, bound.value, step.value, type);
    if (!trips.has_value()) return std::nullopt;
    loop.static_while_loop = ParsedStaticWhileLoop{
        *trips, (*element)[0], init.value, step.value, bound.value};
    return loop;
  }

  // By how much the body changes an element.
  Number StepOf(const ShapeIndex& element) {
    const Place next = Next(element);
    const bool adds = next.inst->opcode() == HloOpcode::kAdd;
    if (!adds && next.inst->opcode() != HloOpcode::kSubtract) return {};
    const Place lhs = Operand(next, 0), rhs = Operand(next, 1);
    Number step;
    if (StateElement(lhs) == element) {
      step = InvariantAt(rhs);
    } else if (adds && StateElement(rhs) == element) {
      step = InvariantAt(lhs);
    }
    if (!adds && step.kind == Number::kKnown) {
      if (step.value == INT64_MIN) return {};
      step.value = -step.value;
    }
    return step;
  }

  // Values of the loop's condition or body that are the same in each trip.
  Number InvariantAt(const Place& place) {
    std::optional<ShapeIndex> element = StateElement(place);
    if (!element.has_value()) return Evaluated(place);
    if (!IsInvariant(*element)) return {};
    return Outside(Initial(*element));
  }

  // Steps through outer loops that pass the value on, too.
  Number Outside(Place place) {
    for (int step = 0; step < kMaxTrace; ++step) {
      if (place.inst->opcode() != HloOpcode::kParameter) break;
      std::optional<HloInstruction*> outer =
          place.inst->parent()->GetUniqueCaller(HloOpcode::kWhile);
      if (!outer.has_value()) break;
      const Place next =
          Trace({(*outer)->while_body()->root_instruction(), place.index, {}});
      if (StateElement(next) != place.index) break;
      place = Trace({(*outer)->operand(0), place.index, {}});
    }
    return Evaluated(place);
  }

  // What an instruction computes from constants.
  Number Evaluated(const Place& place) {
    absl::StatusOr<Literal> value =
        evaluator_.Evaluate(place.inst, analyses_,
                            /*recursively_evaluate_nonconstant_operands=*/true);
    if (!value.ok()) {
      const bool is_dynamic =
          internal::ParseEvalErrorDetail(value.status()) ==
          internal::EvalErrorDetail::kDynamicValueDependence;
      return {is_dynamic ? Number::kDynamic : Number::kUnknown};
    }
    const LiteralSlice part(*value, place.index);
    if (!part.shape().IsArray() || ShapeUtil::ElementsIn(part.shape()) != 1 ||
        !primitive_util::IsIntegralType(part.shape().element_type()) ||
        !part.IsKnown()) {
      return {};
    }
    const std::vector<int64_t> first(part.shape().dimensions().size(), 0);
    std::optional<int64_t> number = part.GetIntegralAsS64(first);
    if (!number.has_value()) return {};
    return {Number::kKnown, *number};
  }

  Place Next(const ShapeIndex& element) const {
    return Trace({while_op_->while_body()->root_instruction(), element, {}});
  }
  Place Initial(const ShapeIndex& element) const {
    return Trace({while_op_->operand(0), element, {}});
  }
  bool IsInvariant(const ShapeIndex& element) const {
    return StateElement(Next(element)) == element;
  }

  // Nullopt if the loop does not end, or only after the counter wraps around.
  static std::optional<int64_t> TripCount(int64_t init,
                                          ComparisonDirection direction,
                                          int64_t bound, int64_t step,
                                          PrimitiveType type) {
    if (primitive_util::IsUnsignedIntegralType(type) &&
        (init < 0 || bound < 0)) {
      return std::nullopt;  // beyond int64_t
    }
    absl::int128 distance = absl::int128(bound) - init;
    absl::int128 stride = step;
    if (direction == ComparisonDirection::kEq) {
      // Leaves after the first trip that changes the counter.
      if (distance != 0) return 0;
      return step != 0 ? std::optional<int64_t>(1) : std::nullopt;
    }
    if (direction == ComparisonDirection::kNe) {
      if (distance == 0) return 0;
      if (stride == 0 || distance % stride != 0) return std::nullopt;
    } else {
      const bool up = direction == ComparisonDirection::kLt ||
                      direction == ComparisonDirection::kLe;
      if (direction == ComparisonDirection::kLe) distance += 1;
      if (direction == ComparisonDirection::kGe) distance -= 1;
      if (up ? distance <= 0 : distance >= 0) return 0;
      if (up ? stride <= 0 : stride >= 0) return std::nullopt;
    }
    if (stride < 0) {
      distance = -distance;
      stride = -stride;
    }
    if (distance < 0) return std::nullopt;
    const absl::int128 trips = (distance + stride - 1) / stride;
    const absl::int128 last = init + trips * absl::int128(step);
    const int width = primitive_util::BitWidth(type);
    const bool is_signed = primitive_util::IsSignedIntegralType(type);
    const absl::int128 one = 1;
    const absl::int128 lowest = is_signed ? -(one << (width - 1)) : 0;
    const absl::int128 highest = (one << (is_signed ? width - 1 : width)) - 1;
    if (last < lowest || last > highest || trips > INT64_MAX) {
      return std::nullopt;
    }
    return static_cast<int64_t>(trips);
  }

  const HloInstruction* while_op_;
  const HloEvaluator::PrecomputedAnalyses analyses_;
  HloEvaluator evaluator_;
};

}  // namespace

std::optional<ParsedWhileLoop> PatternMatchParseWhileLoop(
    const HloInstruction* while_op,
    HloEvaluator::PrecomputedAnalyses precomputed_analyses) {
  return LoopPattern(while_op, precomputed_analyses).Parse();
}

}  // namespace xla
