#include "xla/hlo/analysis/buffers/buffer_assigner.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/heap_simulator.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

absl::Status GatherComputationsByAllocationType(
    const HloModule* module,
    std::vector<const HloComputation*>* thread_local_computations,
    std::vector<const HloComputation*>* global_computations) {
  // Callers first: what a computation is depends on who calls it.
  std::vector<HloComputation*> order = module->MakeComputationPostOrder();
  absl::flat_hash_set<const HloComputation*> global = {
      module->entry_computation()};
  absl::flat_hash_set<const HloComputation*> thread_local_ones;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const bool is_global = global.contains(*it);
    if (!is_global && !thread_local_ones.contains(*it)) continue;
    for (const HloInstruction* inst : (*it)->instructions()) {
      if (inst->opcode() == HloOpcode::kFusion) continue;
      const bool as_caller = GetInstructionCallContext(inst->opcode()) ==
                             CallContext::kControlFlow;
      for (const HloComputation* callee : inst->called_computations()) {
        (as_caller && is_global ? global : thread_local_ones).insert(callee);
      }
    }
  }
  for (const HloComputation* computation : order) {
    const bool is_global = global.contains(computation);
    if (is_global && thread_local_ones.contains(computation)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "buffer assignment: computation ", computation->name(),
          " is both called and applied; flatten the call graph first"));
    }
    if (is_global) global_computations->push_back(computation);
    if (thread_local_ones.contains(computation)) {
      thread_local_computations->push_back(computation);
    }
  }
  return absl::OkStatus();
}

// Fills one assignment.
class BufferAssignmentBuilder {
 public:
  BufferAssignmentBuilder(BufferAssignment* assignment,
                          const AliasInfo* alias_info,
                          const BufferValue::AlignmentFunction& alignment,
                          const BufferAssigner::Options& options)
      : assignment_(*assignment),
        alias_(assignment->alias_analysis()),
        alias_info_(alias_info),
        alignment_(alignment),
        options_(options) {}

  absl::Status Run();

 private:
  absl::Status ComputeLiveRange();
  absl::Status AssignBuffer(const HloBuffer& buffer);
  BufferAllocation& AssignAlone(const HloBuffer& buffer,
                                BufferValue::Color color);
  // Puts operands that the result `value` can be written over into its
  // allocation, and operands of these.
  void AddReusedOperands(const HloValue& value, BufferAllocation& allocation);
  const HloValue* ReusableOperand(const HloValue& value) const;
  absl::Status AssignTemporaries(BufferValue::Color color,
                                 const std::vector<const HloValue*>& values);

  BufferAssignment& assignment_;
  const HloAliasAnalysis& alias_;
  const AliasInfo* alias_info_;
  const BufferValue::AlignmentFunction& alignment_;
  const BufferAssigner::Options& options_;
  absl::flat_hash_set<const HloComputation*> global_;
  absl::flat_hash_set<const HloComputation*> thread_local_;
  // Values for the temporary allocation of each colour, by id.
  std::map<BufferValue::Color, std::vector<const HloValue*>> temporaries_;
};

absl::Status BufferAssignmentBuilder::ComputeLiveRange() {
  const HloModule& module = assignment_.module();
  if (!module.has_schedule()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<HloLiveRange> live_range,
      HloLiveRange::Run(module.schedule(), alias_, module.entry_computation()));
  if (live_range->total_order_scheduled()) {
    assignment_.live_range_ = std::move(live_range);
  }
  return absl::OkStatus();
}

BufferAllocation& BufferAssignmentBuilder::AssignAlone(
    const HloBuffer& buffer, BufferValue::Color color) {
  BufferAllocation& allocation =
      assignment_.NewAllocation(assignment_.HloBufferSize(buffer), color);
  for (const HloValue* value : buffer.values()) {
    assignment_.Assign(allocation, *value, 0);
  }
  return allocation;
}

const HloValue* BufferAssignmentBuilder::ReusableOperand(
    const HloValue& value) const {
  HloInstruction* inst = value.instruction();
  if (inst->opcode() == HloOpcode::kCopy || !assignment_.HasHloLiveRange()) {
    return nullptr;
  }
  const auto& ranges = assignment_.hlo_live_range().buffer_live_ranges();
  auto range = ranges.find(&value);
  if (range == ranges.end()) return nullptr;
  const HloDataflowAnalysis& dataflow = alias_.dataflow_analysis();
  for (HloInstruction* operand : inst->operands()) {
    const HloValueSet& values = dataflow.GetValueSet(operand);
    if (values.values().size() != 1) continue;
    const HloValue& candidate = values.GetUniqueValue();
    auto its_range = ranges.find(&candidate);
    if (its_range == ranges.end() ||
        its_range->second.end != range->second.start ||
        candidate.instruction()->opcode() == HloOpcode::kParameter ||
        candidate.instruction()->opcode() == HloOpcode::kConstant ||
        !inst->IsUserOf(candidate.instruction()) ||
        assignment_.HasAllocation(candidate) || candidate.IsTuple() ||
        candidate.color() != value.color() ||
        assignment_.buffer_size_(candidate) !=
            assignment_.buffer_size_(value) ||
        alias_.GetBufferContainingValue(candidate).values().size() > 1) {
      continue;
    }
    if (dataflow.CanShareOperandBufferWithUser(candidate.instruction(),
                                               candidate.index(), inst,
                                               value.index(), alias_info_)) {
      return &candidate;
    }
  }
  return nullptr;
}

