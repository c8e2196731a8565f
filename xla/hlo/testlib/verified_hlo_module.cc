#include "xla/hlo/testlib/verified_hlo_module.h"

#include "gtest/gtest.h"
#include "xla/status_macros.h"

namespace xla {

VerifiedHloModule::VerifiedHloModule(
    const std::string& name, const HloModuleConfig& config,
    bool verifier_layout_sensitive, bool allow_mixed_precision_in_hlo_verifier,
    std::function<int64_t(const Shape&)> shape_size_function,
    HloPredicate instruction_can_change_layout_func)
    : HloModule(name, config) {
  verifier_options_.layout_sensitive = verifier_layout_sensitive;
  verifier_options_.allow_mixed_precision =
      allow_mixed_precision_in_hlo_verifier;
  if (shape_size_function) verifier_options_.shape_size = shape_size_function;
  verifier_options_.instruction_can_change_layout =
      instruction_can_change_layout_func;
}

VerifiedHloModule::~VerifiedHloModule() {
  VerifyOrAddFailure("at the end of the test");
}

absl::Status VerifiedHloModule::ParseHloStringAndVerifyModule(
    absl::string_view str, const HloParserOptions& options) {
  TF_RET_CHECK(computation_count() == 0) << "there is a module here already";
  TF_RETURN_IF_ERROR(HloParser::Create(str, options)->Run(this));
  return Verify();
}

void VerifiedHloModule::VerifyOrAddFailure(absl::string_view message) {
  absl::Status status = Verify();
  if (!status.ok()) {
    ADD_FAILURE() << "the module is broken " << message << ": " << status;
  }
}

absl::Status VerifiedHloModule::Verify() {
  if (computation_count() == 0) return absl::OkStatus();
  return VerifyHloModule(this, verifier_options_);
}

}  // namespace xla
