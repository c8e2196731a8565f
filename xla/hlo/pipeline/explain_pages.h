#ifndef XLA_HLO_PIPELINE_EXPLAIN_PAGES_H_
#define XLA_HLO_PIPELINE_EXPLAIN_PAGES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/memory/report/memory_report_builder.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/page/memory_page.h"
#include "xla/hlo/pipeline/prepared_module.h"

namespace xla {

// The files to look at that hlo-explain writes beside its report.
struct ExplainPageOptions {
  // Where they go: a page of HTML and a trace. "": nowhere, "-": standard
  // output.
  std::string html;
  std::string perfetto;
  // What the times of kernels and collectives are of (memory_page_builder.h).
  std::string device;
  std::string mesh;
  // What is compared with limits; upstream's way is that of plans only.
  MemoryAccounting accounting = MemoryAccounting::kOurs;
};

// The bytes that limits are compared with, and shares are of: the peak, or what
// is allocated. Gives the module its schedule then.
absl::StatusOr<int64_t> NeededBytes(MemoryAccounting accounting,
                                    const PreparedModule& prepared);

bool HasPages(const ExplainPageOptions& options);

// Writes the page and the trace, each where it is asked for. `text` is the
// report for readers without scripts; `more` has what the page shows beside the
// module: what it was before, what limits cost.
absl::Status WritePages(const ExplainPageOptions& options,
                        const HloModule& module,
                        const HloAliasAnalysis& alias_analysis,
                        const BuiltMemoryReport& built, const std::string& text,
                        const MemoryPage& more);

// The same of a module without a report so far; the limit is drawn.
absl::Status WritePagesOf(const ExplainPageOptions& options,
                          const PreparedModule& prepared,
                          std::optional<int64_t> limit_bytes,
                          const std::string& text, const MemoryPage& more);

// The page's data on the module before it is rewritten: its peak and the curve
// of live bytes, as at most 2,000 figures.
absl::StatusOr<MemoryPage::Before> DescribeBefore(
    const PreparedModule& prepared);

// The pages of a module that was made to fit, with `more.before()` of what it
// was. Analyzes `fitted` anew.
absl::Status WriteFittedPages(const ExplainPageOptions& options,
                              const PassRegistry& registry,
                              const MemoryPage& more, int64_t limit_bytes,
                              PreparedModule* fitted);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_EXPLAIN_PAGES_H_
