#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {

bool HasDefaultLayout(const Shape& shape) {
  return shape.IsArray() && shape.has_layout() &&
         LayoutUtil::IsMonotonicWithDim0Major(shape.layout()) &&
         !shape.is_dynamic();
}

PrimitiveType SumType(PrimitiveType type) {
  return type == F16 || type == BF16 ? F32 : type;
}

bool HasFloatTypes(const HloInstruction& product) {
  const PrimitiveType type = product.shape().element_type();
  if (type != F16 && type != BF16 && type != F32 && type != F64) return false;
  return absl::c_all_of(product.operands(), [&](const HloInstruction* operand) {
    const PrimitiveType from = operand->shape().element_type();
    return from == type || ((from == F16 || from == BF16) && type == F32);
  });
}

HloInstruction* Converted(HloComputation::Builder* builder,
                          HloInstruction* value, PrimitiveType type) {
  if (value->shape().element_type() == type) return value;
  return builder->AddInstruction(HloInstruction::CreateConvert(
      ShapeUtil::ChangeElementType(value->shape(), type), value));
}

bool CanSpareValue(
    const HloInstruction& value, FusionRules* rules,
    absl::FunctionRef<bool(const HloInstruction& user)> becomes_one) {
  if (value.IsRoot() || value.HasControlDependencies()) return false;
  return absl::c_all_of(value.users(), [&](const HloInstruction* user) {
    return rules->CanBeConsumer(*user).CanFuse() || becomes_one(*user);
  });
}

HloComputation* Additions::Get(PrimitiveType type, int64_t pairs) {
  for (const Known& known : known_) {
    if (known.type == type && known.pairs == pairs) return known.computation;
  }
  std::unique_ptr<HloComputation> computation;
  if (pairs == 1) {
    computation = MakeScalarComputation(HloOpcode::kAdd, type, "add");
  } else {
    HloComputation::Builder builder("add_pairs");
    const Shape scalar = ShapeUtil::MakeShape(type, {});
    std::vector<HloInstruction*> parameters, sums;
    for (int64_t i = 0; i < 2 * pairs; ++i) {
      parameters.push_back(
          builder.AddInstruction(HloInstruction::CreateParameter(
              i, scalar, absl::StrCat("param_", i))));
    }
    for (int64_t i = 0; i < pairs; ++i) {
      sums.push_back(builder.AddInstruction(HloInstruction::CreateBinary(
          scalar, HloOpcode::kAdd, parameters[i], parameters[pairs + i])));
    }
    builder.AddInstruction(HloInstruction::CreateTuple(sums));
    computation = builder.Build();
  }
  known_.push_back(
      {type, pairs, module_->AddEmbeddedComputation(std::move(computation))});
  return known_.back().computation;
}

absl::Status Additions::RemoveUnused() {
  for (const Known& known : known_) {
    if (!known.computation->caller_instructions().empty()) continue;
    TF_RETURN_IF_ERROR(module_->RemoveEmbeddedComputation(known.computation));
  }
  known_.clear();
  return absl::OkStatus();
}

HloInstruction* AddFusionFor(HloInstruction* hlo,
                             HloInstruction::FusionKind kind,
                             std::unique_ptr<HloComputation> body) {
  HloComputation* computation = hlo->parent();
  const Shape shape = body->root_instruction()->shape();
  body->SetExecutionThread(computation->execution_thread());
  HloInstruction* fusion =
      computation->AddInstruction(HloInstruction::CreateFusion(
          shape, kind, hlo->operands(),
          computation->parent()->AddEmbeddedComputation(std::move(body))));
  hlo->SetupDerivedInstruction(fusion);
  fusion->set_metadata_ptr(hlo->metadata_ptr());
  return fusion;
}

absl::Status PutInPlace(HloInstruction* hlo, HloInstruction* value,
                        FusionRules* rules) {
  const std::string name(hlo->name());
  HloComputation* computation = hlo->parent();
  TF_RETURN_IF_ERROR(hlo->ReplaceAllUsesWith(value));
  rules->Invalidate(*hlo);
  TF_RETURN_IF_ERROR(computation->RemoveInstruction(hlo));
  value->SetAndSanitizeName(name);
  return absl::OkStatus();
}

}  // namespace xla::gpu
