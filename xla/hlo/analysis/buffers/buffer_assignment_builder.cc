#include "xla/hlo/analysis/buffers/buffer_assignment_builder.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/buffers/buffer_reuse.h"
#include "xla/hlo/analysis/buffers/lent_memory.h"
#include "xla/hlo/analysis/buffers/temp_heap.h"
#include "xla/hlo/analysis/heap/heap_simulator.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Assigns every buffer to a slice of an allocation, in this order:
//  - preset buffers go where an earlier pass of memory space assignment put
//    them;
//  - parameters, constants, tuples, thread-local buffers and results get
//    allocations of their own, since something outside decides about their
//    memory;
//  - with a schedule, buffers borrow the memory of results, and of parameters
//    that results are aliased to, while it is free;
//  - all remaining temporaries of one memory space are packed into one heap by
//    the heap simulator.
//
// Without a total order there are no live times to pack by. Buffers then share
// whole allocations instead: each one, in the chosen order, goes into the first
// allocation (by size) all of whose values are ordered with respect to its own
// values.

namespace xla {
namespace {

// Without a schedule: for each buffer, of values. Bounds what modules cost in
// which most values meet calls.
constexpr int64_t kMaxComparisons = 4096;

}  // namespace

// Bounds the sum of all sizes, so that no later addition of sizes or offsets
// can overflow.
absl::Status BufferAssignmentBuilder::CheckSizes() const {
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  int64_t total = 0;
  for (const HloValue* value : alias_.dataflow_analysis().values()) {
    const int64_t size = assignment_.ValueSize(*value);
    if (size < 0 || size > kMaxBytes - total) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer assignment: the values up to ",
                       value->ToShortString(), " have more than 2^62 bytes"));
    }
    total += size;
  }
  return absl::OkStatus();
}

absl::Status BufferAssignmentBuilder::FindLiveRanges() {
  const HloModule& module = assignment_.module();
  for (const HloComputation* computation : global_list_) {
    const HloInstructionSequence* sequence =
        assignment_.hlo_ordering().SequentialOrder(*computation);
    if (sequence == nullptr) return absl::OkStatus();
    schedule_.set_sequence(computation, *sequence);
  }
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<HloLiveRange> live_range,
      HloLiveRange::Run(schedule_, alias_, module.entry_computation()));
  if (live_range->total_order_scheduled()) {
    assignment_.live_range_ = std::move(live_range);
  }
  return absl::OkStatus();
}

absl::Status BufferAssignmentBuilder::AssignPresets() {
  if (options_.preset_assignments == nullptr) return absl::OkStatus();
  auto bad = [](const HloPosition& position, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "buffer assignment: preset for ", position.ToString(), " ", what));
  };
  std::map<BufferValue::Color, BufferAllocation::Index> allocations;
  for (const auto& [space, information] :
       options_.preset_assignments->assignment_informations()) {
    BufferAllocation* allocation =
        assignment_.NewEmptyAllocation(information.size, space);
    allocation->AddHeapTrace(information.heap_trace);
    allocations[space] = allocation->index();
  }
  for (const auto& [position, chunk] : options_.preset_assignments->chunks()) {
    if (position.instruction->GetModule() != &assignment_.module()) {
      return bad(position, "belongs to another module");
    }
    if (!ShapeUtil::IndexIsValid(position.instruction->shape(),
                                 position.index)) {
      return bad(position, "has an index that does not exist in the shape");
    }
    for (const HloBuffer* buffer :
         alias_.ComputeBuffersAt(position.instruction, position.index)) {
      TF_ASSIGN_OR_RETURN(const BufferValue::Color color, buffer->color());
      auto it = allocations.find(color);
      if (it == allocations.end()) {
        return bad(position, "is in a memory space of unknown size");
      }
      BufferAllocation* allocation =
          assignment_.GetMutableAllocation(it->second);
      if (chunk.offset < 0 || chunk.chunk_end() > allocation->size() ||
          chunk.size < assignment_.HloBufferSize(*buffer)) {
        return bad(position, "does not fit");
      }
      for (const HloValue* value : buffer->values()) {
        if (!assignment_.HasAllocation(*value)) {
          assignment_.AddAssignment(allocation, *value, chunk.offset);
        } else if (allocation->GetSlice(*value).offset() != chunk.offset) {
          return bad(position, "differs from another one of its buffer");
        }
      }
      if (alias_.BufferLivesOut(*buffer)) allocation->set_maybe_live_out(true);
    }
  }
  return absl::OkStatus();
}

