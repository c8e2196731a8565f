#ifndef XLA_HLO_PIPELINE_HLO_OPT_RUNNER_H_
#define XLA_HLO_PIPELINE_HLO_OPT_RUNNER_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/dump_hlo.h"
#include "xla/hlo/pass/instrumentation/pass_recorder.h"
#include "xla/hlo/pass/instrumentation/stop_before_pass.h"
#include "xla/hlo/pipeline/explain_passes.h"
#include "xla/hlo/pipeline/hlo_opt.h"

namespace xla {

// A module to work on, as the text or bytes it is read from.
struct HloOptInput {
  std::string contents;
  HloParserOptions parser_options;
};

// Runs one pipeline over modules, with everything that watches it: checks,
// reports, explanations, fuel and dumps, as the options of hlo-opt ask for.
class HloOptRunner {
 public:
  // All three must outlive the runner. Warnings, notes and printed modules go
  // to `err`.
  HloOptRunner(const HloOptOptions& options, HloPassPipeline& pipeline,
               std::ostream& err)
      : options_(options), pipeline_(pipeline), err_(err) {}

  // To be called once, before Run(). InvalidArgument where an option names a
  // pass that the pipeline does not have.
  absl::Status AddInstrumentations();

  // Reads and verifies the module, runs the pipeline and verifies the result.
  // With HloOptOptions::reproducer, writes one if a pass fails.
  absl::StatusOr<std::unique_ptr<HloModule>> Run(HloOptInput input);

  // Limits that were not met, over all modules so far.
  const std::vector<absl::Status>& unmet_limits() const {
    return unmet_limits_;
  }

  // What the passes did in the last run.
  const PipelineReport& report() const { return recorder_->report(); }
  // Null if no explanation was asked for.
  const PassExplainer* explainer() const { return explainer_.get(); }

 private:
  absl::Status AddFuel(const std::vector<std::string>& pass_names);
  absl::Status AddExplainer();
  absl::Status AddPrinting(const std::vector<std::string>& pass_names);
  absl::Status AddDump();
  void AddChecks();

  void NoteDevices(const HloOptInput& input, const HloModule& module);
  void SetPartitions(const HloOptInput& input, HloModule& module);
  absl::Status WithReproducer(const HloOptInput& input,
                              const absl::Status& error);

  const HloOptOptions& options_;
  HloPassPipeline& pipeline_;
  std::ostream& err_;
  std::vector<absl::Status> unmet_limits_;
  std::shared_ptr<FailureRecorder> failure_;
  std::shared_ptr<PassRecorder> recorder_;
  // Null if not asked for, as is the next one.
  std::shared_ptr<PassExplainer> explainer_;
  std::shared_ptr<DumpHlo> dump_;
};

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_HLO_OPT_RUNNER_H_
