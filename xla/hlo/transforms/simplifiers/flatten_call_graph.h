#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_FLATTEN_CALL_GRAPH_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_FLATTEN_CALL_GRAPH_H_

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct FlattenCallGraphOptions {
  // Computations that only `call` instructions call stay shared.
  bool skip_cloning_for_calls = false;
  // Modules that would then hold more instructions than this are rejected.
  int64_t max_instructions = 10'000'000;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("skip-cloning-for-calls", skip_cloning_for_calls,
          "keep computations shared that only call instructions use");
    visit("max-instructions", max_instructions,
          "fail rather than grow the module beyond this many instructions");
  }
};

// Gives each call site a computation of its own.
//
//   before: a = call(x), to_apply=f          after: a = call(x), to_apply=f
//           b = call(y), to_apply=f                 b = call(y),
//           to_apply=f.clone
//
// Computations are processed callees first. Of the instructions that refer to
// one, in the order of their unique ids, the first keeps it, unless it refers
// to it more than once (a while with body == condition); every other reference
// gets a clone. A clone's callees are cloned with it, recursively, so that
// clones have one call site each, too. The links of an asynchronous chain count
// as one instruction.
//
// Analyses of values inside of callees require this: a value of a callee with
// two call sites would stand for two. Clones of scheduled computations are
// scheduled alike, so a scheduled module stays scheduled.
//
// Leaves alone: computations for which the handler returns true, and those of
// threads that are not requested. ResourceExhausted, and no change, if the
// module would grow beyond max_instructions (nested calls can double it at each
// level). O(instructions + calls, after).
class FlattenCallGraph : public HloModulePass {
 public:
  // The handler says which computations stay shared.
  using SkipCloningHandler = absl::AnyInvocable<bool(const HloComputation&)>;

  FlattenCallGraph() : FlattenCallGraph(FlattenCallGraphOptions()) {}
  explicit FlattenCallGraph(SkipCloningHandler skip_cloning_handler)
      : skip_cloning_(std::move(skip_cloning_handler)) {}
  explicit FlattenCallGraph(const FlattenCallGraphOptions& options);
  ~FlattenCallGraph() override = default;

  // A handler: whether only `call` instructions call it.
  static bool SkipCloningForCalls(const HloComputation& computation);

  absl::string_view name() const override { return "flatten-call-graph"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::Status CheckGrowth(const HloModule& module);

  FlattenCallGraphOptions options_;
  SkipCloningHandler skip_cloning_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_FLATTEN_CALL_GRAPH_H_
