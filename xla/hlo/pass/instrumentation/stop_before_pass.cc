#include "xla/hlo/pass/instrumentation/stop_before_pass.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace xla {

absl::Status FailureRecorder::BeforePass(const PassEvent& event,
                                         const HloModule& module) {
  if (event.pass->IsPassPipeline()) return absl::OkStatus();
  index_ = event.index;
  text_ = std::string(event.text);
  return absl::OkStatus();
}

absl::Status StopBeforePass::BeforePass(const PassEvent& event,
                                        const HloModule& module) {
  if (event.index != index_) return absl::OkStatus();
  module_text_ = module.ToString();
  return absl::AbortedError("stopped before a pass, as asked");
}

std::string MakeReproducer(absl::string_view pass_text,
                           const absl::Status& error,
                           absl::string_view module_text,
                           absl::string_view flags) {
  std::string out =
      absl::StrCat("// RUN: hlo-opt %s --passes='", pass_text, "'",
                   flags.empty() ? "" : " ", flags, "\n//\n");
  for (absl::string_view line : absl::StrSplit(error.message(), '\n')) {
    absl::StrAppend(&out, "//   ", line, "\n");
  }
  absl::StrAppend(&out, "\n", module_text);
  if (!module_text.empty() && module_text.back() != '\n') out.push_back('\n');
  return out;
}

}  // namespace xla
