#ifndef XLA_HLO_PASS_INSTRUMENTATION_DUMP_HLO_H_
#define XLA_HLO_PASS_INSTRUMENTATION_DUMP_HLO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/pass_instrumentation.h"
#include "xla/xla.pb.h"

namespace xla {

// Writes modules into a folder as the xla_dump_* fields of DebugOptions say:
//
//   module_0001.NAME.before_optimizations.txt
//   module_0001.NAME.0000.PIPELINE.after_pipeline-start.before_hlo-cse.txt
//   module_0001.NAME.0001.PIPELINE.after_hlo-cse.before_pipeline-end.txt
//   module_0001.NAME.after_optimizations.txt
//
// Files between passes are written only if xla_dump_hlo_pass_re is found in the
// name of the pass before or after, and only where a pipeline starts or a pass
// changed the module. xla_dump_hlo_module_re picks modules, and
// xla_dump_max_hlo_modules, above 0, is how many of them at most.
//
// Forms: xla_dump_hlo_as_text (.txt; also if none is asked for), _as_long_text,
// _as_proto (.hlo.pb), _as_dot (.dot); xla_dump_module_metadata adds what ran,
// with times. Without xla_dump_to, texts go where xla_dump_to=- sends them: to
// the sink, between lines that name them.
class DumpHlo : public PassInstrumentation {
 public:
  using Sink = std::function<void(absl::string_view)>;

  // Null if the options ask for no files. InvalidArgument, with the flag, if an
  // expression is none or a folder is needed and there is none.
  static absl::StatusOr<std::unique_ptr<DumpHlo>> Create(
      const DebugOptions& options, Sink sink);

  // Around the run of the outermost pipeline, of this name, over a module.
  absl::Status Start(const HloModule& module, absl::string_view pipeline);
  absl::Status Finish(const HloModule& module);
  // No more files until the next Start.
  void Stop() { is_on_ = false; }

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

 private:
  // A state that awaits the name of the next pass of its pipeline.
  struct Pending {
    std::string pipeline;
    std::string after;
  };

  DumpHlo(const DebugOptions& options, Sink sink);
  absl::Status Flush(const HloModule& module, absl::string_view pipeline,
                     absl::string_view next);
  absl::Status Dump(const HloModule& module, absl::string_view state);
  absl::Status Write(const std::string& file, absl::string_view contents);

  DebugOptions options_;
  Sink sink_;
  HloPrintOptions print_options_;
  RE2 modules_;
  RE2 passes_;
  int64_t modules_seen_ = 0;
  int64_t modules_dumped_ = 0;
  int64_t states_ = 0;
  bool is_on_ = false;
  std::string prefix_;
  std::optional<Pending> pending_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_DUMP_HLO_H_
