#include "xla/hlo/analysis/buffers/lent_memory.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/heap/may_write_over.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

constexpr int kMaxLentTries = 1024;
// At most this many operands of one instruction are asked.
constexpr int64_t kMaxOperands = 256;

bool MustNotLiveOut(const HloBuffer& buffer, const HloAliasAnalysis& alias,
                    const BufferAssigner::Options& options) {
  if (!options.must_not_live_out.has_value()) return false;
  for (const HloValue* value : buffer.values()) {
    if ((*options.must_not_live_out)(alias, value->instruction(),
                                     value->index())) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool MayHold(const BufferAllocation& allocation, const HloBuffer& buffer,
             BufferValue::Color color, const BufferAssignment& assignment,
             const BufferAssigner::Options& options) {
  const int64_t size = assignment.HloBufferSize(buffer);
  const bool can_use =
      options.can_use_allocation != nullptr
          ? options.can_use_allocation(allocation, color)
          : BufferAssigner::DefaultCanUseAllocation()(allocation, color);
  if (!can_use || !allocation.is_reusable() || size > allocation.size()) {
    return false;
  }
  return !allocation.maybe_live_out() ||
         !MustNotLiveOut(buffer, assignment.alias_analysis(), options);
}

// Allocations of results are reserved for the whole execution, but hold their
// values only towards the end. Before that, temporaries may use them for free.
void LentMemory::Register(BufferAllocation::Index index) {
  const BufferAllocation& allocation = assignment_.GetAllocation(index);
  if (!allocation.is_reusable() || allocation.size() == 0) return;
  Busy busy;
  for (const auto& [value, place] : allocation.assigned_buffers()) {
    const HloLiveRange::TimeBound* range = RangeOf(*value);
    if (range == nullptr || place.offset != 0) return;
    busy.emplace(std::make_pair(range->start, range->end), value);
  }
  busy_[index] = std::move(busy);
  by_size_.emplace(allocation.size(), -index);
}

const HloLiveRange::TimeBound* LentMemory::RangeOf(
    const HloValue& value) const {
  const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
  auto it = ranges.find(&value);
  return it == ranges.end() ? nullptr : &it->second;
}

// Values in one allocation overlap in no more than a point, so their ranges are
// in the same order by start and by end, and the walk back from the last one
// that starts in time may stop at the first that ends before. Two ranges that
// share a point are those of an operand and of the result that takes its place,
// which the instruction has to allow. A copy never takes the place of its
// source: it was inserted to keep the two apart.
bool LentMemory::IsFree(const Busy& busy, const HloBuffer& buffer) const {
  const auto overwrites = [&](const HloValue& user, const HloValue& operand) {
    return MayWriteOver(assignment_.dataflow_analysis(), user, operand,
                        alias_info_);
  };
  for (const HloValue* value : buffer.values()) {
    const HloLiveRange::TimeBound* range = RangeOf(*value);
    if (range == nullptr) return false;
    // The last of those that start before this one ends.
    auto it = busy.lower_bound({range->end + 1, 0});
    while (it != busy.begin()) {
      const auto [its_start, its_end] = (--it)->first;
      if (its_end < range->start) break;
      const HloValue& held = *it->second;
      if (its_end == range->start) {
        if (!overwrites(*value, held)) return false;
        if (value->instruction()->opcode() == HloOpcode::kCopy &&
            absl::c_any_of(held.positions(), [&](const HloPosition& position) {
              return position.instruction == value->instruction()->operand(0);
            })) {
          return false;
        }
      } else if (range->end != its_start || !overwrites(held, *value)) {
        return false;
      }
    }
  }
  return true;
}

bool LentMemory::TryAllocation(BufferAllocation::Index index,
                               const HloBuffer& buffer,
                               BufferValue::Color color) {
  auto busy = busy_.find(index);
  if (busy == busy_.end()) return false;
  BufferAllocation* allocation = assignment_.GetMutableAllocation(index);
  const bool lives_out = assignment_.alias_analysis().BufferLivesOut(buffer);
  if (!MayHold(*allocation, buffer, color, assignment_, options_) ||
      allocation->is_readonly() ||
      (lives_out && allocation->size() != assignment_.HloBufferSize(buffer)) ||
      !IsFree(busy->second, buffer)) {
    return false;
  }
  for (const HloValue* value : buffer.values()) {
    assignment_.AddAssignment(allocation, *value, 0);
    const HloLiveRange::TimeBound* range = RangeOf(*value);
    busy->second.emplace(std::make_pair(range->start, range->end), value);
  }
  return true;
}

bool LentMemory::HasAllocation(const HloInstruction& inst) const {
  return absl::c_all_of(
      assignment_.dataflow_analysis().GetValueSet(&inst).values(),
      [this](const HloValue* value) {
        return assignment_.HasAllocation(*value);
      });
}

// The allocations of operands come first: taking the place of an operand that
// ends here fits without a gap in time. Then the smallest that are large enough
// (best fit), no more than kMaxLentTries of them, which bounds the time for
// modules with many results.
bool LentMemory::LendTo(const HloBuffer& buffer, BufferValue::Color color) {
  for (const HloValue* value : buffer.values()) {
    const HloInstruction* inst = value->instruction();
    const int64_t operands = std::min(inst->operand_count(), kMaxOperands);
    for (int64_t i = 0; i < operands; ++i) {
      const HloInstruction* operand = inst->operand(i);
      const BufferAllocation* its =
          HasAllocation(*operand)
              ? assignment_.GetInstructionAllocation(operand, {})
              : nullptr;
      if (its != nullptr && TryAllocation(its->index(), buffer, color)) {
        return true;
      }
    }
  }
  auto candidate = by_size_.lower_bound(
      {assignment_.HloBufferSize(buffer), std::numeric_limits<int64_t>::min()});
  for (int tries = 0; candidate != by_size_.end() && tries < kMaxLentTries;
       ++candidate, ++tries) {
    if (TryAllocation(-candidate->second, buffer, color)) return true;
  }
  return false;
}

}  // namespace xla
