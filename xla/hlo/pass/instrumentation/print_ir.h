#ifndef XLA_HLO_PASS_INSTRUMENTATION_PRINT_IR_H_
#define XLA_HLO_PASS_INSTRUMENTATION_PRINT_IR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Prints the module around passes whose names match a regular expression, each
// print under a comment line that says where it stands:
//
//   // ===== after hlo-dce (pass 3 of cleanup) =====
class PrintIr : public PassInstrumentation {
 public:
  struct Options {
    // Full matches on pass names; empty matches nothing, ".*" everything.
    std::string before;
    std::string after;
    // After a pass print only if it said that it changed the module.
    bool only_changed = false;
    HloPrintOptions print_options = HloPrintOptions::Default();
  };
  using Sink = std::function<void(absl::string_view)>;

  // Errors: InvalidArgument if an expression is none.
  static absl::StatusOr<std::unique_ptr<PrintIr>> Create(const Options& options,
                                                         Sink sink);

  absl::Status BeforePass(const PassEvent& event,
                          const HloModule& module) override;
  absl::Status AfterPass(const PassEvent& event, const HloModule& module,
                         const absl::StatusOr<bool>& result) override;

 private:
  PrintIr(const Options& options, Sink sink);
  void Print(absl::string_view when, const PassEvent& event,
             const HloModule& module);

  Options options_;
  Sink sink_;
  RE2 before_;
  RE2 after_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_PRINT_IR_H_
