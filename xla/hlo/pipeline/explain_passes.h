#ifndef XLA_HLO_PIPELINE_EXPLAIN_PASSES_H_
#define XLA_HLO_PIPELINE_EXPLAIN_PASSES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/pass_instrumentation.h"
#include "xla/hlo/pass/reporting_pass.h"

namespace xla {

// Asks the passes of a pipeline why they did what they did.
//
//   explainer = PassExplainer::Create(&pipeline, {"multi-output-fusion"}, "");
//   pipeline.AddInstrumentation(explainer);
//   explainer->Start(*module); … pipeline.Run(module) …
//   std::cout << explainer->ToText();
//
// With a folder for graphs: after each explained pass that changed the module
// writes MODULE.INDEX.PASS.before.dot and .after.dot there, and both as one
// picture, MODULE.INDEX.PASS.svg: the instructions that the pass made or
// removed, what these read and what reads them.
class PassExplainer : public PassInstrumentation {
 public:
  // `passes`: names, '_' and '-' alike; `lowering` is shared-memory-planning,
  // which lowers. The pipeline must outlive the result.
  // InvalidArgument if one of them is not in the pipeline or cannot explain.
  static absl::StatusOr<std::shared_ptr<PassExplainer>> Create(
      HloPassPipeline* pipeline, const std::vector<std::string>& passes,
      std::string dot_folder);
  ~PassExplainer() override;

  void Start(const HloModule& module);

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

  // The report on all pass runs since Start(), in order: an object {"module",
  // "passes": [fusion passes], "reports": [other passes]}.
  std::string ToText() const;
  absl::StatusOr<std::string> ToJson() const;

 private:
  PassExplainer() = default;
  absl::Status AddPasses(HloPassPipeline* pipeline,
                         const std::vector<std::string>& names);
  absl::Status WriteGraphs(const PassEvent& event,
                           const HloModule& after) const;

  std::string dot_folder_;
  // A pass that was asked for; one of the two others is not null.
  struct Explained {
    const HloPassInterface* pass;
    gpu::ExplainingPass* explainer;
    ReportingPass* reporter;
  };
  std::vector<Explained> passes_;
  // The explanation of the pass that is running.
  std::unique_ptr<gpu::FusionExplanation> running_;
  std::unique_ptr<HloModule> before_;
  gpu::FusionExplanationsProto explanations_;
  // Reports of passes other than fusion.
  std::string reports_;
  std::vector<std::string> json_reports_;
};

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_EXPLAIN_PASSES_H_
