// Instructions that call a computation of instructions: call, and what fusion
// and custom-call share with it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_aliasing_renumbering.h"
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

namespace {

// For steps that only a bug of the caller can make fail.

}  // namespace

HloCallableInstruction::HloCallableInstruction(HloOpcode opcode,
                                               const Shape& shape)
    : HloInstruction(opcode, shape) {}

HloCallableInstruction::HloCallableInstruction(HloOpcode opcode,
                                               const Shape& shape,
                                               Operands operands)
    : HloInstruction(opcode, shape) {
  AppendOperands(operands);
}

HloCallableInstruction::HloCallableInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    HloComputation* called_computation, absl::string_view prefix)
    : HloInstruction(opcode, shape) {
  AppendOperands(operands);
  if (!prefix.empty()) {
    SetAndSanitizeName(absl::StrCat(prefix, HloOpcodeString(opcode)));
  }
  AppendComputation(called_computation);
}

HloCallableInstruction::HloCallableInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    absl::Span<HloComputation* const> called_computations)
    : HloInstruction(opcode, shape) {
  AppendOperands(operands);
  for (HloComputation* computation : called_computations) {
    AppendComputation(computation);
  }
}

HloCallableInstruction::HloCallableInstruction(HloOpcode opcode,
                                               const Shape& shape,
                                               const std::string& name,
                                               const std::string& attributes,
                                               int64_t version)
    : HloInstruction(opcode, shape) {
  set_frontend_attributes(
      BuildFrontendAttributesForComposite(name, attributes, version));
  set_is_composite(true);
}

HloCallableInstruction::HloCallableInstruction(
    HloOpcode opcode, const Shape& shape, Operands operands,
    HloComputation* decomposition, const std::string& name,
    const std::string& attributes, int64_t version)
    : HloCallableInstruction(opcode, shape, name, attributes, version) {
  AppendOperands(operands);
  AppendComputation(decomposition);
}

FrontendAttributes HloCallableInstruction::BuildFrontendAttributesForComposite(
    const std::string& name, std::optional<absl::string_view> attributes,
    std::optional<int64_t> version) {
  FrontendAttributes result;
  auto& map = *result.mutable_map();
  map["composite.name"] = name;
  map["composite.attributes"] =
      attributes.has_value() ? std::string(*attributes) : "{}";
  map["composite.version"] = version.has_value() ? absl::StrCat(*version) : "0";
  return result;
}

HloComputation* HloCallableInstruction::called_computation() const {
  CHECK_EQ(called_computations().size(), 1) << name();
  return called_computations()[0];
}

HloInstruction* HloCallableInstruction::called_computation_root() const {
  return called_computation()->root_instruction();
}

void HloCallableInstruction::StartCalledComputation(HloInstruction* root,
                                                    absl::string_view prefix) {
  CHECK(called_computations().empty() && operands().empty());
  HloModule* module = root->GetModule();
  CHECK(module != nullptr) << root->name() << " is in no module";
  if (!prefix.empty()) {
    SetAndSanitizeName(absl::StrCat(prefix, HloOpcodeString(opcode())));
  }

  HloComputation::Builder builder(
      absl::StrCat(prefix, default_called_computation_name()));
  const InstructionVector unique = root->unique_operands();
  InstructionVector parameters;
  for (int64_t i = 0; i < static_cast<int64_t>(unique.size()); ++i) {
    parameters.push_back(builder.AddInstruction(
        CreateParameter(i, unique[i]->shape(), absl::StrCat("param_", i))));
  }
  InstructionVector inner_operands;
  for (HloInstruction* operand : root->operands()) {
    inner_operands.push_back(
        parameters[absl::c_find(unique, operand) - unique.begin()]);
  }
  HloInstruction* clone = builder.AddInstruction(
      root->CloneWithNewOperands(root->shape(), inner_operands));
  AppendOperands(unique);
  AppendComputation(module->AddEmbeddedComputation(builder.Build(clone)));
  called_computations().front()->SetExecutionThread(
      root->parent()->execution_thread());
  set_metadata_ptr(root->metadata_ptr());
}

HloInstruction* HloCallableInstruction::ParameterFor(HloInstruction* operand) {
  CHECK(operand->LatestNonGteAncestor() != this)
      << "fusing a user of " << name() << " into it makes a cycle";
  if (!IsUserOf(operand)) return AddCallOperand(operand);
  return called_computation()->parameter_instruction(operand_index(operand));
}

