#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SORTS_SORT_IOTA_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SORTS_SORT_IOTA_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Lets sorts count the positions that they sort themselves.
//
//   before: i = s32[8,64] broadcast(s32[64] iota()), dimensions={1}
//           sort(k, i), dimensions={1}
//   after:  fusion(k), kind=kCustom { sort(k, s32[8,64] iota()) }
//
// An argsort then neither writes nor reads the positions in front of it: the
// kernel that loads the keys makes them. Legal because an iota depends on
// nothing; it stays for whoever else reads it. Fused are positions along the
// dimension that is sorted, as values of a sort and not as its keys. Leaves
// alone: sorts with control dependencies, and those in fusions.
// O(instructions).
class SortIotaFusion : public HloModulePass {
 public:
  absl::string_view name() const override { return "sort-iota-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SORTS_SORT_IOTA_FUSION_H_
