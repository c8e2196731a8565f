// Chains of async-start, async-update and async-done.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;

HloAsyncInstruction::HloAsyncInstruction(HloOpcode opcode, const Shape& shape,
                                         Operands operands)
    : HloInstruction(opcode, shape) {
  AppendOperands(operands);
}

HloAsyncInstruction::HloAsyncInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation)
    : HloAsyncInstruction(opcode, shape, operands) {
  async_wrapped_opcode_ = async_wrapped_opcode;
  // Right after another link, that one leads to the computation.
  if (async_computation != nullptr && !DirectlyFollowsLink()) {
    AppendComputation(async_computation);
  }
}

bool HloAsyncInstruction::DirectlyFollowsLink() const {
  return async_segments::DirectlyFollowsLink(*this);
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_previous() const {
  if (!IsAsyncConsumer() || operand_count() == 0) return nullptr;
  HloInstruction* previous = async_segments::Previous(this);
  if (previous == nullptr) previous = AsyncStateProducer(operand(0));
  return static_cast<HloAsyncInstruction*>(previous);
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_start() const {
  auto* first = static_cast<HloAsyncInstruction*>(async_segments::First(this));
  // Updates in a loop may come before one another.
  absl::flat_hash_set<const HloInstruction*> seen;
  while (first->opcode() != HloOpcode::kAsyncStart) {
    if (!seen.insert(first).second) return nullptr;
    const HloAsyncInstruction* previous = first->async_chain_previous();
    if (previous == nullptr) return nullptr;
    first = static_cast<HloAsyncInstruction*>(async_segments::First(previous));
  }
  return first;
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_next() const {
  if (!IsAsyncProducer()) return nullptr;
  if (HloInstruction* next = async_segments::Next(this)) {
    return static_cast<HloAsyncInstruction*>(next);
  }
  std::vector<HloInstruction*> consumers = AsyncStateConsumers(this);
  if (consumers.empty()) return nullptr;
  // In a loop the state may return to updates that it came from.
  absl::flat_hash_set<const HloInstruction*> before;
  for (const HloAsyncInstruction* link = this;
       link != nullptr && before.insert(link).second;
       link = link->async_chain_previous()) {
  }
  for (HloInstruction* consumer : consumers) {
    if (!before.contains(consumer)) {
      return static_cast<HloAsyncInstruction*>(consumer);
    }
  }
  return nullptr;
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_done() const {
  const HloAsyncInstruction* link = this;
  while (link != nullptr) {
    auto* last = static_cast<HloAsyncInstruction*>(async_segments::Last(link));
    if (last->opcode() == HloOpcode::kAsyncDone) return last;
    link = last->async_chain_next();
  }
  return nullptr;
}

std::vector<HloAsyncInstruction*> HloAsyncInstruction::GetAsyncChain() const {
  std::vector<HloAsyncInstruction*> chain;
  absl::flat_hash_set<const HloInstruction*> seen;
  for (auto* link = const_cast<HloAsyncInstruction*>(this);
       link != nullptr && seen.insert(link).second;
       link = link->async_chain_previous()) {
    chain.push_back(link);
  }
  absl::c_reverse(chain);
  for (HloAsyncInstruction* link = async_chain_next();
       link != nullptr && seen.insert(link).second;
       link = link->async_chain_next()) {
    chain.push_back(link);
  }
  return chain;
}

absl::Span<HloInstruction* const> HloAsyncInstruction::bound_operands() const {
  absl::Span<HloInstruction* const> all = operands();
  if (opcode() == HloOpcode::kAsyncStart) return all;
  return opcode() == HloOpcode::kAsyncUpdate && !all.empty() ? all.subspan(1)
                                                             : Operands();
}

HloComputation* HloAsyncInstruction::async_wrapped_computation() const {
  if (has_called_computations()) return called_computations()[0];
  const HloAsyncInstruction* start = async_chain_start();
  return start != nullptr && start->has_called_computations()
             ? start->called_computations()[0]
             : nullptr;
}

HloInstruction* HloAsyncInstruction::async_wrapped_instruction() const {
  HloComputation* computation = async_wrapped_computation();
  return computation == nullptr ? nullptr : computation->root_instruction();
}

HloOpcode HloAsyncInstruction::async_wrapped_opcode() const {
  if (const HloInstruction* wrapped = async_wrapped_instruction()) {
    return wrapped->opcode();
  }
  return async_wrapped_opcode_.value_or(opcode());
}

absl::string_view HloAsyncInstruction::async_execution_thread() const {
  const HloAsyncInstruction* start = async_chain_start();
  if (start != nullptr) return start->async_execution_thread();
  const HloComputation* computation = async_wrapped_computation();
  return computation != nullptr ? computation->execution_thread()
                                : absl::string_view(kMainExecutionThread);
}

bool HloAsyncInstruction::HasSideEffect() const {
  const HloComputation* computation = async_wrapped_computation();
  return computation != nullptr && computation->HasSideEffect();
}

namespace {

// What a later link shows where the one before it shows `before`.
Shape OutputAfter(const Shape& before, const Shape& own) {
  if (!before.IsTuple()) return before;
  if (before.tuple_shapes().empty()) return own;
  if (!own.IsTuple() ||
      own.tuple_shapes().size() <= before.tuple_shapes().size()) {
    return before;
  }
  Shape result = own;
  for (int i = 0; i < static_cast<int>(before.tuple_shapes().size()); ++i) {
    *result.mutable_tuple_shapes(i) = before.tuple_shapes(i);
  }
  return result;
}

Shape StateAfter(const Shape& before, const HloAsyncInstruction& update) {
  Shape result = update.shape();
  std::vector<Shape> operands(before.tuple_shapes(0).tuple_shapes().begin(),
                              before.tuple_shapes(0).tuple_shapes().end());
  for (const HloInstruction* operand : update.bound_operands()) {
    operands.push_back(operand->shape());
  }
  *result.mutable_tuple_shapes(0) = ShapeUtil::MakeTupleShape(operands);
  *result.mutable_tuple_shapes(1) =
      OutputAfter(before.tuple_shapes(1), result.tuple_shapes(1));
  // A context of another type is the update's own.
  const int contexts = static_cast<int>(
      std::min(result.tuple_shapes().size(), before.tuple_shapes().size()));
  for (int i = 2; i < contexts; ++i) {
    if (ShapeUtil::Compatible(result.tuple_shapes(i), before.tuple_shapes(i))) {
      *result.mutable_tuple_shapes(i) = before.tuple_shapes(i);
    }
  }
  return result;
}

}  // namespace

void HloAsyncInstruction::UpdateChainShapes() {
  const Shape* before = nullptr;
  bool later = false;
  for (HloAsyncInstruction* link : GetAsyncChain()) {
    if (later) {
      *link->mutable_shape() =
          link->opcode() == HloOpcode::kAsyncDone
              ? OutputAfter(before->tuple_shapes(1), link->shape())
              : StateAfter(*before, *link);
    }
    if (const std::shared_ptr<OriginalValue> value = link->original_value();
        value != nullptr && !value->IsCompatibleWith(link->shape())) {
      link->set_original_value(nullptr);
    }
    later |= link == this;
    before = &link->shape();
  }
}

bool HloAsyncInstruction::IdenticalSlowPath(const HloInstruction& other,
                                            EqComputations eq) const {
  const auto& that = static_cast<const HloAsyncInstruction&>(other);
  const HloComputation* mine = async_wrapped_computation();
  const HloComputation* theirs = that.async_wrapped_computation();
  if (mine == nullptr || theirs == nullptr) {
    return mine == theirs &&
           async_wrapped_opcode() == that.async_wrapped_opcode();
  }
  return async_execution_thread() == that.async_execution_thread() &&
         eq(mine, theirs);
}

HloPtr HloAsyncInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                     Operands new_operands,
                                                     HloCloneContext*) const {
  return std::make_unique<HloAsyncInstruction>(
      opcode(), shape, new_operands, async_wrapped_opcode_,
      has_called_computations() ? called_computations()[0] : nullptr);
}

// --- Start
// --------------------------------------------------------------------

HloAsyncStartInstruction::HloAsyncStartInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    HloComputation* async_computation, absl::string_view async_execution_thread)
    : HloAsyncInstruction(opcode, shape, operands) {
  AppendComputation(async_computation);
  HloAsyncStartInstruction::set_async_execution_thread(async_execution_thread);
}

void HloAsyncStartInstruction::set_async_execution_thread(
    absl::string_view async_execution_thread) {
  async_execution_thread_ = std::string(async_execution_thread);
  HloComputation* wrapped = async_wrapped_computation();
  if (async_execution_thread == kMainExecutionThread &&
      wrapped->IsMainThread()) {
    return;
  }
  wrapped->SetExecutionThread(async_execution_thread);
  for (HloComputation* callee : wrapped->MakeEmbeddedComputationsList()) {
    callee->SetExecutionThread(async_execution_thread);
  }
}

HloInstruction* HloAsyncStartInstruction::AddCallOperand(
    HloInstruction* new_operand) {
  HloComputation* computation = async_wrapped_computation();
  CHECK_EQ(operand_count(), computation->num_parameters()) << name();
  const int64_t number = operand_count();
  HloInstruction* parameter = computation->AddParameter(CreateParameter(
      number, new_operand->shape(), absl::StrCat("param_", number)));
  AppendOperand(new_operand);
  ShapeUtil::AppendShapeToTuple(new_operand->shape(),
                                mutable_shape()->mutable_tuple_shapes(0));
  return parameter;
}

bool HloAsyncStartInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                 EqComputations eq) const {
  return output_to_operand_aliasing() == other.output_operand_aliasing() &&
         HloAsyncInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloAsyncStartInstruction::CloneWithNewOperandsAndComputation(
    const Shape& shape, Operands new_operands, HloComputation* new_computation,
    HloCloneContext* context) const {
  auto clone = std::make_unique<HloAsyncStartInstruction>(
      opcode(), shape, new_operands, new_computation, async_execution_thread_);
  clone->set_output_to_operand_aliasing(output_to_operand_aliasing());
  return clone;
}

HloPtr HloAsyncStartInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext* context) const {
  HloComputation* computation = async_wrapped_computation();
  HloModule* module = context != nullptr ? context->module() : GetModule();
  HloComputation* clone =
      context == nullptr ? nullptr : context->FindComputation(computation);
  if (clone == nullptr && module != nullptr) {
    clone =
        module->AddEmbeddedComputation(computation->Clone("clone", context));
  }
  return CloneWithNewOperandsAndComputation(
      shape, new_operands, clone != nullptr ? clone : computation, context);
}

// --- Update
// -------------------------------------------------------------------

HloAsyncUpdateInstruction::HloAsyncUpdateInstruction(
    const Shape& shape, Operands operands,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation)
    : HloAsyncInstruction(HloOpcode::kAsyncUpdate, shape, operands,
                          async_wrapped_opcode, async_computation) {}

bool HloAsyncUpdateInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                  EqComputations eq) const {
  return output_to_operand_aliasing() == other.output_operand_aliasing() &&
         HloAsyncInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloAsyncUpdateInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  auto clone = std::make_unique<HloAsyncUpdateInstruction>(
      shape, new_operands, async_wrapped_opcode_,
      has_called_computations() ? called_computations()[0] : nullptr);
  clone->set_output_to_operand_aliasing(output_to_operand_aliasing());
  return clone;
}

}  // namespace xla
