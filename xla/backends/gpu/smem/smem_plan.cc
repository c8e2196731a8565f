#include "xla/backends/gpu/smem/smem_plan.h"

namespace xla::gpu {

absl::string_view SmemSyncKindName(SmemSync::Kind kind) {
  constexpr absl::string_view kNames[] = {
      "block", "warp", "grid", "arrive", "wait", "async_wait", "fence"};
  return kNames[static_cast<int>(kind)];
}

absl::string_view SmemSyncReasonName(SmemSync::Reason reason) {
  constexpr absl::string_view kNames[] = {"reuse", "raw", "war", "async"};
  return kNames[static_cast<int>(reason)];
}

int SmemPlan::syncs_inserted() const {
  int count = 0;
  for (const SmemSync& sync : syncs) {
    count += sync.kind == SmemSync::Kind::kBlock &&
             sync.reason == SmemSync::Reason::kReuse;
  }
  return count;
}

int SmemPlan::NewBlockSyncs() const {
  int count = 0;
  for (const SmemSync& sync : syncs) {
    count += sync.kind == SmemSync::Kind::kBlock;
  }
  return count;
}

const SmemBufferPlan* SmemPlan::Find(kir::BufferId buffer) const {
  for (const SmemBufferPlan& plan : buffers) {
    if (plan.buffer == buffer) return &plan;
  }
  return nullptr;
}

const SmemBufferPlan* SmemPlan::Find(absl::string_view name) const {
  for (const SmemBufferPlan& plan : buffers) {
    if (plan.name == name) return &plan;
  }
  return nullptr;
}

}  // namespace xla::gpu
