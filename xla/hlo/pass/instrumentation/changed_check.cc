#include "xla/hlo/pass/instrumentation/changed_check.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/pass/module_fingerprint.h"

namespace xla {

absl::Status ChangedCheck::BeforePass(const PassEvent& event,
                                      const HloModule& module) {
  // A new run may be of a module that changed in between; where its first
  // passes are skipped, at least of another one.
  if (event.index == 0) {
    has_last_ = false;
    before_.clear();
  }
  if (!has_last_ || last_module_ != module.unique_id()) {
    last_ = ModuleFingerprint(module);
  }
  has_last_ = true;
  last_module_ = module.unique_id();
  before_.push_back(last_);
  return absl::OkStatus();
}

absl::Status ChangedCheck::AfterPass(const PassEvent& event,
                                     const HloModule& module,
                                     const absl::StatusOr<bool>& result) {
  uint64_t before = before_.back();
  before_.pop_back();
  if (!result.ok()) {
    has_last_ = false;
    return absl::OkStatus();
  }
  last_ = ModuleFingerprint(module);
  bool changed = last_ != before;
  if (changed && !*result) {
    return absl::InternalError(
        absl::StrCat("pass ", event.pass_name(),
                     " changed the module but reported that it did not"));
  }
  if (options_.fail_on_idle_change && !changed && *result) {
    return absl::InternalError(
        absl::StrCat("pass ", event.pass_name(),
                     " reported that it changed the module but did not"));
  }
  return absl::OkStatus();
}

}  // namespace xla
