#ifndef XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_
#define XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Unless stated otherwise, recomputation is priced for a data-center GPU: 67e12
// flops, 4e12 transcendentals and 3.35e12 bytes per second.
HloCostAnalysis::Options DefaultRematDevice();

namespace remat_plan {

// What the entry computation costs, loops multiplied by their trip counts.
// Errors: those of HloCostAnalysis.
absl::StatusOr<std::unique_ptr<HloCostAnalysis>> CostOfModule(
    const HloModule& module, HloCostAnalysis::Options device);

// Least bytes of a value for which a rewrite of a scheduled module pays: a
// 2000th of the peak. Errors: those of the peak.
absl::StatusOr<int64_t> WorthwhileBytes(const HloModule& module);

}  // namespace remat_plan
}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_
