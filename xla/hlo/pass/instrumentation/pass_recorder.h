#ifndef XLA_HLO_PASS_INSTRUMENTATION_PASS_RECORDER_H_
#define XLA_HLO_PASS_INSTRUMENTATION_PASS_RECORDER_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"
#include "xla/hlo/pass/pipeline_report.pb.h"

namespace xla {

// Fills a PipelineReport while a pipeline runs.
//
//   auto recorder = std::make_shared<PassRecorder>(PassRecorder::Options{});
//   pipeline.AddInstrumentation(recorder);
//   recorder->Start(*module, pipeline.name());
//   … pipeline.Run(module) …
//   recorder->Finish(*module);
//   std::cout << PipelineReportToText(recorder->report());
class PassRecorder : public PassInstrumentation {
 public:
  struct Options {
    // Wall and processor time of each pass; they make two reports of the same
    // run differ. The processor time is that of the whole process: it includes
    // what other threads do meanwhile, with this module or not.
    bool seconds = false;
  };

  explicit PassRecorder(const Options& options) : options_(options) {}

  void Start(const HloModule& module, absl::string_view pipeline);
  void Finish(const HloModule& module);

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

  const PipelineReport& report() const { return report_; }

 private:
  struct Moment {
    absl::Time wall;
    double cpu_seconds = 0;  // since the process began
    static Moment Now();
  };

  Options options_;
  PipelineReport report_;
  Moment start_;
  // Started and not yet ended, outermost first: place in the report, time.
  std::vector<std::pair<int, Moment>> running_;
  absl::btree_map<std::string, int64_t> opcodes_before_;
};

// Renders a report as a table: one line a pass, indented by depth, with what
// it removed or added; then the opcodes whose counts changed.
std::string PipelineReportToText(const PipelineReport& report);

// Renders a report as JSON with the proto's field names.
absl::StatusOr<std::string> PipelineReportToJson(const PipelineReport& report);

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_PASS_RECORDER_H_
