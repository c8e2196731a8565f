#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"

namespace xla::verifier {

absl::Status CheckSchedule(const HloModule& module) {
  if (!module.has_schedule()) return absl::OkStatus();
  absl::Status status = module.schedule().Verify();
  if (status.ok()) return status;
  return Broken(Invariant::V174, module, status.message());
}

}  // namespace xla::verifier
