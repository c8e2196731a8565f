#include "xla/hlo/transforms/spmd/spmd_logger.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// 1536 -> 1.5KiB.
std::string Bytes(int64_t bytes) {
  if (bytes < 0) return "no array";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return absl::StrFormat("%.*f%s", unit == 0 ? 0 : 1, value, kUnits[unit]);
}

void AppendLine(int64_t bytes, const std::string& entry, std::string* text) {
  absl::StrAppend(text, "  ", Bytes(bytes), " : ", entry, "\n");
}

}  // namespace

template <typename F>
std::string SpmdLogger::ReportMemoryUsage(const HloModule& module,
                                          const F& filter,
                                          int64_t report_instruction_count) {
  std::vector<std::pair<int64_t, const HloInstruction*>> entries;
  for (const HloComputation* computation : module.MakeNonfusionComputations()) {
    for (const HloInstruction* hlo : computation->instructions()) {
      if (!hlo->shape().IsArray() ||
          ShapeUtil::IsEffectiveScalar(hlo->shape()) || !filter(hlo)) {
        continue;
      }
      entries.emplace_back(ShapeUtil::ByteSizeOf(hlo->shape()), hlo);
    }
  }
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (int64_t i = 0; i < entries.size() && i < report_instruction_count; ++i) {
    AppendLine(entries[i].first, entries[i].second->ToString(), &text);
  }
  return text;
}

std::string SpmdLogger::ReportBeforePartition(
    const HloModule& module, int64_t report_instruction_count) {
  std::string report = "The largest arrays before partitioning\n";
  absl::StrAppend(&report, "Held whole by every device:\n",
                  ReportMemoryUsage(
                      module,
                      [](const HloInstruction* hlo) {
                        return !hlo->has_sharding() ||
                               hlo->sharding().IsReplicated();
                      },
                      report_instruction_count));
  absl::StrAppend(&report, "All:\n",
                  ReportMemoryUsage(
                      module, [](const HloInstruction*) { return true; },
                      report_instruction_count));
  return report;
}

std::string SpmdLogger::ReportAfterPartition(const HloModule& module,
                                             int64_t report_instruction_count) {
  return absl::StrCat("The largest arrays after partitioning\n",
                      ReportMemoryUsage(
                          module, [](const HloInstruction*) { return true; },
                          report_instruction_count));
}

void SpmdLogger::RegisterLogEntry(HloInstruction* hlo,
                                  const std::vector<HloInstruction*>& group) {
  if (disabled_) return;
  int64_t most = -1;
  for (const HloInstruction* derived : group) {
    if (derived->shape().IsArray()) {
      most = std::max(most, ShapeUtil::ByteSizeOf(derived->shape()));
    }
  }
  const auto place = std::upper_bound(
      entries_.begin(), entries_.end(), most,
      [](int64_t bytes, const auto& entry) { return bytes > entry.first; });
  if (place - entries_.begin() >= report_instruction_count_) return;
  std::string text = hlo->ToString();
  for (const HloInstruction* derived : group) {
    if (!derived->shape().IsArray()) continue;
    absl::StrAppend(&text, "\n    ",
                    Bytes(ShapeUtil::ByteSizeOf(derived->shape())), " : ",
                    derived->ToString());
  }
  entries_.insert(place, {most, std::move(text)});
  if (entries_.size() > report_instruction_count_) entries_.pop_back();
}

std::string SpmdLogger::MakeReport() {
  std::string text = "The largest arrays by their origin\n";
  for (const auto& [bytes, entry] : entries_) AppendLine(bytes, entry, &text);
  return text;
}

}  // namespace xla::spmd
