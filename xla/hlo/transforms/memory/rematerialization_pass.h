#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/fueled_pass.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/limited_pass.h"
#include "xla/hlo/pass/reporting_pass.h"
#include "xla/hlo/transforms/memory/rematerialize.h"

namespace xla {

// HloRematerialization and PlanRematerialization as a pass with text options.
//
//   before: x = f(a); y = g(x); …; z = h(x)
//   after:  x = f(a); y = g(x); …; x.remat = f(a); z = h(x.remat)
//
// What they do, leave alone and refuse: hlo_rematerialization.h. A run that
// misses the limit leaves the best plan found and returns OK; TakeUnmetLimit()
// returns what is missing.
//
// Its report lists every recomputed value: remat_choices.h.
//
// With fuel it makes only the first clones of its plan, and all of its other
// rewrites: remat_fuel.h.
class RematerializationPass : public HloModulePass,
                              public LimitedPass,
                              public ReportingPass,
                              public FueledPass {
 public:
  explicit RematerializationPass(HloRematerializationOptions options)
      : options_(std::move(options)) {}

  absl::string_view name() const override { return "hlo-rematerialization"; }

  absl::Status TakeUnmetLimit() override {
    return std::exchange(unmet_limit_, absl::OkStatus());
  }

  absl::Status StartReport(const HloModule& before) override;
  absl::StatusOr<PassReport> FinishReport(const HloModule& after) override;

  void SetRewriteFuel(std::shared_ptr<int64_t> fuel) override {
    fuel_ = std::move(fuel);
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloRematerializationOptions options_;
  absl::Status unmet_limit_;
  // The peak before the run, if a report is requested; 0 without a schedule.
  int64_t reported_peak_bytes_ = 0;
  // Null: unlimited.
  std::shared_ptr<int64_t> fuel_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_
