#include "xla/hlo/evaluator/run/init_values.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// What combining two elements may take; a combiner may hold loops that never
// end, and arrays.
constexpr int64_t kMaxSteps = 1 << 16;
constexpr int64_t kMaxBytes = 1 << 20;

// Without evaluating: a sum from 0, a maximum or minimum from any number.
bool IsKnownToRepeat(const HloComputation& combiner, const Literal& init) {
  const HloInstruction* root = combiner.root_instruction();
  if (root->operand_count() != 2 || root->operand(0) == root->operand(1) ||
      root->operand(0)->opcode() != HloOpcode::kParameter ||
      root->operand(1)->opcode() != HloOpcode::kParameter ||
      !ShapeUtil::Equal(root->shape(), init.shape())) {
    return false;
  }
  const std::optional<double> value = init.GetAsDouble({});
  if (!value.has_value() || std::isnan(*value)) return false;
  return root->opcode() == HloOpcode::kMaximum ||
         root->opcode() == HloOpcode::kMinimum ||
         (root->opcode() == HloOpcode::kAdd && *value == 0);
}

}  // namespace

// A reduction in parts starts each part from the initial value: f(f(i, a), f(i,
// b)). As reductions may combine in any order, that is f(f(i, i), f(a, b)), so
// i may repeat if f(i, i) is i, whether i is neutral or not: a maximum may
// start from 5.
bool InitMayRepeat(const HloInstruction& reduction) {
  const int64_t count = reduction.operand_count() / 2;
  std::vector<const Literal*> arguments;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const HloInstruction* init = reduction.operand(count + i % count);
    if (!init->IsConstant() || !init->literal().IsKnown() ||
        init->literal().is_elided()) {
      return false;
    }
    arguments.push_back(&init->literal());
  }
  if (count == 1 && IsKnownToRepeat(*reduction.to_apply(), *arguments[0])) {
    return true;
  }
  HloEvaluator evaluator;
  evaluator.set_max_steps(kMaxSteps);
  evaluator.set_memory_limit_bytes(kMaxBytes);
  absl::StatusOr<Literal> combined =
      evaluator.Evaluate(*reduction.to_apply(), arguments);
  if (!combined.ok()) return false;
  std::vector<Literal> elements;
  if (count == 1) {
    elements.push_back(*std::move(combined));
  } else {
    elements = combined->DecomposeTuple();
  }
  for (int64_t i = 0; i < count; ++i) {
    if (elements[i] != *arguments[i]) return false;
  }
  return true;
}

}  // namespace xla
