#ifndef XLA_HLO_TRANSFORMS_CONTROL_FLOW_CONDITIONAL_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_CONTROL_FLOW_CONDITIONAL_SIMPLIFIER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct ConditionalSimplifierOptions {
  // Branches of at most this many instructions, all of them elementwise or as
  // cheap, become selects, if they have at most twice as many together, and
  // operands of at most twice the bytes of the largest one, or 4 KiB; 0: none.
  int64_t max_select_instructions = 16;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("max-select-instructions", max_select_instructions,
          "maximum size of branches that are turned into a select; 0 for none");
  }
};

// Removes conditionals with a known outcome, and operands and results that are
// not needed.
//
//   before: conditional(true, a, b), f, g              after: f(a)
//   before: conditional(p, a, a), f, f                 after: f(a)
//   before: conditional(p, a, b), negate, abs
//   after:  select(p, negate(a), abs(b))
//   before: conditional(i, a, b, c), negate, abs, sign
//   after:  select(i == 0, negate(a), select(i == 1, abs(b), sign(c)))
//   before: c = conditional(p, a, b), f: (x, y)  g: (u, v)
//           … get-tuple-element(c), index=1
//   after:  c = conditional(p, a, b), f: (y)  g: (v)
//           … get-tuple-element(c), index=0
//   before: conditional(p, (a, b), c), f reads a alone
//   after:  conditional(p, (a), c)
//
// In this order: a constant selector, or a single branch; branches that compute
// the same from the same operands; all branches cheap and without side
// effects; results without readers; parts of operands that no branch reads.
// Legal because exactly one branch runs; an index out of range selects the
// last.
//
// Leaves alone: conditionals whose branches have other callers, or communicate
// (what is inlined would lose its place); for the last two rules, results and
// parameters of which all is used as a whole. O(instructions).
class ConditionalSimplifier : public HloModulePass {
 public:
  ConditionalSimplifier() = default;
  explicit ConditionalSimplifier(const ConditionalSimplifierOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "simplify-conditional"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ConditionalSimplifierOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_CONTROL_FLOW_CONDITIONAL_SIMPLIFIER_H_
