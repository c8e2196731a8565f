#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/remat_report.pb.h"
#include "xla/hlo/transforms/memory/rematerialize.h"

namespace xla {

struct HloFitOptions {
  HloFitOptions() { remat.to_host = remat.from_host = 25e9; }

  // The limit, and how to meet it.
  HloRematerializationOptions remat;
  bool json = false;
  // Takes FitModule's report as JSON beside; null: not wanted.
  std::string* json_text = nullptr;
  bool csv = false;
  int max_buffers = 20;
  // Leave wall times out, for reproducible output.
  bool seconds = true;
};

// Rewrites a scheduled module so that it fits, and reports what that took.
// ResourceExhausted, after the report, if it does not fit then.
absl::Status FitModule(const HloFitOptions& options, HloModule* module,
                       std::ostream& out);

// What `points` limits, evenly spaced from the peak down to the lower bound,
// would take. A plan for a lower limit serves a higher one if it is cheaper, so
// that costs never fall with the limit. With options.remat.memory_limit, that
// limit is one of the points, where it is between those two. The module stays
// as it is.
absl::StatusOr<RematCurve> BuildBudgetCurve(const HloFitOptions& options,
                                            int points,
                                            const HloModule& module);

// ResourceExhausted if none of the plans meets the limit that was named.
absl::Status CheckBudgetCurve(const RematCurve& curve);

// As text, or as the options say.
absl::Status PrintBudgetCurve(const HloFitOptions& options,
                              const RematCurve& curve, std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_
