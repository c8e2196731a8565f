#include "xla/hlo/analysis/buffers/memory_replay.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The marks of one allocation: start → (end, id of the buffer).
class Marks {
 public:
  void Set(int64_t begin, int64_t end, HloBuffer::Id buffer) {
    if (begin >= end) return;
    auto it = marks_.upper_bound(begin);
    if (it != marks_.begin()) {
      auto before = std::prev(it);
      const auto [its_end, its_buffer] = before->second;
      if (its_end > begin) before->second.first = begin;
      if (before->first == begin) it = marks_.erase(before);
      if (its_end > end) marks_[end] = {its_end, its_buffer};
    }
    it = marks_.lower_bound(begin);
    while (it != marks_.end() && it->first < end) {
      const auto [its_end, its_buffer] = it->second;
      if (its_end > end) marks_[end] = {its_end, its_buffer};
      it = marks_.erase(it);
    }
    marks_[begin] = {end, buffer};
  }

  bool Are(int64_t begin, int64_t end, HloBuffer::Id buffer) const {
    if (begin >= end) return true;
    auto it = marks_.upper_bound(begin);
    if (it == marks_.begin()) return false;
    for (it = std::prev(it); begin < end; ++it) {
      if (it == marks_.end() || it->first > begin ||
          it->second.first <= begin || it->second.second != buffer) {
        return false;
      }
      begin = it->second.first;
    }
    return true;
  }

 private:
  std::map<int64_t, std::pair<int64_t, HloBuffer::Id>> marks_;
};

// What hands an operand on without reading it.
bool ReadsNothing(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kParameter:
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kDomain:
    case HloOpcode::kAddDependency:
      return true;
    default:
      return false;
  }
}

class Replay {
 public:
  Replay(const BufferAssignment& assignment, const HloSchedule& schedule)
      : assignment_(assignment),
        dataflow_(assignment.dataflow_analysis()),
        schedule_(schedule),
        memory_(assignment.Allocations().size()) {}

  absl::Status Run() {
    const HloComputation* entry = assignment_.module().entry_computation();
    for (const HloInstruction* parameter : entry->parameter_instructions()) {
      Define(parameter);
    }
    TF_RETURN_IF_ERROR(RunComputation(entry));
    return Read(entry->root_instruction(), entry->root_instruction());
  }

 private:
  const std::vector<const HloValue*>& ValuesAt(const HloInstruction* inst,
                                               const ShapeIndex& index) const {
    return dataflow_.GetValueSet(inst, index).values();
  }

  HloBuffer::Id BufferOf(const HloValue& value) const {
    return assignment_.alias_analysis().GetBufferContainingValue(value).id();
  }

  void Mark(const HloValue& value) {
    if (!assignment_.HasAllocation(value)) return;
    const BufferAllocation::Slice slice =
        assignment_.GetAssignedAllocation(value).GetSlice(value);
    memory_[slice.index()].Set(slice.offset(), slice.offset() + slice.size(),
                               BufferOf(value));
  }

  bool IsThere(const HloValue& value) const {
    if (!assignment_.HasAllocation(value)) return true;  // a constant
    const BufferAllocation::Slice slice =
        assignment_.GetAssignedAllocation(value).GetSlice(value);
    return memory_[slice.index()].Are(
        slice.offset(), slice.offset() + slice.size(), BufferOf(value));
  }

  void Define(const HloInstruction* inst) {
    ForEachIndex(inst, [&](const ShapeIndex& index) {
      for (const HloValue* value : ValuesAt(inst, index)) {
        if (value->defining_instruction() == inst &&
            value->defining_index() == index && !value->is_phi()) {
          Mark(*value);
        }
      }
    });
  }

  absl::Status Read(const HloInstruction* reader, const HloInstruction* inst) {
    absl::Status status;
    ForEachIndex(inst, [&](const ShapeIndex& index) {
      for (const HloValue* value : ValuesAt(inst, index)) {
        if (IsThere(*value)) return;
      }
      if (ValuesAt(inst, index).empty()) return;
      status.Update(Error(reader, *ValuesAt(inst, index)[0],
                          "is read after something was written over it"));
    });
    return status;
  }

