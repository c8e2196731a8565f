#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"

namespace xla::verifier {
namespace {

// Instructions with more operands find repeated ones by stamps.
constexpr int64_t kFewOperands = 4;

}  // namespace

absl::Status CheckStructure(const HloModule& module) {
  if (!module.has_entry_computation()) {
    return Broken(Invariant::V1, module, "");
  }
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(module.computation_count());
  StructureCheck structure;
  for (const HloComputation* computation : module.computations()) {
    if (!names.insert(computation->name()).second) {
      return Broken(Invariant::V3, *computation, "");
    }
    absl::Status status = structure.Check(module, *computation);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StructureCheck::Check(const HloModule& module,
                                   const HloComputation& computation) {
  if (computation.parent() != &module) {
    return Broken(Invariant::V2, computation, "");
  }
  const int64_t size = computation.next_unique_instruction_internal_id();
  slots_.assign(size, nullptr);
  stamps_.assign(size, -1);
  uses_.assign(size, 0);
  successors_.clear();
  predecessors_.clear();
  parameters_ = 0;
  is_ordered_ = true;

  int64_t previous = -1;
  for (const HloInstruction* inst : computation.instructions()) {
    if (inst->parent() != &computation) {
      return Broken(Invariant::V6, *inst,
                    absl::StrCat("held by %", computation.name()));
    }
    const int64_t place = inst->local_id();
    if (place <= previous || place >= size) {
      return Broken(Invariant::V7, *inst,
                    absl::StrCat("found ", place, " after ", previous));
    }
    slots_[place] = inst;
    previous = place;
  }
  absl::Status status = CheckRootAndParameters(computation);
  if (!status.ok()) return status;
  status = CheckNames(computation);
  if (!status.ok()) return status;
  for (const HloInstruction* inst : slots_) {
    if (inst == nullptr) continue;
    status = CheckInstruction(computation, *inst);
    if (!status.ok()) return status;
  }
  status = CheckUsers(computation);
  if (!status.ok()) return status;
  if (!successors_.empty() || !predecessors_.empty()) {
    status = CheckControlEdges(computation);
    if (!status.ok()) return status;
  }
  return is_ordered_ ? absl::OkStatus() : CheckAcyclic(computation);
}

absl::Status StructureCheck::CheckRootAndParameters(
    const HloComputation& computation) {
  const HloInstruction* root = computation.root_instruction();
  if (root == nullptr) {
    return Broken(Invariant::V4, computation, "there is no root");
  }
  if (!Holds(*root)) {
    return Broken(Invariant::V4, computation,
                  absl::StrCat("%", root->name(), " is not in it"));
  }
  for (int64_t i = 0; i < computation.num_parameters(); ++i) {
    const HloInstruction* parameter = computation.parameter_instruction(i);
    if (parameter == nullptr || !Holds(*parameter) ||
        parameter->opcode() != HloOpcode::kParameter ||
        parameter->parameter_number() != i) {
      return Broken(Invariant::V9, computation,
                    absl::StrCat("parameter ", i, " is something else"));
    }
  }
  return absl::OkStatus();
}

absl::Status StructureCheck::CheckNames(const HloComputation& computation) {
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(computation.instruction_count());
  for (const HloInstruction* inst : slots_) {
    if (inst != nullptr && !names.insert(inst->name()).second) {
      return Broken(Invariant::V8, *inst, "another one has the name");
    }
  }
  return absl::OkStatus();
}

absl::Status StructureCheck::CheckInstruction(const HloComputation& computation,
                                              const HloInstruction& inst) {
  if (inst.IsRoot() != (&inst == computation.root_instruction())) {
    return Broken(Invariant::V5, inst,
                  inst.IsRoot() ? "marked, and not the root"
                                : "the root, and not marked");
  }
  if (inst.opcode() == HloOpcode::kParameter &&
      ++parameters_ > computation.num_parameters()) {
    return Broken(
        Invariant::V9, inst,
        absl::StrCat("expected ", computation.num_parameters(), " parameters"));
  }
  absl::Status status = CheckOperands(computation, inst);
  if (!status.ok()) return status;
  if (inst.control_predecessors().empty() &&
      inst.control_successors().empty()) {
    return absl::OkStatus();
  }
  return CheckControlNeighbors(computation, inst);
}

// A cycle has an edge from a later to an earlier place of the storage. Most
// modules are stored with operands first and have none, which is noted on the
// way; the depth-first search is for the others.
absl::Status StructureCheck::CheckOperands(const HloComputation& computation,
                                           const HloInstruction& inst) {
  const HloInstruction::InstructionVector& operands = inst.operands();
  const int32_t place = inst.local_id();
  const int64_t count = static_cast<int64_t>(operands.size());
  for (int64_t i = 0; i < count; ++i) {
    const HloInstruction* operand = operands[i];
    if (operand == nullptr) {
      return Broken(Invariant::V11, inst, absl::StrCat("operand ", i));
    }
    if (operand->parent() != &computation || !Holds(*operand)) {
      return Broken(Invariant::V17, inst,
                    absl::StrCat("expected ", computation.name(), ", found ",
                                 operand->parent() == nullptr
                                     ? "no computation"
                                     : (operand->parent() == &computation
                                            ? "an instruction that was removed"
                                            : operand->parent()->name()),
                                 " for %", operand->name()));
    }
    bool repeated = false;
    if (count <= kFewOperands) {
      for (int64_t j = 0; j < i; ++j) repeated |= operands[j] == operand;
    } else {
      repeated = stamps_[operand->local_id()] == place;
      stamps_[operand->local_id()] = place;
    }
    if (repeated) continue;
    if (!inst.IsUserOf(operand)) {
      return Broken(Invariant::V12, inst,
                    absl::StrCat("%", operand->name(), " does not list it"));
    }
    ++uses_[operand->local_id()];
    is_ordered_ &= operand->local_id() < place;
  }
  return absl::OkStatus();
}

absl::Status StructureCheck::CheckControlNeighbors(
    const HloComputation& computation, const HloInstruction& inst) {
  const int32_t place = inst.local_id();
  for (const bool before : {true, false}) {
    for (const HloInstruction* neighbor :
         before ? inst.control_predecessors() : inst.control_successors()) {
      if (neighbor == nullptr) {
        return Broken(Invariant::V11, inst, "a control neighbor");
      }
      if (neighbor->parent() != &computation || !Holds(*neighbor)) {
        return Broken(Invariant::V15, inst,
                      absl::StrCat("%", neighbor->name(), " is elsewhere"));
      }
      if (before) {
        predecessors_.push_back({neighbor->local_id(), place});
        is_ordered_ &= neighbor->local_id() < place;
      } else {
        successors_.push_back({place, neighbor->local_id()});
      }
    }
  }
  return absl::OkStatus();
}

// Every operand has been found to list its users: if the numbers are equal, it
// lists nobody else.
absl::Status StructureCheck::CheckUsers(const HloComputation& computation) {
  for (const HloInstruction* inst : slots_) {
    if (inst == nullptr || inst->user_count() == uses_[inst->local_id()]) {
      continue;
    }
    // A builder may hold instructions that no computation has yet.
    int64_t outside = 0;
    for (const HloInstruction* user : inst->users()) {
      const bool is_outside = user != nullptr && user->parent() == nullptr;
      outside += is_outside ? 1 : 0;
      if (user == nullptr ||
          (!is_outside && (user->parent() != &computation || !Holds(*user))) ||
          std::find(user->operands().begin(), user->operands().end(), inst) ==
              user->operands().end()) {
        return Broken(Invariant::V13, *inst,
                      absl::StrCat("%", user == nullptr ? "null" : user->name(),
                                   " does not use it"));
      }
    }
    const int64_t inside = inst->user_count() - outside;
    if (inside == uses_[inst->local_id()]) continue;
    return Broken(Invariant::V13, *inst,
                  absl::StrCat("expected ", uses_[inst->local_id()],
                               " users, found ", inside));
  }
  return absl::OkStatus();
}

absl::Status StructureCheck::CheckControlEdges(
    const HloComputation& computation) {
  std::sort(successors_.begin(), successors_.end());
  std::sort(predecessors_.begin(), predecessors_.end());
  if (successors_ == predecessors_) return absl::OkStatus();
  const auto [one, other] =
      std::mismatch(successors_.begin(), successors_.end(),
                    predecessors_.begin(), predecessors_.end());
  const bool from_successors = one != successors_.end() &&
                               (other == predecessors_.end() || *one < *other);
  const Edge edge = from_successors ? *one : *other;
  return Broken(Invariant::V14, *slots_[edge.to],
                absl::StrCat("only ", from_successors ? "%" : "this, not %",
                             slots_[edge.from]->name(),
                             " knows the dependency between them"));
}

// Depth first along operands and control predecessors.
absl::Status StructureCheck::CheckAcyclic(const HloComputation& computation) {
  enum : int32_t { kNew = -1, kOpen = -2, kDone = -3 };
  struct Frame {
    const HloInstruction* inst;
    size_t next;
  };
  std::fill(stamps_.begin(), stamps_.end(), kNew);
  std::vector<Frame> stack;
  for (const HloInstruction* start : slots_) {
    if (start == nullptr || stamps_[start->local_id()] != kNew) continue;
    stack.push_back({start, 0});
    stamps_[start->local_id()] = kOpen;
    while (!stack.empty()) {
      const HloInstruction* inst = stack.back().inst;
      const size_t next = stack.back().next++;
      const size_t operands = inst->operands().size();
      const HloInstruction* before = nullptr;
      if (next < operands) {
        before = inst->operands()[next];
      } else if (next - operands < inst->control_predecessors().size()) {
        before = inst->control_predecessors()[next - operands];
      } else {
        stamps_[inst->local_id()] = kDone;
        stack.pop_back();
        continue;
      }
      if (stamps_[before->local_id()] == kOpen) {
        return Broken(
            Invariant::V16, *inst,
            absl::StrCat("%", before->name(), " comes before it and after it"));
      }
      if (stamps_[before->local_id()] == kNew) {
        stamps_[before->local_id()] = kOpen;
        stack.push_back({before, 0});
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier
