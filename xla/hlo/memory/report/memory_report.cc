#include "xla/hlo/memory/report/memory_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/memory/limit/distinct_bytes.h"
#include "xla/hlo/memory/report/layer_groups.h"
#include "xla/report_json.h"

namespace xla {
namespace {

// "12.0 GiB at the peak: does not fit in 8.0 GiB, 4.0 GiB too much".
std::string Answer(const MemoryReport& report) {
  if (!report.has_limit_bytes()) {
    const std::string allocated =
        report.has_allocated_bytes()
            ? absl::StrCat(HumanBytes(report.allocated_bytes()), " allocated, ")
            : "";
    return absl::StrCat(report.module(), ": ", allocated,
                        HumanBytes(report.peak_bytes()), " at the peak\n");
  }
  const double limit = report.limit_bytes();
  const bool allocated = report.has_allocated_bytes();
  const double need = allocated
                          ? report.allocated_bytes()
                          : std::max(report.peak_bytes(), report.heap_bytes());
  const double shown = allocated ? need : report.peak_bytes();
  const auto [peak_text, limit_text] =
      DistinctBytes(shown, limit, /*to_the_byte=*/!report.fits());
  std::string out = absl::StrCat(
      report.module(), ": ", peak_text,
      allocated ? " allocated" : " at the peak",
      report.fits() ? ": fits in " : ": does not fit in ", limit_text,
      GivenAs(report.limit_given()), ", ",
      shown == need
          ? BytesBetween(peak_text, limit_text, std::abs(limit - need))
          : HumanBytes(std::abs(limit - need)),
      report.fits() ? " to spare" : " too much");
  if (report.has_accounting()) {
    absl::StrAppend(&out, " (accounting: ", report.accounting(), ")");
  }
  absl::StrAppend(&out, "\n");
  if (!report.limit_origin().empty()) {
    absl::StrAppend(&out, "  the limit is that of ", report.limit_origin(),
                    "\n");
  }
  if (report.fits()) return out;
  if (report.any_order_lower_bound_bytes() > limit) {
    absl::StrAppend(
        &out,
        "  No order of these instructions fits: every order needs at least ",
        HumanBytes(report.any_order_lower_bound_bytes()), ".\n");
  } else {
    absl::StrAppend(&out, "  The lower bound for any order is ",
                    HumanBytes(report.any_order_lower_bound_bytes()), ".\n");
  }
  // Plans are for the module as it is read, unless --as compiles it first.
  const MemoryReport::Input& input = report.input();
  const bool one_of_them =
      input.passes() == "gpu" && input.devices() > 1 && !input.partitioned();
  absl::StrAppend(&out, one_of_them ? "  --as=gpu --fit" : "  --fit",
                  " looks for values to recompute so that it fits; "
                  "--budget-curve shows what each limit costs.\n");
  return out;
}

// "  input: optimized, scheduled".
std::string InputLine(const MemoryReport::Input& input) {
  if (input.description().empty()) return "";
  std::string text = absl::StrCat("  input: ", input.description());
  if (!input.file().empty()) {
    absl::StrAppend(&text, ": ", input.file(), " (others: --list)");
  }
  if (!input.passes().empty()) {
    absl::StrAppend(&text, "; passes run: ", input.passes());
  }
  return absl::StrCat(text, "\n");
}

// The order that the figures are of. "as-is" is what the flag says, and does
// not tell whose order that is.
std::string ScheduleName(const MemoryReport& report) {
  if (report.schedule_algorithm() != "as-is") {
    return report.schedule_algorithm();
  }
  return report.input().passes().empty() ? "as given" : "by passes";
}

std::string Summary(const MemoryReport& report) {
  std::string out;
  if (!report.peak_instruction().empty()) {
    absl::StrAppend(&out, "  at %", report.peak_instruction(), " (",
                    report.peak_opcode(), ") in %", report.peak_computation());
    const std::string place =
        PlaceText(report.peak_op_name(), report.peak_source());
    if (!place.empty()) absl::StrAppend(&out, ", ", place);
    absl::StrAppend(&out, "\n");
  }
  absl::StrAppend(&out, InputLine(report.input()));
  const ByteUnit unit(report.peak_bytes());
  const std::vector<std::string> parts =
      PartsOfSum(unit, report.peak_bytes(),
                 {report.peak_argument_bytes(), report.peak_output_bytes(),
                  report.temp_bytes()});
  // Where all is live at the peak, both texts are the same.
  const auto whole = [&](double bytes, double at_peak, int part) {
    return bytes == at_peak ? parts[part] : unit(bytes);
  };
  absl::StrAppendFormat(
      &out, "\n  arguments   %10s   at the peak, of %s\n", parts[0],
      whole(report.argument_bytes(), report.peak_argument_bytes(), 0));
  absl::StrAppendFormat(
      &out,
      "  outputs     %10s   at the peak, of %s with %s in arguments' memory\n",
      parts[1], whole(report.output_bytes(), report.peak_output_bytes(), 1),
      unit(report.aliased_bytes()));
  absl::StrAppendFormat(&out, "  temporaries %10s   at the peak\n", parts[2]);
  absl::StrAppendFormat(&out, "  peak        %10s   the sum of these\n",
                        unit(report.peak_bytes()));
  absl::StrAppendFormat(&out, "  constants   %10s   not in the peak\n",
                        HumanBytes(report.constant_bytes()));
  absl::StrAppendFormat(
      &out,
      "  heap        %10s   with offsets: %.2f %% above the %s of this "
      "order\n",
      unit(report.heap_bytes()), 100 * report.fragmentation(),
      unit(report.lower_bound_bytes()));
  absl::StrAppendFormat(&out, "  any order   %10s   at least\n",
                        unit(report.any_order_lower_bound_bytes()));
  absl::StrAppendFormat(&out, "  schedule    %10s   %.0f instructions",
                        ScheduleName(report), report.instruction_count());
  if (!report.schedule_winner().empty() &&
      report.schedule_winner() != report.schedule_algorithm()) {
    absl::StrAppend(&out, ", order by ", report.schedule_winner());
  }
  if (report.has_schedule_seconds()) {
    absl::StrAppendFormat(&out, ", %.2f s", report.schedule_seconds());
  }
  absl::StrAppend(&out, "\n");
  return out;
}

std::string Shorten(absl::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  return absl::StrCat(text.substr(0, width - 3), "...");
}

using BufferGroup = LayerGroup<MemoryReport::Buffer>;

std::vector<BufferGroup> GroupsAtPeak(const MemoryReport& report) {
  return GroupByLayer<MemoryReport::Buffer>(
      report.live_at_peak(),
      [](const MemoryReport::Buffer& buffer) { return buffer.kind(); });
}

// "%dot.3{1}" of one buffer, "24 x 2.0 MiB" of several.
std::string Members(const BufferGroup& group) {
  const std::string& index = group.first->shape_index();
  return absl::StrCat(group.Members(),
                      group.count > 1 || index == "{}" ? "" : index);
}

std::string LiveTable(const MemoryReport& report, int max_groups) {
  if (report.live_at_peak().empty()) return "";
  const std::vector<BufferGroup> groups = GroupsAtPeak(report);
  std::string out = absl::StrCat(
      "\nlive at the peak: ", report.live_at_peak_size(), " buffers");
  if (groups.size() < static_cast<size_t>(report.live_at_peak_size())) {
    absl::StrAppend(&out, " in ", groups.size(), " groups of equal layers");
  }
  absl::StrAppend(&out, ", largest first\n");
  absl::StrAppendFormat(&out, "  %10s %6s  %-15s %-28s %-30s %s\n", "bytes",
                        "share", "kind", "instruction", "shape", "made by");
  double rest = 0;
  int rest_count = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const BufferGroup& group = groups[i];
    const MemoryReport::Buffer& buffer = *group.first;
    if (i >= static_cast<size_t>(max_groups)) {
      rest += group.bytes;
      rest_count += group.count;
      continue;
    }
    std::string line = absl::StrFormat(
        "  %10s %5.1f%%  %-15s %-28s %-30s %s", HumanBytes(group.bytes),
        100 * group.bytes / std::max(report.peak_bytes(), 1.0), buffer.kind(),
        Shorten(Members(group), 28), Shorten(buffer.shape(), 30),
        PlaceOf(group));
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  if (rest_count > 0) {
    absl::StrAppendFormat(
        &out, "  %10s %5.1f%%  the other %d\n", HumanBytes(rest),
        100 * rest / std::max(report.peak_bytes(), 1.0), rest_count);
  }
  return out;
}

// Sums over buffers of one kind and shape, where not all buffers are listed.
std::string ShapeTable(const MemoryReport& report, int max_buffers) {
  if (GroupsAtPeak(report).size() <= static_cast<size_t>(max_buffers)) {
    return "";
  }
  struct Sum {
    std::string kind;
    std::string shape;
    int count = 0;
    double bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> by_shape;
  for (const MemoryReport::Buffer& buffer : report.live_at_peak()) {
    Sum& sum = by_shape[{buffer.kind(), buffer.shape()}];
    sum.kind = buffer.kind();
    sum.shape = buffer.shape();
    ++sum.count;
    sum.bytes += buffer.bytes();
  }
  std::vector<Sum> largest;
  for (const auto& [key, sum] : by_shape) largest.push_back(sum);
  std::stable_sort(
      largest.begin(), largest.end(),
      [](const Sum& a, const Sum& b) { return a.bytes > b.bytes; });
  constexpr size_t kMost = 6;
  const double peak_percent = 100 / std::max(report.peak_bytes(), 1.0);
  std::string out = "\nall of them, by shape\n";
  Sum rest;
  for (size_t i = 0; i < largest.size(); ++i) {
    const Sum& sum = largest[i];
    if (i >= kMost) {
      rest.bytes += sum.bytes;
      rest.count += sum.count;
      continue;
    }
    absl::StrAppendFormat(&out, "  %10s %5.1f%%  %-15s %4d x %s\n",
                          HumanBytes(sum.bytes), peak_percent * sum.bytes,
                          sum.kind, sum.count, Shorten(sum.shape, 60));
  }
  if (rest.count > 0) {
    absl::StrAppendFormat(&out, "  %10s %5.1f%%  the other %d\n",
                          HumanBytes(rest.bytes), peak_percent * rest.bytes,
                          rest.count);
  }
  return out;
}

std::string ComputationTable(const MemoryReport& report) {
  if (report.computations_size() < 2) return "";
  std::vector<const MemoryReport::Computation*> largest;
  for (const MemoryReport::Computation& c : report.computations()) {
    largest.push_back(&c);
  }
  std::stable_sort(largest.begin(), largest.end(), [](auto* a, auto* b) {
    return a->peak_bytes() > b->peak_bytes();
  });
  constexpr size_t kMost = 8;
  if (largest.size() > kMost) largest.resize(kMost);
  std::string out = "\nby computation, most bytes live while it runs\n";
  for (const MemoryReport::Computation* c : largest) {
    absl::StrAppendFormat(&out, "  %10s  %6.0f instructions  %%%s\n",
                          HumanBytes(c->peak_bytes()), c->instruction_count(),
                          c->name());
  }
  return out;
}

}  // namespace

std::string PlotCurve(const std::vector<double>& curve, int width, int height) {
  if (curve.empty() || width <= 0 || height <= 0) return "";
  const size_t columns = std::min<size_t>(width, curve.size());
  std::vector<double> most(columns, 0);
  for (size_t i = 0; i < curve.size(); ++i) {
    double& column = most[i * columns / curve.size()];
    column = std::max(column, curve[i]);
  }
  const double top = *std::max_element(most.begin(), most.end());
  std::string out;
  for (int row = height; row > 0; --row) {
    const std::string label = row == height || row == (height + 1) / 2
                                  ? HumanBytes(top * row / height)
                                  : "";
    std::string line = absl::StrFormat("  %10s |", label);
    for (double bytes : most) {
      // A column reaches into a row when it fills at least half of it.
      line.push_back(bytes * height >= top * (row - 0.5) && top > 0 ? '#'
                                                                    : ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  absl::StrAppendFormat(&out, "  %10s +%s %d program points\n", "",
                        std::string(columns, '-'), curve.size());
  return out;
}

std::string MemoryReportToText(const MemoryReport& report,
                               const std::vector<double>& curve,
                               const MemoryReportTextOptions& options) {
  std::string out = Answer(report);
  absl::StrAppend(&out, Summary(report), LiveTable(report, options.max_buffers),
                  ShapeTable(report, options.max_buffers),
                  ComputationTable(report));
  const std::string plot =
      PlotCurve(curve, options.plot_width, options.plot_height);
  if (!plot.empty())
    absl::StrAppend(&out, "\nlive bytes over the program\n", plot);
  return out;
}

absl::StatusOr<std::string> MemoryReportToJson(const MemoryReport& report) {
  return ReportToJson(report);
}

}  // namespace xla
