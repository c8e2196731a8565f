#include "xla/hlo/verifier/verifier_fuzz_target.h"

#include <memory>
#include <string>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

absl::Status Verify(const HloModule& module, const HloVerifierOpts& opts) {
  absl::Status status = VerifyHloModule(&module, opts);
  CHECK(status.ok() || absl::StartsWith(status.message(), "[V")) << status;
  return status;
}

HloVerifierOpts Mixed() {
  HloVerifierOpts opts;
  opts.allow_mixed_precision = true;
  return opts;
}

// As all of these are, the module is to be, too.
void CheckIsGood(const HloModule& module, const std::string& text) {
  CHECK_EQ(module.ToString(), text);
  const absl::Status status = Verify(module, Mixed());
  CHECK(status.ok()) << status << "\n" << text;
}

}  // namespace

bool VerifiesAndRoundTrips(absl::string_view text) {
  HloParserOptions options;
  options.set_max_recursion_depth(200);
  const auto module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options);
  if (!module.ok()) return false;
  HloVerifierOpts strict;
  strict.layout_sensitive = true;
  strict.verify_call_nested_computation_thread_name = true;
  strict.verify_no_collective_deadlocks = true;
  Verify(**module, strict).IgnoreError();
  if (!Verify(**module, Mixed()).ok()) return false;
  const std::string once = (*module)->ToString();
  const auto again = ParseAndReturnUnverifiedModule(once);
  CHECK(again.ok()) << again.status().message() << "\n" << once;
  CheckIsGood(**again, once);
  // Protos write channel 0 for none.
  if (absl::StrContains(once, "channel_id=0")) return true;
  const auto from_proto =
      HloModule::CreateFromProto((*module)->ToProto(), (*module)->config());
  CHECK(from_proto.ok()) << from_proto.status() << "\n" << once;
  CheckIsGood(**from_proto, once);
  return true;
}

}  // namespace xla
