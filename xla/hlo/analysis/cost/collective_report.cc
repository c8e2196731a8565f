#include "xla/hlo/analysis/cost/collective_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/computation_runs.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/instruction_source.h"
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

void Add(const CollectiveUse& use, CollectiveTotal& total) {
  ++total.instructions;
  total.runs += use.runs;
  total.bytes_per_device += use.runs * use.cost.bytes_per_device;
  total.seconds += use.runs * use.cost.seconds;
}

// Collectives that do the same for the same operation of the model.
struct EqualUses {
  const CollectiveUse* first;
  int64_t count = 0;
  double runs = 0;
};

// In the order of the report, which has those that move most first.
std::vector<EqualUses> GroupUses(const CollectiveReport& report) {
  std::vector<EqualUses> groups;
  std::map<std::tuple<CollectiveKind, double, double, std::string, std::string>,
           size_t>
      known;
  for (const CollectiveUse& use : report.uses) {
    const auto [it, is_new] = known.emplace(
        std::make_tuple(use.kind, use.runs, use.cost.bytes_per_device,
                        use.instruction->metadata().op_name(),
                        InstructionSource(*use.instruction)),
        groups.size());
    if (is_new) groups.push_back({&use});
    ++groups[it->second].count;
    groups[it->second].runs += use.runs;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const EqualUses& a, const EqualUses& b) {
                     return a.runs * a.first->cost.bytes_per_device >
                            b.runs * b.first->cost.bytes_per_device;
                   });
  return groups;
}

// A row for each of them.
std::string UsesToText(const CollectiveReport& report, int64_t max_rows) {
  const std::vector<EqualUses> groups = GroupUses(report);
  if (groups.empty()) return "";
  std::string text =
      "\n  per device, largest first      runs       bytes        time\n";
  int64_t listed = 0;
  for (const EqualUses& group : groups) {
    if (max_rows >= 0 && listed == max_rows) {
      absl::StrAppend(&text, "  and ", groups.size() - listed, " more rows\n");
      break;
    }
    ++listed;
    const CollectiveUse& use = *group.first;
    const absl::string_view kind = CollectiveKindToString(use.kind);
    absl::StrAppendFormat(
        &text, "  %-22s %12.0f %11s %11s  ",
        group.count > 1 ? absl::StrCat(group.count, " x ", kind)
                        : std::string(kind),
        group.runs, HumanBytes(group.runs * use.cost.bytes_per_device),
        HumanSeconds(group.runs * use.cost.seconds));
    absl::StrAppend(&text, "%", use.instruction->name(), " in ",
                    use.instruction->parent()->name());
    for (const std::string& part : {use.instruction->metadata().op_name(),
                                    InstructionSource(*use.instruction)}) {
      if (!part.empty()) absl::StrAppend(&text, ", ", part);
    }
    text += "\n";
  }
  return text;
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
                                   int64_t max_rows) {
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
  text += UsesToText(report, max_rows);
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
        Quoted(InstructionSource(*use.instruction)));
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
