#include "xla/hlo/transforms/memory/remat/planner/lost_reads.h"

#include <memory>
#include <vector>

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {

absl::StatusOr<int64_t> CountLostReads(const HloModule& module) {
  const AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<BufferAssignment> assignment,
      BufferAssigner::Run(
          &module, std::make_unique<SequentialHloOrdering>(module.schedule()),
          [](const BufferValue& value) {
            return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
          },
          &alias_info, [](BufferValue::Color) { return int64_t{64}; }, {}));
  std::vector<MissingCopy> missing;
  TF_RETURN_IF_ERROR(
      ReplayBufferAssignment(*assignment, module.schedule(), &missing));
  return static_cast<int64_t>(missing.size());
}

}  // namespace xla::remat_plan
