#include "xla/hlo/analysis/cost/collective_report.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/computation_runs.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string SourceOf(const HloInstruction* instruction) {
  const OpMetadata& metadata = instruction->metadata();
  if (metadata.source_file().empty()) return "";
  return absl::StrCat(metadata.source_file(), ":", metadata.source_line());
}

void Add(const CollectiveUse& use, CollectiveTotal& total) {
  ++total.instructions;
  total.runs += use.runs;
  total.bytes_per_device += use.runs * use.cost.bytes_per_device;
  total.seconds += use.runs * use.cost.seconds;
}

}  // namespace

absl::StatusOr<CollectiveReport> BuildCollectiveReport(const HloModule& module,
                                                       const MeshCost& mesh) {
  CollectiveReport report;
  report.module = module.name();
  report.replicas = std::max<int64_t>(module.config().replica_count(), 1);
  report.partitions = std::max<int64_t>(module.config().num_partitions(), 1);
  report.mesh = mesh.ToString();
  const ComputationRuns runs(module);
  absl::flat_hash_map<const HloComputation*, bool> communicates;
  for (const HloComputation* computation : module.MakeComputationPostOrder()) {
    bool& speaks = communicates[computation];
    for (const HloInstruction* instruction : computation->instructions()) {
      bool called = false;
      for (const HloComputation* callee : instruction->called_computations()) {
        const auto it = communicates.find(callee);
        called |= it != communicates.end() && it->second;
      }
      speaks |= called;
      const std::optional<CollectiveKind> kind =
          CollectiveKindOf(instruction->opcode());
      if (!kind.has_value()) continue;
      speaks = true;
      CollectiveUse use{instruction, *kind, runs.Of(computation), {}};
      if (use.runs == 0) continue;
      TF_ASSIGN_OR_RETURN(use.cost, mesh.Cost(*instruction));
      Add(use, report.by_kind[*kind]);
      Add(use, report.total);
      report.uses.push_back(use);
    }
  }
  for (const HloInstruction* loop : runs.unknown_loops()) {
    if (communicates[loop->while_body()] ||
        communicates[loop->while_condition()]) {
      report.unknown_loops.push_back(loop);
    }
  }
  std::stable_sort(report.uses.begin(), report.uses.end(),
                   [](const CollectiveUse& a, const CollectiveUse& b) {
                     return a.runs * a.cost.bytes_per_device >
                            b.runs * b.cost.bytes_per_device;
                   });
  return report;
}

std::string CollectiveReportToText(const CollectiveReport& report,
                                   int64_t max_instructions) {
  std::string text = absl::StrFormat(
      "%s: %s per device in %.0f collectives, %s on %s\n", report.module,
      HumanBytes(report.total.bytes_per_device), report.total.runs,
      HumanSeconds(report.total.seconds), report.mesh);
  for (const auto& [kind, total] : report.by_kind) {
    absl::StrAppendFormat(&text, "  %-22s %8.0f  %12s  %10s\n",
                          CollectiveKindToString(kind), total.runs,
                          HumanBytes(total.bytes_per_device),
                          HumanSeconds(total.seconds));
  }
  int64_t listed = 0;
  for (const CollectiveUse& use : report.uses) {
    if (max_instructions >= 0 && listed == max_instructions) {
      absl::StrAppend(&text, "  and ", report.uses.size() - listed, " more\n");
      break;
    }
    ++listed;
    absl::StrAppendFormat(
        &text, "  %%%s: %s of %s, %.0f times in %s", use.instruction->name(),
        CollectiveKindToString(use.kind), HumanBytes(use.cost.bytes_per_device),
        use.runs, use.instruction->parent()->name());
    for (const std::string& part :
         {use.instruction->metadata().op_name(), SourceOf(use.instruction)}) {
      if (!part.empty()) absl::StrAppend(&text, ", ", part);
    }
    text += "\n";
  }
  for (const HloInstruction* loop : report.unknown_loops) {
    absl::StrAppend(&text, "  the trips of %", loop->name(),
                    " are not known; they count once\n");
  }
  return text;
}

std::string CollectiveReportToJson(const CollectiveReport& report) {
  const auto figures = [](double bytes, double seconds) {
    return absl::StrFormat("\"bytes_per_device\": %.15g, \"seconds\": %.15g",
                           bytes, seconds);
  };
  std::string text =
      absl::StrCat("{\n  \"module\": ", Quoted(report.module),
                   ",\n  \"partitions\": ", report.partitions,
                   ",\n  \"replicas\": ", report.replicas,
                   ",\n  \"mesh\": ", Quoted(report.mesh), ",\n  ",
                   figures(report.total.bytes_per_device, report.total.seconds),
                   ",\n  \"collectives\": {");
  absl::string_view separator = "\n";
  for (const auto& [kind, total] : report.by_kind) {
    absl::StrAppendFormat(
        &text, "%s    %s: {\"count\": %d, \"runs\": %.15g, %s}", separator,
        Quoted(CollectiveKindToString(kind)), total.instructions, total.runs,
        figures(total.bytes_per_device, total.seconds));
    separator = ",\n";
  }
  text += "\n  },\n  \"instructions\": [";
  separator = "\n";
  for (const CollectiveUse& use : report.uses) {
    absl::StrAppendFormat(
        &text,
        "%s    {\"name\": %s, \"kind\": %s, \"runs\": %.15g, %s, "
        "\"op_name\": %s, \"source\": %s}",
        separator, Quoted(use.instruction->name()),
        Quoted(CollectiveKindToString(use.kind)), use.runs,
        figures(use.cost.bytes_per_device, use.cost.seconds),
        Quoted(use.instruction->metadata().op_name()),
        Quoted(SourceOf(use.instruction)));
    separator = ",\n";
  }
  text += "\n  ],\n  \"unknown_loops\": [";
  separator = "";
  for (const HloInstruction* loop : report.unknown_loops) {
    absl::StrAppend(&text, separator, Quoted(loop->name()));
    separator = ", ";
  }
  return text + "]\n}\n";
}

}  // namespace xla
