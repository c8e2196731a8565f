#include "xla/hlo/pass/instrumentation/progress.h"

#include "absl/strings/str_format.h"

namespace xla {

Progress::~Progress() {
  if (shown_) out_ << "\r\033[K" << std::flush;
}

absl::Status Progress::BeforePass(const PassEvent& event,
                                  const HloModule& module) {
  absl::Duration elapsed = absl::Now() - start_;
  if (elapsed < absl::Seconds(1)) return absl::OkStatus();
  out_ << "\r\033[K"
       << absl::StrFormat("%.0f s  %s: %s", absl::ToDoubleSeconds(elapsed),
                          module.name(), event.text)
       << std::flush;
  shown_ = true;
  return absl::OkStatus();
}

}  // namespace xla
