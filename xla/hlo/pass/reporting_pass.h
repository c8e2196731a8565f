#ifndef XLA_HLO_PASS_REPORTING_PASS_H_
#define XLA_HLO_PASS_REPORTING_PASS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// A pass's report on one of its runs.
struct PassReport {
  std::string text;
  // One JSON object, with the member "pass".
  std::string json;
};

// A pass that can say what it did and why. Found among passes by dynamic_cast;
// nothing is recorded of runs that were not asked for.
//
//   StartReport(*module); Run(module); FinishReport(*module)
class ReportingPass {
 public:
  virtual ~ReportingPass() = default;
  virtual absl::Status StartReport(const HloModule& before) = 0;
  // After a run that succeeded.
  virtual absl::StatusOr<PassReport> FinishReport(const HloModule& after) = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_REPORTING_PASS_H_
