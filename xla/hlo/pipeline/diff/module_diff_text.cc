#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/pipeline/diff/module_diff.h"
#include "xla/hlo/pipeline/page/memory_page_builder.h"
#include "xla/report_json.h"

namespace xla {
namespace {

// "+412.0 KiB"; 0 is "0 B".
std::string Delta(double bytes) {
  return absl::StrCat(bytes > 0   ? "+"
                      : bytes < 0 ? "-"
                                  : "",
                      HumanBytes(std::abs(bytes)));
}

std::string Percent(double before, double after) {
  if (before == 0 || before == after) return "";
  return absl::StrFormat("   %+.1f %%", 100 * (after / before - 1));
}

std::string BytesRow(absl::string_view name, double before, double after) {
  const ByteUnit unit(std::max(before, after));
  if (before == after) {
    return absl::StrFormat("  %-13s %11s      the same\n", name, unit(before));
  }
  return absl::StrFormat(
      "  %-13s %11s -> %11s   %11s%s\n", name, unit(before), unit(after),
      absl::StrCat(after > before ? "+" : "-", unit(std::abs(after - before))),
      Percent(before, after));
}

std::string CountRow(absl::string_view name, double before, double after) {
  if (before == after) {
    return absl::StrFormat("  %-13s %11.0f      the same\n", name, before);
  }
  return absl::StrFormat("  %-13s %11.0f -> %11.0f   %+11.0f%s\n", name, before,
                         after, after - before, Percent(before, after));
}

std::string TimeRow(absl::string_view device, double before, double after) {
  const auto text = [](double us) {
    return us >= 1e6   ? absl::StrFormat("%.3f s", us / 1e6)
           : us >= 1e3 ? absl::StrFormat("%.3f ms", us / 1e3)
                       : absl::StrFormat("%.2f us", us);
  };
  if (before == after) {
    return absl::StrFormat("  %-13s %11s      the same (model of %s)\n",
                           "kernel time", text(before), device);
  }
  return absl::StrFormat(
      "  %-13s %11s -> %11s   %11s%s (model of %s)\n", "kernel time",
      text(before), text(after),
      absl::StrCat(after > before ? "+" : "-", text(std::abs(after - before))),
      Percent(before, after), device);
}

// One side of a difference: what stands around the byte where the sides begin
// to differ, with "..." for the rest.
std::string Around(absl::string_view side, size_t difference) {
  constexpr size_t kBefore = 16, kAfter = 48;
  const size_t begin = difference > kBefore ? difference - kBefore : 0;
  const absl::string_view part =
      side.substr(begin, difference + kAfter - begin);
  return absl::StrCat(begin > 0 ? "..." : "", part,
                      begin + part.size() < side.size() ? "..." : "");
}

// A line of ModuleDiff.header ("name: before -> after"). Layouts and aliases of
// hundreds of parameters are shown where they begin to differ.
std::string HeaderLine(absl::string_view line) {
  constexpr size_t kLong = 160;
  const size_t name = line.find(": "), arrow = line.find(" -> ");
  if (line.size() <= kLong || arrow == line.npos) return std::string(line);
  const absl::string_view before = line.substr(name + 2, arrow - name - 2);
  const absl::string_view after = line.substr(arrow + 4);
  const size_t difference =
      std::mismatch(before.begin(), before.end(), after.begin(), after.end())
          .first -
      before.begin();
  return absl::StrCat(line.substr(0, name), ": ", Around(before, difference),
                      " -> ", Around(after, difference));
}

// Says so where hardly an instruction of one module is in the other: layers
// and causes then have little to do with each other.
std::string NoteOnUnlike(const ModuleDiff& diff) {
  constexpr double kFew = 20, kShare = 0.2;
  const double matched =
      diff.same() + diff.in_changed_context() + diff.rewired() + diff.changed();
  const double larger = matched + std::max(diff.removed(), diff.added());
  if (larger < kFew || matched >= kShare * larger) return "";
  return absl::StrFormat(
      "  note: the modules have little in common (%.0f of %.0f instructions); "
      "are they versions of one program, at the same stage?\n",
      matched, larger);
}

std::string Summary(const ModuleDiff& diff) {
  const ModuleDiff::Side& a = diff.before();
  const ModuleDiff::Side& b = diff.after();
  std::string out = absl::StrCat(a.file(), " -> ", b.file(), ": ",
                                 diff.equal() ? "equal" : "different", "\n");
  if (a.looked_at() == b.looked_at()) {
    absl::StrAppend(&out, "  input: both ", a.looked_at(), "\n");
  } else {
    absl::StrAppend(&out, "  input: ", a.looked_at(), " -> ", b.looked_at(),
                    "\n");
  }
  for (const std::string& line : diff.header()) {
    absl::StrAppend(&out, "  header: ", HeaderLine(line), "\n");
  }
  absl::StrAppend(&out, "\n", BytesRow("peak", a.peak_bytes(), b.peak_bytes()),
                  BytesRow("with offsets", a.heap_bytes(), b.heap_bytes()),
                  BytesRow("arguments", a.argument_bytes(), b.argument_bytes()),
                  BytesRow("outputs", a.output_bytes(), b.output_bytes()),
                  BytesRow("temporaries", a.temp_bytes(), b.temp_bytes()),
                  TimeRow(diff.device(), a.microseconds(), b.microseconds()),
                  BytesRow("moved", a.moved_bytes(), b.moved_bytes()),
                  CountRow("kernels", a.kernels(), b.kernels()),
                  CountRow("fusions", a.fusions(), b.fusions()),
                  CountRow("collectives", a.collectives(), b.collectives()));
  if (a.sent_bytes() != 0 || b.sent_bytes() != 0) {
    absl::StrAppend(&out, BytesRow("sent", a.sent_bytes(), b.sent_bytes()));
  }
  absl::StrAppend(&out,
                  CountRow("instructions", a.instructions(), b.instructions()));
  if (diff.equal()) return out;
  absl::StrAppendFormat(
      &out,
      "  of them %.0f the same, %.0f in a changed context, %.0f rewired, %.0f "
      "changed, %.0f removed, %.0f added\n",
      diff.same(), diff.in_changed_context(), diff.rewired(), diff.changed(),
      diff.removed(), diff.added());
  absl::StrAppend(&out, NoteOnUnlike(diff));
  if (diff.order_differs()) {
    absl::StrAppend(&out, "  they run in a different order\n");
  }
  return out;
}

// "2 x -> 5 x".
std::string Counts(const ModuleDiff::Cause& cause) {
  if (cause.before_count() == cause.after_count()) {
    return absl::StrFormat("%.0f x", cause.after_count());
  }
  return absl::StrFormat("%.0f x -> %.0f x", cause.before_count(),
                         cause.after_count());
}

std::string Reasons(const ModuleDiff::Cause& cause) {
  std::vector<std::string> reasons;
  const auto add = [&](double bytes, absl::string_view more,
                       absl::string_view less) {
    if (bytes == 0) return;
    reasons.push_back(absl::StrCat(Delta(bytes), " ", bytes > 0 ? more : less));
  };
  add(cause.made_bytes(), "of new instructions", "of removed instructions");
  add(cause.lifetime_bytes(), "live at this peak, not at the other",
      "live at the other peak, not at this one");
  add(cause.size_bytes(), "larger", "smaller");
  return absl::StrJoin(reasons, ", ");
}

std::string CauseTable(const ModuleDiff& diff, int max_rows) {
  if (diff.causes().empty()) return "";
  const double delta = diff.after().peak_bytes() - diff.before().peak_bytes();
  std::string out = absl::StrCat("\nwhy the peak changed (", Delta(delta),
                                 "), by layer, largest first\n");
  double rest = 0;
  for (int i = 0; i < diff.causes_size(); ++i) {
    const ModuleDiff::Cause& cause = diff.causes(i);
    if (i >= max_rows) {
      rest += cause.delta_bytes();
      continue;
    }
    absl::StrAppendFormat(
        &out, "  %11s  %-15s %-14s %s, %%%s %s%s\n               %s\n",
        Delta(cause.delta_bytes()), cause.kind(), Counts(cause), cause.layer(),
        cause.instruction(), cause.shape(),
        cause.source().empty() ? "" : absl::StrCat(", ", cause.source()),
        Reasons(cause));
  }
  if (diff.causes_size() > max_rows) {
    absl::StrAppendFormat(&out, "  %11s  the other %d\n", Delta(rest),
                          diff.causes_size() - max_rows);
  }
  return out;
}

std::string InstructionTables(const ModuleDiff& diff, int max_rows) {
  std::string out;
  for (const bool added : {false, true}) {
    int rows = 0;
    double rest = 0;
    for (const ModuleDiff::Group& group : diff.groups()) {
      if (group.added() != added) continue;
      if (rows == 0) {
        absl::StrAppend(&out, added ? "\nadded" : "\nremoved",
                        ", by opcode and layer, most bytes first\n");
      }
      if (rows++ >= max_rows) {
        rest += group.count();
        continue;
      }
      absl::StrAppendFormat(&out, "  %11s  %4.0f x %s%s%s, %%%s\n",
                            HumanBytes(group.bytes()), group.count(),
                            group.opcode(), group.layer().empty() ? "" : "  ",
                            group.layer(), group.instruction());
    }
    if (rest > 0) {
      absl::StrAppendFormat(&out, "  %11s  %4.0f others\n", "", rest);
    }
  }
  if (diff.changes().empty()) return out;
  absl::StrAppend(&out, "\nchanged\n");
  for (int i = 0; i < diff.changes_size(); ++i) {
    const ModuleDiff::Change& change = diff.changes(i);
    if (i == max_rows) {
      absl::StrAppend(&out, "  and ", diff.changes_size() - max_rows,
                      " more\n");
      break;
    }
    absl::StrAppend(&out, "  %", change.before());
    if (change.after() != change.before()) {
      absl::StrAppend(&out, " (now %", change.after(), ")");
    }
    absl::StrAppend(&out, " ", change.opcode(),
                    change.layer().empty() ? "" : ", ", change.layer(),
                    change.source().empty() ? "" : ", ", change.source(), ": ",
                    absl::StrJoin(change.what(), "; "), "\n");
  }
  return out;
}

std::string CollectiveTable(const ModuleDiff& diff) {
  if (diff.collectives().empty()) return "";
  std::string out = "\ncollectives, bytes sent per device\n";
  for (const ModuleDiff::Collective& c : diff.collectives()) {
    absl::StrAppendFormat(&out, "  %-20s %5.0f -> %5.0f   %11s -> %11s\n",
                          c.kind(), c.before_count(), c.after_count(),
                          HumanBytes(c.before_bytes()),
                          HumanBytes(c.after_bytes()));
  }
  return out;
}

}  // namespace

std::string ModuleDiffToText(const ModuleDiff& diff, int max_rows) {
  std::string out = Summary(diff);
  if (diff.equal()) return out;
  absl::StrAppend(&out, CauseTable(diff, max_rows), CollectiveTable(diff),
                  InstructionTables(diff, max_rows));
  return out;
}

absl::StatusOr<std::string> ModuleDiffToJson(const ModuleDiff& diff) {
  return ReportToJson(diff);
}

MemoryPage ModuleDiffPage(const ModuleDiff& diff, const DiffSide& before,
                          const DiffSide& after) {
  constexpr int kMaxRows = 2000;
  MemoryPage page = after.page;
  *page.mutable_before() = DescribeBefore(before.memory);
  *page.mutable_diff() = diff;
  for (std::string& line : *page.mutable_diff()->mutable_header()) {
    line = HeaderLine(line);
  }
  const auto cut = [](auto* rows) {
    if (rows->size() > kMaxRows) {
      rows->DeleteSubrange(kMaxRows, rows->size() - kMaxRows);
    }
  };
  cut(page.mutable_diff()->mutable_causes());
  cut(page.mutable_diff()->mutable_groups());
  cut(page.mutable_diff()->mutable_changes());
  return page;
}

}  // namespace xla
