#ifndef XLA_HLO_PASS_UNMET_LIMITS_H_
#define XLA_HLO_PASS_UNMET_LIMITS_H_

#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"

namespace xla {

// What the passes of a pipeline, nested ones included, say of limits that their
// last run missed, in order; each is ResourceExhausted (limited_pass.h). A
// second call finds nothing.
std::vector<absl::Status> TakeUnmetLimits(HloPassPipeline& pipeline);

}  // namespace xla

#endif  // XLA_HLO_PASS_UNMET_LIMITS_H_
