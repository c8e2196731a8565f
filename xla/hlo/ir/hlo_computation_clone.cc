// Copies of computations.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {
namespace {

using ReplacementMap = HloComputation::ReplacementMap;
using NewRoot = HloComputation::NewRoot;

// The instruction to clone in place of `instruction`: itself, its replacement,
// or null if it is dropped.
const HloInstruction* Replaced(const ReplacementMap* replacements,
                               const HloInstruction* instruction) {
  if (replacements == nullptr) return instruction;
  auto it = replacements->find(instruction);
  return it == replacements->end() ? instruction : it->second.get();
}

// The instructions to clone, operands and control predecessors first, with
// replacements in place.
//
// A post-order of the computation itself is not enough with replacements: one
// may read instructions that the original stood before, or others that are in
// no computation yet. The depth-first search looks through replacements on the
// way and has a stack of its own, as chains of operands may be long.
std::vector<const HloInstruction*> OrderToClone(
    const HloComputation& computation, const ReplacementMap* replacements,
    absl::Span<const HloInstruction* const> extra_parameters) {
  std::vector<const HloInstruction*> order;
  order.reserve(computation.instruction_count());
  if (replacements == nullptr || replacements->empty()) {
    const std::vector<HloInstruction*> post_order =
        computation.MakeInstructionPostOrder();
    order.assign(post_order.begin(), post_order.end());
    return order;
  }
  struct Frame {
    const HloInstruction* instruction;
    int64_t next;
  };
  absl::flat_hash_set<const HloInstruction*> seen(extra_parameters.begin(),
                                                  extra_parameters.end());
  std::vector<Frame> stack;
  auto push = [&](const HloInstruction* original) {
    const HloInstruction* instruction = Replaced(replacements, original);
    if (instruction != nullptr && seen.insert(instruction).second) {
      stack.push_back({instruction, 0});
    }
  };
  for (const HloInstruction* start : computation.MakeInstructionPostOrder()) {
    push(start);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const HloInstruction* instruction = frame.instruction;
      const int64_t operands = instruction->operand_count();
      const auto& predecessors = instruction->control_predecessors();
      if (frame.next < operands) {
        push(instruction->operand(frame.next++));
      } else if (frame.next <
                 operands + static_cast<int64_t>(predecessors.size())) {
        push(predecessors[frame.next++ - operands]);
      } else {
        order.push_back(instruction);
        stack.pop_back();
      }
    }
  }
  return order;
}

HloInstruction* CloneRoot(const HloComputation& computation, NewRoot new_root,
                          const ReplacementMap* replacements,
                          const HloCloneContext& context,
                          HloComputation::Builder& builder) {
  auto clone_of = [&](const HloInstruction* original) {
    const HloInstruction* instruction = Replaced(replacements, original);
    CHECK(instruction != nullptr)
        << "the root of the clone, " << original->name() << ", is dropped";
    return context.GetInstruction(instruction);
  };
  if (std::holds_alternative<const HloInstruction*>(new_root)) {
    const HloInstruction* root = std::get<const HloInstruction*>(new_root);
    return clone_of(root == nullptr ? computation.root_instruction() : root);
  }
  std::vector<HloInstruction*> elements;
  for (const HloInstruction* root :
       std::get<const absl::Span<HloInstruction* const>>(new_root)) {
    elements.push_back(clone_of(root));
  }
  return builder.AddInstruction(HloInstruction::CreateTuple(elements));
}

// The clones of the operands of `instruction`.
void CollectOperands(const HloInstruction& instruction,
                     const ReplacementMap* replacements,
                     const HloCloneContext& context,
                     std::vector<HloInstruction*>* operands) {
  operands->clear();
  for (const HloInstruction* operand : instruction.operands()) {
    const HloInstruction* replaced = Replaced(replacements, operand);
    CHECK(replaced != nullptr) << instruction.name() << " needs "
                               << operand->name() << ", which is dropped";
    operands->push_back(context.GetInstruction(replaced));
  }
}

