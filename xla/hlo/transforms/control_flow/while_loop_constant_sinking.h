#ifndef XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_CONSTANT_SINKING_H_
#define XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_CONSTANT_SINKING_H_

#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct WhileLoopConstantSinkingOptions {
  // Broadcasts of scalar constants, too.
  bool broadcasts = true;
  // Largest constant, in elements, that is sunk: each reader gets its own copy.
  int64_t max_elements = 64;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("broadcasts", broadcasts, "sink broadcasts of scalar constants, too");
    visit("max-elements", max_elements,
          "maximum elements of a constant that is sunk");
  }
};

// Sinks constants that loops carry into their bodies.
//
//   before: w = while((0, 5, z)), z = broadcast(0.0)
//           condition: i < n             body: (i + 1, n, z), f(z)
//   after:  condition: i < 5             body: z' = broadcast(0.0), f(z')
//
// Legal because the element passes through the loop unchanged. The element is
// still carried; hlo-module-dce removes it if nothing else reads it. Constants
// can then fold into kernels instead of being read from memory, and bounds of
// loops become known.
//
// Leaves alone: loops whose body and condition do not read the state element by
// element or are called elsewhere, too, literals above max_elements. O(reads of
// a state) for each of its elements that is sunk.
class WhileLoopConstantSinking : public HloModulePass {
 public:
  WhileLoopConstantSinking() = default;
  // OpenXLA's signature: constants of any size, or scalars alone.
  explicit WhileLoopConstantSinking(bool sink_broadcast_of_constants,
                                    bool sink_only_scalar_constants = false) {
    options_.broadcasts = sink_broadcast_of_constants;
    options_.max_elements =
        sink_only_scalar_constants ? 1 : std::numeric_limits<int64_t>::max();
  }
  explicit WhileLoopConstantSinking(
      const WhileLoopConstantSinkingOptions& options)
      : options_(options) {}

  absl::string_view name() const override {
    return "while-loop-constant-sinking";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  WhileLoopConstantSinkingOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_CONSTANT_SINKING_H_
