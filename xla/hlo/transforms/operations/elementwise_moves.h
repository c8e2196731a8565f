#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla {

// What passes share that make elementwise instructions anew in other shapes.

// An array of static shape that nothing ties to its place: no sharding, no
// control dependencies.
bool IsMovableArray(const HloInstruction& inst);

// An elementwise instruction on arrays of its own dimensions that does to each
// element what it does to it elsewhere. No copies, calls and random numbers.
bool IsMovableElementwise(const HloInstruction& inst);

// The elements of `shape` in the dimensions and layout of `like`.
Shape InDimensionsOf(const Shape& shape, const Shape& like);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_ELEMENTWISE_MOVES_H_
