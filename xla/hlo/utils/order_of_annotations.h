#ifndef XLA_HLO_UTILS_ORDER_OF_ANNOTATIONS_H_
#define XLA_HLO_UTILS_ORDER_OF_ANNOTATIONS_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Call before an annotation is removed and its users redirected to its
// operands. Its control successors then wait for its operands, if they are not
// parameters, which are there from the start; its control successors and its
// users wait for its control predecessors; and it has no control dependencies
// any more.
absl::Status PassOrderOn(HloInstruction* annotation);

}  // namespace xla

#endif  // XLA_HLO_UTILS_ORDER_OF_ANNOTATIONS_H_