  // What is at `from` is now also what is at `to`.
  absl::Status Move(const HloInstruction* from, const HloInstruction* to) {
    absl::Status status;
    std::vector<const HloValue*> moved;
    ForEachIndex(to, [&](const ShapeIndex& index) {
      const HloValue* source = nullptr;
      for (const HloValue* value : ValuesAt(from, index)) {
        if (source == nullptr || IsThere(*value)) source = value;
      }
      for (const HloValue* value : ValuesAt(to, index)) {
        if (source == nullptr || value == source) continue;
        if (!assignment_.HasAllocation(*value)) continue;
        if (!assignment_.HasAllocation(*source) ||
            assignment_.GetAssignedAllocation(*source).GetSlice(*source) !=
                assignment_.GetAssignedAllocation(*value).GetSlice(*value)) {
          status.Update(Error(to, *value, "is not where it comes from"));
        } else if (IsThere(*source)) {
          // What is gone already may be handed on, but not read.
          moved.push_back(value);
        }
      }
    });
    for (const HloValue* value : moved) Mark(*value);
    return status;
  }

  // Recursion as deep as calls are nested.
  absl::Status Call(const HloInstruction* caller,
                    const HloComputation* computation) {
    for (int64_t i = 0; i < computation->num_parameters(); ++i) {
      if (i >= caller->operand_count()) break;  // bound by a later step
      TF_RETURN_IF_ERROR(
          Move(caller->operand(i), computation->parameter_instruction(i)));
    }
    return RunComputation(computation);
  }

  absl::Status RunWhile(const HloInstruction* loop) {
    const HloComputation* condition = loop->while_condition();
    const HloComputation* body = loop->while_body();
    const HloInstruction* state = loop->operand(0);
    for (int iteration = 0; iteration < 3; ++iteration) {
      TF_RETURN_IF_ERROR(Move(state, condition->parameter_instruction(0)));
      TF_RETURN_IF_ERROR(RunComputation(condition));
      state = condition->parameter_instruction(0);
      if (iteration == 2) break;
      TF_RETURN_IF_ERROR(Move(state, body->parameter_instruction(0)));
      TF_RETURN_IF_ERROR(RunComputation(body));
      state = body->root_instruction();
    }
    return Move(state, loop);
  }

  absl::Status RunConditional(const HloInstruction* inst) {
    const std::vector<Marks> before = memory_;
    for (int64_t branch = 0; branch < inst->branch_count(); ++branch) {
      memory_ = before;
      const HloComputation* computation = inst->branch_computation(branch);
      TF_RETURN_IF_ERROR(Move(inst->operand(branch + 1),
                              computation->parameter_instruction(0)));
      TF_RETURN_IF_ERROR(RunComputation(computation));
      TF_RETURN_IF_ERROR(Move(computation->root_instruction(), inst));
    }
    return absl::OkStatus();
  }

  absl::Status RunComputation(const HloComputation* computation) {
    if (!schedule_.is_computation_scheduled(computation)) {
      return absl::InternalError(absl::StrCat(
          "memory replay: ", computation->name(), " is not scheduled"));
    }
    for (const HloInstruction* inst :
         schedule_.sequence(computation).instructions()) {
      TF_RETURN_IF_ERROR(RunInstruction(inst));
    }
    return absl::OkStatus();
  }

  absl::Status RunInstruction(const HloInstruction* inst) {
    const HloOpcode opcode = inst->opcode();
    if (opcode == HloOpcode::kWhile) return RunWhile(inst);
    if (opcode == HloOpcode::kConditional) {
      TF_RETURN_IF_ERROR(Read(inst, inst->operand(0)));
      return RunConditional(inst);
    }
    if (!ReadsNothing(opcode) && opcode != HloOpcode::kCall) {
      for (const HloInstruction* operand : inst->operands()) {
        TF_RETURN_IF_ERROR(Read(inst, operand));
      }
    }
    if (opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart) {
      const HloComputation* callee = inst->called_computations()[0];
      if (schedule_.is_computation_scheduled(callee)) {
        TF_RETURN_IF_ERROR(Call(inst, callee));
      }
    }
    if (opcode != HloOpcode::kParameter) Define(inst);
    return absl::OkStatus();
  }

  template <typename Visit>
  static void ForEachIndex(const HloInstruction* inst, Visit visit) {
    ShapeUtil::ForEachSubshape(
        inst->shape(),
        [&](const Shape&, const ShapeIndex& index) { visit(index); });
  }

  static absl::Status Error(const HloInstruction* inst, const HloValue& value,
                            absl::string_view what) {
    return absl::InternalError(absl::StrCat("memory replay at ", inst->name(),
                                            ": ", value.ToShortString(), " ",
                                            what));
  }

  const BufferAssignment& assignment_;
  const HloDataflowAnalysis& dataflow_;
  const HloSchedule& schedule_;
  std::vector<Marks> memory_;  // by allocation
};

}  // namespace

absl::Status ReplayBufferAssignment(const BufferAssignment& assignment,
                                    const HloSchedule& schedule) {
  return Replay(assignment, schedule).Run();
}

}  // namespace xla
