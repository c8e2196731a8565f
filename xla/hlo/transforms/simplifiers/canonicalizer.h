#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"

namespace xla {

struct CanonicalizerOptions {
  // Names of rules to leave out, separated by '+'.
  std::string without;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("without", without, "rules to disable, separated by '+'");
  }
};

// Applies local rewrites until none applies.
//
//   before: a = reshape(x); b = reshape(a); c = multiply(b, broadcast(1))
//   after:  b = reshape(x)
//
// The rules are a table (canonicalizer_rules.h), grouped by topic in separate
// files. Each replaces an instruction with one of the same shape and the same
// value, bit for bit, floating point included (so x + 0.0 stays: it changes
// -0.0), and makes the graph smaller or its form more uniform, so that the
// rewriting ends. A worklist in post order; each rewrite puts the users of its
// result back on it. O(instructions + rewrites · users).
//
// Leaves alone: side effects, control dependencies, results of other shapes or
// layouts, values whose sharding differs from their replacement's, constants
// whose elements the text elides.
class Canonicalizer : public HloModulePass {
 public:
  explicit Canonicalizer(
      const CanonicalizerOptions& options = CanonicalizerOptions());

  absl::string_view name() const override { return "canonicalizer"; }

 protected:
  // InvalidArgument if the options leave out a rule that does not exist.
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::StatusOr<bool> RunOnComputation(HloComputation* computation);

  // The nonexistent rule that the options name; empty: none.
  std::string unknown_;
  // Rules by opcode.
  std::vector<std::vector<const CanonicalizerRule*>> rules_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_H_
