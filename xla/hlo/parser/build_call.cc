#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

using A = Attribute;

std::unique_ptr<HloInstruction> ModuleParser::BuildCall(const Draft& draft,
                                                        bool* handled) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  switch (draft.opcode) {
    case HloOpcode::kCall: {
      auto call = HloInstruction::CreateCall(shape, draft.operands,
                                             values.Computation(A::kToApply));
      if (values.Has(A::kIsComposite)) {
        call->set_is_composite(values.Flag(A::kIsComposite));
      }
      return call;
    }
    case HloOpcode::kWhile:
      return HloInstruction::CreateWhile(
          shape, values.Computation(A::kCondition),
          values.Computation(A::kBody), draft.operands[0]);
    case HloOpcode::kConditional:
      return BuildConditional(draft);
    case HloOpcode::kFusion:
      return BuildFusion(draft);
    case HloOpcode::kCustomCall:
      return BuildCustomCall(draft);
    case HloOpcode::kDomain: {
      auto& mutable_values = const_cast<AttributeValues&>(values);
      // From the operand's side this is the exit of its domain.
      return HloInstruction::CreateDomain(
          shape, draft.operands[0], std::move(mutable_values.domain_exit),
          std::move(mutable_values.domain_entry));
    }
    default:  // Built elsewhere.
      *handled = false;
      return nullptr;
  }
}

// branch_computations={...}, or true_computation= and false_computation=.
std::unique_ptr<HloInstruction> ModuleParser::BuildConditional(
    const Draft& draft) {
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  auto expect = [&](bool ok, absl::string_view rule) {
    return ExpectOperands(draft, ok, rule);
  };
  if (!expect(!operands.empty() && operands[0]->shape().IsArray(),
              "a predicate or an index is needed")) {
    return nullptr;
  }
  const Shape& selector = operands[0]->shape();
  if (!expect(
          ShapeUtil::IsScalar(selector) && (selector.element_type() == S32 ||
                                            selector.element_type() == PRED),
          "the selector is a scalar, pred or s32")) {
    return nullptr;
  }
  std::vector<HloComputation*> branches;
  if (values.Has(A::kBranchComputations)) {
    if (!expect(selector.element_type() == S32,
                "branch_computations= needs an s32[] index")) {
      return nullptr;
    }
    if (!expect(!values.Has(A::kTrueComputation) &&
                    !values.Has(A::kFalseComputation),
                "branch_computations= excludes true_computation= and "
                "false_computation=")) {
      return nullptr;
    }
    branches = values.branch_computations;
  } else {
    if (!expect(
            selector.element_type() == PRED || !values.Has(A::kTrueComputation),
            "true_computation= goes with a predicate, pred[]") ||
        !expect(
            values.Has(A::kTrueComputation) && values.Has(A::kFalseComputation),
            "branch_computations=, or true_computation= and "
            "false_computation=, are needed")) {
      return nullptr;
    }
    branches = {values.Computation(A::kTrueComputation),
                values.Computation(A::kFalseComputation)};
  }
  if (!expect(!branches.empty(), "there are no branches") ||
      !expect(operands.size() == branches.size() + 1,
              "one operand per branch is needed besides the index")) {
    return nullptr;
  }
  return HloInstruction::CreateConditional(*draft.shape, operands[0], branches,
                                           operands.subspan(1));
}

std::unique_ptr<HloInstruction> ModuleParser::BuildFusion(const Draft& draft) {
  HloComputation* computation = draft.values.Computation(A::kCalls);
  const auto operand_count = static_cast<int64_t>(draft.operands.size());
  // Operands that the computation does not name are not used by it; missing
  // ones are for the verifier to see.
  for (int64_t i = computation->num_parameters(); i < operand_count; ++i) {
    computation->AddParameter(HloInstruction::CreateParameter(
        i, draft.operands[i]->shape(), absl::StrCat("unused_param_", i)));
  }
  auto fusion = HloInstruction::CreateFusion(
      *draft.shape, draft.values.As<HloInstruction::FusionKind>(A::kKind),
      draft.operands, computation);
  if (draft.values.Has(A::kOutputToOperandAliasing)) {
    Cast<HloFusionInstruction>(fusion.get())
        ->set_output_to_operand_aliasing(draft.values.aliases);
  }
  return fusion;
}