void CopyControlDependencies(absl::Span<const HloInstruction* const> originals,
                             const ReplacementMap* replacements,
                             const HloCloneContext& context) {
  for (const HloInstruction* original : originals) {
    for (const HloInstruction* successor : original->control_successors()) {
      const HloInstruction* replaced = Replaced(replacements, successor);
      if (replaced == nullptr) continue;
      absl::Status status =
          context.GetInstruction(original)->AddControlDependencyTo(
              context.GetInstruction(replaced));
      CHECK(status.ok()) << status;
    }
  }
}

// Clones come into being operands first; users and control edges shall stand
// in the original order nevertheless.
void SortUsersLikeOriginals(absl::Span<const HloInstruction* const> originals,
                            const ReplacementMap* replacements,
                            const HloCloneContext& context) {
  auto clone_of = [&](const HloInstruction* original) -> const HloInstruction* {
    const HloInstruction* instruction = Replaced(replacements, original);
    return instruction == nullptr ? nullptr
                                  : context.FindInstruction(instruction);
  };
  for (const HloInstruction* original : originals) {
    if (original->user_count() < 2 &&
        original->control_successors().size() < 2 &&
        original->control_predecessors().size() < 2) {
      continue;
    }
    context.GetInstruction(original)->SortInstructionUsersAndControlLists(
        clone_of, *original);
  }
}

}  // namespace

std::unique_ptr<HloComputation> HloComputation::CloneInContext(
    HloCloneContext& context, const ReplacementMap* replacements,
    absl::Span<const HloInstruction* const> extra_parameters,
    const std::string& suffix, NewRoot new_root,
    std::vector<HloInstruction*>* clone_sequence) const {
  const std::vector<const HloInstruction*> order =
      OrderToClone(*this, replacements, extra_parameters);
  context.ReserveInstructions(context.cloned_instructions().size() +
                              order.size());

  // Clones wait in a list until all are there, and are then added in the
  // originals' order of storage.
  std::vector<std::unique_ptr<HloInstruction>> extra;
  for (const HloInstruction* parameter : extra_parameters) {
    CHECK(parameter->opcode() == HloOpcode::kParameter) << parameter->name();
    extra.push_back(parameter->Clone());
    context.MapInstruction(parameter, extra.back().get());
  }
  std::vector<std::unique_ptr<HloInstruction>> by_local_id(
      next_unique_instruction_internal_id());
  std::vector<std::unique_ptr<HloInstruction>> unplaced;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> original_of;
  if (replacements != nullptr) {
    for (const auto& [original, replacement] : *replacements) {
      if (replacement != nullptr) {
        original_of[replacement.get()] = original;
      }
    }
  }
  std::vector<HloInstruction*> new_operands;
  for (const HloInstruction* instruction : order) {
    CollectOperands(*instruction, replacements, context, &new_operands);
    std::unique_ptr<HloInstruction> clone = instruction->CloneWithNewOperands(
        instruction->shape(), new_operands, &context);
    const HloInstruction* original = instruction;
    auto it = original_of.find(instruction);
    if (it != original_of.end()) original = it->second;
    std::unique_ptr<HloInstruction>* slot =
        original->parent() == this && !original->IsMarkedAsDead()
            ? &by_local_id[original->local_id()]
            : nullptr;
    if (slot != nullptr && *slot == nullptr) {
      *slot = std::move(clone);
    } else {
      unplaced.push_back(std::move(clone));
    }
  }

  Builder builder(suffix.empty() ? std::string(name())
                                 : absl::StrCat(name(), ".", suffix));
  for (auto* list : {&extra, &by_local_id, &unplaced}) {
    for (std::unique_ptr<HloInstruction>& clone : *list) {
      if (clone != nullptr) builder.AddInstruction(std::move(clone));
    }
  }
  HloInstruction* root =
      CloneRoot(*this, new_root, replacements, context, builder);
  std::unique_ptr<HloComputation> result = builder.Build(root);

  CopyControlDependencies(order, replacements, context);
  SortUsersLikeOriginals(order, replacements, context);

  if (clone_sequence != nullptr && parent_ != nullptr &&
      parent_->has_schedule() &&
      parent_->schedule().is_computation_scheduled(this)) {
    for (const HloInstruction* instruction :
         parent_->schedule().sequence(this).instructions()) {
      const HloInstruction* replaced = Replaced(replacements, instruction);
      if (replaced == nullptr) continue;
      clone_sequence->push_back(context.GetInstruction(replaced));
    }
  }
  result->SetExecutionThread(execution_thread());
  context.MapComputation(this, result.get());
  return result;
}

