#ifndef XLA_HLO_PASS_CHECK_SCHEDULED_H_
#define XLA_HLO_PASS_CHECK_SCHEDULED_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// FailedPrecondition unless the module has a schedule, which `what` needs; it
// names the pass that makes one.
absl::Status CheckScheduled(absl::string_view what, const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_PASS_CHECK_SCHEDULED_H_
