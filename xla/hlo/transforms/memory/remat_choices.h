#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_CHOICES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_CHOICES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/remat_report.pb.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"
#include "xla/shape.h"

namespace xla {

// The clones of a scheduled module that rematerialization has marked, in the
// order of computations and schedules.
//
//   a = f(p); b = g(a); …; y = k(x); a.remat = f(p); r = h(a.remat, y)
//   → a: from b to a.remat, again from p for r
//
// Clones whose originals are gone count as freed from the start of the
// computation. Linear in the module; errors of the cost analysis. The caller
// fills in peaks and names of pass and module.
absl::StatusOr<RematChoices> FindRematChoices(
    const HloModule& module, const HloCostAnalysis::Options& device,
    absl::FunctionRef<int64_t(const Shape&)> bytes);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_CHOICES_H_
