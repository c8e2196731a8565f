#ifndef XLA_HLO_PASS_PASS_INSTRUMENTATION_H_
#define XLA_HLO_PASS_PASS_INSTRUMENTATION_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// One run of one pass within a run of a pipeline.
struct PassEvent {
  // The innermost pipeline that holds the pass.
  absl::string_view pipeline;
  const HloPassInterface* pass = nullptr;
  // The pass with its options as text, where it was made from text; else its
  // name.
  absl::string_view text;
  // Counts the passes of the whole run, pipelines included, from 0.
  int index = 0;
  // 0 for passes of the outermost pipeline.
  int depth = 0;

  absl::string_view pass_name() const { return pass->name(); }
};

// Watches a pipeline from outside: printing, timing, checking, counting.
//
// Instrumentations are called in the order of their addition. An error ends the
// run, with that error.
class PassInstrumentation {
 public:
  virtual ~PassInstrumentation() = default;

  // Whether to run the pass at all. One `false` is enough to skip it; a skipped
  // pass has neither BeforePass nor AfterPass.
  virtual bool ShouldRun(const PassEvent& event, const HloModule& module) {
    return true;
  }

  virtual absl::Status BeforePass(const PassEvent& event,
                                  const HloModule& module) {
    return absl::OkStatus();
  }

  // `result` is what the pass returned: whether it changed, or its error.
  virtual absl::Status AfterPass(const PassEvent& event,
                                 const HloModule& module,
                                 const absl::StatusOr<bool>& result) {
    return absl::OkStatus();
  }
};

}  // namespace xla

#endif  // XLA_HLO_PASS_PASS_INSTRUMENTATION_H_
