#ifndef XLA_HLO_PASS_HLO_PASS_INTERFACE_H_
#define XLA_HLO_PASS_HLO_PASS_INTERFACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// A rewrite or a check of a module.
//
// A pass implements name() and RunImpl() (or, as older passes do, overrides
// Run() itself) and says truthfully whether it changed the module: pipelines
// verify, print and repeat on that word, and can check it.
class HloPassInterface {
 public:
  // State that a repeated pass keeps from its earlier rounds.
  struct RunState {
    RunState() = default;
    // Starts with every computation of `module` counted as just changed.
    explicit RunState(HloModule* module);

    // Moves this iteration's changes to the last one's.
    void IncrementIteration();

    int iteration = 0;
    // Changed in any iteration, in the last one, in the running one.
    absl::flat_hash_set<HloComputation*> changed;
    absl::flat_hash_set<HloComputation*> changed_last_iteration;
    absl::flat_hash_set<HloComputation*> changed_this_iteration;
  };

  virtual ~HloPassInterface() = default;

  // The name on command lines and in reports: lower case, words joined by '-'.
  virtual absl::string_view name() const = 0;

  // Runs on the computations of `execution_threads` (empty: of all threads).
  // Returns whether the module changed; on an error it may be half rewritten.
  virtual absl::StatusOr<bool> Run(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {});

  // The same for passes that may put another module in place of this one.
  virtual absl::StatusOr<bool> Run(
      std::unique_ptr<HloModule>& module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {});

  // One round of a repeated pass, which may skip computations that have not
  // changed since the last round. The default runs on the whole module.
  virtual absl::Status RunOnChangedComputations(
      HloModule* module, RunState* run_state,
      const absl::flat_hash_set<absl::string_view>& execution_threads);

  virtual bool IsPassPipeline() const { return false; }

  // Attaches a figure to the pass's entry in the module's metadata.
  void SetKVMetric(HloModule* module, const std::string& key, int64_t value);

 protected:
  virtual absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads);
};

// A pass over one module (the only kind there is).
class HloModulePass : public HloPassInterface {
 public:
  // Adjusts a shape to a backend's layout; the default leaves it alone.
  virtual void UpdateLayout(Shape* shape) {}
};

}  // namespace xla

#endif  // XLA_HLO_PASS_HLO_PASS_INTERFACE_H_
