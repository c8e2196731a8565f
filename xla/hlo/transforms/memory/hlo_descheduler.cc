#include "xla/hlo/transforms/memory/hlo_descheduler.h"

namespace xla {

absl::StatusOr<bool> HloDescheduler::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool had_schedule = module->has_schedule();
  module->clear_schedule();
  return had_schedule;
}

}  // namespace xla
