#include "xla/backends/gpu/transforms/smem/lowering_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla::gpu {
namespace {

std::string OneLine(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "}});
}

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

void LoweringReport::AddKernel(const HloInstruction& kernel,
                               const KernelPlan& plan) {
  Rows& rows = plan.status.ok() ? lowered_ : refused_;
  const auto [place, added] = plans_.try_emplace(&plan, rows.size());
  if (added) {
    Row row;
    row.name = std::string(kernel.name());
    row.kind = plan.kind;
    row.why = OneLine(plan.status.ok() ? plan.why : plan.status.message());
    row.blocks = plan.blocks;
    row.threads = plan.threads;
    row.shared_bytes = plan.shared_bytes;
    row.barriers = plan.barriers;
    rows.push_back(std::move(row));
  }
  ++rows[place->second].kernels;
  rows[place->second].bytes += KernelBytes(kernel);
}

void LoweringReport::AddCall(const HloInstruction& kernel,
                             const HloInstruction& call) {
  const std::string target = call.opcode() == HloOpcode::kCustomCall
                                 ? call.custom_call_target()
                                 : std::string(HloOpcodeString(call.opcode()));
  const auto [place, added] = targets_.try_emplace(target, calls_.size());
  if (added) {
    Row row;
    row.name = std::string(kernel.name());
    row.why = OneLine(target);
    calls_.push_back(std::move(row));
  }
  ++calls_[place->second].kernels;
  calls_[place->second].bytes += KernelBytes(kernel);
}

PassReport LoweringReport::Finish(absl::string_view pass,
                                  absl::string_view module) const {
  const auto sum = [](const Rows& rows, int64_t Row::*field) {
    int64_t total = 0;
    for (const Row& row : rows) total += row.*field;
    return total;
  };
  const int64_t lowered = sum(lowered_, &Row::kernels);
  const int64_t kernels = lowered + sum(refused_, &Row::kernels);
  const int64_t calls = sum(calls_, &Row::kernels);
  const int64_t bytes = sum(lowered_, &Row::bytes);
  const int64_t all = bytes + sum(refused_, &Row::bytes);
  PassReport report;
  report.text = absl::StrCat(
      pass, ": ", module, ": ", lowered, " of ", kernels, " kernels lowered, ",
      absl::StrFormat("%.1f", all > 0 ? 100.0 * bytes / all : 100.0),
      " % of their bytes");
  if (calls > 0) {
    absl::StrAppend(&report.text, ", beside ", calls, " calls of libraries");
  }
  report.text += "\n";
  report.json =
      absl::StrCat("  {\"pass\": ", Quoted(pass),
                   ", \"module\": ", Quoted(module), ", \"kernels\": ", kernels,
                   ", \"kernels_lowered\": ", lowered, ", \"bytes\": ", all,
                   ", \"bytes_lowered\": ", bytes, ", \"calls\": ", calls);
  const auto add = [&report](const Rows& rows, absl::string_view title,
                             absl::string_view key, bool launched) {
    if (!rows.empty()) absl::StrAppend(&report.text, title, ":\n");
    absl::StrAppend(&report.json, ",\n   ", Quoted(key), ": [");
    absl::string_view separator = "\n";
    for (const Row& row : rows) {
      absl::StrAppend(&report.text, "  %", row.name, " (", row.kernels,
                      " kernels): ", row.why);
      absl::StrAppend(
          &report.json, separator, "    {\"first\": ", Quoted(row.name),
          ", \"kernels\": ", row.kernels, ", \"bytes\": ", row.bytes,
          ", \"why\": ", Quoted(row.why));
      if (launched) {
        absl::StrAppend(&report.text, ": ", row.blocks, " blocks of ",
                        row.threads, " threads, ", row.shared_bytes,
                        " B shared, ", row.barriers, " barriers");
        absl::StrAppend(&report.json, ", \"kind\": ", Quoted(row.kind),
                        ", \"blocks\": ", row.blocks,
                        ", \"threads\": ", row.threads,
                        ", \"shared_bytes\": ", row.shared_bytes,
                        ", \"barriers\": ", row.barriers);
      }
      report.text += "\n";
      report.json += "}";
      separator = ",\n";
    }
    report.json += "]";
  };
  add(lowered_, "lowered", "lowered", true);
  add(refused_, "not lowered", "not_lowered", false);
  add(calls_, "calls", "library_calls", false);
  report.json += "}";
  return report;
}

}  // namespace xla::gpu
