#ifndef XLA_BACKENDS_GPU_FUSION_FUSION_MEMORY_LIMIT_H_
#define XLA_BACKENDS_GPU_FUSION_FUSION_MEMORY_LIMIT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// A fusion that was made.
struct FusionGroup {
  HloInstruction* fusion;
  // Names of the instructions that became part of it.
  std::vector<std::string> members;
};

// The peak memory of a scheduled module.
struct FusionPeak {
  int64_t bytes = 0;
  // If `bytes` is above the limit that was asked about: values that are live at
  // the peak, by what makes them and by what reads them last.
  struct Held {
    const HloInstruction* instruction;
    int64_t bytes;
  };
  std::vector<Held> held;
};

// Schedules the module, without changing it, and says what it needs.
using FusionPeakFunction = std::function<absl::StatusOr<FusionPeak>(
    HloModule* module, int64_t limit_bytes)>;

// Instructions that must not be fused for a limit to hold, and what was found
// on the way.
struct FusionMemoryPlan {
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
  // The copy that is fused in this way (see AdoptComputations).
  std::unique_ptr<HloModule> fused;
};

// Fuses the module, without what is banned; appends what it has made.
using FuseFunction = std::function<absl::Status(
    HloModule* module, const absl::flat_hash_set<std::string>& banned,
    std::vector<FusionGroup>* groups)>;

// Finds a set of bans with which the peak of the fused and scheduled module is
// at most the greater one of the limit and the unfused module's peak.
//
// Fuses copies of the module. While the peak is too high, takes back the
// fusions that hold the most at the peak, as results or as what they are the
// last to read, until what they hold is as much as the excess, twice that in
// the next round, and so on. Where that does not help, as the schedule has
// become another one elsewhere, it takes back all and makes parts of them
// again, smaller and smaller ones, as long as the limit holds. At most 40
// copies, fusions and schedules, fewer of large modules.
//
// `limit` is as MemoryLimit::Parse() reads it, shares are of the unfused
// module's peak. Errors: of that text, and those of `peak` and `fuse`.
absl::StatusOr<FusionMemoryPlan> PlanForMemoryLimit(
    HloModule* module, absl::string_view limit, const FusionPeakFunction& peak,
    const FuseFunction& fuse);

// Records each fusion that was taken back.
void ExplainUndone(const FusionMemoryPlan& plan,
                   FusionExplanation* explanation);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_FUSION_MEMORY_LIMIT_H_
