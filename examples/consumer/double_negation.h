#ifndef DOUBLE_NEGATION_H_
#define DOUBLE_NEGATION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

// Replaces negate(negate(x)) by x: a pass of a project outside hlo, written as
// against OpenXLA.
class DoubleNegation : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "double-negation"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

#endif  // DOUBLE_NEGATION_H_
