#include "xla/hlo/pass/verifier_pass.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace xla {

HloVerifier::HloVerifier(bool layout_sensitive, bool allow_mixed_precision,
                         HloPredicate instruction_can_change_layout,
                         ShapeSizeFn shape_size,
                         bool verify_no_collective_deadlocks)
    : options_(
          HloVerifierOpts()
              .WithLayoutSensitive(layout_sensitive)
              .WithAllowMixedPrecision(allow_mixed_precision)
              .WithInstructionCanChangeLayout(instruction_can_change_layout)
              .WithVerifyNoCollectiveDeadlocks(
                  verify_no_collective_deadlocks)) {
  if (shape_size) options_.shape_size = std::move(shape_size);
}

HloVerifier::HloVerifier(
    std::unique_ptr<TargetVerifierMetadata> target_metadata,
    absl::string_view context)
    : options_(target_metadata->GetVerifierOpts()),
      target_(std::move(target_metadata)),
      context_(context) {}

absl::StatusOr<bool> HloVerifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const absl::Status status =
      target_ != nullptr
          ? VerifyHloModuleForTarget(module, *target_, execution_threads)
          : VerifyHloModule(module, options_, execution_threads);
  if (status.ok()) return false;
  if (context_.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(context_, ": ", status.message()));
}

}  // namespace xla
