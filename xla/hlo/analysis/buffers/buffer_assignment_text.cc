// Reports of a buffer assignment, as text and as a proto.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

std::vector<const BufferAllocation*> LargestFirst(
    const std::vector<BufferAllocation>& allocations) {
  std::vector<const BufferAllocation*> sorted;
  for (const BufferAllocation& allocation : allocations) {
    sorted.push_back(&allocation);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BufferAllocation* a, const BufferAllocation* b) {
                     return a->size() > b->size();
                   });
  return sorted;
}

}  // namespace

std::string BufferAssignment::ToString() const {
  std::string text =
      absl::StrCat("buffer assignment of ", module_->name(), ":\n");
  for (const BufferAllocation& allocation : allocations_) {
    absl::StrAppend(&text, allocation.ToString());
  }
  return text;
}

std::string BufferAssignment::ValuesToString() const {
  std::string text;
  for (const BufferAllocation& allocation : allocations_) {
    absl::StrAppend(&text, allocation.ValuesToString());
  }
  return text;
}

std::string BufferAssignment::StatsString(const AliasInfo* alias_info) const {
  std::string text = absl::StrCat(
      "total ", stats_.total_allocation_bytes, " bytes: parameters ",
      stats_.parameter_allocation_bytes, ", constants ",
      stats_.constant_allocation_bytes, ", results ",
      stats_.maybe_live_out_allocation_bytes, ", temporary ",
      stats_.preallocated_temp_allocation_bytes, " (fragmentation ",
      stats_.preallocated_temp_fragmentation_bytes, ")\n");
  std::map<BufferValue::Color, int64_t> by_color;
  for (const BufferAllocation& allocation : allocations_) {
    by_color[allocation.color()] += allocation.size();
  }
  if (by_color.size() < 2) return text;
  for (const auto& [color, bytes] : by_color) {
    absl::StrAppend(&text, "  color ", color, ": ", bytes, " bytes\n");
  }
  return text;
}

std::string BufferAssignment::ToVerboseString(
    const AliasInfo* alias_info, size_t max_buffers_to_show) const {
  std::string text = StatsString(alias_info);
  for (const BufferAllocation* allocation : LargestFirst(allocations_)) {
    if (max_buffers_to_show-- == 0) break;
    absl::StrAppend(&text, allocation->MemoryUsageReport(
                               "  ", /*percentile=*/0.05, /*more_than_k=*/10));
  }
  return text;
}

std::string BufferAssignment::MemoryUsageReport(float percentile,
                                                int64_t more_than_k,
                                                bool print_shape_layout) const {
  std::string text = StatsString(/*alias_info=*/nullptr);
  int64_t shown = 0;
  for (const BufferAllocation* allocation : LargestFirst(allocations_)) {
    if (shown++ >= more_than_k &&
        allocation->size() < percentile * stats_.total_allocation_bytes) {
      absl::StrAppend(&text, "  and ", allocations_.size() - shown + 1,
                      " smaller allocations\n");
      break;
    }
    absl::StrAppend(&text,
                    allocation->MemoryUsageReport("  ", percentile, more_than_k,
                                                  print_shape_layout));
  }
  return text;
}

MemoryUsageReportProto BufferAssignment::GetMemoryUsageReportProto(
    float percentile, int64_t more_than_k) const {
  std::map<BufferValue::Color, std::vector<const BufferAllocation*>> by_color;
  for (const BufferAllocation* allocation : LargestFirst(allocations_)) {
    by_color[allocation->color()].push_back(allocation);
  }
  MemoryUsageReportProto report;
  for (const auto& [color, allocations] : by_color) {
    auto* space = report.add_memory_space_allocation_entries();
    int64_t total = 0;
    for (const BufferAllocation* allocation : allocations) {
      total += allocation->size();
    }
    space->set_total_bytes(total);
    space->set_memory_space_color(static_cast<int32_t>(color));
    int64_t sum = 0;
    for (const BufferAllocation* allocation : allocations) {
      if (space->allocation_entries_size() >= more_than_k &&
          allocation->size() < percentile * total) {
        break;
      }
      sum += allocation->size();
      auto* entry = space->add_allocation_entries();
      entry->set_index(allocation->index());
      entry->set_size(allocation->size());
      entry->set_cumulative_size(sum);
      entry->set_cumulative_percentage(total == 0
                                           ? 0
                                           : 100.0 * static_cast<double>(sum) /
                                                 static_cast<double>(total));
      auto values = allocation->SortedBuffers();
      std::stable_sort(values.begin(), values.end(),
                       [](const auto& a, const auto& b) {
                         return a.second.size > b.second.size;
                       });
      for (const auto& [value, place] : values) {
        entry->add_defining_positions(value->defining_position().ToString());
      }
      if (values.empty()) continue;
      entry->set_hlo_text(values[0].first->instruction()->ToString());
    }
  }
  return report;
}

