#ifndef XLA_HLO_ANALYSIS_LOGICAL_BUFFER_H_
#define XLA_HLO_ANALYSIS_LOGICAL_BUFFER_H_

#include "xla/hlo/analysis/buffer_value.h"

namespace xla {

// A buffer in points-to analysis: (instruction, shape index) where the
// instruction defines new memory instead of forwarding an operand's.
class LogicalBuffer : public BufferValue {
 public:
  LogicalBuffer(HloInstruction* instruction, const ShapeIndex& index, Id id)
      : BufferValue(instruction, index, id) {}
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_LOGICAL_BUFFER_H_