void BufferAssignmentBuilder::AddReusedOperands(const HloValue& value,
                                                BufferAllocation& allocation) {
  const HloValue* reused = ReusableOperand(value);
  for (; reused != nullptr; reused = ReusableOperand(*reused)) {
    assignment_.Assign(allocation, *reused, 0);
  }
}

absl::Status BufferAssignmentBuilder::AssignBuffer(const HloBuffer& buffer) {
  const HloComputation* entry = assignment_.module().entry_computation();
  TF_ASSIGN_OR_RETURN(const BufferValue::Color color, buffer.color());
  const HloValue& first = *buffer.values()[0];
  bool is_constant = false;
  bool is_global = false;
  bool is_thread_local = false;
  const HloValue* parameter = nullptr;
  for (const HloValue* value : buffer.values()) {
    const HloInstruction* inst = value->instruction();
    is_constant |= inst->opcode() == HloOpcode::kConstant;
    is_global |= global_.contains(inst->parent());
    is_thread_local |= thread_local_.contains(inst->parent());
    if (inst->opcode() == HloOpcode::kParameter && inst->parent() == entry) {
      parameter = value;
    }
  }
  if (!is_global && !is_thread_local) return absl::OkStatus();
  const bool lives_out = alias_.BufferLivesOut(buffer);
  if (is_constant && !options_.allocate_buffers_for_constants &&
      parameter == nullptr) {
    return absl::OkStatus();
  }
  const bool alone = is_constant || is_thread_local || parameter != nullptr ||
                     lives_out || first.IsTuple() ||
                     !assignment_.HasHloLiveRange();
  if (!alone) {
    for (const HloValue* value : buffer.values()) {
      temporaries_[color].push_back(value);
    }
    return absl::OkStatus();
  }
  BufferAllocation& allocation = AssignAlone(buffer, color);
  allocation.set_constant(is_constant && parameter == nullptr);
  allocation.set_is_thread_local(is_thread_local && !is_global);
  allocation.set_is_tuple(first.IsTuple());
  allocation.set_maybe_live_out(lives_out);
  if (parameter != nullptr) {
    allocation.set_entry_computation_parameter(
        parameter->instruction()->parameter_number(), parameter->index(),
        lives_out);
  } else if (lives_out && buffer.values().size() == 1 && !first.IsTuple()) {
    AddReusedOperands(first, allocation);
  }
  return absl::OkStatus();
}

absl::Status BufferAssignmentBuilder::AssignTemporaries(
    BufferValue::Color color, const std::vector<const HloValue*>& values) {
  absl::flat_hash_set<const HloValue*> to_assign;
  for (const HloValue* value : values) {
    if (!assignment_.HasAllocation(*value)) to_assign.insert(value);
  }
  // All of them share the memory of results.
  if (to_assign.empty()) return absl::OkStatus();
  if (to_assign.empty()) return absl::OkStatus();
  HeapSimulator::Options options;
  options.alloc_constants = options_.allocate_buffers_for_constants;
  options.buffers_to_assign = &to_assign;
  TF_ASSIGN_OR_RETURN(
      HeapSimulator::Result<HloValue> result,
      HeapSimulator::Run(
          std::make_unique<PlannedHeap<HloValue>>(alignment_(color)),
          assignment_.module(), assignment_.module().schedule(), alias_,
          alias_info_, &assignment_.buffer_size_, options));
  BufferAllocation& allocation =
      assignment_.NewAllocation(result.heap_size, color);
  const auto& chunks = result.heap_results[0].chunk_map;
  for (const HloValue* value : values) {
    auto it = chunks.find(value);
    if (it == chunks.end()) continue;
    assignment_.Assign(allocation, *value, it->second.offset);
  }
  allocation.fragmentation_bytes_ = result.fragmentation_size;
  result.debug_trace.set_buffer_allocation_index(allocation.index());
  assignment_.heap_traces_.push_back(std::move(result.debug_trace));
  return absl::OkStatus();
}

absl::Status BufferAssignmentBuilder::Run() {
  std::vector<const HloComputation*> thread_local_ones;
  std::vector<const HloComputation*> global;
  TF_RETURN_IF_ERROR(GatherComputationsByAllocationType(
      &assignment_.module(), &thread_local_ones, &global));
  global_.insert(global.begin(), global.end());
  thread_local_.insert(thread_local_ones.begin(), thread_local_ones.end());
  TF_RETURN_IF_ERROR(ComputeLiveRange());
  for (const HloBuffer& buffer : alias_.buffers()) {
    if (assignment_.HasAllocation(buffer)) continue;
    TF_RETURN_IF_ERROR(AssignBuffer(buffer));
  }
  for (const auto& [color, values] : temporaries_) {
    TF_RETURN_IF_ERROR(AssignTemporaries(color, values));
  }
  assignment_.ComputeStats();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssigner::Run(
    const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
    BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info,
    BufferValue::AlignmentFunction color_alignment, Options opts) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias,
                      HloAliasAnalysis::Run(module, alias_info));
  if (opts.colorer) {
    TF_RETURN_IF_ERROR(opts.colorer(alias.get(), *hlo_ordering));
  }
  auto assignment = absl::WrapUnique(
      new BufferAssignment(module, std::move(hlo_ordering),
                           std::move(buffer_size), std::move(alias)));
  TF_RETURN_IF_ERROR(BufferAssignmentBuilder(assignment.get(), alias_info,
                                             color_alignment, opts)
                         .Run());
  return assignment;
}

}  // namespace xla
