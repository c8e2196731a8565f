#ifndef XLA_HLO_PASS_INSTRUMENTATION_STOP_BEFORE_PASS_H_
#define XLA_HLO_PASS_INSTRUMENTATION_STOP_BEFORE_PASS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Remembers the pass that a run failed in. Add it first, so that it sees the
// failures of later instrumentations as passes that never ended.
class FailureRecorder : public PassInstrumentation {
 public:
  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;

  // The last pass that began, or -1. Pipelines are not reported: their passes
  // are.
  int index() const { return index_; }
  const std::string& text() const { return text_; }

 private:
  int index_ = -1;
  std::string text_;
};

// Ends a run right before the pass of one index and keeps the module's text.
//
// A failed run costs nothing extra while it runs: it is repeated on the same
// input up to the failed pass, which finds the same module, since passes are
// deterministic.
class StopBeforePass : public PassInstrumentation {
 public:
  explicit StopBeforePass(int index) : index_(index) {}

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;

  // Empty until the pass was reached.
  const std::string& module_text() const { return module_text_; }

 private:
  int index_;
  std::string module_text_;
};

// Returns a text test that reproduces a failure: a RUN line with the failing
// pass alone and `flags`, the error as comments, the module before the pass.
std::string MakeReproducer(absl::string_view pass_text,
                           const absl::Status& error,
                           absl::string_view module_text,
                           absl::string_view flags = "");

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_STOP_BEFORE_PASS_H_