std::string BufferAssignment::BufferInfoString() const {
  std::string text = "id,offset,size,allocation,start,end,name\n";
  for (const HloValue* value : dataflow_analysis().values()) {
    if (!HasAllocation(*value)) continue;
    const BufferAllocation& allocation = GetAssignedAllocation(*value);
    const BufferAllocation::Slice slice = allocation.GetSlice(*value);
    absl::StrAppend(&text, value->id(), ",", slice.offset(), ",", slice.size(),
                    ",", allocation.index(), ",");
    if (HasHloLiveRange()) {
      auto range = live_range_->buffer_live_ranges().find(value);
      if (range != live_range_->buffer_live_ranges().end()) {
        absl::StrAppend(&text, range->second.start, ",", range->second.end);
      } else {
        absl::StrAppend(&text, ",");
      }
    } else {
      absl::StrAppend(&text, ",");
    }
    absl::StrAppend(&text, ",", value->ToShortString(), "\n");
  }
  return text;
}

BufferAssignmentProto BufferAssignment::ToProto() const {
  BufferAssignmentProto proto;
  for (const HloValue* value : dataflow_analysis().values()) {
    if (!HasAllocation(*value)) continue;
    *proto.add_logical_buffers() = value->ToProto(buffer_size_);
    for (const HloPosition& position : value->positions()) {
      if (position == value->defining_position()) continue;
      auto* alias = proto.add_buffer_aliases();
      alias->set_source_buffer_id(value->id());
      *alias->mutable_location() =
          BufferValue::ToLocationProto(*position.instruction, position.index);
    }
  }
  for (const BufferAllocation& allocation : allocations_) {
    *proto.add_buffer_allocations() = allocation.ToProto();
    for (const HeapSimulatorTrace& trace : allocation.HeapTraces()) {
      *proto.add_heap_simulator_traces() = trace;
    }
    if (!allocation.IsPreallocatedTempBuffer() || !HasHloLiveRange()) continue;
    auto* peak = proto.add_peak_buffers();
    peak->set_index(allocation.index());
    for (const HloValue* value : allocation.PeakMemoryLogicalBuffers()) {
      peak->add_logical_buffer_ids(value->id());
    }
  }
  return proto;
}

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssignment::FromProto(
    const BufferAssignmentProto& proto, const HloModule* module,
    BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias,
                      HloAliasAnalysis::Run(module, alias_info));
  // Ids of values are those of a run; where a value is defined is not.
  absl::flat_hash_map<std::pair<int64_t, ShapeIndex>, HloValue*> defined_at;
  for (HloValue* value : alias->dataflow_analysis().values()) {
    defined_at[{value->instruction()->unique_id(), value->index()}] = value;
  }
  absl::flat_hash_map<int64_t, HloValue*> by_old_id;
  for (const LogicalBufferProto& buffer : proto.logical_buffers()) {
    ShapeIndex index;
    for (int64_t i : buffer.defined_at().shape_index()) index.push_back(i);
    auto it = defined_at.find({buffer.defined_at().instruction_id(), index});
    if (it == defined_at.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "buffer assignment: logical buffer ", buffer.id(), ": instruction ",
          buffer.defined_at().instruction_id(), " of ", module->name(),
          " defines no value at ", index.ToString()));
    }
    it->second->set_color(buffer.color());
    by_old_id[buffer.id()] = it->second;
  }
  std::unique_ptr<HloOrdering> ordering;
  if (module->has_schedule()) {
    ordering = std::make_unique<SequentialHloOrdering>(module->schedule());
  } else {
    ordering = std::make_unique<DependencyHloOrdering>(module);
  }
  auto assignment = absl::WrapUnique(new BufferAssignment(
      module, std::move(ordering), std::move(buffer_size), std::move(alias)));
  for (const BufferAllocationProto& old : proto.buffer_allocations()) {
    if (old.index() != assignment->allocations_.size() || old.size() < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "buffer assignment: allocation ", old.index(), " is at ", "position ",
          assignment->allocations_.size(), " or has a negative size"));
    }
    assignment->allocations_.push_back(BufferAllocation::FromProto(old));
    BufferAllocation& allocation = assignment->allocations_.back();
    for (const auto& assigned : old.assigned()) {
      auto it = by_old_id.find(assigned.logical_buffer_id());
      if (it == by_old_id.end() || assigned.offset() < 0 ||
          assigned.size() < 0 ||
          assigned.size() > old.size() - assigned.offset() ||
          assignment->HasAllocation(*it->second)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "buffer assignment: logical buffer ", assigned.logical_buffer_id(),
            " is unknown, assigned twice, or not inside allocation ",
            old.index()));
      }
      assignment->AddAssignment(&allocation, *it->second, assigned.offset());
      allocation.assigned_buffers_[it->second].size = assigned.size();
    }
  }
  for (const HeapSimulatorTrace& trace : proto.heap_simulator_traces()) {
    const int64_t index = trace.buffer_allocation_index();
    if (index < 0 || index >= assignment->allocations_.size()) continue;
    assignment->allocations_[index].AddHeapTrace(trace);
  }
  assignment->Finalize();
  return assignment;
}

}  // namespace xla
