#ifndef XLA_HLO_PASS_INSTRUMENTATION_VERIFY_EACH_H_
#define XLA_HLO_PASS_INSTRUMENTATION_VERIFY_EACH_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {

// Verifies the module after each pass that changed it, in nested pipelines too.
// A rule that a pass breaks is an Internal error, whatever the code of the
// rule.
class VerifyEach : public PassInstrumentation {
 public:
  explicit VerifyEach(const HloVerifierOpts& options) : options_(options) {}

  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

 private:
  HloVerifierOpts options_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_VERIFY_EACH_H_
