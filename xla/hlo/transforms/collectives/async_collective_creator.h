#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

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
// permutes that write into an operand, and what runs asynchronously already.
// O(instructions).
class AsyncCollectiveCreator : public HloModulePass {
 public:
  AsyncCollectiveCreator() = default;
  explicit AsyncCollectiveCreator(const AsyncCollectiveCreatorOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "async-collective-creator"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  AsyncCollectiveCreatorOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_ASYNC_COLLECTIVE_CREATOR_H_
