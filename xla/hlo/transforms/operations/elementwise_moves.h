#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla {

// Helpers of passes that recreate elementwise instructions in other shapes.

// An array of static shape that can be moved: it has no sharding and no control
// dependencies.
bool IsMovableArray(const HloInstruction& inst);

// An elementwise instruction on arrays of its own dimensions whose elements do
// not depend on their position. No copies, calls and random numbers.
bool IsMovableElementwise(const HloInstruction& inst);

// The elements of `shape` in the dimensions and layout of `like`.
Shape InDimensionsOf(const Shape& shape, const Shape& like);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_
