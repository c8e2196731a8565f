#include "xla/hlo/pass/instrumentation/check_equivalent.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/status_macros.h"

namespace xla {

void CheckEquivalent::GiveUp(absl::string_view when,
                             const absl::Status& reason) {
  meaning_ = nullptr;
  sharded_ = nullptr;
  is_retried_ = reason.code() == absl::StatusCode::kUnimplemented;
  note_(absl::StrCat("note: equivalence is not checked ", when, ": ",
                     reason.message(), "\n"));
}

absl::StatusOr<std::optional<std::string>> CheckEquivalent::Difference(
    const HloModule& module) {
  if (sharded_ == nullptr) {
    if (!RecordsShardings(module) || RecordsShardings(meaning_->module())) {
      return meaning_->Advance(module);
    }
    TF_ASSIGN_OR_RETURN(
        sharded_,
        ShardedMeaning::Make(meaning_->module(),
                             module.config().num_partitions(), options_));
    meaning_ = nullptr;
  }
  return sharded_->DifferenceFrom(module);
}

absl::Status CheckEquivalent::BeforePass(const PassEvent& event,
                                         const HloModule& module) {
  if (module.unique_id() == module_id_) return absl::OkStatus();
  module_id_ = module.unique_id();
  meaning_ = nullptr;
  sharded_ = nullptr;
  absl::StatusOr<std::unique_ptr<ModuleMeaning>> meaning =
      ModuleMeaning::Make(module, options_);
  if (meaning.ok()) {
    meaning_ = *std::move(meaning);
  } else {
    GiveUp(absl::StrCat("for ", module.name()), meaning.status());
  }
  return absl::OkStatus();
}

absl::Status CheckEquivalent::AfterPass(const PassEvent& event,
                                        const HloModule& module,
                                        const absl::StatusOr<bool>& result) {
  if (event.pass->IsPassPipeline() || !result.ok() || !*result) {
    return absl::OkStatus();
  }
  if (meaning_ == nullptr && sharded_ == nullptr) {
    if (!is_retried_) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<ModuleMeaning>> meaning =
        ModuleMeaning::Make(module, options_);
    if (!meaning.ok()) return absl::OkStatus();
    meaning_ = *std::move(meaning);
    note_(absl::StrCat("note: equivalence is checked from pass ",
                       event.pass_name(), " on\n"));
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<std::string>> difference = Difference(module);
  if (!difference.ok()) {
    // The module before could be evaluated: a deadlock and a loop that does not
    // end are changes of meaning; other shapes, unknown opcodes and more memory
    // are not.
    const absl::StatusCode code = difference.status().code();
    if (code == absl::StatusCode::kUnimplemented ||
        code == absl::StatusCode::kResourceExhausted) {
      GiveUp(absl::StrCat("from pass ", event.pass_name(), " on"),
             difference.status());
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("pass ", event.pass_name(),
                     " produced a module that cannot be evaluated: ",
                     difference.status().message()));
  }
  if (!difference->has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("pass ", event.pass_name(),
                   " changed the meaning of the module: ", **difference));
}

}  // namespace xla
