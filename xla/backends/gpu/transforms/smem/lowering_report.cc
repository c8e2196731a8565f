#include "xla/backends/gpu/transforms/smem/lowering_report.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/report_json.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Row = LoweringReportProto::Row;
using Rows = google::protobuf::RepeatedPtrField<Row>;

std::string OneLine(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "}});
}

void Count(const HloInstruction& kernel, Row& row) {
  row.set_kernels(row.kernels() + 1);
  row.set_bytes(row.bytes() + KernelBytes(kernel));
}

std::string RowsToText(absl::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  std::string text = absl::StrCat(title, ":\n");
  for (const Row& row : rows) {
    absl::StrAppend(
        &text, "  %", row.first(), " (", row.kernels(),
        row.kernels() == 1 ? " kernel): " : " kernels): ", row.why());
    if (row.blocks() > 0) {
      absl::StrAppend(&text, ": ", row.blocks(), " blocks of ", row.threads(),
                      " threads, ", row.shared_bytes(), " B shared, ",
                      row.barriers(), " barriers");
    }
    text += "\n";
  }
  return text;
}

std::string ToText(const LoweringReportProto& report) {
  const double share = report.bytes() > 0
                           ? 100.0 * report.bytes_lowered() / report.bytes()
                           : 100.0;
  std::string text = absl::StrCat(
      report.pass(), ": ", report.module(), ": ", report.kernels_lowered(),
      " of ", report.kernels(), " kernels lowered, ",
      absl::StrFormat("%.1f", share), " % of their bytes");
  if (report.calls() == 1) {
    text += ", beside 1 call of a library";
  } else if (report.calls() > 1) {
    absl::StrAppend(&text, ", beside ", report.calls(), " calls of libraries");
  }
  return absl::StrCat(text, "\n", RowsToText("lowered", report.lowered()),
                      RowsToText("not lowered", report.not_lowered()),
                      RowsToText("calls", report.library_calls()));
}

}  // namespace

void LoweringReport::AddKernel(const HloInstruction& kernel,
                               const KernelPlan& plan) {
  const bool lowered = plan.status.ok();
  Rows& rows =
      lowered ? *report_.mutable_lowered() : *report_.mutable_not_lowered();
  const auto [place, added] = plans_.try_emplace(&plan, rows.size());
  if (added) {
    Row& row = *rows.Add();
    row.set_first(std::string(kernel.name()));
    row.set_why(OneLine(lowered ? plan.why : plan.status.message()));
    if (lowered) {
      row.set_kind(plan.kind);
      row.set_blocks(plan.blocks);
      row.set_threads(plan.threads);
      row.set_shared_bytes(plan.shared_bytes);
      row.set_barriers(plan.barriers);
    }
  }
  Count(kernel, rows[place->second]);
  report_.set_kernels(report_.kernels() + 1);
  report_.set_bytes(report_.bytes() + KernelBytes(kernel));
  if (lowered) {
    report_.set_kernels_lowered(report_.kernels_lowered() + 1);
    report_.set_bytes_lowered(report_.bytes_lowered() + KernelBytes(kernel));
  }
}

void LoweringReport::AddCall(const HloInstruction& kernel,
                             const HloInstruction& call) {
  const std::string target = call.opcode() == HloOpcode::kCustomCall
                                 ? call.custom_call_target()
                                 : std::string(HloOpcodeString(call.opcode()));
  Rows& rows = *report_.mutable_library_calls();
  const auto [place, added] = targets_.try_emplace(target, rows.size());
  if (added) {
    Row& row = *rows.Add();
    row.set_first(std::string(kernel.name()));
    row.set_why(OneLine(target));
  }
  Count(kernel, rows[place->second]);
  report_.set_calls(report_.calls() + 1);
}

absl::StatusOr<PassReport> LoweringReport::Finish(
    absl::string_view pass, absl::string_view module) const {
  LoweringReportProto report = report_;
  report.set_pass(std::string(pass));
  report.set_module(std::string(module));
  PassReport finished;
  finished.text = ToText(report);
  TF_ASSIGN_OR_RETURN(finished.json, ReportToJson(report));
  return finished;
}

}  // namespace xla::gpu
