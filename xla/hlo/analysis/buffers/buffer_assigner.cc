#include "xla/hlo/analysis/buffers/buffer_assigner.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_builder.h"
#include "xla/hlo/analysis/buffers/buffer_reuse.h"
#include "xla/hlo/analysis/buffers/lent_memory.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
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

BufferAssigner::CanUseAllocation BufferAssigner::DefaultCanUseAllocation() {
  return [](const BufferAllocation& allocation, BufferValue::Color color) {
    return allocation.color() == color;
  };
}

BufferAssigner::CanUseAllocation BufferAssigner::AllowCrossColorReuse(
    BufferValue::Color from_color, BufferValue::Color to_color) {
  return [=](const BufferAllocation& allocation, BufferValue::Color color) {
    return allocation.color() == color ||
           (color == from_color && allocation.color() == to_color);
  };
}

BufferAssigner::Colorer BufferAssigner::DefaultColorer() {
  return [](HloAliasAnalysis* alias, const HloOrdering&) {
    for (HloValue* value : alias->dataflow_analysis().values()) {
      if (!value->has_color()) value->set_color(value->color());
    }
    return absl::OkStatus();
  };
}

std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
BufferAssigner::CreateFastMergeManagerForTest(BufferAssignment* assignment,
                                              BufferAssigner* assigner) {
  return CreateBufferReuse(
      assignment,
      [=](BufferAllocation* allocation, const HloBuffer& buffer) {
        return assigner->MaybeAssignBuffer(allocation, buffer, assignment);
      },
      /*fast=*/true);
}

int64_t BufferAssigner::GetMemoryLimit(const BufferAssignment& assignment,
                                       BufferValue::Color color) const {
  if (opts_.color_memory_limit == nullptr) {
    return std::numeric_limits<int64_t>::max();
  }
  int64_t limit = opts_.color_memory_limit(color);
  for (const BufferAllocation& allocation : assignment.Allocations()) {
    if (allocation.color() == color) limit -= allocation.size();
  }
  return std::max<int64_t>(0, limit);
}

// Checks every value that the allocation holds against every value of the
// buffer. A copy never shares memory with its source: it was inserted to keep
// the two apart.
absl::StatusOr<bool> BufferAssigner::MaybeAssignBuffer(
    BufferAllocation* allocation, const HloBuffer& buffer,
    BufferAssignment* assignment) {
  TF_ASSIGN_OR_RETURN(const BufferValue::Color color, buffer.color());
  const int64_t size = assignment->HloBufferSize(buffer);
  const HloAliasAnalysis& alias = assignment->alias_analysis();
  const bool lives_out = alias.BufferLivesOut(buffer);
  if (!MayHold(*allocation, buffer, color, *assignment, opts_) ||
      allocation->is_readonly() || (lives_out && allocation->size() != size)) {
    return false;
  }
  auto copies = [&](const HloValue& copy, const HloValue& value) {
    return copy.instruction()->opcode() == HloOpcode::kCopy &&
           absl::c_linear_search(
               alias.dataflow_analysis()
                   .GetValueSet(copy.instruction()->operand(0))
                   .values(),
               &value);
  };
  // In any order: each may say no, and nothing else follows from it.
  for (const auto& [held, place] : allocation->assigned_buffers()) {
    if (lives_out && opts_.must_not_live_out.has_value() &&
        (*opts_.must_not_live_out)(alias, held->instruction(), held->index())) {
      return false;
    }
    for (const HloValue* value : buffer.values()) {
      if (copies(*value, *held) || copies(*held, *value) ||
          assignment->hlo_ordering().MayInterfere(
              *held, *value, alias.dataflow_analysis(), alias_info_)) {
        return false;
      }
    }
  }
  for (const HloValue* value : buffer.values()) {
    assignment->AddAssignment(allocation, *value, 0);
  }
  if (lives_out) allocation->set_maybe_live_out(true);
  return true;
}

// Shapes say where values are, as far as these are arrays with a layout.
void BufferAssigner::WriteColors(const BufferAssignment& assignment) {
  for (const HloValue* value : assignment.dataflow_analysis().values()) {
    if (!assignment.HasAllocation(*value)) continue;
    for (const HloPosition& position : value->positions()) {
      Shape* shape = ShapeUtil::GetMutableSubshape(
          position.instruction->mutable_shape(), position.index);
      if (!shape->IsArray() || !shape->has_layout() ||
          shape->layout().memory_space() == value->color()) {
        continue;
      }
      shape->mutable_layout()->set_memory_space(value->color());
    }
  }
}

bool BufferAssigner::ExceedsMemoryLimit(
    const BufferAssignment& assignment) const {
  if (opts_.color_memory_limit == nullptr) return false;
  absl::flat_hash_map<BufferValue::Color, int64_t> bytes;
  for (const BufferAllocation& allocation : assignment.Allocations()) {
    bytes[allocation.color()] += allocation.size();
  }
  return absl::c_any_of(bytes, [&](const auto& color_and_bytes) {
    return color_and_bytes.second >
           opts_.color_memory_limit(color_and_bytes.first);
  });
}

// If the assignment exceeds the memory limit and a fallback algorithm is set,
// both assignments are made and the smaller one is kept.
absl::StatusOr<std::unique_ptr<BufferAssignment>>
BufferAssigner::CreateAssignment(
    const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
    BufferValue::SizeFunction buffer_size,
    BufferValue::AlignmentFunction color_alignment) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias,
                      HloAliasAnalysis::Run(module, alias_info_));
  const Colorer& colorer = opts_.colorer ? opts_.colorer : DefaultColorer();
  TF_RETURN_IF_ERROR(colorer(alias.get(), *hlo_ordering));
  auto assignment = absl::WrapUnique(
      new BufferAssignment(module, std::move(hlo_ordering),
                           std::move(buffer_size), std::move(alias)));
  auto fill = [&](BufferAssignment* to_fill) {
    return BufferAssignmentBuilder(this, to_fill, alias_info_, color_alignment,
                                   opts_)
        .Run();
  };
  TF_RETURN_IF_ERROR(fill(assignment.get()));
  UnorderedAlgorithm::Value& algorithm =
      opts_.assignment_algorithm_for_computations_without_ordering;
  const UnorderedAlgorithm::Value fallback =
      opts_.fallback_algorithm_for_computations_without_ordering;
  if (!opts_.enable_fallback || algorithm == fallback ||
      assignment->HasHloLiveRange() || !ExceedsMemoryLimit(*assignment)) {
    WriteColors(*assignment);
    return assignment;
  }
  // Both need the analyses; the one that is kept has them in the end.
  auto other = absl::WrapUnique(new BufferAssignment(
      module, std::move(assignment->ordering_), assignment->buffer_size_,
      std::move(assignment->alias_analysis_)));
  const UnorderedAlgorithm::Value first = std::exchange(algorithm, fallback);
  const absl::Status status = fill(other.get());
  algorithm = first;
  TF_RETURN_IF_ERROR(status);
  if (other->GetStats().total_allocation_bytes <
      assignment->GetStats().total_allocation_bytes) {
    WriteColors(*other);
    return other;
  }
  assignment->ordering_ = std::move(other->ordering_);
  assignment->alias_analysis_ = std::move(other->alias_analysis_);
  WriteColors(*assignment);
  return assignment;
}

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssigner::Run(
    const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
    BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info,
    BufferValue::AlignmentFunction color_alignment, Options opts) {
  return BufferAssigner(alias_info, std::move(opts))
      .CreateAssignment(module, std::move(hlo_ordering), std::move(buffer_size),
                        std::move(color_alignment));
}

}  // namespace xla
