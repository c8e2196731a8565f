#include "xla/backends/gpu/smem/report/smem_report_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/report_json.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

uint32_t Saturated(int64_t bytes) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(bytes, 0, std::numeric_limits<uint32_t>::max()));
}

void AddBuffer(const SmemPlan& plan, const SmemBufferPlan& buffer,
               SmemReportProto& report) {
  const std::vector<kir::Buffer>& buffers = plan.planned.buffers;
  const kir::Buffer& b = buffers[buffer.buffer];
  SmemReportProto::Buffer* out = report.add_buffers();
  out->set_name(buffer.name);
  out->set_address(Saturated(buffer.address_bytes));
  out->set_bytes(Saturated(buffer.bytes));
  out->set_first(buffer.first);
  out->set_last(buffer.last);
  out->set_memory(std::string(kir::MemoryName(b.memory)));
  out->set_align(static_cast<int32_t>(b.align.value_or(0)));
  out->set_address_expr(buffer.address.ToString());
  if (buffer.alias_of.has_value()) {
    out->set_alias_of(buffers[*buffer.alias_of].name);
  }
  for (kir::BufferId other : buffer.shares_with) {
    out->add_shares_with(buffers[other].name);
  }
}

void AddOccupancy(const SmemPlan& plan, absl::Span<const GpuDevice> devices,
                  SmemReportProto& report) {
  int64_t threads = 1;
  for (std::optional<int64_t> extent : plan.planned.BlockExtents()) {
    if (!extent.has_value()) return;
    threads *= *extent;
  }
  for (const GpuDevice& device : devices) {
    SmemReportProto::Occupancy* out = report.add_occupancy();
    out->set_device(std::string(device.name));
    out->set_limit_bytes(Saturated(device.shared_per_block_max));
    out->set_blocks_per_sm(
        device.BlocksPerSm(plan.total_bytes, static_cast<int>(threads)));
  }
}

}  // namespace

SmemReportProto SmemPlanToProto(const SmemPlan& plan,
                                absl::Span<const GpuDevice> devices) {
  SmemReportProto report;
  report.set_kernel(plan.planned.name);
  report.set_mode(plan.mode);
  report.set_total_bytes(Saturated(plan.total_bytes));
  report.set_total_expr(plan.total.ToString());
  report.set_lower_bound_bytes(Saturated(plan.lower_bound_bytes));
  if (plan.optimum_bytes.has_value()) {
    report.set_optimum_bytes(Saturated(*plan.optimum_bytes));
  }
  report.set_workspace_bytes(Saturated(plan.base_bytes));
  report.set_syncs_inserted(plan.syncs_inserted());
  report.set_syncs_total(plan.syncs_total);
  report.set_dynamic_syncs(static_cast<double>(plan.dynamic_syncs));
  for (const SmemBufferPlan& buffer : plan.buffers) {
    AddBuffer(plan, buffer, report);
  }
  for (const SmemSync& sync : plan.syncs) {
    SmemReportProto::Sync* out = report.add_syncs();
    out->set_position(sync.position);
    out->set_before_position(sync.before_position);
    out->set_kind(std::string(SmemSyncKindName(sync.kind)));
    out->set_reason(std::string(SmemSyncReasonName(sync.reason)));
    out->set_why(sync.why);
  }
  for (const SmemHazard& hazard : plan.hazards) {
    SmemReportProto::Hazard* out = report.add_hazards();
    out->set_earlier(plan.planned.buffers[hazard.earlier].name);
    out->set_later(plan.planned.buffers[hazard.later].name);
    out->set_covered_by(hazard.covered_by);
  }
  AddOccupancy(plan, devices, report);
  for (const std::string& note : plan.notes) report.add_notes(note);
  return report;
}

absl::StatusOr<std::string> SmemReportsToJson(
    absl::Span<const SmemReportProto> reports) {
  std::vector<std::string> texts;
  for (const SmemReportProto& report : reports) {
    TF_ASSIGN_OR_RETURN(std::string text, ReportToJson(report));
    texts.push_back(std::move(text));
  }
  if (texts.size() == 1) return texts[0];
  return absl::StrCat("[", absl::StrJoin(texts, ","), "]\n");
}

std::string SmemReportToText(const SmemReportProto& report) {
  std::string text = absl::StrCat(
      "@", report.kernel(), " (", report.mode(), "): ", report.total_bytes(),
      " bytes, lower bound ", report.lower_bound_bytes(),
      report.has_optimum_bytes()
          ? absl::StrCat(", optimum ", report.optimum_bytes())
          : "",
      "\n  syncs: ", report.syncs_inserted(), " inserted for reuse, ",
      report.syncs_total(), " in all, met ",
      static_cast<int64_t>(report.dynamic_syncs()), " times by a block\n");
  for (const SmemReportProto::Buffer& buffer : report.buffers()) {
    absl::StrAppend(&text, "  %", buffer.name());
    if (buffer.memory() == "shared") {
      absl::StrAppend(&text, " at ", buffer.address());
    }
    absl::StrAppend(&text, ", ", buffer.bytes(), " bytes, live [",
                    buffer.first(), ", ", buffer.last(), "]");
    if (!buffer.alias_of().empty()) {
      absl::StrAppend(&text, ", alias of %", buffer.alias_of());
    }
    if (buffer.shares_with_size() > 0) {
      absl::StrAppend(&text, ", shares with %",
                      absl::StrJoin(buffer.shares_with(), ", %"));
    }
    text += "\n";
  }
  for (const SmemReportProto::Sync& sync : report.syncs()) {
    absl::StrAppend(&text, "  ", sync.reason(), " ", sync.kind(), " at ",
                    sync.position(), ": ", sync.why(), "\n");
  }
  for (const SmemReportProto::Hazard& hazard : report.hazards()) {
    absl::StrAppend(&text, "  %", hazard.earlier(), " before %", hazard.later(),
                    ": ", hazard.covered_by(), "\n");
  }
  if (report.occupancy_size() > 0) {
    text += "  blocks per multiprocessor:";
    for (const SmemReportProto::Occupancy& device : report.occupancy()) {
      absl::StrAppend(&text, " ", device.device(), " ", device.blocks_per_sm());
    }
    text += "\n";
  }
  for (const std::string& note : report.notes()) {
    absl::StrAppend(&text, "  note: ", note, "\n");
  }
  return text;
}

}  // namespace xla::gpu
