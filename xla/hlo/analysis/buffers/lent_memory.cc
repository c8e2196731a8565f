#include "xla/hlo/analysis/buffers/lent_memory.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

constexpr int kMaxLentTries = 256;

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
// For each such allocation, `busy_` holds the disjoint times at which it is in
// use; only allocations all of whose values cover them from offset 0 take part.
LentMemory::LentMemory(BufferAssignment* assignment,
                       const AliasInfo* alias_info,
                       const BufferAssigner::Options& options)
    : assignment_(*assignment), alias_info_(alias_info), options_(options) {
  if (!assignment_.HasHloLiveRange()) return;
  for (const BufferAllocation& allocation : assignment_.Allocations()) {
    if (!allocation.maybe_live_out() || !allocation.is_reusable() ||
        allocation.size() == 0) {
      continue;
    }
    Busy busy;
    bool is_known = true;
    bool is_whole = true;
    for (const auto& [value, place] : allocation.SortedBuffers()) {
      is_known &= AddTo(busy, *value);
      is_whole &= place.offset == 0;
    }
    if (!is_known || !is_whole) continue;
    busy_[allocation.index()] = std::move(busy);
    by_size_.emplace_back(allocation.size(), allocation.index());
  }
  std::sort(by_size_.begin(), by_size_.end());
}

bool LentMemory::AddTo(Busy& busy, const HloValue& value) const {
  const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
  auto it = ranges.find(&value);
  if (it == ranges.end()) return false;
  if (it->second.start > it->second.end) return true;  // lives for no time
  int64_t& end = busy.emplace(it->second.start, it->second.end).first->second;
  end = std::max(end, it->second.end);
  return true;
}

bool LentMemory::IsFree(const Busy& busy, const HloBuffer& buffer) const {
  const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
  for (const HloValue* value : buffer.values()) {
    auto range = ranges.find(value);
    if (range == ranges.end()) return false;
    auto after = busy.upper_bound(range->second.end);
    if (after == busy.begin()) continue;
    if (std::prev(after)->second >= range->second.start) return false;
  }
  return true;
}

// An operand which dies at the instruction that defines `value` and whose
// buffer that instruction may overwrite; null if there is none. Following such
// operands backwards puts a whole chain of element-wise instructions into the
// memory of the result.
const HloValue* LentMemory::ReusableOperand(const HloValue& value) const {
  HloInstruction* inst = value.instruction();
  if (inst->opcode() == HloOpcode::kCopy) return nullptr;
  const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
  auto range = ranges.find(&value);
  if (range == ranges.end()) return nullptr;
  const HloAliasAnalysis& alias = assignment_.alias_analysis();
  const HloDataflowAnalysis& dataflow = alias.dataflow_analysis();
  for (HloInstruction* operand : inst->operands()) {
    const HloValueSet& values = dataflow.GetValueSet(operand);
    if (values.values().size() != 1) continue;
    const HloValue& candidate = values.GetUniqueValue();
    HloInstruction* source = candidate.instruction();
    auto its_range = ranges.find(&candidate);
    const HloBuffer& buffer = alias.GetBufferContainingValue(candidate);
    if (its_range == ranges.end() ||
        its_range->second.end != range->second.start ||
        source->opcode() == HloOpcode::kParameter ||
        source->opcode() == HloOpcode::kConstant || !inst->IsUserOf(source) ||
        assignment_.HasAllocation(candidate) || candidate.IsTuple() ||
        buffer.values().size() > 1 ||
        !MayHold(assignment_.GetAssignedAllocation(value), buffer,
                 candidate.color(), assignment_, options_)) {
      continue;
    }
    if (dataflow.CanShareOperandBufferWithUser(source, candidate.index(), inst,
                                               value.index(), alias_info_)) {
      return &candidate;
    }
  }
  return nullptr;
}

void LentMemory::LendToOperandsOfResults() {
  if (!assignment_.HasHloLiveRange()) return;
  const int64_t count = assignment_.Allocations().size();
  for (BufferAllocation::Index i = 0; i < count; ++i) {
    auto busy = busy_.find(i);
    BufferAllocation* allocation = assignment_.GetMutableAllocation(i);
    if (busy == busy_.end() || allocation->is_entry_computation_parameter() ||
        allocation->assigned_buffers().size() != 1) {
      continue;
    }
    const HloValue* reused =
        ReusableOperand(*allocation->assigned_buffers().begin()->first);
    for (; reused != nullptr; reused = ReusableOperand(*reused)) {
      assignment_.AddAssignment(allocation, *reused, 0);
      AddTo(busy->second, *reused);
    }
  }
}

void LentMemory::LendTo(const HloBuffer& buffer, BufferValue::Color color) {
  if (assignment_.HasAllocation(buffer)) return;
  auto candidate =
      std::lower_bound(by_size_.begin(), by_size_.end(),
                       std::make_pair(assignment_.HloBufferSize(buffer),
                                      BufferAllocation::Index{0}));
  for (int tries = 0; candidate != by_size_.end() && tries < kMaxLentTries;
       ++candidate, ++tries) {
    const BufferAllocation::Index index = candidate->second;
    BufferAllocation* allocation = assignment_.GetMutableAllocation(index);
    Busy& busy = busy_.at(index);
    if (!MayHold(*allocation, buffer, color, assignment_, options_) ||
        !IsFree(busy, buffer)) {
      continue;
    }
    for (const HloValue* value : buffer.values()) {
      assignment_.AddAssignment(allocation, *value, 0);
      AddTo(busy, *value);
    }
    return;
  }
}

}  // namespace xla
