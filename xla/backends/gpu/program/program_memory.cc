#include "xla/backends/gpu/program/program_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

// That of assign-offsets.
constexpr int64_t kAlignment = 64;
// Each adds at least one copy.
constexpr int kMaxPlans = 100;

bool IsAlias(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kGetTupleElement ||
         hlo.opcode() == HloOpcode::kBitcast;
}

absl::StatusOr<std::unique_ptr<BufferAssignment>> Assign(
    const HloModule* module, const AliasInfo* aliases) {
  BufferAssigner::Options options;
  options.allocate_buffers_for_constants = true;
  options.pack_results = true;
  return BufferAssigner::Run(
      module, std::make_unique<SequentialHloOrdering>(module->schedule()),
      [](const BufferValue& value) {
        return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
      },
      aliases, [](BufferValue::Color) { return kAlignment; },
      std::move(options));
}

// Adds copies to a scheduled module.
class CopyAdder {
 public:
  explicit CopyAdder(HloModule* module) : module_(*module) {}

  int64_t added() const { return added_; }
  // Whether the last plan does not know it.
  bool IsNew(const HloInstruction* hlo) const { return new_.contains(hlo); }
  void BeginPlan() { new_.clear(); }

  // What no plan can be right without: values that a loop's state has twice, or
  // hands from one place to another.
  absl::Status PrepareLoops() {
    for (HloComputation* computation : module_.MakeComputationPostOrder()) {
      if (!module_.schedule().is_computation_scheduled(computation)) continue;
      for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
        if (hlo->opcode() == HloOpcode::kConditional) {
          for (int64_t i = 1; i < hlo->operand_count(); ++i) {
            RETURN_IF_ERROR(OwnTuple(hlo, i));
          }
        }
        if (hlo->opcode() != HloOpcode::kWhile) continue;
        RETURN_IF_ERROR(OwnTuple(hlo, 0));
        HloInstruction* state = hlo->mutable_operand(0);
        HloInstruction* root = hlo->while_body()->root_instruction();
        RETURN_IF_ERROR(SeparateElements(state, nullptr));
        RETURN_IF_ERROR(SeparateElements(
            root, hlo->while_body()->parameter_instruction(0)));
      }
    }
    return absl::OkStatus();
  }

  // The copy is computed right after the operand, which moves to where its
  // value is made.
  absl::Status CopyEarly(HloInstruction* reader, int64_t operand_number) {
    HloInstruction* operand = reader->mutable_operand(operand_number);
    Hoist(operand);
    return Add(reader, operand_number, operand);
  }

  // The copy is computed right before the reader.
  absl::Status CopyLate(HloInstruction* reader, int64_t operand_number) {
    return Add(reader, operand_number, nullptr);
  }

 private:
  static const HloInstruction* Source(const HloInstruction* hlo) {
    while (hlo->opcode() == HloOpcode::kBitcast) hlo = hlo->operand(0);
    return hlo;
  }

  // A tuple that nobody else reads, so that its elements can be copies.
  absl::Status OwnTuple(HloInstruction* reader, int64_t operand_number) {
    HloInstruction* tuple = reader->mutable_operand(operand_number);
    if (!tuple->shape().IsTuple()) return absl::OkStatus();
    const bool is_tuple = tuple->opcode() == HloOpcode::kTuple;
    if (is_tuple && tuple->user_count() == 1 &&
        reader->OperandIndices(tuple).size() == 1) {
      return absl::OkStatus();
    }
    HloComputation* computation = reader->parent();
    std::vector<HloInstruction*> elements, order = Sequence(computation);
    for (int64_t i = 0; i < tuple->shape().tuple_shapes().size(); ++i) {
      if (is_tuple) {
        elements.push_back(tuple->mutable_operand(i));
        continue;
      }
      elements.push_back(computation->AddInstruction(
          HloInstruction::CreateGetTupleElement(tuple, i)));
      order.insert(absl::c_find(order, reader), elements.back());
    }
    HloInstruction* own =
        computation->AddInstruction(HloInstruction::CreateTuple(elements));
    order.insert(absl::c_find(order, reader), own);
    RETURN_IF_ERROR(reader->ReplaceOperandWith(operand_number, own));
    module_.schedule().set_sequence(computation, order);
    return absl::OkStatus();
  }

  // `parameter`: that of the body whose root this is, if it is one.
  absl::Status SeparateElements(HloInstruction* tuple,
                                const HloInstruction* parameter) {
    if (tuple->opcode() != HloOpcode::kTuple) return absl::OkStatus();
    absl::flat_hash_set<std::pair<const HloInstruction*, int64_t>> seen;
    for (int64_t i = 0; i < tuple->operand_count(); ++i) {
      const HloInstruction* source = Source(tuple->operand(i));
      if (!source->shape().IsArray()) continue;
      bool needs_copy =
          parameter != nullptr && source->opcode() == HloOpcode::kConstant;
      std::pair<const HloInstruction*, int64_t> key(source, -1);
      if (source->opcode() == HloOpcode::kGetTupleElement) {
        key = {source->operand(0), source->tuple_index()};
        needs_copy |=
            key.first == parameter && parameter != nullptr && key.second != i;
      }
      if (!seen.insert(key).second) needs_copy = true;
      if (!needs_copy) continue;
      RETURN_IF_ERROR(CopyLate(tuple, i));
    }
    return absl::OkStatus();
  }

  std::vector<HloInstruction*> Sequence(const HloComputation* computation) {
    return module_.schedule().sequence(computation).instructions();
  }

  void Hoist(HloInstruction* hlo) {
    if (!IsAlias(*hlo)) return;
    Hoist(hlo->mutable_operand(0));
    std::vector<HloInstruction*> order = Sequence(hlo->parent());
    order.erase(absl::c_find(order, hlo));
    order.insert(absl::c_find(order, hlo->operand(0)) + 1, hlo);
    module_.schedule().set_sequence(hlo->parent(), order);
  }

  // Behind `after`, or before the reader.
  absl::Status Add(HloInstruction* reader, int64_t operand_number,
                   const HloInstruction* after) {
    HloComputation* computation = reader->parent();
    HloInstruction* operand = reader->mutable_operand(operand_number);
    HloInstruction* copy =
        computation->AddInstruction(HloInstruction::CreateUnary(
            operand->shape(), HloOpcode::kCopy, operand));
    RETURN_IF_ERROR(reader->ReplaceOperandWith(operand_number, copy));
    std::vector<HloInstruction*> order = Sequence(computation);
    auto place = after != nullptr ? absl::c_find(order, after) + 1
                                  : absl::c_find(order, reader);
    order.insert(place, copy);
    module_.schedule().set_sequence(computation, order);
    new_.insert(copy);
    ++added_;
    return absl::OkStatus();
  }

  HloModule& module_;
  absl::flat_hash_set<const HloInstruction*> new_;  // looked up, never walked
  int64_t added_ = 0;
};

