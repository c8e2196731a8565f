#ifndef XLA_HLO_PASS_INSTRUMENTATION_PROGRESS_H_
#define XLA_HLO_PASS_INSTRUMENTATION_PROGRESS_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Tells a person at a terminal which pass runs, on one line that is written
// anew, once a run has taken over a second; the line is gone when it ends.
class Progress : public PassInstrumentation {
 public:
  // `out` outlives this.
  explicit Progress(std::ostream& out) : out_(out), start_(absl::Now()) {}
  ~Progress() override;

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;

 private:
  std::ostream& out_;
  absl::Time start_;
  bool shown_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_PROGRESS_H_
