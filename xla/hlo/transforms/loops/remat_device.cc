#include "xla/hlo/transforms/loops/remat_device.h"

#include <cstdint>
#include <memory>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/status_macros.h"

namespace xla {

HloCostAnalysis::Options DefaultRematDevice() {
  HloCostAnalysis::Options device;
  device.set_flops_per_second(67e12);
  device.set_transcendentals_per_second(4e12);
  device.set_bytes_per_second(3.35e12);
  device.multiply_by_trip_count = true;
  return device;
}

namespace remat_plan {

absl::StatusOr<std::unique_ptr<HloCostAnalysis>> CostOfModule(
    const HloModule& module, HloCostAnalysis::Options device) {
  device.multiply_by_trip_count = true;
  auto cost = std::make_unique<HloCostAnalysis>(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  return cost;
}

absl::StatusOr<int64_t> WorthwhileBytes(const HloModule& module) {
  constexpr int64_t kSmallPeakPart = 2000;
  TF_ASSIGN_OR_RETURN(const RematPeak peak,
                      ComputeRematPeak(module, module.schedule()));
  return peak.bytes / kSmallPeakPart + 1;
}

}  // namespace remat_plan
}  // namespace xla
