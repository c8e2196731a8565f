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
  // The values live at the peak, by their producer and their last reader.
  // Filled in only if `bytes` exceeds the limit that was asked about.
  struct Held {
    const HloInstruction* instruction;
    int64_t bytes;
  };
  std::vector<Held> held;
};

// Computes the peak of the module's schedule without changing the module.
using FusionPeakFunction = std::function<absl::StatusOr<FusionPeak>(
    HloModule* module, int64_t limit_bytes)>;

// Instructions that must not be fused for the limit to hold, and what was
// learned on the way.
struct FusionMemoryPlan {
  absl::flat_hash_set<std::string> banned;
  // Fusions that were undone: their members, and why.
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

// Fuses the module except for banned instructions; appends the fusions made.
using FuseFunction = std::function<absl::Status(
    HloModule* module, const absl::flat_hash_set<std::string>& banned,
    std::vector<FusionGroup>* groups)>;

// Finds bans under which the peak of the fused and scheduled module is at most
// the limit or the unfused module's peak, whichever is greater.
//
// Fuses copies of the module. While the peak is too high, undoes the fusions
// that hold the most bytes at the peak, as results or as operands that they are
// the last to read: enough of them to hold as much as the excess, in the next
// round twice as much, and so on. If that does not help, because the new
// schedule peaks elsewhere, undoes all of them and redoes subsets, smaller and
// smaller ones, as long as the limit holds. Makes at most 40 copies, fusions
// and schedules; fewer for large modules.
//
// `limit` is parsed by MemoryLimit::Parse(); percentages are of the unfused
// module's peak. Errors: of that text, and those of `peak` and `fuse`.
absl::StatusOr<FusionMemoryPlan> PlanForMemoryLimit(
    HloModule* module, absl::string_view limit, const FusionPeakFunction& peak,
    const FuseFunction& fuse);

// Records each fusion that was undone.
void ExplainUndone(const FusionMemoryPlan& plan,
                   FusionExplanation* explanation);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_FUSION_MEMORY_LIMIT_H_
