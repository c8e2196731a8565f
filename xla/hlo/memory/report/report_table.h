#ifndef XLA_HLO_MEMORY_REPORT_REPORT_TABLE_H_
#define XLA_HLO_MEMORY_REPORT_REPORT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/report/memory_report.pb.h"

namespace xla {

// The reports of many modules, a row each.
struct NamedReport {
  std::string name;
  MemoryReport report;
};

// Reads what MemoryReportToJson() wrote. InvalidArgument for anything else.
absl::StatusOr<MemoryReport> MemoryReportFromJson(absl::string_view json);

// Highest peak first; modules without a report at the end, with the reason:
//
//         peak  temporaries  instructions  fits  module
//      1.8 MiB    824.0 KiB           982   yes  transformer_train.hlo
//   2 modules, 1 without a report
//   bad.hlo: bad.hlo:1:1: error: …
std::string ReportTableToText(std::vector<NamedReport> reports);

// One line a module, in the given order, below a line of names; bytes are
// whole numbers; fields absent from a report are empty.
std::string ReportTableToCsv(const std::vector<NamedReport>& reports);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_REPORT_TABLE_H_
