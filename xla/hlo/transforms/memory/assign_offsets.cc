#include "xla/hlo/transforms/memory/assign_offsets.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pass/check_scheduled.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

std::string Name(const HloValue& value) {
  const HloInstruction* instruction = value.instruction();
  return absl::StrCat(
      "%", instruction->name(),
      instruction->shape().IsTuple() ? value.index().ToString() : "");
}

// The values of one buffer are one piece of memory, so that each must be dead
// when a later one is written. Neighbors in time do not suffice: what one
// branch of a conditional overwrites may be read in the next.
//
// Those that have ended need no question, which takes long where there are many
// branches. Only what a computation with several callers defines is written at
// other times, too.
absl::Status CheckCopies(const BufferAssignment& assignment,
                         const AliasInfo* alias_info) {
  if (!assignment.HasHloLiveRange()) return absl::OkStatus();
  const HloLiveRange& live_range = assignment.hlo_live_range();
  const auto& ranges = live_range.buffer_live_ranges();
  const bool is_flat = assignment.hlo_ordering().call_graph().IsFlattened();
  for (const HloBuffer& buffer : assignment.alias_analysis().buffers()) {
    std::vector<const HloValue*> values;
    for (const HloValue* value : buffer.values()) {
      if (value->shape().IsArray() && ranges.contains(value)) {
        values.push_back(value);
      }
    }
    absl::c_stable_sort(values, [&](const HloValue* a, const HloValue* b) {
      return ranges.at(a).start < ranges.at(b).start;
    });
    std::vector<const HloValue*> live;
    for (const HloValue* value : values) {
      if (is_flat) {
        const HloLiveRange::LogicalTime start = ranges.at(value).start;
        live.erase(std::remove_if(live.begin(), live.end(),
                                  [&](const HloValue* earlier) {
                                    return live_range.OwnEnd(*earlier) < start;
                                  }),
                   live.end());
      }
      for (const HloValue* earlier : live) {
        if (assignment.hlo_ordering().MayInterfere(
                *earlier, *value, assignment.dataflow_analysis(), alias_info)) {
          return absl::FailedPreconditionError(absl::StrCat(
              "module ", assignment.module().name(), " needs copies: ",
              Name(*earlier), " is needed after ", Name(*value),
              " is written in the same memory; run copy-insertion first"));
        }
      }
      live.push_back(value);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> AssignOffsets::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const int64_t alignment = options_.alignment;
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("alignment=", alignment, " is not a power of two"));
  }
  TF_RETURN_IF_ERROR(CheckScheduled(name(), *module));
  const AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<BufferAssignment> assignment,
      BufferAssigner::Run(
          module, std::make_unique<SequentialHloOrdering>(module->schedule()),
          [](const BufferValue& value) {
            return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
          },
          &alias_info, [alignment](BufferValue::Color) { return alignment; },
          {}));
  if (options_.check) {
    TF_RETURN_IF_ERROR(CheckCopies(*assignment, &alias_info));
    TF_RETURN_IF_ERROR(CheckBufferAssignment(*assignment, &alias_info));
  }
  const BufferAssignment::Stats& stats = assignment->GetStats();
  SetKVMetric(module, "total_bytes", stats.total_allocation_bytes);
  SetKVMetric(module, "temp_bytes", stats.preallocated_temp_allocation_bytes);
  SetKVMetric(module, "fragmentation_bytes",
              stats.preallocated_temp_fragmentation_bytes);
  SetKVMetric(module, "allocations", stats.total_allocation_count);
  return false;
}

}  // namespace xla
