#include "xla/hlo/transforms/memory/assign_offsets.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<bool> AssignOffsets::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const int64_t alignment = options_.alignment;
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("alignment=", alignment, " is not a power of two"));
  }
  if (!module->has_schedule()) {
    return absl::FailedPreconditionError(
        absl::StrCat("module ", module->name(),
                     " has no schedule: run hlo-memory-scheduler first"));
  }
  const AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<BufferAssignment> assignment,
      BufferAssigner::Run(
          module, std::make_unique<SequentialHloOrdering>(module->schedule()),
          [](const BufferValue& value) {
            return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
          },
          &alias_info, [alignment](BufferValue::Color) { return alignment; },
          {}));
  if (options_.check) {
    TF_RETURN_IF_ERROR(CheckBufferAssignment(*assignment, &alias_info));
  }
  const BufferAssignment::Stats& stats = assignment->GetStats();
  SetKVMetric(module, "total_bytes", stats.total_allocation_bytes);
  SetKVMetric(module, "temp_bytes", stats.preallocated_temp_allocation_bytes);
  SetKVMetric(module, "fragmentation_bytes",
              stats.preallocated_temp_fragmentation_bytes);
  SetKVMetric(module, "allocations", stats.total_allocation_count);
  return false;
}

}  // namespace xla
