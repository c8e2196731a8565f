// Factories of fusions, calls, control flow and asynchronous chains.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

using HloPtr = std::unique_ptr<HloInstruction>;

// A fusion stands for what its root stands for.
HloPtr HloInstruction::CreateFusion(const Shape& shape, FusionKind fusion_kind,
                                    HloInstruction* fused_root,
                                    absl::string_view prefix) {
  HloPtr fusion = std::make_unique<HloFusionInstruction>(shape, fusion_kind,
                                                         fused_root, prefix);
  fusion->CopyOriginalValue(fused_root);
  return fusion;
}

HloPtr HloInstruction::CreateFusion(const Shape& shape, FusionKind fusion_kind,
                                    absl::Span<HloInstruction* const> operands,
                                    HloComputation* fusion_computation,
                                    absl::string_view prefix) {
  HloPtr fusion = std::make_unique<HloFusionInstruction>(
      shape, fusion_kind, operands, fusion_computation, prefix);
  fusion->CopyOriginalValue(fusion_computation->root_instruction());
  return fusion;
}

HloPtr HloInstruction::CreateCall(const Shape& shape,
                                  HloInstruction* called_computation_root) {
  return std::make_unique<HloCallInstruction>(shape, called_computation_root);
}

HloPtr HloInstruction::CreateCall(const Shape& shape,
                                  absl::Span<HloInstruction* const> operands,
                                  HloComputation* computation) {
  return std::make_unique<HloCallInstruction>(shape, operands, computation);
}

HloPtr HloInstruction::CreateCompositeCall(const Shape& shape,
                                           HloInstruction* decomposition_root,
                                           const std::string& name,
                                           const std::string& attributes,
                                           int64_t version) {
  return std::make_unique<HloCallInstruction>(shape, decomposition_root, name,
                                              attributes, version);
}

HloPtr HloInstruction::CreateCompositeCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* decomposition, const std::string& name,
    const std::string& attributes, int64_t version) {
  return std::make_unique<HloCallInstruction>(shape, operands, decomposition,
                                              name, attributes, version);
}

HloPtr HloInstruction::CreateWhile(const Shape& shape,
                                   HloComputation* condition,
                                   HloComputation* body, HloInstruction* init) {
  HloPtr instruction = CreateNary(shape, HloOpcode::kWhile, {init});
  // In the order of kBodyComputationIndex and kConditionComputationIndex.
  instruction->AppendComputation(body);
  instruction->AppendComputation(condition);
  return instruction;
}

HloPtr HloInstruction::CreateConditional(const Shape& shape,
                                         HloInstruction* pred,
                                         HloInstruction* true_computation_arg,
                                         HloComputation* true_computation,
                                         HloInstruction* false_computation_arg,
                                         HloComputation* false_computation) {
  return CreateConditional(shape, pred, {true_computation, false_computation},
                           {true_computation_arg, false_computation_arg});
}

HloPtr HloInstruction::CreateConditional(
    const Shape& shape, HloInstruction* branch_index,
    absl::Span<HloComputation* const> branch_computations,
    absl::Span<HloInstruction* const> branch_computation_args) {
  CHECK_EQ(branch_computations.size(), branch_computation_args.size());
  HloPtr instruction =
      CreateNary(shape, HloOpcode::kConditional, {branch_index});
  instruction->AppendOperands(branch_computation_args);
  for (HloComputation* computation : branch_computations) {
    instruction->AppendComputation(computation);
  }
  return instruction;
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, custom_call_target, std::move(opaque), api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* to_apply, absl::string_view custom_call_target,
    std::string opaque, CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, to_apply, custom_call_target, std::move(opaque),
      api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::Span<HloComputation* const> called_computations,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, called_computations, custom_call_target,
      std::move(opaque), api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::string_view custom_call_target,
    absl::Span<const Shape> operand_shapes_with_layout, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, custom_call_target, std::move(opaque),
      operand_shapes_with_layout, api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* to_apply, absl::string_view custom_call_target,
    absl::Span<const Shape> operand_shapes_with_layout, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, to_apply, custom_call_target, std::move(opaque),
      operand_shapes_with_layout, api_version);
}

namespace {

// Names a link of a chain as its sugar is: after the wrapped operation.
HloPtr NamedAfterWrapped(std::unique_ptr<HloAsyncInstruction> link) {
  absl::string_view step = HloOpcodeString(link->opcode());
  step.remove_prefix(absl::string_view("async").size());
  const HloInstruction* holder = link.get();
  if (holder->called_computations().empty() && holder->operand_count() > 0) {
    holder = holder->operand(0);
  }
  if (holder == nullptr || !holder->IsAsynchronous()) return link;
  if (!holder->called_computations().empty()) {
    const HloInstruction* root =
        holder->called_computations()[0]->root_instruction();
    link->SetAndSanitizeName(
        absl::StrCat(HloOpcodeString(root->opcode()), step));
    return link;
  }
  // Behind an update: chains are long, and its name says what it is of.
  const size_t end = holder->name().rfind("-update");
  if (end != absl::string_view::npos) {
    link->SetAndSanitizeName(absl::StrCat(holder->name().substr(0, end), step));
  }
  return link;
}

}  // namespace

HloPtr HloInstruction::CreateAsyncStart(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* async_computation,
    absl::string_view async_execution_thread) {
  return NamedAfterWrapped(std::make_unique<HloAsyncStartInstruction>(
      HloOpcode::kAsyncStart, shape, operands, async_computation,
      async_execution_thread));
}

HloPtr HloInstruction::CreateAsyncUpdate(
    const Shape& shape, HloInstruction* operand,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return CreateAsyncUpdate(shape, absl::MakeConstSpan(&operand, 1),
                           async_wrapped_opcode, async_computation);
}

HloPtr HloInstruction::CreateAsyncUpdate(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return NamedAfterWrapped(std::make_unique<HloAsyncUpdateInstruction>(
      shape, operands, async_wrapped_opcode, async_computation));
}

HloPtr HloInstruction::CreateAsyncDone(
    const Shape& shape, HloInstruction* operand,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return NamedAfterWrapped(std::make_unique<HloAsyncInstruction>(
      HloOpcode::kAsyncDone, shape, absl::MakeConstSpan(&operand, 1),
      async_wrapped_opcode, async_computation));
}

}  // namespace xla