// An operand that reads a value.
struct Use {
  HloInstruction* reader;
  int64_t operand;
};

class Planner {
 public:
  Planner(HloModule* module, const KernelAliasInfo& aliases)
      : module_(module), aliases_(aliases), adder_(module) {}

  absl::StatusOr<ProgramMemory> Run() {
    RETURN_IF_ERROR(adder_.PrepareLoops());
    for (int plan = 0; plan < kMaxPlans; ++plan) {
      adder_.BeginPlan();
      ASSIGN_OR_RETURN(assignment_, Assign(module_, &aliases_));
      const int64_t before = adder_.added();
      std::vector<MissingCopy> missing;
      RETURN_IF_ERROR(
          ReplayBufferAssignment(*assignment_, module_->schedule(), &missing));
      for (const MissingCopy& copy : missing) {
        RETURN_IF_ERROR(Mend(copy, /*is_first=*/adder_.added() == before));
      }
      RETURN_IF_ERROR(SeparateKernels());
      if (adder_.added() > before) continue;
      RETURN_IF_ERROR(CheckBufferAssignment(*assignment_, &aliases_));
      return Finish();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "module ", module_->name(), ": after ", adder_.added(),
        " copies, values are still written over before they are read"));
  }

 private:
  bool Holds(const HloInstruction* hlo, const HloValue* value) const {
    return hlo->shape().IsArray() && !adder_.IsNew(hlo) &&
           absl::c_linear_search(
               assignment_->dataflow_analysis().GetValueSet(hlo, {}).values(),
               value);
  }

  // Where `from` hands the value on.
  void AddUses(HloInstruction* from, const HloValue* value,
               std::vector<Use>* uses) const {
    if (from->opcode() != HloOpcode::kTuple) return;
    for (int64_t i = 0; i < from->operand_count(); ++i) {
      if (Holds(from->operand(i), value)) uses->push_back({from, i});
    }
  }

  void AddUsesByCall(HloInstruction* call, const HloValue* value,
                     std::vector<Use>* uses) const {
    for (int64_t i = 0; i < call->operand_count(); ++i) {
      if (Holds(call->operand(i), value)) uses->push_back({call, i});
      AddUses(call->mutable_operand(i), value, uses);
    }
    for (HloComputation* called : call->called_computations()) {
      AddUses(called->root_instruction(), value, uses);
    }
  }

  // Elements of a loop's state that its condition does not read are found out
  // in its body, as elements of the condition's parameter: the state at the
  // start, or if that is a copy already, the next one.
  static void AddUseByLoop(HloInstruction* loop, const HloValue* value,
                           std::vector<Use>* uses) {
    if (loop->opcode() != HloOpcode::kWhile ||
        value->defining_instruction() !=
            loop->while_condition()->parameter_instruction(0) ||
        value->defining_index().size() != 1) {
      return;
    }
    const int64_t i = value->defining_index()[0];
    HloInstruction* state = loop->mutable_operand(0);
    if (state->operand(i)->opcode() == HloOpcode::kCopy) {
      state = loop->while_body()->root_instruction();
    }
    if (state->opcode() == HloOpcode::kTuple) uses->push_back({state, i});
  }

  // Results of a conditional that one of its branches has as one value twice,
  // or as a value and its update in place, are in one place whatever branch
  // runs. That branch hands on copies.
  static void AddUsesByBranches(const MissingCopy& copy,
                                std::vector<Use>* uses) {
    const HloInstruction* conditional = copy.value->defining_instruction();
    if (conditional->opcode() != HloOpcode::kConditional ||
        copy.written->defining_instruction() != conditional) {
      return;
    }
    for (HloComputation* branch : conditional->called_computations()) {
      HloInstruction* root = branch->root_instruction();
      if (root->opcode() != HloOpcode::kTuple) continue;
      for (const HloValue* value : {copy.value, copy.written}) {
        if (value->defining_index().size() != 1) continue;
        const int64_t i = value->defining_index()[0];
        // What only the tuple reads, nothing else updates.
        const HloInstruction* element = root->operand(i);
        if (element->user_count() > 1 ||
            root->OperandIndices(element).size() > 1) {
          uses->push_back({root, i});
        }
      }
    }
  }

  // Unless it is the first of this plan, an earlier one may have done it.
  absl::Status Mend(const MissingCopy& copy, bool is_first) {
    // Addresses in tuples are known: nobody reads the tables.
    if (copy.value->shape().IsTuple()) return absl::OkStatus();
    // The schedule and the operands are this module's own.
    auto* reader = const_cast<HloInstruction*>(copy.reader);
    std::vector<Use> uses;
    AddUsesByBranches(copy, &uses);
    if (!uses.empty()) {
      // Those of both results are the same branch's.
    } else if (reader->opcode() == HloOpcode::kParameter) {
      for (HloInstruction* call : reader->parent()->caller_instructions()) {
        AddUsesByCall(call, copy.value, &uses);
        AddUseByLoop(call, copy.value, &uses);
      }
    } else if (reader->opcode() == HloOpcode::kWhile ||
               reader->opcode() == HloOpcode::kConditional) {
      AddUsesByCall(reader, copy.value, &uses);
    } else {
      for (int64_t i = 0; i < reader->operand_count(); ++i) {
        if (Holds(reader->operand(i), copy.value)) uses.push_back({reader, i});
      }
    }
    for (const Use& use : uses) {
      RETURN_IF_ERROR(adder_.CopyEarly(use.reader, use.operand));
    }
    if (!uses.empty() || !is_first) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(reader->name(), " reads ", copy.value->ToShortString(),
                     " after ", copy.written->ToShortString(),
                     " was written over it, and no copy of an operand helps"));
  }

  // Loops can force an operand of a kernel and a result into one place.
  absl::Status SeparateKernels() {
    for (HloComputation* computation : module_->MakeComputationPostOrder()) {
      if (!module_->schedule().is_computation_scheduled(computation)) continue;
      for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
        const LoweredKernel* kernel = aliases_.Find(hlo);
        if (kernel == nullptr) continue;
        for (const LoweredKernel::OperandArray& array : kernel->operands) {
          if (Collides(*kernel, hlo, array)) {
            RETURN_IF_ERROR(adder_.CopyLate(hlo, array.operand));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  bool Collides(const LoweredKernel& kernel, const HloInstruction* hlo,
                const LoweredKernel::OperandArray& array) const {
    const HloInstruction* read = hlo->operand(array.operand);
    if (adder_.IsNew(read)) return false;
    for (const ShapeIndex& index : kernel.results) {
      if (assignment_->SharesSliceAtIndex(hlo, index, read, array.index) &&
          !aliases_.MayOverwrite(hlo, array.operand, array.index, index)) {
        return true;
      }
    }
    return false;
  }

  ProgramMemory Finish() {
    ProgramMemory memory;
    for (const BufferAllocation& allocation : assignment_->Allocations()) {
      memory.starts.push_back(-1);
      if (allocation.is_tuple() || allocation.is_thread_local()) continue;
      memory.starts.back() = memory.bytes;
      memory.bytes += RoundUpTo(allocation.size(), kAlignment);
    }
    memory.assignment = std::move(assignment_);
    memory.copies = adder_.added();
    return memory;
  }

  HloModule* const module_;
  const KernelAliasInfo& aliases_;
  CopyAdder adder_;
  std::unique_ptr<BufferAssignment> assignment_;
};

}  // namespace

absl::StatusOr<int64_t> ProgramMemory::OffsetOf(const HloInstruction* hlo,
                                                const ShapeIndex& index) const {
  ASSIGN_OR_RETURN(const BufferAllocation::Slice slice,
                   assignment->GetUniqueSlice(hlo, index));
  if (starts[slice.index()] < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(hlo->name(), " has no memory"));
  }
  return starts[slice.index()] + slice.offset();
}

absl::StatusOr<ProgramMemory> PlanProgramMemory(
    HloModule* module, const KernelAliasInfo& aliases) {
  return Planner(module, aliases).Run();
}

}  // namespace xla::gpu
