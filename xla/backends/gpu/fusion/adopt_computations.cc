#include "xla/backends/gpu/fusion/adopt_computations.h"

#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::Status AdoptComputations(HloModule* copy, HloModule* module) {
  std::vector<HloComputation*> replaced;
  for (HloComputation* computation : module->computations()) {
    replaced.push_back(computation);
  }
  // A new entry has none of its own.
  HloInputOutputAliasConfig aliases = module->input_output_alias_config();
  HloBufferDonorConfig donors = module->buffer_donor_config();
  module->clear_schedule();
  module->MoveComputationsFrom(copy);
  module->set_input_output_alias_config(std::move(aliases));
  module->set_buffer_donor_config(std::move(donors));
  for (HloComputation* computation : replaced) {
    TF_RETURN_IF_ERROR(module->RemoveEmbeddedComputation(computation));
  }
  module->CleanupComputations();
  return absl::OkStatus();
}

}  // namespace xla::gpu
