#include "xla/hlo/pass/check_scheduled.h"

#include "absl/strings/str_cat.h"

namespace xla {

absl::Status CheckScheduled(absl::string_view what, const HloModule& module) {
  if (module.has_schedule()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " needs a schedule, which module ", module.name(),
                   " does not have; hlo-memory-scheduler before it makes one"));
}

}  // namespace xla
