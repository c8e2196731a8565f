#ifndef XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_
#define XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Where nothing else is said, recomputation is priced for a data-center GPU:
// 67e12 flops, 4e12 transcendentals and 3.35e12 bytes a second.
HloCostAnalysis::Options DefaultRematDevice();

namespace remat_plan {

// What the entry computation costs, loops multiplied by their trip counts.
// Errors: those of HloCostAnalysis.
absl::StatusOr<std::unique_ptr<HloCostAnalysis>> CostOfModule(
    const HloModule& module, HloCostAnalysis::Options device);

// The bytes from which on a value of a scheduled module is worth a rewrite: a
// 2000th of the peak. Errors: those of the peak.
absl::StatusOr<int64_t> WorthwhileBytes(const HloModule& module);

}  // namespace remat_plan
}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_LOOPS_REMAT_DEVICE_H_
