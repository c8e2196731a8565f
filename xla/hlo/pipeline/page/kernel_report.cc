#include "xla/hlo/pipeline/page/kernel_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/memory/report/layer_groups.h"
#include "xla/report_json.h"

namespace xla {
namespace {

double Share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

// The opcodes that a row has place for, most frequent first as they come.
std::string ShortContents(absl::string_view contents) {
  constexpr size_t kMost = 60;
  if (contents.size() <= kMost) return std::string(contents);
  const size_t end = contents.rfind(", ", kMost - 5);
  if (end == contents.npos) return std::string(contents);
  return absl::StrCat(contents.substr(0, end), ", ...");
}

// "24 x fusion f32[64,128]: 3 add, dot, Model/block_*/mlp, model.py:7".
std::string Kernel(const KernelReport::Row& row) {
  std::string text;
  if (row.count() > 1) absl::StrAppendFormat(&text, "%.0f x ", row.count());
  absl::StrAppend(&text, row.opcode(), " ", row.shape());
  if (!row.contents().empty()) {
    absl::StrAppend(&text, ": ", ShortContents(row.contents()));
  }
  if (!row.layer().empty()) {
    absl::StrAppend(&text, ", ", ShortOpName(row.layer()));
  }
  if (!row.source().empty()) absl::StrAppend(&text, ", ", row.source());
  if (row.count() == 1) absl::StrAppend(&text, " (%", row.name(), ")");
  return text;
}

void AddMeasured(const MeasuredKernel& kernel, double runs,
                 KernelReport::Row& row) {
  row.set_measured_count(row.measured_count() + 1);
  row.set_modelled_microseconds(row.modelled_microseconds() +
                                runs * kernel.modelled_microseconds);
  row.set_measured_microseconds(row.measured_microseconds() +
                                runs * kernel.measured_microseconds);
}

// "    12.3 us  1.43  ", blank where nothing was measured.
std::string MeasuredCells(double measured, double modelled) {
  if (measured == 0) return absl::StrFormat("%9s  %5s  ", "", "");
  return absl::StrFormat("%9s  %5.2f  ", HumanSeconds(1e-6 * measured),
                         measured / modelled);
}

// What all rows have, up to the bytes.
std::string Cells(const KernelReport::Row& row, const KernelReport& report) {
  return absl::StrFormat(
      "  %9s  %s%4.1f%% %7.6g %10s", HumanSeconds(1e-6 * row.microseconds()),
      report.has_measured() ? MeasuredCells(row.measured_microseconds(),
                                            row.modelled_microseconds())
                            : "",
      Share(row.microseconds(), report.microseconds()), row.runs(),
      HumanBytes(row.bytes()));
}

void AddTo(const KernelReport::Row& row, KernelReport::Row& sum) {
  sum.set_microseconds(sum.microseconds() + row.microseconds());
  sum.set_runs(sum.runs() + row.runs());
  sum.set_bytes(sum.bytes() + row.bytes());
  sum.set_modelled_microseconds(sum.modelled_microseconds() +
                                row.modelled_microseconds());
  sum.set_measured_microseconds(sum.measured_microseconds() +
                                row.measured_microseconds());
}

std::string MeasuredLines(const KernelReport& report) {
  const KernelReport::Measured& measured = report.measured();
  std::string out = absl::StrFormat(
      "  measured %.0f of %.0f kernels, %s on %s, %.2f x the model's %s; "
      "median "
      "error %.0f %%, rank correlation %.2f\n",
      measured.count(), report.count(),
      HumanSeconds(1e-6 * measured.measured_microseconds()), measured.device(),
      measured.measured_microseconds() / measured.modelled_microseconds(),
      HumanSeconds(1e-6 * measured.modelled_microseconds()),
      100 * measured.median_error(), measured.rank_correlation());
  if (measured.unknown_size() > 0) {
    absl::StrAppend(&out, "  note: ", measured.unknown_size(), " measured ",
                    measured.unknown_size() == 1 ? "kernel is" : "kernels are",
                    " not in this module, such as ", measured.unknown(0), "\n");
  }
  if (report.has_calibration()) {
    const KernelReport::Calibration& c = report.calibration();
    absl::StrAppendFormat(
        &out,
        "  calibrated %s: %.0f -> %.0f GB/s, %.2f -> %.2f GHz; median error "
        "%.0f %%, rank correlation %.2f\n",
        c.file(), 1e-9 * c.memory_bandwidth_before(),
        1e-9 * c.memory_bandwidth_after(), c.clock_rate_ghz_before(),
        c.clock_rate_ghz_after(), 100 * c.median_error(), c.rank_correlation());
  }
  return out;
}

}  // namespace

KernelReport BuildKernelReport(const MemoryPage& page,
                               const std::vector<MeasuredKernel>& measured) {
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
  auto next_measured = measured.begin();
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
    if (next_measured != measured.end() && next_measured->kernel == i) {
      AddMeasured(*next_measured++, runs, row);
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
  const bool measured = report.has_measured();
  if (measured) absl::StrAppend(&out, MeasuredLines(report));
  absl::StrAppendFormat(
      &out, "  %9s  %s%5s %7s %10s  %-15s %s\n", "time",
      measured ? absl::StrFormat("%9s  %5s  ", "measured", "ratio") : "",
      "share", "runs", "bytes", "roofline", "kernel");
  const int shown = std::min(max_rows, report.rows_size());
  KernelReport::Row rest;
  for (int i = 0; i < report.rows_size(); ++i) {
    const KernelReport::Row& row = report.rows(i);
    if (i >= shown) {
      AddTo(row, rest);
      continue;
    }
    absl::StrAppend(
        &out, Cells(row, report),
        absl::StrFormat("  %3.0f%% %-10s %s\n", 100 * row.roofline(),
                        row.bound(), Kernel(row)));
  }
  if (shown < report.rows_size()) {
    absl::StrAppend(&out, Cells(rest, report),
                    absl::StrFormat("  %-15s the other %d\n", "",
                                    report.rows_size() - shown));
  }
  return out;
}

absl::StatusOr<std::string> KernelReportToJson(const KernelReport& report) {
  return ReportToJson(report);
}

}  // namespace xla