HloInstruction* HloCallableInstruction::AddCallOperand(
    HloInstruction* new_operand) {
  CHECK_EQ(operand_count(), called_computation()->num_parameters()) << name();
  const int64_t number = operand_count();
  HloInstruction* parameter =
      called_computation()->AddParameter(CreateParameter(
          number, new_operand->shape(), absl::StrCat("param_", number)));
  AppendOperand(new_operand);
  return parameter;
}

HloInstruction* HloCallableInstruction::CloneIntoCalledComputation(
    const HloInstruction* instruction) {
  InstructionVector inner_operands;
  inner_operands.reserve(instruction->operand_count());
  for (HloInstruction* operand : instruction->operands()) {
    inner_operands.push_back(ParameterFor(operand));
  }
  return called_computation()->AddInstruction(
      instruction->CloneWithNewOperands(instruction->shape(), inner_operands));
}

void HloCallableInstruction::ReplaceOperandByInner(
    const HloInstruction* operand, HloInstruction* inner) {
  const auto positions = OperandIndices(operand);
  HloComputation* computation = called_computation();
  std::vector<int> ascending(positions.begin(), positions.end());
  for (auto it = ascending.rbegin(); it != ascending.rend(); ++it) {
    HloInstruction* parameter = computation->parameter_instruction(*it);
    CHECK_OK(parameter->ReplaceAllUsesWithDifferentShape(inner));
    CHECK_OK(computation->ForceRemoveInstruction(parameter));
  }
  RemoveOperandsAtAscendingIndices(ascending);
  RenumberAliasedOperands(this, [&](int64_t number) -> std::optional<int64_t> {
    auto it = absl::c_lower_bound(ascending, number);
    if (it != ascending.end() && *it == number) return std::nullopt;
    return number - (it - ascending.begin());
  });
}

std::vector<HloInstruction*> HloCallableInstruction::AddOutputs(
    Operands inner) {
  if (inner.empty()) return {};
  HloComputation* computation = called_computation();
  HloInstruction* tuple = called_computation_root();
  if (tuple->opcode() == HloOpcode::kTuple) {
    if (tuple->user_count() > 0) {
      // Others use the tuple as it is.
      tuple = computation->AddInstruction(CreateTuple(tuple->operands()));
      computation->set_root_instruction(tuple);
    }
  } else {
    // before: f -> users    after: f, gte(f, 0) -> users
    HloInstruction* old_root = tuple;
    tuple = computation->AddInstruction(CreateTuple({old_root}));
    computation->set_root_instruction(tuple, /*accept_different_shape=*/true);
    PrefixAliasedOutputs(this);
    const Shape old_shape = shape();
    *mutable_shape() = ShapeUtil::MakeTupleShape({old_shape});
    if (user_count() > 0 || IsRoot()) {
      HloInstruction* element =
          parent()->AddInstruction(CreateGetTupleElement(old_shape, this, 0));
      element->set_metadata_ptr(metadata_ptr());
      if (has_sharding()) element->copy_sharding(this);
      element->set_original_value(original_value());
      // The element is a user itself, and keeps its operand.
      CHECK_OK(ReplaceAllUsesWithDifferentShape(element));
    }
  }
  // It is for fewer leaves than there are now.
  clear_sharding();
  tuple->clear_sharding();

  std::vector<HloInstruction*> elements;
  for (HloInstruction* output : inner) {
    const int64_t index = tuple->operand_count();
    tuple->AppendOperand(output);
    ShapeUtil::AppendShapeToTuple(output->shape(), tuple->mutable_shape());
    ShapeUtil::AppendShapeToTuple(output->shape(), mutable_shape());
    elements.push_back(parent()->AddInstruction(
        CreateGetTupleElement(output->shape(), this, index)));
  }
  // So are original values.
  for (HloInstruction* outer : {tuple, static_cast<HloInstruction*>(this)}) {
    const std::shared_ptr<OriginalValue> old = outer->original_value();
    if (old == nullptr || old->is_synthetic_call()) continue;
    outer->set_original_value(OriginalValue::CreateFromInstruction(tuple));
  }
  return elements;
}

