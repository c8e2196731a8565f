#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_MEMORY_LIMIT_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_MEMORY_LIMIT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/compute_schedule.h"

namespace xla::gpu {

// The bytes that "16GiB" or, of `peak_bytes`, "80%" says. InvalidArgument for
// anything else.
absl::StatusOr<int64_t> ParseMofMemoryLimit(absl::string_view text,
                                            int64_t peak_bytes);

// Instructions that must not be fused for a limit to hold, and what was found
// on the way.
struct MofMemoryPlan {
  absl::flat_hash_set<std::string> banned;
  // Fusions that were taken back: their members, and why.
  struct Undone {
    std::vector<std::string> members;
    int64_t held_bytes;  // at the peak
    int64_t peak_bytes;  // with this fusion
  };
  std::vector<Undone> undone;
  int64_t unfused_peak_bytes = 0;
  int64_t fused_peak_bytes = 0;
  int64_t limit_bytes = 0;
};

// Fuses the module, without what is banned; appends what it has made.
using MofFuseFunction = std::function<absl::Status(
    HloModule* module, const absl::flat_hash_set<std::string>& banned,
    std::vector<MofGroup>* groups)>;

// Finds a set of bans with which the peak of the fused and scheduled module is
// at most the greater one of the limit and the unfused module's peak.
//
// Fuses copies of the module. While the peak is too high, takes back the
// fusions that hold the most at the peak, as results or as what they are the
// last to read, until what they hold is as much as the excess, twice that in
// the next round, and so on; in the end all of them. At most kRounds + 1
// copies, fusions and schedules.
//
// Errors: of the limit's text, of scheduling (see ComputeSchedule).
absl::StatusOr<MofMemoryPlan> PlanForMemoryLimit(HloModule* module,
                                                 absl::string_view limit,
                                                 const ScheduleOptions& options,
                                                 const MofFuseFunction& fuse);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_MEMORY_LIMIT_H_
