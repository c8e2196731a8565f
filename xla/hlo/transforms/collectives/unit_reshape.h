#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_UNIT_RESHAPE_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_UNIT_RESHAPE_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla {

// Reshapes that only add or drop dimensions of size 1.

// The first value at or above `inst` that is not such a reshape.
HloInstruction* SkipUnitReshapes(HloInstruction* inst);

// The dimension of `to` that is dimension `dim` of `from`, where the two differ
// by dimensions of size 1; nullopt if `dim` has size 1 itself.
std::optional<int64_t> DimensionAcrossUnitReshape(const Shape& from,
                                                  const Shape& to, int64_t dim);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_UNIT_RESHAPE_H_
