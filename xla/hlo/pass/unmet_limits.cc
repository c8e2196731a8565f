#include "xla/hlo/pass/unmet_limits.h"

#include <utility>

#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/limited_pass.h"

namespace xla {
namespace {

void TakeFrom(HloPassPipeline& pipeline, std::vector<absl::Status>* unmet) {
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    HloPassInterface& pass = pipeline.GetPass(i);
    if (auto* limited = dynamic_cast<LimitedPass*>(&pass)) {
      absl::Status status = limited->TakeUnmetLimit();
      if (!status.ok()) unmet->push_back(std::move(status));
    }
    if (pass.IsPassPipeline()) {
      TakeFrom(static_cast<HloPassPipeline&>(pass), unmet);
    }
  }
}

}  // namespace

std::vector<absl::Status> TakeUnmetLimits(HloPassPipeline& pipeline) {
  std::vector<absl::Status> unmet;
  TakeFrom(pipeline, &unmet);
  return unmet;
}

}  // namespace xla
