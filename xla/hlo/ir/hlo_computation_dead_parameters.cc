// Removing parameters together with the operands that callers pass for them.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Aliasing =
    std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>;

bool MayAliasOperands(const HloInstruction& caller) {
  return caller.opcode() == HloOpcode::kFusion ||
         caller.opcode() == HloOpcode::kAsyncStart;
}

// The other links of an async chain bind no operands that a start has bound.
bool FollowsAsyncStart(const HloInstruction& caller) {
  return caller.opcode() == HloOpcode::kAsyncUpdate ||
         caller.opcode() == HloOpcode::kAsyncDone;
}

// Whether the chain binds all operands at once and its state goes from link to
// link, so that shapes change in no other place.
bool IsPlainChain(const HloInstruction& start) {
  const HloInstruction* link = &start;
  while (link->IsAsyncProducer()) {
    if (link->user_count() != 1) return false;
    const HloInstruction* user = link->users()[0];
    if (!user->IsAsyncConsumer() || user->operand_count() != 1) return false;
    link = user;
  }
  return true;
}

// Whether operand `number` of the caller is what it passes for that parameter,
// and nothing else speaks of it.
bool CanDropOperand(const HloInstruction& caller, int64_t number,
                    int64_t num_parameters) {
  if (FollowsAsyncStart(caller)) return true;
  const HloOpcode opcode = caller.opcode();
  const bool binds_in_order =
      opcode == HloOpcode::kFusion || opcode == HloOpcode::kCall ||
      (opcode == HloOpcode::kAsyncStart &&
       caller.operand_count() == num_parameters && IsPlainChain(caller));
  if (!binds_in_order) return false;
  if (!MayAliasOperands(caller)) return true;
  return absl::c_none_of(caller.output_operand_aliasing(), [&](const auto& p) {
    return p.second.first == number;
  });
}

// Operands behind `number` count one down.
void ShiftAliasedOperands(HloInstruction* caller, int64_t number) {
  if (!MayAliasOperands(*caller) || caller->output_operand_aliasing().empty()) {
    return;
  }
  Aliasing aliasing = caller->output_operand_aliasing();
  for (auto& pair : aliasing) {
    if (pair.second.first > number) --pair.second.first;
  }
  caller->set_output_to_operand_aliasing(std::move(aliasing));
}

// The shape of async-start lists those of its operands; the chain follows it.
void DropAsyncOperandShape(HloInstruction* start, int64_t number) {
  Shape shape = start->shape();
  std::vector<Shape> operands(shape.tuple_shapes(0).tuple_shapes().begin(),
                              shape.tuple_shapes(0).tuple_shapes().end());
  operands.erase(operands.begin() + number);
  *shape.mutable_tuple_shapes(0) = ShapeUtil::MakeTupleShape(operands);
  *start->mutable_shape() = shape;
  Cast<HloAsyncInstruction>(start)->UpdateChainShapes();
}

}  // namespace

bool HloComputation::CallersCanDropOperand(int64_t param_no) const {
  return absl::c_all_of(callers_, [&](const auto& caller_and_count) {
    return CanDropOperand(*caller_and_count.first, param_no, num_parameters());
  });
}

absl::Status HloComputation::RemoveUnusedParameterAndOperands(
    int64_t param_no, std::vector<HloInstruction*>* released_operands) {
  TF_RET_CHECK(param_no >= 0 && param_no < num_parameters())
      << "parameter " << param_no << " of " << num_parameters();
  HloInstruction* parameter = param_instructions_[param_no];
  TF_RET_CHECK(parameter->IsDead()) << parameter->name() << " is in use";
  const auto callers = caller_instructions();
  for (const HloInstruction* caller : callers) {
    if (!CanDropOperand(*caller, param_no, num_parameters())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "parameter ", param_no, " of ", name(), " cannot go: its caller ",
          caller->name(), " does not pass it as an operand of its own"));
    }
  }
  for (HloInstruction* caller : callers) {
    if (FollowsAsyncStart(*caller)) continue;
    HloInstruction* operand = caller->mutable_operand(param_no);
    ShiftAliasedOperands(caller, param_no);
    caller->RemoveOperandsAtAscendingIndices({static_cast<int>(param_no)});
    if (caller->opcode() == HloOpcode::kAsyncStart) {
      DropAsyncOperandShape(caller, param_no);
    }
    if (released_operands != nullptr) released_operands->push_back(operand);
  }
  if (IsEntryComputation()) parent_->EntryParameterRemoved(param_no);
  return ForceRemoveInstruction(parameter);
}

}  // namespace xla
