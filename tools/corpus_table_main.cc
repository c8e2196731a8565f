// corpus-table: one table of many reports of hlo-explain --json.

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/tool_main.h"
#include "xla/hlo/memory/report/report_table.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

ABSL_FLAG(std::string, reports_from, "",
          "File that lists further reports, one per line.");
ABSL_FLAG(std::string, text, "-", "File for the table as text.");
ABSL_FLAG(std::string, csv, "", "File for the table as CSV.");
ABSL_FLAG(std::string, root, "",
          "Text to strip from names, together with everything before it.");

namespace {

// `out/dumps.reports/a/b.hlo.json` → a/b.hlo.
std::string NameOf(absl::string_view path) {
  const std::string root = absl::GetFlag(FLAGS_root);
  const size_t at = root.empty() ? path.npos : path.rfind(root);
  if (at != path.npos) path.remove_prefix(at + root.size());
  return std::string(absl::StripSuffix(path, ".json"));
}

absl::Status Run(std::vector<std::string> paths) {
  if (!absl::GetFlag(FLAGS_reports_from).empty()) {
    TF_ASSIGN_OR_RETURN(
        const std::string list,
        xla::ReadFileOrStdin(absl::GetFlag(FLAGS_reports_from)));
    for (absl::string_view line :
         absl::StrSplit(list, '\n', absl::SkipWhitespace())) {
      paths.emplace_back(line);
    }
  }
  std::vector<xla::NamedReport> reports;
  for (const std::string& path : paths) {
    TF_ASSIGN_OR_RETURN(const std::string json, xla::ReadFileOrStdin(path));
    absl::StatusOr<xla::MemoryReport> report = xla::MemoryReportFromJson(json);
    if (!report.ok()) {
      return absl::Status(report.status().code(),
                          absl::StrCat(path, ": ", report.status().message()));
    }
    reports.push_back({NameOf(path), *std::move(report)});
  }
  if (!absl::GetFlag(FLAGS_csv).empty()) {
    TF_RETURN_IF_ERROR(xla::WriteFileOrStdout(absl::GetFlag(FLAGS_csv),
                                              xla::ReportTableToCsv(reports)));
  }
  return xla::WriteFileOrStdout(absl::GetFlag(FLAGS_text),
                                xla::ReportTableToText(std::move(reports)));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths =
      xla::InitTool(argc, argv,
                    "tabulates reports of hlo-explain --json\n\n"
                    "  corpus-table *.json --csv=table.csv\n");
  if (paths.empty() && absl::GetFlag(FLAGS_reports_from).empty()) {
    std::cerr << "usage: corpus-table REPORT... [flags]; see corpus-table "
                 "--help\n";
    return xla::kFailed;
  }
  return xla::ExitStatus(Run(std::move(paths)));
}
