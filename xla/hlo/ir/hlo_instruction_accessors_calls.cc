// Accessors of fusions, called computations and asynchronous chains.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/ptrvec.h"
#include "xla/iterator_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// --- Fusions -----------------------------------------------------------------

HloInstruction* HloInstruction::AppendInstructionIntoCalledComputation(
    HloInstruction* instruction_to_append, bool add_output) {
  return Cast<HloCallableInstruction>(this)
      ->AppendInstructionIntoCalledComputation(instruction_to_append,
                                               add_output);
}

HloInstruction* HloInstruction::AddFusionOperand(HloInstruction* new_operand) {
  return Cast<HloFusionInstruction>(this)->AddFusionOperand(new_operand);
}

HloInstruction* HloInstruction::FuseInstruction(
    HloInstruction* instruction_to_fuse) {
  return Cast<HloFusionInstruction>(this)->FuseInstruction(instruction_to_fuse);
}

HloInstruction* HloInstruction::FuseInstructionIntoMultiOutput(
    HloInstruction* instruction_to_fuse) {
  return Cast<HloFusionInstruction>(this)->FuseInstructionIntoMultiOutput(
      instruction_to_fuse);
}

HloComputation* HloInstruction::fused_instructions_computation() const {
  return Cast<HloFusionInstruction>(this)->fused_instructions_computation();
}

HloInstruction* HloInstruction::fused_expression_root() const {
  return Cast<HloFusionInstruction>(this)->fused_expression_root();
}

int64_t HloInstruction::fused_instruction_count() const {
  return Cast<HloFusionInstruction>(this)->fused_instruction_count();
}

HloInstruction* HloInstruction::fused_parameter(
    int64_t parameter_number) const {
  return Cast<HloFusionInstruction>(this)->fused_parameter(parameter_number);
}

const HloInstruction::InstructionVector& HloInstruction::fused_parameters()
    const {
  return Cast<HloFusionInstruction>(this)->fused_parameters();
}

HloInstruction::FusionKind HloInstruction::fusion_kind() const {
  return Cast<HloFusionInstruction>(this)->fusion_kind();
}

void HloInstruction::set_fusion_kind(FusionKind kind) {
  Cast<HloFusionInstruction>(this)->set_fusion_kind(kind);
}

void HloInstruction::MergeFusionInstruction(
    HloInstruction* instruction_to_merge, bool remove_computation) {
  Cast<HloFusionInstruction>(this)->MergeFusionInstruction(
      Cast<HloFusionInstruction>(instruction_to_merge), remove_computation);
}

void HloInstruction::MergeFusionInstructionIntoMultiOutput(
    HloInstruction* instruction_to_merge, bool remove_computation) {
  Cast<HloFusionInstruction>(this)->MergeFusionInstructionIntoMultiOutput(
      Cast<HloFusionInstruction>(instruction_to_merge), remove_computation);
}

tsl::gtl::iterator_range<HloInstructionUnwrappingConstIterator>
HloInstruction::fused_instructions() const {
  return Cast<HloFusionInstruction>(this)->fused_instructions();
}

tsl::gtl::iterator_range<HloInstructionUnwrappingIterator>
HloInstruction::fused_instructions() {
  return Cast<HloFusionInstruction>(this)->fused_instructions();
}

bool HloInstruction::IsMultiOutputFusion() const {
  const auto* fusion = DynCast<HloFusionInstruction>(this);
  return fusion != nullptr && fusion->IsMultiOutputFusion();
}

// --- Called computations -----------------------------------------------------

bool HloInstruction::has_to_apply() const {
  switch (opcode_) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCall:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScan:
    case HloOpcode::kScatter:
    case HloOpcode::kSort:
      return true;
    case HloOpcode::kCustomCall:
      return called_computations().size() == 1;
    default:  // Calls nothing, or by another name.
      return false;
  }
}

HloComputation* HloInstruction::to_apply() const {
  CHECK(has_to_apply()) << name_ << ", a " << opcode_ << ", has no to_apply";
  CHECK_EQ(called_computations().size(), 1) << name_;
  return called_computations()[0];
}

void HloInstruction::set_to_apply(HloComputation* computation) {
  CHECK(has_to_apply()) << name_ << ", a " << opcode_ << ", has no to_apply";
  if (called_computations().empty()) {
    AppendComputation(computation);
  } else {
    set_called_computation(0, computation);
  }
}

HloComputation* HloInstruction::while_condition() const {
  CHECK(opcode_ == HloOpcode::kWhile) << name_;
  return called_computations()[kConditionComputationIndex];
}

HloComputation* HloInstruction::while_body() const {
  CHECK(opcode_ == HloOpcode::kWhile) << name_;
  return called_computations()[kBodyComputationIndex];
}

void HloInstruction::set_while_condition(HloComputation* computation) {
  CHECK(opcode_ == HloOpcode::kWhile) << name_;
  set_called_computation(kConditionComputationIndex, computation);
}

void HloInstruction::set_while_body(HloComputation* computation) {
  CHECK(opcode_ == HloOpcode::kWhile) << name_;
  set_called_computation(kBodyComputationIndex, computation);
}

HloInstruction* HloInstruction::while_init() const {
  CHECK(opcode_ == HloOpcode::kWhile) << name_;
  return operands_[0];
}

HloComputation* HloInstruction::true_computation() const {
  CHECK(opcode_ == HloOpcode::kConditional &&
        operand(0)->shape().element_type() == PRED)
      << name_;
  return called_computations()[kTrueComputationIndex];
}

