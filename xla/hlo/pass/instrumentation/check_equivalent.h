#ifndef XLA_HLO_PASS_INSTRUMENTATION_CHECK_EQUIVALENT_H_
#define XLA_HLO_PASS_INSTRUMENTATION_CHECK_EQUIVALENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Evaluates the module before the first pass and after each pass that changed
// it, on the same made-up inputs, and fails the run (FailedPrecondition) after
// the first pass that changed what the module computes.
//
// The pass that makes the program of one device (see RecordsShardings) is held
// against the module before it, with arguments split over the devices; so are
// all passes after it.
//
// Cases that cannot be compared are reported once per run and skipped: modules
// that cannot be evaluated, or are above the cap of the options, and, from the
// pass on that made them so, modules that take other inputs than before. Where
// an instruction is unknown, checks begin after the pass that removed it.
class CheckEquivalent : public PassInstrumentation {
 public:
  using Note = std::function<void(absl::string_view)>;

  CheckEquivalent(MeaningOptions options, Note note)
      : options_(std::move(options)), note_(std::move(note)) {}

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

 private:
  absl::StatusOr<std::optional<std::string>> Difference(
      const HloModule& module);
  void GiveUp(absl::string_view when, const absl::Status& reason);

  const MeaningOptions options_;
  const Note note_;
  // The module of this run; -1 before the first.
  int module_id_ = -1;
  // Both null once there is nothing to compare with.
  std::unique_ptr<ModuleMeaning> meaning_;
  // Whether a later pass may make a module that can be evaluated.
  bool is_retried_ = false;
  // Once the module is the program of one device; meaning_ is null then.
  std::unique_ptr<ShardedMeaning> sharded_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_CHECK_EQUIVALENT_H_
