#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct ScheduleAwareCollectiveOpsCseOptions {
  // Maximum distance, in instructions on a path to the root, over which a value
  // is kept for a reader that would otherwise communicate again.
  int64_t distance_threshold = 0;
  // Handles collectives without a channel instead of those with one.
  bool for_replicas = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("distance-threshold", distance_threshold,
          "maximum distance in the schedule over which a result is kept for "
          "another user");
    visit("for-replicas", for_replicas,
          "handle collectives without a channel instead of those with one");
  }
};

// Replaces a collective with an equal earlier one whose result is still in use
// nearby: trades communicated bytes against memory.
//
//   before: g = all-gather(x), channel_id=1; y = f(g)
//           h = all-gather(x), channel_id=2; z = k(h, y)
//   after:  g = all-gather(x), channel_id=1; y = f(g); z = k(g, y)
//
// Equal are all-gathers of one value, also under shapes that differ by
// dimensions of size 1; all-reduces of equal updates of a broadcast constant,
// which is how all-gathers are emulated; and collective-permutes, always and at
// any distance. The height of an instruction is the length of the longest path
// from it to an instruction without users; a collective replaces a lower one if
// one of its users is at most `distance_threshold` higher than that one. Leaves
// alone: constrained layouts, control dependencies. O(instructions + pairs of
// candidates of the same opcode).
class ScheduleAwareCollectiveOpsCSE : public HloModulePass {
 public:
  explicit ScheduleAwareCollectiveOpsCSE(int64_t distance_threshold,
                                         bool for_replicas)
      : options_{distance_threshold, for_replicas} {}
  explicit ScheduleAwareCollectiveOpsCSE(
      const ScheduleAwareCollectiveOpsCseOptions& options)
      : options_(options) {}
  ~ScheduleAwareCollectiveOpsCSE() override = default;
  absl::string_view name() const override {
    return "schedule-aware-collective-cse";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ScheduleAwareCollectiveOpsCseOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_SCHEDULE_AWARE_COLLECTIVE_OPS_CSE_H_
