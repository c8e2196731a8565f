#include "xla/hlo/evaluator/run/init_values.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/literal.h"

namespace xla {

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
  HloEvaluator evaluator;
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
