#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd {

absl::Status SpmdPartitioningVisitor::DoCodeMotionForWindowedDotGeneralLoops(
    HloComputation* computation) {
  return absl::OkStatus();
}

}  // namespace xla::spmd
