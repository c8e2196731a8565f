#include "xla/hlo/pass/partitions_pipeline.h"

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_partitions.h"

namespace xla {

absl::StatusOr<bool> PartitionsPipeline::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!IsToBePartitioned(*module)) return false;
  return HloPassPipeline::RunImpl(module, execution_threads);
}

}  // namespace xla
