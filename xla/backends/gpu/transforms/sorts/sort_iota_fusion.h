#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SORTS_SORT_IOTA_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SORTS_SORT_IOTA_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Lets sorts generate the positions that they sort along.
//
//   before: i = s32[8,64] broadcast(s32[64] iota()), dimensions={1}
//           sort(k, i), dimensions={1}
//   after:  fusion(k), kind=kCustom { sort(k, s32[8,64] iota()) }
//
// An argsort then neither writes nor reads the positions beforehand: the kernel
// that loads the keys generates them. Legal because an iota depends on nothing;
// it stays for its other readers. Fuses positions along the sorted dimension,
// as values of a sort and not as its keys. Leaves alone: sorts with control
// dependencies, and those inside of fusions. O(instructions).
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
