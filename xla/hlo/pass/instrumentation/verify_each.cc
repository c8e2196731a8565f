#include "xla/hlo/pass/instrumentation/verify_each.h"

#include "absl/strings/str_cat.h"

namespace xla {

absl::Status VerifyEach::AfterPass(const PassEvent& event,
                                   const HloModule& module,
                                   const absl::StatusOr<bool>& result) {
  if (!result.ok() || !*result) return absl::OkStatus();
  absl::Status status = VerifyHloModule(&module, options_);
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat(status.message(), "\n  after pass ",
                                          event.text, " of ", event.pipeline));
}

}  // namespace xla
