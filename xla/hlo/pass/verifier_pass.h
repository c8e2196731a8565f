#ifndef XLA_HLO_PASS_VERIFIER_PASS_H_
#define XLA_HLO_PASS_VERIFIER_PASS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/shape_verifier.h"  // IWYU pragma: export

namespace xla {

struct HloVerifierPassOptions {
  bool layout_sensitive = false;
  bool allow_mixed_precision = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("layout-sensitive", layout_sensitive, "check layouts, too");
    visit("allow-mixed-precision", allow_mixed_precision,
          "accept operands of different floating-point precision");
  }
};

// The verifier as a pass: changes nothing, fails on the first broken invariant.
//
//   pipeline.AddInvariantChecker<HloVerifier>(/*layout_sensitive=*/false,
//                                             /*allow_mixed_precision=*/true);
class HloVerifier : public HloModulePass {
 public:
  // Without `shape_size`, that of HloVerifierOpts.
  HloVerifier(bool layout_sensitive, bool allow_mixed_precision,
              HloPredicate instruction_can_change_layout = {},
              ShapeSizeFn shape_size = {},
              bool verify_no_collective_deadlocks = false);
  explicit HloVerifier(const HloVerifierPassOptions& options)
      : HloVerifier(options.layout_sensitive, options.allow_mixed_precision) {}
  explicit HloVerifier(HloVerifierOpts options)
      : options_(std::move(options)) {}
  // With the options and rules of a target; `context` goes before errors.
  explicit HloVerifier(std::unique_ptr<TargetVerifierMetadata> target_metadata,
                       absl::string_view context = "");

  absl::string_view name() const override { return "hlo-verifier"; }

  const HloVerifierOpts& options() const { return options_; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloVerifierOpts options_;
  std::unique_ptr<TargetVerifierMetadata> target_;
  std::string context_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_VERIFIER_PASS_H_
