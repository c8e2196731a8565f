#include "xla/hlo/evaluator/block_scaled_dot.h"

#include <cstddef>

namespace xla {

std::optional<DotDimensionNumbers> BlockScaledDotDimensions(
    const HloInstruction& instruction) {
  if (!instruction.IsCustomCall("__op$block_scaled_dot") ||
      instruction.operand_count() != 4 || !instruction.shape().IsArray()) {
    return std::nullopt;
  }
  const size_t rank = instruction.shape().dimensions().size();
  if (rank != 2 && rank != 3) return std::nullopt;
  for (const HloInstruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() ||
        operand->shape().dimensions().size() != rank) {
      return std::nullopt;
    }
  }
  const Shape& lhs = instruction.operand(0)->shape();
  const Shape& rhs = instruction.operand(1)->shape();
  if (lhs.dimensions(rank - 1) != rhs.dimensions(rank - 1) ||
      (rank == 3 && lhs.dimensions(0) != rhs.dimensions(0))) {
    return std::nullopt;
  }
  DotDimensionNumbers numbers;
  if (rank == 3) {
    numbers.add_lhs_batch_dimensions(0);
    numbers.add_rhs_batch_dimensions(0);
  }
  numbers.add_lhs_contracting_dimensions(rank - 1);
  numbers.add_rhs_contracting_dimensions(rank - 1);
  return numbers;
}

}  // namespace xla
