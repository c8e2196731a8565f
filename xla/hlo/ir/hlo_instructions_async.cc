// Chains of async-start, async-update and async-done.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
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
  // Where the start can be reached, it alone calls the computation.
  if (async_computation != nullptr && async_chain_start() == nullptr) {
    AppendComputation(async_computation);
  }
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_start() const {
  const HloInstruction* link = this;
  while (link != nullptr && link->IsAsynchronous()) {
    if (link->opcode() == HloOpcode::kAsyncStart) {
      return const_cast<HloAsyncInstruction*>(
          static_cast<const HloAsyncInstruction*>(link));
    }
    link = link->operand_count() == 0 ? nullptr : link->operand(0);
  }
  return nullptr;
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_next() const {
  for (HloInstruction* user : users()) {
    if (user->IsAsyncConsumer() && user->operand(0) == this) {
      return static_cast<HloAsyncInstruction*>(user);
    }
  }
  return nullptr;
}

HloAsyncInstruction* HloAsyncInstruction::async_chain_done() const {
  auto* link = const_cast<HloAsyncInstruction*>(this);
  while (link != nullptr && link->opcode() != HloOpcode::kAsyncDone) {
    link = link->async_chain_next();
  }
  return link;
}

std::vector<HloAsyncInstruction*> HloAsyncInstruction::GetAsyncChain() const {
  auto* link = const_cast<HloAsyncInstruction*>(this);
  while (link->IsAsyncConsumer() && link->operand_count() > 0 &&
         link->operand(0) != nullptr && link->operand(0)->IsAsyncProducer()) {
    link = static_cast<HloAsyncInstruction*>(link->mutable_operand(0));
  }
  std::vector<HloAsyncInstruction*> chain;
  for (; link != nullptr; link = link->async_chain_next()) {
    chain.push_back(link);
  }
  return chain;
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

void HloAsyncInstruction::UpdateChainShapes() {
  const HloAsyncInstruction* start = async_chain_start();
  CHECK(start != nullptr) << name() << " has no start";
  for (HloAsyncInstruction* link : GetAsyncChain()) {
    if (link->opcode() == HloOpcode::kAsyncUpdate) {
      *link->mutable_shape() = start->shape();
    } else if (link->opcode() == HloOpcode::kAsyncDone) {
      *link->mutable_shape() = start->shape().tuple_shapes(1);
    }
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
  async_wrapped_computation()->SetExecutionThread(async_execution_thread);
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
  UpdateChainShapes();
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
