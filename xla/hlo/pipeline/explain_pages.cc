#include "xla/hlo/pipeline/explain_pages.h"

#include <limits>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/pipeline/page/memory_page_builder.h"
#include "xla/hlo/pipeline/page/perfetto_trace.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The report that a page shows, without times.
absl::StatusOr<BuiltMemoryReport> ReportForPage(
    MemoryAccounting accounting, const PreparedModule& prepared,
    std::optional<int64_t> limit_bytes) {
  AliasInfo alias_info;
  MemoryReportOptions report_options;
  report_options.limit_bytes = limit_bytes;
  if (limit_bytes.has_value() && accounting == MemoryAccounting::kAllocated) {
    TF_ASSIGN_OR_RETURN(report_options.allocated_bytes,
                        NeededBytes(accounting, prepared));
  }
  report_options.alias_info = &alias_info;
  report_options.seconds = false;
  return BuildMemoryReport(prepared.schedule, *prepared.alias_analysis,
                           report_options);
}

}  // namespace

absl::StatusOr<int64_t> NeededBytes(MemoryAccounting accounting,
                                    const PreparedModule& prepared) {
  if (accounting != MemoryAccounting::kAllocated) {
    return prepared.schedule.peak_bytes;
  }
  TF_RETURN_IF_ERROR(prepared.module->set_schedule(prepared.schedule.schedule));
  return ScheduledPeakBytes(*prepared.module, MemoryAccounting::kAllocated);
}

bool HasPages(const ExplainPageOptions& options) {
  return !options.html.empty() || !options.perfetto.empty();
}

absl::Status WritePages(const ExplainPageOptions& options,
                        const HloModule& module,
                        const HloAliasAnalysis& alias_analysis,
                        const BuiltMemoryReport& built, const std::string& text,
                        const MemoryPage& more) {
  MemoryPageOptions page_options;
  page_options.device = options.device;
  page_options.mesh = options.mesh;
  if (!options.perfetto.empty()) {
    page_options.max_kernels = std::numeric_limits<int>::max();
    TF_ASSIGN_OR_RETURN(
        const MemoryPage all,
        BuildMemoryPage(module, built, alias_analysis, page_options));
    TF_RETURN_IF_ERROR(
        WriteFileOrStdout(options.perfetto, MemoryPageToPerfetto(all)));
    page_options.max_kernels = MemoryPageOptions().max_kernels;
  }
  if (options.html.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(
      MemoryPage page,
      BuildMemoryPage(module, built, alias_analysis, page_options));
  page.MergeFrom(more);
  TF_ASSIGN_OR_RETURN(const std::string html, MemoryPageToHtml(page, text));
  return WriteFileOrStdout(options.html, html);
}

absl::Status WritePagesOf(const ExplainPageOptions& options,
                          const PreparedModule& prepared,
                          std::optional<int64_t> limit_bytes,
                          const std::string& text, const MemoryPage& more) {
  TF_ASSIGN_OR_RETURN(BuiltMemoryReport built,
                      ReportForPage(options.accounting, prepared, limit_bytes));
  *built.report.mutable_input() = prepared.input;
  return WritePages(options, *prepared.module, *prepared.alias_analysis, built,
                    text, more);
}

absl::StatusOr<MemoryPage::Before> DescribeBefore(
    const PreparedModule& prepared) {
  TF_ASSIGN_OR_RETURN(const BuiltMemoryReport built,
                      ReportForPage(MemoryAccounting::kOurs, prepared,
                                    /*limit_bytes=*/std::nullopt));
  return DescribeBefore(built);
}

absl::Status WriteFittedPages(const ExplainPageOptions& options,
                              const PassRegistry& registry,
                              const MemoryPage& more, int64_t limit_bytes,
                              PreparedModule* fitted) {
  MemoryReport::Input input = std::move(fitted->input);
  TF_ASSIGN_OR_RETURN(*fitted, PrepareModule(std::move(fitted->module),
                                             PrepareOptions(), registry));
  fitted->input = std::move(input);
  return WritePagesOf(options, *fitted, limit_bytes, more.before().plan(),
                      more);
}

}  // namespace xla
