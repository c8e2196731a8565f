#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

// What is computed whole on every device for want of a better way.

namespace xla::spmd {

#define COMPUTED_WHOLE(name)                                                \
  absl::Status SpmdPartitioningVisitor::Handle##name(HloInstruction* hlo) { \
    return DefaultAction(hlo);                                              \
  }
COMPUTED_WHOLE(RaggedDot)
COMPUTED_WHOLE(Scan)
#undef COMPUTED_WHOLE

}  // namespace xla::spmd
