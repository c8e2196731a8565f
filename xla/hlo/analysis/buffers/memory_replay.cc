#include "xla/hlo/analysis/buffers/memory_replay.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
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

// The marks of one allocation, an interval map: disjoint [begin, end) pieces
// and the value that was written there last. Setting a range splits the pieces
// at its ends.
class Marks {
 public:
  void Set(int64_t begin, int64_t end, const HloValue* value) {
    if (begin >= end) return;
    Split(begin);
    Split(end);
    marks_.erase(marks_.lower_bound(begin), marks_.lower_bound(end));
    marks_[begin] = {end, value};
  }

  // To what may be there if either has run, this or `marks`. Of more than two
  // values two are kept: whatever is read there, one of them is another.
  void Join(const Marks& marks) {
    for (const auto& [begin, mark] : marks.marks_) {
      Split(begin);
      Split(mark.end);
      auto it = marks_.lower_bound(begin);
      for (int64_t at = begin; at < mark.end;) {
        if (it == marks_.end() || it->first > at) {
          Mark gap = mark;
          if (it != marks_.end()) gap.end = std::min(gap.end, it->first);
          it = marks_.emplace_hint(it, at, gap);
        } else if (it->second.other == nullptr) {
          it->second.other =
              mark.value != it->second.value ? mark.value : mark.other;
        }
        at = it->second.end;
        ++it;
      }
    }
  }

  // The first mark in [begin, end) that is not `value`, or `value`; null where
  // some of it was never marked.
  const HloValue* FirstOther(int64_t begin, int64_t end,
                             const HloValue* value) const {
    auto it = marks_.upper_bound(begin);
    if (it == marks_.begin()) return begin < end ? nullptr : value;
    for (it = std::prev(it); begin < end; ++it) {
      if (it == marks_.end() || it->first > begin || it->second.end <= begin) {
        return nullptr;
      }
      const Mark& mark = it->second;
      if (mark.value != value) return mark.value;
      if (mark.other != nullptr) return mark.other;
      begin = mark.end;
    }
    return value;
  }

 private:
  struct Mark {
    int64_t end = 0;
    const HloValue* value = nullptr;
    const HloValue* other = nullptr;  // may be there as well
  };

  void Split(int64_t at) {
    auto it = marks_.upper_bound(at);
    if (it == marks_.begin()) return;
    it = std::prev(it);
    if (it->first == at || it->second.end <= at) return;
    marks_.emplace(at, it->second);
    it->second.end = at;
  }

  std::map<int64_t, Mark> marks_;  // by begin
};

// Opcodes that pass an operand on without reading it.
bool ReadsNothing(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kParameter, HloOpcode::kTuple,
                          HloOpcode::kGetTupleElement, HloOpcode::kBitcast,
                          HloOpcode::kOptimizationBarrier, HloOpcode::kDomain,
                          HloOpcode::kAddDependency>(opcode);
}

// Executes the schedule on a model of memory. Each definition marks its slice
// with its value; each read checks that all bytes of the slice still carry the
// mark of a value that the position may hold. Any overwrite of a live value is
// found this way, independently of how live ranges were computed.
class Replay {
 public:
  Replay(const BufferAssignment& assignment, const HloSchedule& schedule,
         std::vector<MissingCopy>* missing_copies)
      : assignment_(assignment),
        dataflow_(assignment.dataflow_analysis()),
        schedule_(schedule),
        missing_copies_(missing_copies),
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
                               &value);
  }

  // What is where the value should be; null: something that was never written.
  const HloValue* FoundAt(const HloValue& value) const {
    if (!assignment_.HasAllocation(value)) return &value;  // a constant
    const BufferAllocation::Slice slice =
        assignment_.GetAssignedAllocation(value).GetSlice(value);
    return memory_[slice.index()].FirstOther(
        slice.offset(), slice.offset() + slice.size(), &value);
  }

  bool IsThere(const HloValue& value) const { return FoundAt(value) == &value; }

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
      const std::vector<const HloValue*>& values = ValuesAt(inst, index);
      const HloValue* found = nullptr;
      for (const HloValue* value : values) {
        found = FoundAt(*value);
        if (found == value) return;
      }
      if (values.empty()) return;
      const HloValue& value = *values.back();
      // Later links hand on what the chain itself has updated in place.
      if (found != nullptr && reader->IsAsyncConsumer() &&
          found->instruction()->parent() ==
              reader->async_wrapped_computation()) {
        return;
      }
      if (found != nullptr && BufferOf(*found) == BufferOf(value)) {
        AddMissingCopy({reader, &value, found});
        return;
      }
      status.Update(
          Error(reader, value,
                found == nullptr
                    ? "is read where nothing was written"
                    : absl::StrCat("is read after ", found->ToShortString(),
                                   " was written over it")));
    });
    return status;
  }

  // Copies the marks of the value at `from` to the value at `to`.
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
          status.Update(
              Error(to, *value, "is not at the address of its source"));
        } else if (const HloValue* found = FoundAt(*source); found == source) {
          moved.push_back(value);
        } else if (found != nullptr && BufferOf(*found) == BufferOf(*source) &&
                   !value->GetUses().empty()) {
          // Reported once here, not again at each reader of `value`.
          AddMissingCopy({to, source, found});
          moved.push_back(value);
        }
        // Overwritten values may be passed on, but not read.
      }
    });
    for (const HloValue* value : moved) Mark(*value);
    return status;
  }

  void AddMissingCopy(const MissingCopy& copy) {
    if (missing_copies_ == nullptr ||
        !reported_.insert({copy.reader, copy.value}).second) {
      return;
    }
    missing_copies_->push_back(copy);
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

  // Two trips, and the condition once more. The first trip starts from the
  // initial state, the second from what the first has left, which is where an
  // iteration that overwrites what the next one needs shows; further ones would
  // repeat the second.
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
    std::vector<Marks> after;
    for (int64_t branch = 0; branch < inst->branch_count(); ++branch) {
      memory_ = before;
      const HloComputation* computation = inst->branch_computation(branch);
      TF_RETURN_IF_ERROR(Move(inst->operand(branch + 1),
                              computation->parameter_instruction(0)));
      TF_RETURN_IF_ERROR(RunComputation(computation));
      TF_RETURN_IF_ERROR(Move(computation->root_instruction(), inst));
      for (size_t i = 0; i < after.size(); ++i) memory_[i].Join(after[i]);
      after = memory_;
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
  std::vector<MissingCopy>* const missing_copies_;
  absl::flat_hash_set<std::pair<const HloInstruction*, const HloValue*>>
      reported_;
  std::vector<Marks> memory_;  // by allocation
};

}  // namespace

absl::Status ReplayBufferAssignment(const BufferAssignment& assignment,
                                    const HloSchedule& schedule,
                                    std::vector<MissingCopy>* missing_copies) {
  return Replay(assignment, schedule, missing_copies).Run();
}

}  // namespace xla
