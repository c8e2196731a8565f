#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_VARIADIC_OP_SPLITTER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_VARIADIC_OP_SPLITTER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct VariadicOpSplitterOptions {
  // At least 2.
  int64_t max_operands = 128;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("max-operands", max_operands,
          "maximum operands of a concatenate, at least 2");
  }
};

// Splits concatenations that have more operands than a kernel has parameters.
//
//   before: concatenate(a, b, c, d, e), max-operands=2
//   after:  concatenate(concatenate(concatenate(a, b), concatenate(c, d)), e)
//
// Operands stay in order, in a tree of the least depth: every value is written
// once per level. O(operands).
class VariadicOpSplitter : public HloModulePass {
 public:
  VariadicOpSplitter() = default;
  explicit VariadicOpSplitter(const VariadicOpSplitterOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "variadic-op-splitter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  VariadicOpSplitterOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_VARIADIC_OP_SPLITTER_H_
