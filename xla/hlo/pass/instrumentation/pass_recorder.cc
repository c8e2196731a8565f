#include "xla/hlo/pass/instrumentation/pass_recorder.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/report_json.h"

namespace xla {
namespace {

PipelineReport::Size SizeOf(const HloModule& module) {
  PipelineReport::Size size;
  size.set_instructions(module.instruction_count());
  size.set_computations(module.computation_count());
  return size;
}

absl::btree_map<std::string, int64_t> CountOpcodes(const HloModule& module) {
  absl::btree_map<std::string, int64_t> counts;
  std::vector<int64_t> by_opcode(HloOpcodeCount());
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      ++by_opcode[static_cast<size_t>(inst->opcode())];
    }
  }
  for (size_t i = 0; i < by_opcode.size(); ++i) {
    if (by_opcode[i] == 0) continue;
    counts[std::string(HloOpcodeString(static_cast<HloOpcode>(i)))] =
        by_opcode[i];
  }
  return counts;
}

std::string SignedDifference(int64_t before, int64_t after) {
  return before == after ? "" : absl::StrFormat("%+d", after - before);
}

// Seconds since `start`, of a report or of a pass.
template <typename Entry, typename Moment>
void SetSeconds(const Moment& start, Entry* entry) {
  const Moment now = Moment::Now();
  entry->set_seconds(absl::ToDoubleSeconds(now.wall - start.wall));
  entry->set_cpu_seconds(now.cpu_seconds - start.cpu_seconds);
}

}  // namespace

PassRecorder::Moment PassRecorder::Moment::Now() {
  return {absl::Now(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
}

void PassRecorder::Start(const HloModule& module, absl::string_view pipeline) {
  report_.Clear();
  report_.set_module(module.name());
  report_.set_pipeline(std::string(pipeline));
  *report_.mutable_before() = SizeOf(module);
  opcodes_before_ = CountOpcodes(module);
  start_ = Moment::Now();
}

void PassRecorder::Finish(const HloModule& module) {
  if (options_.seconds) SetSeconds(start_, &report_);
  *report_.mutable_after() = SizeOf(module);
  absl::btree_map<std::string, int64_t> after = CountOpcodes(module);
  absl::btree_map<std::string, std::pair<int64_t, int64_t>> both;
  for (const auto& [opcode, count] : opcodes_before_)
    both[opcode].first = count;
  for (const auto& [opcode, count] : after) both[opcode].second = count;
  for (const auto& [opcode, counts] : both) {
    PipelineReport::OpcodeCount* entry = report_.add_opcodes();
    entry->set_opcode(opcode);
    entry->set_before(counts.first);
    entry->set_after(counts.second);
  }
}

absl::Status PassRecorder::BeforePass(const PassEvent& event,
                                      const HloModule& module) {
  running_.emplace_back(report_.passes_size(), Moment::Now());
  PipelineReport::Pass* pass = report_.add_passes();
  pass->set_name(std::string(event.pass_name()));
  pass->set_pipeline(std::string(event.pipeline));
  pass->set_depth(event.depth);
  pass->set_index(event.index);
  *pass->mutable_before() = SizeOf(module);
  return absl::OkStatus();
}

absl::Status PassRecorder::AfterPass(const PassEvent& event,
                                     const HloModule& module,
                                     const absl::StatusOr<bool>& result) {
  auto [place, start] = running_.back();
  running_.pop_back();
  PipelineReport::Pass* pass = report_.mutable_passes(place);
  if (options_.seconds) SetSeconds(start, pass);
  pass->set_changed(result.ok() && *result);
  if (pass->changed()) report_.set_changed(true);
  *pass->mutable_after() = SizeOf(module);
  const auto& metadata = module.metadata().proto().pass_metadata();
  if (!metadata.empty()) {
    for (const KeyValueMetric& metric : metadata.rbegin()->kv_metrics()) {
      (*pass->mutable_metrics())[metric.key()] = metric.value();
    }
  }
  return absl::OkStatus();
}

std::string PipelineReportToText(const PipelineReport& report) {
  std::string out = absl::StrFormat(
      "%s: %s, %d -> %d instructions, %d -> %d computations\n\n",
      report.module(), report.pipeline(), report.before().instructions(),
      report.after().instructions(), report.before().computations(),
      report.after().computations());
  size_t width = 4;
  for (const PipelineReport::Pass& pass : report.passes()) {
    width = std::max(width, pass.name().size() + 2 * pass.depth());
  }
  const bool seconds = report.has_seconds();
  absl::StrAppendFormat(&out, "%-*s  %-9s  %12s  %12s%s\n", width, "pass", "",
                        "instructions", "computations",
                        seconds ? "      ms  cpu ms" : "");
  for (const PipelineReport::Pass& pass : report.passes()) {
    std::string line =
        absl::StrFormat("%-*s  %-9s  %12s  %12s", width,
                        std::string(2 * pass.depth(), ' ') + pass.name(),
                        pass.changed() ? "changed" : "unchanged",
                        SignedDifference(pass.before().instructions(),
                                         pass.after().instructions()),
                        SignedDifference(pass.before().computations(),
                                         pass.after().computations()));
    if (pass.has_seconds()) {
      absl::StrAppendFormat(&line, "  %6.1f  %6.1f", 1e3 * pass.seconds(),
                            1e3 * pass.cpu_seconds());
    }
    // Metrics are printed by key: a proto map has no order of its own.
    absl::btree_map<std::string, double> metrics(pass.metrics().begin(),
                                                 pass.metrics().end());
    for (const auto& [key, value] : metrics) {
      absl::StrAppendFormat(&line, "  %s=%.0f", key, value);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  if (seconds) {
    absl::StrAppendFormat(&out, "total: %.1f ms, %.1f ms of processor time\n",
                          1e3 * report.seconds(), 1e3 * report.cpu_seconds());
  }
  std::string changes;
  for (const PipelineReport::OpcodeCount& count : report.opcodes()) {
    if (count.before() == count.after()) continue;
    absl::StrAppendFormat(&changes, "  %-24s %8d -> %d\n", count.opcode(),
                          count.before(), count.after());
  }
  if (!changes.empty()) {
    absl::StrAppend(&out, "\ninstructions by opcode, where changed:\n",
                    changes);
  }
  return out;
}

absl::StatusOr<std::string> PipelineReportToJson(const PipelineReport& report) {
  return ReportToJson(report);
}

}  // namespace xla
