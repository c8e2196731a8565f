#ifndef XLA_HLO_TRANSFORMS_MEMORY_HLO_DESCHEDULER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_HLO_DESCHEDULER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Removes the schedule; returns whether there was one.
//
//   before: HloModule m, is_scheduled=true   after: HloModule m
class HloDescheduler : public HloModulePass {
 public:
  absl::string_view name() const override { return "hlo-descheduler"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_HLO_DESCHEDULER_H_