std::unique_ptr<HloComputation> HloComputation::Clone(
    const std::string& suffix, HloCloneContext* context) {
  return CloneWithReplacements(/*replacements=*/nullptr,
                               /*extra_parameters=*/{}, context, suffix);
}

std::pair<std::unique_ptr<HloComputation>, std::vector<HloInstruction*>>
HloComputation::CloneWithSchedule(const std::string& suffix,
                                  HloCloneContext* context) {
  return CloneWithScheduleAndReplacements(/*replacements=*/nullptr,
                                          /*extra_parameters=*/{}, context,
                                          suffix);
}

std::unique_ptr<HloComputation> HloComputation::CloneWithReplacements(
    const ReplacementMap* replacements,
    absl::Span<const HloInstruction* const> extra_parameters,
    HloCloneContext* context, const std::string& suffix, NewRoot new_root) {
  return CloneWithScheduleAndReplacements(replacements, extra_parameters,
                                          context, suffix, new_root)
      .first;
}

std::pair<std::unique_ptr<HloComputation>, std::vector<HloInstruction*>>
HloComputation::CloneWithScheduleAndReplacements(
    const ReplacementMap* replacements,
    absl::Span<const HloInstruction* const> extra_parameters,
    HloCloneContext* context, const std::string& suffix, NewRoot new_root) {
  std::vector<HloInstruction*> sequence;
  if (context != nullptr) {
    auto clone = CloneInContext(*context, replacements, extra_parameters,
                                suffix, new_root, &sequence);
    return {std::move(clone), std::move(sequence)};
  }
  HloCloneContext own_context(parent(), suffix);
  auto clone = CloneInContext(own_context, replacements, extra_parameters,
                              suffix, new_root, &sequence);
  return {std::move(clone), std::move(sequence)};
}

namespace {

template <typename... Pairs>
ReplacementMap MakeReplacementMap(Pairs... pairs) {
  ReplacementMap map;
  (map.insert(std::move(pairs)), ...);
  return map;
}

}  // namespace

std::unique_ptr<HloComputation> HloComputation::CloneWithReplacementPairs(
    ReplacementPair r1, HloCloneContext* context, const std::string& suffix) {
  const ReplacementMap map = MakeReplacementMap(std::move(r1));
  return CloneWithReplacements(&map, /*extra_parameters=*/{}, context, suffix);
}

std::unique_ptr<HloComputation> HloComputation::CloneWithReplacementPairs(
    ReplacementPair r1, ReplacementPair r2, HloCloneContext* context,
    const std::string& suffix) {
  const ReplacementMap map = MakeReplacementMap(std::move(r1), std::move(r2));
  return CloneWithReplacements(&map, /*extra_parameters=*/{}, context, suffix);
}

std::unique_ptr<HloComputation> HloComputation::CloneWithReplacementPairs(
    ReplacementPair r1, ReplacementPair r2, ReplacementPair r3,
    HloCloneContext* context, const std::string& suffix) {
  const ReplacementMap map =
      MakeReplacementMap(std::move(r1), std::move(r2), std::move(r3));
  return CloneWithReplacements(&map, /*extra_parameters=*/{}, context, suffix);
}

}  // namespace xla