// Among equal sizes, results come first, so that others can use their memory,
// and then what is defined first in the post order of the computations.
std::vector<const HloBuffer*> BufferAssignmentBuilder::OrderedBuffers() const {
  using Key = std::tuple<int64_t, bool, int64_t>;
  absl::flat_hash_map<const HloInstruction*, int64_t> places;
  if (options_.buffer_order == BufferAssigner::kBiggestFirst) {
    for (const auto* list : {&global_list_, &thread_local_list_}) {
      for (const HloComputation* computation : *list) {
        for (const HloInstruction* inst :
             computation->MakeInstructionPostOrder()) {
          places.emplace(inst, places.size());
        }
      }
    }
  }
  std::vector<std::pair<Key, const HloBuffer*>> entries;
  for (const HloBuffer& buffer : alias_.buffers()) {
    Key key = {0, false, 0};
    if (options_.buffer_order == BufferAssigner::kBiggestFirst) {
      int64_t place = std::numeric_limits<int64_t>::max();
      for (const HloValue* value : buffer.values()) {
        auto it = places.find(value->instruction());
        if (it != places.end()) place = std::min(place, it->second);
      }
      key = {-assignment_.HloBufferSize(buffer), !alias_.BufferLivesOut(buffer),
             place};
    } else if (options_.buffer_order == BufferAssigner::kLiveRangeStart &&
               assignment_.HasHloLiveRange()) {
      const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
      int64_t start = std::numeric_limits<int64_t>::max();
      for (const HloValue* value : buffer.values()) {
        auto it = ranges.find(value);
        if (it != ranges.end()) start = std::min(start, it->second.start);
      }
      key = {start, false, 0};
    }
    entries.emplace_back(key, &buffer);
  }
  absl::c_stable_sort(
      entries, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const HloBuffer*> buffers;
  for (const auto& [key, buffer] : entries) buffers.push_back(buffer);
  return buffers;
}

// One buffer may hold values of several kinds: aliasing can join a parameter
// with values of a loop. The caller resolves the mixture, parameters first.
BufferAssignmentBuilder::Kind BufferAssignmentBuilder::KindOf(
    const HloBuffer& buffer) const {
  Kind kind;
  for (const HloValue* value : buffer.values()) {
    const HloInstruction* inst = value->instruction();
    kind.is_constant |= inst->opcode() == HloOpcode::kConstant;
    kind.is_global |= global_.contains(inst->parent());
    kind.is_thread_local |= thread_local_.contains(inst->parent());
    if (inst->opcode() == HloOpcode::kParameter &&
        inst->parent() == assignment_.module().entry_computation()) {
      kind.parameter = value;
    }
  }
  kind.lives_out = alias_.BufferLivesOut(buffer);
  return kind;
}

void BufferAssignmentBuilder::AssignAlone(const HloBuffer& buffer,
                                          BufferValue::Color color,
                                          const Kind& kind) {
  BufferAllocation& allocation =
      *assignment_.NewEmptyAllocation(assignment_.HloBufferSize(buffer), color);
  for (const HloValue* value : buffer.values()) {
    assignment_.AddAssignment(&allocation, *value, 0);
  }
  allocation.set_constant(kind.is_constant && kind.parameter == nullptr);
  allocation.set_is_thread_local(kind.is_thread_local && !kind.is_global);
  allocation.set_is_tuple(buffer.values()[0]->IsTuple());
  allocation.set_maybe_live_out(kind.lives_out);
  if (kind.parameter != nullptr) {
    allocation.set_entry_computation_parameter(
        kind.parameter->instruction()->parameter_number(),
        kind.parameter->index(), kind.lives_out);
  }
  if (lent_.has_value() && kind.lives_out) lent_->Register(allocation.index());
  if (reuse_ == nullptr) return;
  chains_->Add(allocation.index(), buffer);
  if (kind.parameter == nullptr) {
    reuse_->RegisterNewAllocation(&buffer, allocation.index());
  } else if (kind.lives_out) {
    reuse_->RegisterAliasedEntryParameterAllocation(allocation.index());
  }
}

bool BufferAssignmentBuilder::IsCopy(const HloValue& a,
                                     const HloValue& b) const {
  auto copies = [&](const HloValue& copy, const HloValue& value) {
    return copy.instruction()->opcode() == HloOpcode::kCopy &&
           absl::c_linear_search(
               alias_.dataflow_analysis()
                   .GetValueSet(copy.instruction()->operand(0))
                   .values(),
               &value);
  };
  return copies(a, b) || copies(b, a);
}

// Like BufferAssigner::MaybeAssignBuffer, but asks the value chains for
// conflicts, which needs only the neighbors in time instead of all values
// held.
absl::StatusOr<bool> BufferAssignmentBuilder::TryAllocation(
    BufferAllocation* allocation, const HloBuffer& buffer) {
  const BufferAllocation::Index index = allocation->index();
  const bool lives_out = alias_.BufferLivesOut(buffer);
  // The chains do not know about preset allocations.
  if (chains_->NumValues(index) != allocation->assigned_buffers().size() ||
      (lives_out && options_.must_not_live_out.has_value())) {
    TF_ASSIGN_OR_RETURN(
        const bool assigned,
        assigner_.MaybeAssignBuffer(allocation, buffer, &assignment_));
    if (assigned) chains_->Add(index, buffer);
    return assigned;
  }
  TF_ASSIGN_OR_RETURN(const BufferValue::Color color, buffer.color());
  if (!MayHold(*allocation, buffer, color, assignment_, options_) ||
      allocation->is_readonly() ||
      (lives_out && allocation->size() != assignment_.HloBufferSize(buffer)) ||
      !chains_->Fits(index, buffer, &budget_)) {
    return false;
  }
  for (const HloValue* value : buffer.values()) {
    assignment_.AddAssignment(allocation, *value, 0);
  }
  if (lives_out) allocation->set_maybe_live_out(true);
  chains_->Add(index, buffer);
  return true;
}

// Operands come first, so that an instruction overwrites one where it can.
absl::StatusOr<bool> BufferAssignmentBuilder::Reuse(const HloBuffer& buffer) {
  budget_ = kMaxComparisons;
  for (const HloValue* value : buffer.values()) {
    for (const HloInstruction* operand : value->instruction()->operands()) {
      const BufferAllocation* its =
          assignment_.GetInstructionAllocation(operand, {});
      if (its == nullptr) continue;
      TF_ASSIGN_OR_RETURN(
          const bool assigned,
          TryAllocation(assignment_.GetMutableAllocation(its->index()),
                        buffer));
      if (assigned) return true;
    }
  }
  return reuse_->TryAssignToExistingAllocation(
      &buffer, assignment_.HloBufferSize(buffer));
}

absl::Status BufferAssignmentBuilder::AssignBuffer(const HloBuffer& buffer) {
  TF_ASSIGN_OR_RETURN(const BufferValue::Color color, buffer.color());
  if (color == options_.dus_view_color) return absl::OkStatus();
  const Kind kind = KindOf(buffer);
  if (!kind.is_global && !kind.is_thread_local) return absl::OkStatus();
  if (kind.is_constant && !options_.allocate_buffers_for_constants &&
      kind.parameter == nullptr) {
    return absl::OkStatus();
  }
  const bool is_special = kind.is_constant || kind.is_thread_local ||
                          kind.parameter != nullptr ||
                          buffer.values()[0]->IsTuple();
  if (!is_special && reuse_ != nullptr) {
    TF_ASSIGN_OR_RETURN(const bool assigned, Reuse(buffer));
    if (assigned) return absl::OkStatus();
  }
  const HeapKey heap(color, PrivateStackOf(buffer, color));
  if (!is_special && lent_.has_value() && heap.second < 0 &&
      lent_->LendTo(buffer, color)) {
    return absl::OkStatus();
  }
  const bool is_alone = kind.lives_out && !options_.pack_results;
  if (is_special || is_alone || reuse_ != nullptr) {
    AssignAlone(buffer, color, kind);
  } else {
    temporaries_.push_back({&buffer, heap});
  }
  return absl::OkStatus();
}

int64_t BufferAssignmentBuilder::PrivateStackOf(
    const HloBuffer& buffer, BufferValue::Color color) const {
  if (options_.private_stacks == nullptr) return -1;
  auto it = options_.private_stacks->find(color);
  if (it == options_.private_stacks->end()) return -1;
  const HloComputation* computation =
      buffer.values()[0]->instruction()->parent();
  for (const HloValue* value : buffer.values()) {
    if (value->instruction()->parent() != computation) return -1;
  }
  auto found = absl::c_find(it->second, computation);
  return found == it->second.end() ? -1 : 0;
}

void BufferAssignmentBuilder::LendToTemporaries() {
  if (!lent_.has_value()) return;
  for (const auto& [buffer, key] : temporaries_) {
    if (key.second < 0) lent_->LendTo(*buffer, key.first);
  }
}

void BufferAssignmentBuilder::AssignHeap(const HeapKey& key,
                                         const HeapResultOf<HloValue>& heap,
                                         int64_t page) {
  const auto [color, stack] = key;
  BufferAllocation* allocation = assignment_.NewEmptyAllocation(
      heap.heap_size,
      color == 0 ? options_.temp_buffer_color.value_or(color) : color);
  allocation->set_page_id(page);
  std::vector<std::pair<const HloValue*, int64_t>> placed;
  for (const auto& [value, chunk] : heap.chunk_map) {
    placed.emplace_back(value, chunk.offset);
  }
  absl::c_sort(placed, [](const auto& a, const auto& b) {
    return a.first->id() < b.first->id();
  });
  for (const auto& [value, offset] : placed) {
    assignment_.AddAssignment(allocation, *value, offset);
  }
  // Values that live for no time are not in the heap.
  absl::flat_hash_set<HloBuffer::Id> done;
  for (const auto& [value, offset] : placed) {
    const HloBuffer& buffer = alias_.GetBufferContainingValue(*value);
    if (!done.insert(buffer.id()).second) continue;
    for (const HloValue* other : buffer.values()) {
      if (assignment_.HasAllocation(*other)) continue;
      assignment_.AddAssignment(allocation, *other, offset);
    }
    if (alias_.BufferLivesOut(buffer)) allocation->set_maybe_live_out(true);
  }
}

absl::Status BufferAssignmentBuilder::AssignTemporaries(
    const HeapKey& key, const std::vector<const HloValue*>& values) {
  const BufferValue::Color color = key.first;
  const absl::flat_hash_set<const HloValue*> to_assign(values.begin(),
                                                       values.end());
  HeapSimulator::Options options;
  options.alloc_constants = options_.allocate_buffers_for_constants;
  options.buffers_to_assign = &to_assign;
  const BufferValue::SizeFunction size = [&](const BufferValue& value) {
    return assignment_.ValueSize(static_cast<const HloValue&>(value));
  };
  const int64_t alignment = alignment_(color);
  TF_ASSIGN_OR_RETURN(
      HeapSimulator::Result<HloValue> result,
      HeapSimulator::Run(
          MakeTempHeap(options_, alignment,
                       assigner_.GetMemoryLimit(assignment_, color),
                       assignment_.multiheap_size_constraint_per_heap()),
          assignment_.module(), schedule_, alias_, alias_info_, &size,
          options));
  const int64_t first = assignment_.Allocations().size();
  int64_t page = 0;
  for (HeapResultOf<HloValue>& heap : result.heap_results) {
    if (options_.isolation_options.has_value()) {
      result.fragmentation_size += IsolateBuffers(
          *options_.isolation_options, color, alignment, alias_, heap);
    }
    AssignHeap(key, heap, page++);
  }
  BufferAllocation* allocation = assignment_.GetMutableAllocation(first);
  allocation->set_fragmentation_bytes(result.fragmentation_size);
  allocation->AddHeapTrace(result.debug_trace);
  return absl::OkStatus();
}

// Presets come first, and what they place is left out of the rest. With a total
// order of all instructions, live ranges are intervals: AssignBuffer gives
// parameters, constants and tuples an allocation each, results as well unless
// they are packed, and collects what no allocation lends its memory to in
// temporaries_, which one heap for each memory space or private stack then
// packs all at once. Without one, every buffer is placed as it comes, in an
// allocation whose values it cannot interfere with or in a new one, and
// CombineTemporaries makes the allocations of temporaries one. Presets are the
// caller's, so only a check at the end tells whether they overlap.
absl::Status BufferAssignmentBuilder::Run() {
  TF_RETURN_IF_ERROR(CheckSizes());
  TF_RETURN_IF_ERROR(GatherComputationsByAllocationType(
      &assignment_.module(), &thread_local_list_, &global_list_));
  global_.insert(global_list_.begin(), global_list_.end());
  thread_local_.insert(thread_local_list_.begin(), thread_local_list_.end());
  TF_RETURN_IF_ERROR(FindLiveRanges());
  if (!assignment_.HasHloLiveRange()) {
    chains_.emplace(
        assignment_.module(),
        [this](const HloValue& a, const HloValue& b) {
          return IsCopy(a, b) ||
                 assignment_.hlo_ordering().MayInterfere(
                     a, b, alias_.dataflow_analysis(), alias_info_);
        },
        [this](const HloValue& a, const HloValue& b) {
          return !IsCopy(a, b) &&
                 assignment_.hlo_ordering().LiveRangeStrictlyBefore(
                     a, b, alias_.dataflow_analysis(), alias_info_);
        });
    reuse_ = CreateBufferReuse(
        &assignment_,
        [this](BufferAllocation* allocation, const HloBuffer& buffer) {
          return TryAllocation(allocation, buffer);
        },
        options_.assignment_algorithm_for_computations_without_ordering ==
            BufferAssigner::UnorderedAlgorithm::FAST_MERGE);
  } else if (!options_.isolation_options.has_value()) {
    lent_.emplace(&assignment_, alias_info_, options_);
  }
  TF_RETURN_IF_ERROR(AssignPresets());
  for (const HloBuffer* buffer : OrderedBuffers()) {
    if (assignment_.HasAllocation(*buffer)) continue;
    TF_RETURN_IF_ERROR(AssignBuffer(*buffer));
  }
  if (options_.buffer_order != BufferAssigner::kBiggestFirst)
    LendToTemporaries();
  std::map<HeapKey, std::vector<const HloValue*>> heaps;
  for (const auto& [buffer, key] : temporaries_) {
    if (assignment_.HasAllocation(*buffer)) continue;
    for (const HloValue* value : buffer->values()) heaps[key].push_back(value);
  }
  for (const auto& [key, values] : heaps) {
    TF_RETURN_IF_ERROR(AssignTemporaries(key, values));
  }
  if (!assignment_.HasHloLiveRange()) {
    assignment_.CombineTemporaries(alignment_, options_.temp_buffer_color);
  }
  assignment_.Finalize();
  if (options_.preset_assignments == nullptr) return absl::OkStatus();
  const absl::Status status = CheckBufferAssignment(assignment_, alias_info_);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "presets that live at the same time overlap: ", status.message()));
}

}  // namespace xla
