#ifndef XLA_HLO_EVALUATOR_RUN_PARAMETER_USES_H_
#define XLA_HLO_EVALUATOR_RUN_PARAMETER_USES_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// Requirements on the elements of a parameter, from its uses.
struct ParameterNeeds {
  // Inclusive.
  std::optional<std::pair<int64_t, int64_t>> bounds;
  bool unique = false;
  // Groups of this many elements form one index; unique as such.
  int64_t vector_size = 1;
  bool positive = false;
  // The elements add up to this.
  std::optional<int64_t> sum;
  enum class Matrix { kAny, kPositiveDefinite, kDominant };
  Matrix matrix = Matrix::kAny;
};

// Follows one array of a parameter (`index` in its tuple) to its uses; see
// input_generator.h.
ParameterNeeds FindParameterNeeds(const HloInstruction* parameter,
                                  const ShapeIndex& index);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_PARAMETER_USES_H_