HloComputation* HloInstruction::false_computation() const {
  CHECK(opcode_ == HloOpcode::kConditional &&
        operand(0)->shape().element_type() == PRED)
      << name_;
  return called_computations()[kFalseComputationIndex];
}

const PtrVec<HloComputation*>& HloInstruction::branch_computations() const {
  CHECK(opcode_ == HloOpcode::kConditional) << name_;
  return called_computations();
}

int32_t HloInstruction::branch_count() const {
  return static_cast<int32_t>(branch_computations().size());
}

HloComputation* HloInstruction::branch_computation(int32_t b) const {
  return branch_computations().at(b);
}

int32_t HloInstruction::branch_index(HloComputation* computation) const {
  for (int32_t b = 0; b < branch_count(); ++b) {
    if (branch_computation(b) == computation) return b;
  }
  return -1;
}

void HloInstruction::set_branch_computation(int b,
                                            HloComputation* computation) {
  CHECK(opcode_ == HloOpcode::kConditional) << name_;
  set_called_computation(b, computation);
}

HloComputation* HloInstruction::select() const {
  return Cast<HloSelectAndScatterInstruction>(this)->select();
}

HloComputation* HloInstruction::scatter() const {
  return Cast<HloSelectAndScatterInstruction>(this)->scatter();
}

void HloInstruction::set_select(HloComputation* computation) {
  Cast<HloSelectAndScatterInstruction>(this)->set_select(computation);
}

void HloInstruction::set_scatter(HloComputation* computation) {
  Cast<HloSelectAndScatterInstruction>(this)->set_scatter(computation);
}

const std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>&
HloInstruction::output_operand_aliasing() const {
  switch (opcode_) {
    case HloOpcode::kAsyncStart:
      return Cast<HloAsyncStartInstruction>(this)->output_to_operand_aliasing();
    case HloOpcode::kAsyncUpdate:
      return Cast<HloAsyncUpdateInstruction>(this)
          ->output_to_operand_aliasing();
    default:  // Cast() fails for what is not callable.
      return Cast<HloCallableInstruction>(this)->output_to_operand_aliasing();
  }
}

void HloInstruction::set_output_to_operand_aliasing(
    std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>
        aliasing) {
  switch (opcode_) {
    case HloOpcode::kAsyncStart:
      return Cast<HloAsyncStartInstruction>(this)
          ->set_output_to_operand_aliasing(std::move(aliasing));
    case HloOpcode::kAsyncUpdate:
      return Cast<HloAsyncUpdateInstruction>(this)
          ->set_output_to_operand_aliasing(std::move(aliasing));
    default:  // Cast() fails for what is not callable.
      return Cast<HloCallableInstruction>(this)->set_output_to_operand_aliasing(
          std::move(aliasing));
  }
}

// --- Async -------------------------------------------------------------------

HloInstruction* HloInstruction::async_chain_start() const {
  return Cast<HloAsyncInstruction>(this)->async_chain_start();
}

HloInstruction* HloInstruction::async_chain_done() const {
  return Cast<HloAsyncInstruction>(this)->async_chain_done();
}

HloInstruction* HloInstruction::async_chain_next() const {
  return Cast<HloAsyncInstruction>(this)->async_chain_next();
}

HloComputation* HloInstruction::async_wrapped_computation() const {
  return Cast<HloAsyncInstruction>(this)->async_wrapped_computation();
}

HloInstruction* HloInstruction::async_wrapped_instruction() const {
  return Cast<HloAsyncInstruction>(this)->async_wrapped_instruction();
}

HloOpcode HloInstruction::async_wrapped_opcode() const {
  return Cast<HloAsyncInstruction>(this)->async_wrapped_opcode();
}

absl::string_view HloInstruction::async_execution_thread() const {
  return Cast<HloAsyncInstruction>(this)->async_execution_thread();
}

void HloInstruction::set_async_execution_thread(
    absl::string_view async_execution_thread) {
  Cast<HloAsyncInstruction>(this)->set_async_execution_thread(
      async_execution_thread);
}

bool HloInstruction::IsAsynchronous() const {
  return HloOpcodeIsAsync(opcode_);
}

bool HloInstruction::IsAsyncProducer() const {
  return opcode_ == HloOpcode::kAsyncStart ||
         opcode_ == HloOpcode::kAsyncUpdate;
}

bool HloInstruction::IsAsyncConsumer() const {
  return opcode_ == HloOpcode::kAsyncUpdate || opcode_ == HloOpcode::kAsyncDone;
}

bool HloInstruction::IsAsyncStart() const {
  return HloOpcodeIsOneOf<HloOpcode::kAllGatherStart,
                          HloOpcode::kAllReduceStart, HloOpcode::kAsyncStart,
                          HloOpcode::kCollectivePermuteStart,
                          HloOpcode::kCopyStart>(opcode_);
}

bool HloInstruction::IsAsyncDone() const {
  return HloOpcodeIsOneOf<HloOpcode::kAllGatherDone, HloOpcode::kAllReduceDone,
                          HloOpcode::kAsyncDone,
                          HloOpcode::kCollectivePermuteDone,
                          HloOpcode::kCopyDone>(opcode_);
}

bool HloInstruction::IsAsyncInstructionWithExecutionThread(
    absl::string_view execution_thread) const {
  return IsAsynchronous() && async_execution_thread() == execution_thread;
}

void HloInstruction::set_called_computations_execution_thread(
    absl::string_view async_execution_thread) {
  Cast<HloCallableInstruction>(this)->RecursivelySetComputationsThreadName(
      async_execution_thread);
}

}  // namespace xla
