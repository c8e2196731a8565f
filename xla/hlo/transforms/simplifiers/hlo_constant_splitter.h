#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_SPLITTER_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_SPLITTER_H_

#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct HloConstantSplitterOptions {
  // Splits not only constants but everything that is computed from constants
  // alone.
  bool split_expressions = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("split-expressions", split_expressions,
          "also duplicate expressions of constants alone");
  }
};

// Gives each reader of a constant a constant of its own.
//
//   before: c = constant(1); x = add(a, c); y = multiply(b, c)
//   after:  c = constant(1); x = add(a, c)
//           c.1 = constant(1); y = multiply(b, c.1)
//
// With split_expressions also constant expressions: broadcasts, iotas, slices,
// converts and elementwise operations of constants, cloned as a whole for each
// outside reader, and for each of two expressions that share a part. The clones
// can then be fused, sharded or placed differently for each reader. The first
// reader keeps the original; sharding and metadata are cloned along. Random
// numbers are not constants, even if they depend on nothing else.
// O(instructions + clones).
class HloConstantSplitter : public HloModulePass {
 public:
  using Constraint = std::function<bool(const HloInstruction*)>;

  // Constants and expressions for which `extra_constraints` is false are kept.
  explicit HloConstantSplitter(
      bool split_expressions = false,
      Constraint extra_constraints = [](const HloInstruction*) { return true; })
      : extra_constraints_(std::move(extra_constraints)) {
    options_.split_expressions = split_expressions;
  }
  explicit HloConstantSplitter(const HloConstantSplitterOptions& options)
      : HloConstantSplitter(options.split_expressions) {}

  absl::string_view name() const override { return "hlo-constant-splitter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::StatusOr<bool> RunOnComputation(HloComputation* computation);

  HloConstantSplitterOptions options_;
  Constraint extra_constraints_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_SPLITTER_H_
