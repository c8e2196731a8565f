#include "xla/hlo/pass/instrumentation/print_ir.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace xla {
namespace {

bool Matches(absl::string_view pass, const RE2& expression) {
  return RE2::FullMatch(pass, expression) ||
         RE2::FullMatch(absl::StrReplaceAll(pass, {{"-", "_"}}), expression);
}

}  // namespace

PrintIr::PrintIr(const Options& options, Sink sink)
    : options_(options),
      sink_(std::move(sink)),
      before_(options.before, RE2::Quiet),
      after_(options.after, RE2::Quiet) {}

absl::StatusOr<std::unique_ptr<PrintIr>> PrintIr::Create(const Options& options,
                                                         Sink sink) {
  auto result = absl::WrapUnique(new PrintIr(options, std::move(sink)));
  for (const RE2* expression : {&result->before_, &result->after_}) {
    if (!expression->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("not a regular expression: ", expression->pattern(),
                       ": ", expression->error()));
    }
  }
  return result;
}

void PrintIr::Print(absl::string_view when, const PassEvent& event,
                    const HloModule& module) {
  sink_(absl::StrCat("// ===== ", when, " ", event.text, " (pass ", event.index,
                     " of ", event.pipeline, ") =====\n",
                     module.ToString(options_.print_options), "\n"));
}

absl::Status PrintIr::BeforePass(const PassEvent& event,
                                 const HloModule& module) {
  if (!options_.before.empty() && Matches(event.pass_name(), before_)) {
    Print("before", event, module);
  }
  return absl::OkStatus();
}

absl::Status PrintIr::AfterPass(const PassEvent& event, const HloModule& module,
                                const absl::StatusOr<bool>& result) {
  if (!result.ok() || options_.after.empty()) return absl::OkStatus();
  if (options_.only_changed && !*result) return absl::OkStatus();
  // A pipeline's last pass has printed the same module already.
  if (event.pass->IsPassPipeline()) return absl::OkStatus();
  if (Matches(event.pass_name(), after_)) Print("after", event, module);
  return absl::OkStatus();
}

}  // namespace xla
