#include "xla/hlo/transforms/loops/counted_loop.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/types/span.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// Selects look at three operands each: no more than 3^8 steps.
constexpr int kMaxTripDepth = 8;
// Far from overflow: sums of such numbers, times trips, fit in 64 bits.
constexpr int64_t kMaxNumber = int64_t{1} << 40;
constexpr int64_t kMaxScale = 1 << 16;

std::optional<int64_t> ScalarConstant(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kCopy) inst = inst->operand(0);
  if (inst->opcode() != HloOpcode::kConstant ||
      !ShapeUtil::IsEffectiveScalar(inst->shape()) ||
      !inst->shape().AreAllLeavesIntegers()) {
    return std::nullopt;
  }
  return inst->literal().GetFirstInteger();
}

// The least and the greatest value over all trips.
std::pair<int64_t, int64_t> RangeOf(const TripFunction& function,
                                    int64_t trips) {
  return std::minmax(function.offset,
                     function.scale * (trips - 1) + function.offset);
}

bool FitsIn(const TripFunction& function, int64_t trips, PrimitiveType type) {
  if (!primitive_util::IsIntegralType(type) ||
      std::abs(function.scale) > kMaxScale ||
      std::abs(function.offset) > kMaxNumber) {
    return false;
  }
  const auto [least, greatest] = RangeOf(function, trips);
  const int bits = primitive_util::BitWidth(type);
  if (primitive_util::IsUnsignedIntegralType(type)) {
    return least >= 0 && (bits >= 63 || greatest < (int64_t{1} << bits));
  }
  return bits >= 63 || (least >= -(int64_t{1} << (bits - 1)) &&
                        greatest < (int64_t{1} << (bits - 1)));
}

std::optional<TripFunction> FunctionAt(const HloInstruction* index,
                                       const CountedLoop& loop, int depth);

// Select(x < 0, …, x), as programs write it for indices that count from the
// end: the one of the two that every trip takes.
std::optional<TripFunction> FunctionOfSelect(const HloInstruction* select,
                                             const CountedLoop& loop,
                                             int depth) {
  const HloInstruction* test = select->operand(0);
  if (test->opcode() != HloOpcode::kCompare ||
      test->comparison_direction() != ComparisonDirection::kLt ||
      ScalarConstant(test->operand(1)) != 0) {
    return std::nullopt;
  }
  const std::optional<TripFunction> tested =
      FunctionAt(test->operand(0), loop, depth);
  if (!tested.has_value()) return std::nullopt;
  // Both, so that nothing else, in no trip, leads to the index.
  const std::optional<TripFunction> negative =
      FunctionAt(select->operand(1), loop, depth);
  const std::optional<TripFunction> other =
      FunctionAt(select->operand(2), loop, depth);
  if (!negative.has_value() || !other.has_value()) return std::nullopt;
  const auto [least, greatest] = RangeOf(*tested, loop.trips);
  if (least >= 0) return other;
  if (greatest < 0) return negative;
  return std::nullopt;
}

// A clamp that changes nothing in any trip.
std::optional<TripFunction> FunctionOfClamp(const HloInstruction* clamp,
                                            const CountedLoop& loop,
                                            int depth) {
  const std::optional<int64_t> low = ScalarConstant(clamp->operand(0));
  const std::optional<int64_t> high = ScalarConstant(clamp->operand(2));
  std::optional<TripFunction> inside =
      FunctionAt(clamp->operand(1), loop, depth);
  if (!low.has_value() || !high.has_value() || !inside.has_value()) {
    return std::nullopt;
  }
  const auto [least, greatest] = RangeOf(*inside, loop.trips);
  if (least < *low || greatest > *high) return std::nullopt;
  return inside;
}

std::optional<TripFunction> FunctionAt(const HloInstruction* index,
                                       const CountedLoop& loop, int depth) {
  if (depth > kMaxTripDepth) return std::nullopt;
  std::optional<TripFunction> function;
  if (LoopState::ElementOf(index, loop.state.body_state()) == loop.counter) {
    function = TripFunction{1, 0};
  } else if (std::optional<int64_t> number = ScalarConstant(index)) {
    function = TripFunction{0, *number};
  } else if (index->opcode() == HloOpcode::kConvert ||
             index->opcode() == HloOpcode::kCopy) {
    function = FunctionAt(index->operand(0), loop, depth + 1);
  } else if (index->opcode() == HloOpcode::kSelect) {
    function = FunctionOfSelect(index, loop, depth + 1);
  } else if (index->opcode() == HloOpcode::kClamp) {
    function = FunctionOfClamp(index, loop, depth + 1);
  } else if (index->opcode() == HloOpcode::kAdd ||
             index->opcode() == HloOpcode::kSubtract) {
    const std::optional<TripFunction> a =
        FunctionAt(index->operand(0), loop, depth + 1);
    const std::optional<TripFunction> b =
        FunctionAt(index->operand(1), loop, depth + 1);
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    const int sign = index->opcode() == HloOpcode::kAdd ? 1 : -1;
    function =
        TripFunction{a->scale + sign * b->scale, a->offset + sign * b->offset};
  }
  if (!function.has_value() ||
      !FitsIn(*function, loop.trips, index->shape().element_type())) {
    return std::nullopt;
  }
  return function;
}

}  // namespace

std::optional<CountedLoop> MatchCounted(HloInstruction* loop) {
  std::optional<LoopState> state = LoopState::Match(loop);
  if (!state.has_value()) return std::nullopt;
  std::optional<int64_t> counter =
      GetLoopInductionVarTupleIdxWithKnownValues(loop, {});
  std::optional<int64_t> trips = ComputeWhileLoopTripCount(loop);
  if (!counter.has_value() || !trips.has_value() || *trips <= 0 ||
      *counter >= state->size() ||
      ScalarConstant(state->init()->operand(*counter)) != 0) {
    return std::nullopt;
  }
  const HloInstruction* next = state->body_root()->operand(*counter);
  if (next->opcode() != HloOpcode::kAdd) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    if (LoopState::ElementOf(next->operand(i), state->body_state()) ==
            *counter &&
        ScalarConstant(next->operand(1 - i)) == 1) {
      return CountedLoop{*state, *counter, *trips};
    }
  }
  return std::nullopt;
}

std::optional<TripFunction> FunctionOfTrip(const HloInstruction* index,
                                           const CountedLoop& loop) {
  if (loop.trips > kMaxNumber) return std::nullopt;
  return FunctionAt(index, loop, /*depth=*/0);
}

bool TakesOnePlace(const HloInstruction* inst, const Shape& stack,
                   const Shape& slice, int64_t dim) {
  const auto indices = Cast<HloDynamicIndexInstruction>(inst)->index_operands();
  const int64_t rank = static_cast<int64_t>(stack.dimensions().size());
  if (dim >= rank || static_cast<int64_t>(indices.size()) != rank) return false;
  Shape place = stack;
  place.set_dimensions(static_cast<int>(dim), 1);
  return ShapeUtil::Equal(place, slice);
}

}  // namespace xla::remat_plan