HloInstruction*
HloCallableInstruction::CloneAndAppendInstructionIntoCalledComputation(
    HloInstruction* instruction_to_append, bool add_output) {
  CHECK(add_output || IsUserOf(instruction_to_append))
      << instruction_to_append->name() << " is not an operand of " << name();
  HloInstruction* clone = CloneIntoCalledComputation(instruction_to_append);
  if (IsUserOf(instruction_to_append)) {
    ReplaceOperandByInner(instruction_to_append, clone);
  }
  if (add_output && (instruction_to_append->user_count() > 0 ||
                     instruction_to_append->IsRoot())) {
    HloInstruction* element = AddOutputs({clone})[0];
    CHECK_OK(instruction_to_append->ReplaceAllUsesWithDifferentShape(element));
    if (instruction_to_append->has_sharding()) {
      element->copy_sharding(instruction_to_append);
    }
    element->set_metadata_ptr(instruction_to_append->metadata_ptr());
    element->set_original_value(instruction_to_append->original_value());
  }
  return clone;
}

HloInstruction* HloCallableInstruction::AppendInstructionIntoCalledComputation(
    HloInstruction* instruction_to_append, bool add_output) {
  return CloneAndAppendInstructionIntoCalledComputation(instruction_to_append,
                                                        add_output);
}

absl::InlinedVector<HloComputation*, 1>
HloCallableInstruction::GetOrCloneCalledComputations(
    HloCloneContext* context) const {
  absl::InlinedVector<HloComputation*, 1> result;
  HloModule* module = context != nullptr ? context->module() : GetModule();
  for (HloComputation* computation : called_computations()) {
    HloComputation* clone =
        context == nullptr ? nullptr : context->FindComputation(computation);
    if (clone == nullptr && module != nullptr) {
      clone =
          module->AddEmbeddedComputation(computation->Clone("clone", context));
    }
    result.push_back(clone != nullptr ? clone : computation);
  }
  return result;
}

void HloCallableInstruction::RecursivelySetComputationsThreadName(
    absl::string_view execution_thread) {
  for (HloComputation* computation : called_computations()) {
    computation->SetExecutionThread(execution_thread);
    for (HloComputation* callee : computation->MakeEmbeddedComputationsList()) {
      callee->SetExecutionThread(execution_thread);
    }
  }
}

// --- Call
// ---------------------------------------------------------------------

HloCallInstruction::HloCallInstruction(const Shape& shape,
                                       HloInstruction* called_computation_root)
    : HloCallableInstruction(HloOpcode::kCall, shape) {
  StartCalledComputation(called_computation_root, /*prefix=*/"");
}

HloCallInstruction::HloCallInstruction(const Shape& shape, Operands operands,
                                       HloComputation* called_computation)
    : HloCallableInstruction(HloOpcode::kCall, shape, operands,
                             called_computation) {}

HloCallInstruction::HloCallInstruction(const Shape& shape,
                                       HloInstruction* decomposition_root,
                                       const std::string& name,
                                       const std::string& attributes,
                                       int64_t version)
    : HloCallableInstruction(HloOpcode::kCall, shape) {
  StartCalledComputation(decomposition_root, /*prefix=*/"");
  add_frontend_attributes(
      BuildFrontendAttributesForComposite(name, attributes, version));
  set_is_composite(true);
}

HloCallInstruction::HloCallInstruction(const Shape& shape, Operands operands,
                                       HloComputation* decomposition,
                                       const std::string& name,
                                       const std::string& attributes,
                                       int64_t version)
    : HloCallableInstruction(HloOpcode::kCall, shape, operands, decomposition,
                             name, attributes, version) {}

bool HloCallInstruction::IdenticalSlowPath(const HloInstruction& other,
                                           EqComputations eq) const {
  const auto& that = static_cast<const HloCallInstruction&>(other);
  return is_composite() == that.is_composite() &&
         output_to_operand_aliasing() == that.output_to_operand_aliasing() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloCallInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  auto clone = std::make_unique<HloCallInstruction>(shape, new_operands,
                                                    called_computation());
  clone->set_output_to_operand_aliasing(output_to_operand_aliasing());
  return clone;
}

void HloAliasible::set_output_to_operand_aliasing(
    std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>
        aliasing) {
  output_to_operand_aliasing_ = std::move(aliasing);
}

}  // namespace xla
