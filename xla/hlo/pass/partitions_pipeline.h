#ifndef XLA_HLO_PASS_PARTITIONS_PIPELINE_H_
#define XLA_HLO_PASS_PARTITIONS_PIPELINE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"

namespace xla {

// Passes on the way from the module of several devices to that of one; they run
// on modules that
//
//   - count several partitions,
//   - say how something is cut (a sharding, or a mesh of Shardy), and
//   - were not partitioned before,
//
// and are skipped on others. Asked once, before the first pass.
class PartitionsPipeline : public HloPassPipeline {
 public:
  using HloPassPipeline::HloPassPipeline;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_PARTITIONS_PIPELINE_H_
