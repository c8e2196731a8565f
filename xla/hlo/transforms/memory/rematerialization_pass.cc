#include "xla/hlo/transforms/memory/rematerialization_pass.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<bool> RematerializationPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  unmet_limit_ = absl::OkStatus();
  if (!module->has_schedule()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rematerialization needs a schedule, which module ",
                     module->name(), " does not have"));
  }
  if (!execution_threads.empty() &&
      !execution_threads.contains(
          module->entry_computation()->execution_thread())) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(
      const int64_t limit_bytes,
      RematerializationLimit(options_, *module, execution_threads));
  TF_ASSIGN_OR_RETURN(
      const RematPlanResult result,
      Rematerialize(options_, limit_bytes, module, execution_threads));
  if (!result.met) {
    unmet_limit_ =
        UnmetLimitError(module->name(), limit_bytes, result.peak_after_bytes,
                        options_.accounting);
  }
  return result.changed;
}

}  // namespace xla
