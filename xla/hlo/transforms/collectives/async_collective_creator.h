#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {

struct AsyncCollectiveCreatorOptions {
  // Collectives with fewer bytes of results stay as they are.
  int64_t min_bytes = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("min-bytes", min_bytes,
          "minimum bytes of the results of a collective that is split");
  }
};

// Splits collectives into a start and a done, between which a schedule may run
// other instructions.
//
//   before: y = f32[8] all-reduce(x), to_apply=sum
//   after:  s = f32[8] all-reduce-start(x), to_apply=sum
//           y = f32[8] all-reduce-done(s)
//   before: y = f32[4] reduce-scatter(x), dimensions={0}, to_apply=sum
//   after:  s = ((f32[8]), f32[4]) async-start(x), calls=wrapped
//           y = f32[4] async-done(s)
//
// All-gathers, all-reduces and collective-permutes have opcodes of their own;
// all-to-alls, broadcasts, ragged all-to-alls and reduce-scatters are wrapped.
// What had to run before a collective runs before its start, what had to run
// after it after its done. Not in any pipeline: where a schedule is made for
// low memory, starts stand right before dones, and what is under way takes
// memory; hlo-memory-scheduler{async=overlap} moves them apart. Leaves alone:
// permutes that write into an operand, unless a configuration names them, and
// what runs asynchronously already.
// O(instructions).
class AsyncCollectiveCreator : public HloModulePass {
 public:
  // OpenXLA's configuration: nothing is split but what it names.
  struct CollectiveCreatorConfig {
    HloPredicate convert_all_reduce = HloPredicateFalse;
    HloPredicate convert_all_gather = HloPredicateFalse;
    HloPredicate convert_collective_broadcast = HloPredicateFalse;
    HloPredicate convert_collective_permute = HloPredicateFalse;
    HloPredicate convert_all_to_all = HloPredicateFalse;
    HloPredicate convert_reduce_scatter = HloPredicateFalse;
    HloPredicate convert_ragged_all_to_all = HloPredicateFalse;
    // State of permutes and of what is wrapped, besides operands and results.
    std::function<std::vector<Shape>(const HloInstruction*)>
        get_context_shapes =
            [](const HloInstruction*) { return std::vector<Shape>{}; };
    // Collectives with fewer bytes of results stay as they are.
    int64_t all_reduce_min_threshold_in_bytes = 0;
    int64_t all_gather_min_threshold_in_bytes = 0;
  };

  AsyncCollectiveCreator();
  explicit AsyncCollectiveCreator(CollectiveCreatorConfig config)
      : config_(std::move(config)) {}
  explicit AsyncCollectiveCreator(const AsyncCollectiveCreatorOptions& options);

  absl::string_view name() const override { return "async-collective-creator"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  CollectiveCreatorConfig config_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_
