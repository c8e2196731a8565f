#ifndef XLA_HLO_PASS_INSTRUMENTATION_CHANGED_CHECK_H_
#define XLA_HLO_PASS_INSTRUMENTATION_CHANGED_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Fails a pass that changed the module and returned false (a silent change),
// and, if asked, one that returned true and changed nothing (an idle change).
// Costs one print of the module per pass, without storing it.
class ChangedCheck : public PassInstrumentation {
 public:
  struct Options {
    bool fail_on_idle_change = false;
  };

  explicit ChangedCheck(const Options& options) : options_(options) {}

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

 private:
  Options options_;
  // Fingerprints before the passes that are running, outermost first.
  std::vector<uint64_t> before_;
  // After the last pass that ended, to save printing the same module twice.
  bool has_last_ = false;
  int last_module_ = -1;
  uint64_t last_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_CHANGED_CHECK_H_