std::unique_ptr<HloInstruction> ModuleParser::BuildCustomCall(
    const Draft& draft) {
  const AttributeValues& values = draft.values;
  if (!ExpectOperands(
          draft,
          !values.Has(A::kToApply) || !values.Has(A::kCalledComputations),
          "to_apply= and called_computations= exclude each "
          "other") ||
      !ExpectOperands(
          draft,
          !values.Has(A::kOperandLayoutConstraints) ||
              values.operand_layouts.size() == draft.operands.size(),
          "operand_layout_constraints= needs one shape per "
          "operand")) {
    return nullptr;
  }
  if (values.Has(A::kOperandLayoutConstraints)) {
    for (size_t i = 0; i < draft.operands.size(); ++i) {
      if (!ExpectOperands(
              draft,
              ShapeUtil::Compatible(values.operand_layouts[i],
                                    draft.operands[i]->shape()),
              absl::StrCat("operand_layout_constraints= is not of the shape of "
                           "operand ",
                           i))) {
        return nullptr;
      }
    }
  }
  if (values.Has(A::kApiVersion) &&
      !ExpectOperands(draft,
                      values.As<CustomCallApiVersion>(A::kApiVersion) !=
                          CustomCallApiVersion::API_VERSION_UNSPECIFIED,
                      "api_version= names no version")) {
    return nullptr;
  }
  const std::string& target = values.String(A::kCustomCallTarget);
  std::vector<HloComputation*> callees;
  if (values.Has(A::kToApply)) {
    callees = {values.Computation(A::kToApply)};
  } else if (values.Has(A::kCalledComputations)) {
    callees = values.called_computations;
  }
  std::unique_ptr<HloInstruction> owned =
      callees.empty() ? HloInstruction::CreateCustomCall(*draft.shape,
                                                         draft.operands, target)
                      : HloInstruction::CreateCustomCall(
                            *draft.shape, draft.operands,
                            absl::MakeConstSpan(callees), target);
  auto* call = Cast<HloCustomCallInstruction>(owned.get());
  if (values.Has(A::kApiVersion)) {
    call->set_api_version(values.As<CustomCallApiVersion>(A::kApiVersion));
  }
  if (values.Has(A::kOperandLayoutConstraints)) {
    call->set_operand_shapes_with_layout(values.operand_layouts);
  }
  if (values.Has(A::kWindow)) call->set_window(values.window);
  if (values.Has(A::kDimLabels)) {
    call->set_convolution_dimension_numbers(values.dim_labels);
  }
  if (values.Has(A::kFeatureGroupCount)) {
    call->set_feature_group_count(values.Int(A::kFeatureGroupCount));
  }
  if (values.Has(A::kBatchGroupCount)) {
    call->set_batch_group_count(values.Int(A::kBatchGroupCount));
  }
  if (values.Has(A::kPaddingType)) {
    call->set_padding_type(values.As<PaddingType>(A::kPaddingType));
  }
  if (values.Has(A::kSchedule)) {
    call->set_custom_call_schedule(values.As<CustomCallSchedule>(A::kSchedule));
  }
  if (values.Has(A::kCustomCallHasSideEffect)) {
    call->set_custom_call_has_side_effect(
        values.Flag(A::kCustomCallHasSideEffect));
  }
  if (values.Has(A::kLiteral)) {
    call->set_literal(std::move(const_cast<AttributeValues&>(values).literal));
  }
  if (values.Has(A::kOutputToOperandAliasing)) {
    call->set_output_to_operand_aliasing(values.aliases);
  }
  if (values.Has(A::kOperandPrecision) || values.Has(A::kAlgorithm)) {
    *call->mutable_precision_config() =
        PrecisionOf(draft, static_cast<int>(draft.operands.size()));
  }
  return owned;
}

}  // namespace xla::hlo_text
