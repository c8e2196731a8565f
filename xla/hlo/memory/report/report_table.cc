#include "xla/hlo/memory/report/report_table.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/util/json_util.h"
#include "xla/hlo/analysis/byte_size.h"

namespace xla {
namespace {

std::string Fits(const MemoryReport& report) {
  return !report.has_fits() ? "" : report.fits() ? "yes" : "no";
}

// A field of CSV: in quotes where it has to be.
std::string Field(absl::string_view text) {
  if (text.find_first_of(",\"\n") == text.npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

absl::StatusOr<MemoryReport> MemoryReportFromJson(absl::string_view json) {
  MemoryReport report;
  const auto status =
      google::protobuf::util::JsonStringToMessage(std::string(json), &report);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no report of hlo-explain --json: ", status.ToString()));
  }
  return report;
}

std::string ReportTableToText(std::vector<NamedReport> reports) {
  std::stable_sort(
      reports.begin(), reports.end(),
      [](const NamedReport& a, const NamedReport& b) {
        const bool x = a.report.error().empty();
        const bool y = b.report.error().empty();
        return x != y ? x : a.report.peak_bytes() > b.report.peak_bytes();
      });
  std::string out =
      absl::StrFormat("  %11s  %11s  %12s  %4s  %s\n", "peak", "temporaries",
                      "instructions", "fits", "module");
  std::string errors;
  int failed = 0;
  for (const auto& [name, report] : reports) {
    if (!report.error().empty()) {
      ++failed;
      absl::StrAppend(&errors, name, ": ", report.error(), "\n");
      continue;
    }
    absl::StrAppendFormat(&out, "  %11s  %11s  %12.0f  %4s  %s\n",
                          HumanBytes(report.peak_bytes()),
                          HumanBytes(report.temp_bytes()),
                          report.instruction_count(), Fits(report), name);
  }
  absl::StrAppend(&out, reports.size(), " modules");
  if (failed > 0) absl::StrAppend(&out, ", ", failed, " without a report");
  absl::StrAppend(&out, "\n", errors);
  return out;
}

std::string ReportTableToCsv(const std::vector<NamedReport>& reports) {
  std::string out =
      "module,name,instructions,peak_bytes,heap_bytes,argument_bytes,"
      "output_bytes,temp_bytes,any_order_lower_bound_bytes,limit_bytes,fits,"
      "looked_at,error\n";
  for (const auto& [name, report] : reports) {
    if (!report.error().empty()) {
      absl::StrAppend(&out, Field(name), ",,,,,,,,,,,,", Field(report.error()),
                      "\n");
      continue;
    }
    absl::StrAppendFormat(
        &out, "%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%s,%s,%s,\n",
        Field(name), Field(report.module()), report.instruction_count(),
        report.peak_bytes(), report.heap_bytes(), report.argument_bytes(),
        report.output_bytes(), report.temp_bytes(),
        report.any_order_lower_bound_bytes(),
        report.has_limit_bytes() ? absl::StrFormat("%.0f", report.limit_bytes())
                                 : "",
        Fits(report), Field(report.input().description()));
  }
  return out;
}

}  // namespace xla
