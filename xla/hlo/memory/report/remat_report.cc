#include "xla/hlo/memory/report/remat_report.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/memory/limit/distinct_bytes.h"
#include "xla/hlo/memory/report/layer_groups.h"
#include "xla/report_json.h"

namespace xla {
namespace {

constexpr int kBarWidth = 40;

// For whom the plan holds.
std::string HoldsFor(const RematReport& report) {
  if (report.reader().empty() || report.reader() == "backend") {
    return "backends that keep instructions and their order; compilers that "
           "run their own passes need --for=xla-gpu or --for=xla-cpu";
  }
  if (report.reader() == "xla-gpu" && report.accounting() == "allocated") {
    return "xla-gpu, as pipeline xla-gpu estimates its passes (--as=xla-gpu)";
  }
  return report.reader() +
         ", whose passes keep the clones but redo fusion and scheduling: bytes "
         "will differ";
}

// Whether another plan could meet a limit that this one misses.
std::string RuledOut(const RematReport& report) {
  const double limit = report.limit_bytes();
  if (report.always_there_bytes() > limit) {
    return absl::StrCat(
        ", nor does any plan: arguments and results alone take ",
        HumanBytes(report.always_there_bytes()));
  }
  if (report.lower_bound_bytes() > limit) {
    return absl::StrCat(
        ", nor does any plan with these rewrites: they need at least ",
        HumanBytes(report.lower_bound_bytes()));
  }
  return absl::StrCat(", though it is not ruled out: at least ",
                      HumanBytes(report.lower_bound_bytes()), " are needed");
}

// The buffers live at the peak of a plan that misses the limit, those of equal
// layers in one row.
std::string WhatRemains(const RematReport& report, int max_rows) {
  std::string out = "  what remains, largest first:\n";
  double rest = 0;
  int rest_count = 0;
  int rows = 0;
  for (const LayerGroup<RematReport::Buffer>& group :
       GroupByLayer<RematReport::Buffer>(
           report.binding(), [](const RematReport::Buffer& buffer) {
             return absl::StrCat(buffer.opcode(), " ", buffer.bytes());
           })) {
    if (rows++ >= max_rows) {
      rest += group.bytes;
      rest_count += group.count;
      continue;
    }
    // Layers without a name have that of the opcode, which is there already.
    const bool is_named =
        group.count == 1 || group.layer != group.first->opcode();
    const std::string place = is_named           ? PlaceOf(group)
                              : group.one_source ? group.first->source()
                                                 : "";
    absl::StrAppendFormat(&out, "    %10s  %s %s %s%s%s\n",
                          HumanBytes(group.bytes), group.Members(),
                          group.first->opcode(), group.first->shape(),
                          place.empty() ? "" : ", ", place);
  }
  if (rest_count > 0) {
    absl::StrAppendFormat(&out, "    %10s  the other %d\n", HumanBytes(rest),
                          rest_count);
  }
  return out;
}

}  // namespace

std::string RematReportToText(const RematReport& report, int max_buffers) {
  const double after_bytes = report.peak_after_bytes();
  const auto [after, limit] = DistinctBytes(after_bytes, report.limit_bytes(),
                                            /*to_the_byte=*/!report.met());
  std::string out = absl::StrFormat(
      "%s: %s -> %s %s %s%s\n", report.module(),
      HumanBytes(report.peak_before_bytes()), after,
      report.met() ? "fits in" : "does not fit in",
      limit + GivenAs(report.limit_given()),
      report.met()
          ? ""
          : absl::StrCat(
                ", ",
                BytesBetween(after, limit, after_bytes - report.limit_bytes()),
                " too much", RuledOut(report)));
  absl::StrAppendFormat(
      &out,
      "  cost       %+.2f %% time (%s), %+.2f %% flops, %+.2f %% bytes, %+d "
      "instructions\n",
      100 * report.added_seconds_fraction(),
      HumanSeconds(report.added_seconds()), 100 * report.added_flops_fraction(),
      100 * report.added_bytes_fraction(),
      static_cast<int64_t>(report.instructions_added()));
  const bool fuses = absl::StrContains(report.method(), "fuse");
  if (fuses && report.fused_seconds_fraction() < 0) {
    // As printed, the two add up to the time above.
    const double total = std::round(1e4 * report.added_seconds_fraction());
    const double fused = std::round(1e4 * report.fused_seconds_fraction());
    absl::StrAppendFormat(&out,
                          "             fusion saves %.2f %% of the time, "
                          "recomputation adds %.2f %%\n",
                          -fused / 100, (total - fused) / 100);
  } else if (fuses && report.added_seconds() < 0 && report.added_flops() > 0) {
    absl::StrAppend(
        &out, "             fusion saves more time than recomputation costs\n");
  }
  absl::StrAppendFormat(&out, "  found by   %s (strategy %s, accounting %s)",
                        report.method(), report.strategy(),
                        report.accounting());
  if (report.seconds() > 0) {
    absl::StrAppendFormat(&out, " in %s", HumanSeconds(report.seconds()));
  }
  const ByteUnit unit(report.peak_before_bytes());
  absl::StrAppendFormat(&out,
                        "\n  at least   %s with the rewrites considered; "
                        "arguments and results alone take %s\n",
                        unit(report.lower_bound_bytes()),
                        unit(report.always_there_bytes()));
  absl::StrAppendFormat(&out, "  holds for  %s\n", HoldsFor(report));
  if (report.met()) return out;
  absl::StrAppendFormat(&out,
                        "  reachable  %s, by --fit --limit=%.0f; "
                        "--budget-curve shows what other limits cost\n",
                        after, report.peak_after_bytes());
  if (report.binding().empty()) return out;
  return absl::StrCat(out, WhatRemains(report, max_buffers));
}

absl::StatusOr<std::string> RematReportToJson(const RematReport& report) {
  return ReportToJson(report);
}

namespace {

// Whether the limit that was named can be met, and what that costs.
void AppendAnswerOfCurve(const RematCurve& curve, std::string* out) {
  if (!curve.has_limit_bytes()) return;
  const double limit = curve.limit_bytes();
  const std::string limit_text =
      HumanBytes(limit) + GivenAs(curve.limit_given());
  if (limit >= curve.peak_before_bytes()) {
    absl::StrAppendFormat(out, "fits in %s as it is\n", limit_text);
    return;
  }
  double least = curve.peak_before_bytes();
  for (const RematCurve::Point& point : curve.points()) {
    if (point.limit_bytes() == limit && point.met()) {
      absl::StrAppendFormat(
          out,
          "fits in %s for %+.2f %% time; --fit -o FILE writes the module\n",
          limit_text, 100 * point.added_seconds_fraction());
      return;
    }
    least = std::min(least, point.peak_bytes());
  }
  absl::StrAppendFormat(out, "does not fit in %s: the best plan needs %s\n",
                        limit_text, DistinctBytes(least, limit).first);
}

}  // namespace

std::string RematCurveToText(const RematCurve& curve) {
  std::string out =
      absl::StrFormat("%s: %s, at least %s with the rewrites considered\n",
                      curve.module(), HumanBytes(curve.peak_before_bytes()),
                      HumanBytes(curve.lower_bound_bytes()));
  double least = 0, most = 0;
  for (const RematCurve::Point& point : curve.points()) {
    if (!point.met()) continue;
    least = std::min(least, point.added_seconds_fraction());
    most = std::max(most, point.added_seconds_fraction());
  }
  for (const RematCurve::Point& point : curve.points()) {
    absl::StrAppendFormat(&out, "  %5.1f %% %10s ",
                          100 * point.limit_fraction(),
                          HumanBytes(point.limit_bytes()));
    if (!point.met()) {
      const std::string needs =
          DistinctBytes(point.peak_bytes(), point.limit_bytes()).first;
      absl::StrAppendFormat(
          &out, "not met: the best plan needs %s, %s too much\n", needs,
          BytesBetween(needs, HumanBytes(point.limit_bytes()),
                       point.peak_bytes() - point.limit_bytes()));
      continue;
    }
    const int bar =
        most <= least
            ? 0
            : static_cast<int>(kBarWidth *
                               (point.added_seconds_fraction() - least) /
                               (most - least));
    absl::StrAppendFormat(&out, "%+7.2f %% |%s\n",
                          100 * point.added_seconds_fraction(),
                          std::string(bar, '#'));
  }
  if (least < 0) {
    absl::StrAppendFormat(&out,
                          "  the fastest of these plans saves %.2f %% by "
                          "fusion; bars show what limits cost of that\n",
                          -100 * least);
  }
  AppendAnswerOfCurve(curve, &out);
  return out;
}

std::string RematCurveToCsv(const RematCurve& curve) {
  std::string out =
      "limit_fraction,limit_bytes,met,peak_bytes,added_flops_fraction,"
      "added_seconds,added_seconds_fraction,instructions_added,method\n";
  for (const RematCurve::Point& point : curve.points()) {
    absl::StrAppendFormat(&out, "%.6g,%.0f,%d,%.0f,%.6g,%.6g,%.6g,%.0f,%s\n",
                          point.limit_fraction(), point.limit_bytes(),
                          point.met() ? 1 : 0, point.peak_bytes(),
                          point.added_flops_fraction(), point.added_seconds(),
                          point.added_seconds_fraction(),
                          point.instructions_added(), point.method());
  }
  return out;
}

absl::StatusOr<std::string> RematCurveToJson(const RematCurve& curve) {
  return ReportToJson(curve);
}

std::string RematChoicesToText(const RematChoices& choices) {
  std::string out = absl::StrFormat(
      "%s: %s: %s -> %s, %d %s recomputed\n", choices.pass(), choices.module(),
      HumanBytes(choices.peak_before_bytes()),
      HumanBytes(choices.peak_after_bytes()), choices.choices_size(),
      choices.choices_size() == 1 ? "value" : "values");
  for (const RematChoices::Choice& choice : choices.choices()) {
    absl::StrAppendFormat(&out,
                          "  %%%s %s %s: %s less from %%%s to %%%s, %d "
                          "instructions; recomputed from",
                          choice.clone(), choice.opcode(), choice.shape(),
                          HumanBytes(choice.bytes()), choice.freed_after(),
                          choice.freed_until(),
                          static_cast<int64_t>(choice.freed_instructions()));
    for (const std::string& operand : choice.recomputed_from()) {
      absl::StrAppend(&out, " %", operand);
    }
    if (choice.recomputed_from().empty()) absl::StrAppend(&out, " nothing");
    if (!choice.first_reader().empty()) {
      absl::StrAppend(&out, " for %", choice.first_reader());
    }
    absl::StrAppend(&out, ", ", HumanSeconds(choice.seconds()), "\n");
  }
  return out;
}

absl::StatusOr<std::string> RematChoicesToJson(const RematChoices& choices) {
  return ReportToJson(choices);
}

}  // namespace xla
