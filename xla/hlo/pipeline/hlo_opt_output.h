#ifndef XLA_HLO_PIPELINE_HLO_OPT_OUTPUT_H_
#define XLA_HLO_PIPELINE_HLO_OPT_OUTPUT_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/program/cuda_program.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pipeline_report.pb.h"
#include "xla/hlo/pipeline/explain_passes.h"
#include "xla/hlo/pipeline/hlo_opt.h"

namespace xla {

// What hlo-opt writes: modules in the form of HloOptOptions::emit, and reports
// on the passes. Collects both module by module and writes them at the end, so
// that a failure writes neither; --stats and --time alone are written at once.
class HloOptOutput {
 public:
  // `options` must outlive the result. InvalidArgument where the form does not
  // go with the number of modules or with other options.
  static absl::StatusOr<HloOptOutput> Create(const HloOptOptions& options,
                                             int64_t module_count);

  absl::Status AddModule(const HloModule& module);

  // The reports on the passes over the module added last. `explainer` is null
  // if no explanation was asked for. --stats and --time go to `err` at once.
  absl::Status AddReports(const PipelineReport& report,
                          const PassExplainer* explainer, std::ostream& err);

  // Modules go to HloOptOptions::output, reports to standard output, or to
  // `err` where standard output holds the modules; notes go to `err`.
  // To be called once, at the end.
  absl::Status Write(std::ostream& err);

 private:
  HloOptOutput(const HloOptOptions& options, HloOptOptions::Emit emit);

  absl::Status WriteModules();

  const HloOptOptions* options_;
  HloOptOptions::Emit emit_;
  bool print_large_constants_;
  std::vector<std::string> modules_;
  gpu::CudaProgram program_;
  std::string reports_;
  // Constants whose elements the text leaves out without having been asked to.
  int64_t elided_constants_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_HLO_OPT_OUTPUT_H_
