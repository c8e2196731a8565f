#include "xla/hlo/pipeline/page/kernel_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/report_json.h"

namespace xla {
namespace {

double Share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

// "24 x fusion f32[64,128]: 3 add, dot, Model/block_*/mlp, model.py:7".
std::string Kernel(const KernelReport::Row& row) {
  std::string text;
  if (row.count() > 1) absl::StrAppendFormat(&text, "%.0f x ", row.count());
  absl::StrAppend(&text, row.opcode(), " ", row.shape());
  if (!row.contents().empty()) absl::StrAppend(&text, ": ", row.contents());
  if (!row.layer().empty()) absl::StrAppend(&text, ", ", row.layer());
  if (!row.source().empty()) absl::StrAppend(&text, ", ", row.source());
  if (row.count() == 1) absl::StrAppend(&text, " (%", row.name(), ")");
  return text;
}

}  // namespace

KernelReport BuildKernelReport(const MemoryPage& page) {
  const MemoryPage::Kernels& kernels = page.kernels();
  const MemoryPage::Instructions& instructions = page.instructions();
  KernelReport report;
  report.set_module(page.memory().module());
  report.set_device(kernels.device());
  report.set_count(kernels.total_count());
  report.set_runs(kernels.total_runs());
  report.set_bytes(kernels.total_bytes());
  report.set_microseconds(kernels.total_microseconds());

  // Opcode, contents, shape and layer, as names of the page.
  using Key = std::tuple<int, int, int, int>;
  std::map<Key, int> row_of;
  std::vector<KernelReport::Row> rows;
  for (int i = 0; i < kernels.instruction_size(); ++i) {
    const int inst = kernels.instruction(i);
    const Key key(instructions.opcode(inst), kernels.contents(i),
                  kernels.shape(i), instructions.layer(inst));
    const auto [it, is_new] = row_of.emplace(key, rows.size());
    if (is_new) {
      KernelReport::Row row;
      row.set_name(instructions.name(inst));
      row.set_opcode(page.strings(instructions.opcode(inst)));
      row.set_contents(page.strings(kernels.contents(i)));
      row.set_shape(page.strings(kernels.shape(i)));
      row.set_layer(page.strings(instructions.layer(inst)));
      row.set_source(page.strings(instructions.source(inst)));
      row.set_bound(page.strings(kernels.bound(i)));
      rows.push_back(std::move(row));
    }
    KernelReport::Row& row = rows[it->second];
    const double runs = kernels.runs(i);
    const double microseconds = runs * kernels.microseconds(i);
    const double before = row.roofline() * row.microseconds();
    row.set_count(row.count() + 1);
    row.set_runs(row.runs() + runs);
    row.set_flops(row.flops() + runs * kernels.flops(i));
    row.set_bytes(row.bytes() + runs * kernels.bytes(i));
    row.set_microseconds(row.microseconds() + microseconds);
    if (row.microseconds() > 0) {
      row.set_roofline((before + kernels.roofline(i) * microseconds) /
                       row.microseconds());
    }
  }
  absl::c_stable_sort(rows, [](const auto& a, const auto& b) {
    return a.microseconds() > b.microseconds();
  });
  for (KernelReport::Row& row : rows) *report.add_rows() = std::move(row);
  return report;
}

std::string KernelReportToText(const KernelReport& report, int max_rows) {
  std::string out = absl::StrFormat(
      "%s: %.0f kernels, %.6g runs, %s read and written, %s on %s\n",
      report.module(), report.count(), report.runs(),
      HumanBytes(report.bytes()), HumanSeconds(1e-6 * report.microseconds()),
      report.device());
  if (!report.note().empty()) {
    absl::StrAppend(&out, "  note: ", report.note(), "\n");
  }
  absl::StrAppendFormat(&out, "  %9s  %5s %7s %10s  %-15s %s\n", "time",
                        "share", "runs", "bytes", "roofline", "kernel");
  const int shown = std::min(max_rows, report.rows_size());
  double rest_microseconds = 0, rest_runs = 0, rest_bytes = 0;
  for (int i = 0; i < report.rows_size(); ++i) {
    const KernelReport::Row& row = report.rows(i);
    if (i >= shown) {
      rest_microseconds += row.microseconds();
      rest_runs += row.runs();
      rest_bytes += row.bytes();
      continue;
    }
    absl::StrAppendFormat(&out, "  %9s  %4.1f%% %7.6g %10s  %3.0f%% %-10s %s\n",
                          HumanSeconds(1e-6 * row.microseconds()),
                          Share(row.microseconds(), report.microseconds()),
                          row.runs(), HumanBytes(row.bytes()),
                          100 * row.roofline(), row.bound(), Kernel(row));
  }
  if (shown < report.rows_size()) {
    absl::StrAppendFormat(
        &out, "  %9s  %4.1f%% %7.6g %10s  %-15s the other %d\n",
        HumanSeconds(1e-6 * rest_microseconds),
        Share(rest_microseconds, report.microseconds()), rest_runs,
        HumanBytes(rest_bytes), "", report.rows_size() - shown);
  }
  return out;
}

absl::StatusOr<std::string> KernelReportToJson(const KernelReport& report) {
  return ReportToJson(report);
}

}  // namespace xla
