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
  // Receives FitModule's report as JSON; null: not wanted.
  std::string* json_text = nullptr;
  bool csv = false;
  int max_buffers = 20;
  // Include wall times; false makes the output reproducible.
  bool seconds = true;
};

// Rewrites a scheduled module so that it fits, and reports the cost.
// ResourceExhausted, after the report, if it still does not fit.
absl::Status FitModule(const HloFitOptions& options, HloModule* module,
                       std::ostream& out);

// The cost of `points` limits, evenly spaced from the peak down to the lower
// bound; equal ones count once. A plan for a lower limit is used for a higher
// one if it is cheaper, so that costs never fall with the limit.
// options.remat.memory_limit, if set and between those two, is one of the
// points. The module is left unchanged.
absl::StatusOr<RematCurve> BuildBudgetCurve(const HloFitOptions& options,
                                            int points,
                                            const HloModule& module);

// ResourceExhausted if none of the plans meets the limit that was given.
absl::Status CheckBudgetCurve(const HloFitOptions& options,
                              const RematCurve& curve);

// As text, or as the options specify.
absl::Status PrintBudgetCurve(const HloFitOptions& options,
                              const RematCurve& curve, std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_
