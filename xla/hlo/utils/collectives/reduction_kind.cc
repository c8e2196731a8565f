#include "xla/hlo/utils/collectives/reduction_kind.h"

#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {

absl::string_view ReductionKindToString(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::SUM:
      return "sum";
    case ReductionKind::PRODUCT:
      return "prod";
    case ReductionKind::MIN:
      return "min";
    case ReductionKind::MAX:
      return "max";
  }
  LOG(FATAL) << "no reduction kind: " << static_cast<int>(kind);
}

absl::StatusOr<ReductionKind> StringToReductionKind(
    absl::string_view reduction_kind) {
  for (ReductionKind kind : {ReductionKind::SUM, ReductionKind::PRODUCT,
                             ReductionKind::MIN, ReductionKind::MAX}) {
    if (reduction_kind == ReductionKindToString(kind)) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown reduction kind '", reduction_kind,
                   "'; expected sum, prod, min or max"));
}

std::optional<ReductionKind> OpcodeToReductionKind(HloOpcode hlo_opcode,
                                                   PrimitiveType type) {
  switch (hlo_opcode) {
    case HloOpcode::kAdd:
      return ReductionKind::SUM;
    case HloOpcode::kMultiply:
      return ReductionKind::PRODUCT;
    case HloOpcode::kMinimum:
      return ReductionKind::MIN;
    case HloOpcode::kMaximum:
      return ReductionKind::MAX;
    case HloOpcode::kAnd:
      if (type == PRED) return ReductionKind::MIN;
      return std::nullopt;
    case HloOpcode::kOr:
      if (type == PRED) return ReductionKind::MAX;
      return std::nullopt;
    default:  // No kind of reduction.
      return std::nullopt;
  }
}

HloOpcode ReductionKindToOpcode(ReductionKind reduction_kind,
                                PrimitiveType element_type) {
  const bool pred = element_type == PRED;
  switch (reduction_kind) {
    case ReductionKind::SUM:
      return pred ? HloOpcode::kOr : HloOpcode::kAdd;
    case ReductionKind::PRODUCT:
      return pred ? HloOpcode::kAnd : HloOpcode::kMultiply;
    case ReductionKind::MIN:
      return pred ? HloOpcode::kAnd : HloOpcode::kMinimum;
    case ReductionKind::MAX:
      return pred ? HloOpcode::kOr : HloOpcode::kMaximum;
  }
  LOG(FATAL) << "no reduction kind: " << static_cast<int>(reduction_kind);
}

std::optional<ReductionKind> MatchReductionInstruction(
    const HloInstruction* hlo) {
  if (!hlo->shape().IsArray()) return std::nullopt;
  return OpcodeToReductionKind(hlo->opcode(), hlo->shape().element_type());
}

std::optional<ReductionKind> MatchReductionComputation(
    const HloComputation* computation) {
  if (computation->num_parameters() != 2) return std::nullopt;
  const HloInstruction* root = computation->root_instruction();
  const HloInstruction* x = computation->parameter_instruction(0);
  const HloInstruction* y = computation->parameter_instruction(1);
  const std::optional<ReductionKind> kind = MatchReductionInstruction(root);
  if (!kind.has_value() || !ShapeUtil::IsEffectiveScalar(root->shape())) {
    return std::nullopt;
  }
  const bool in_order = root->operand(0) == x && root->operand(1) == y;
  const bool swapped = root->operand(0) == y && root->operand(1) == x;
  if (!in_order && !swapped) return std::nullopt;
  return kind;
}

std::unique_ptr<HloComputation> MakeReductionComputation(
    ReductionKind reduction_kind, PrimitiveType element_type) {
  return MakeScalarComputation(
      ReductionKindToOpcode(reduction_kind, element_type), element_type,
      ReductionKindToString(reduction_kind));
}

std::optional<Literal> GetReductionIdentity(ReductionKind kind,
                                            PrimitiveType type) {
  if (!primitive_util::IsArrayType(type)) return std::nullopt;
  const bool ordered = !primitive_util::IsComplexType(type);
  switch (kind) {
    case ReductionKind::SUM:
      return LiteralUtil::Zero(type);
    case ReductionKind::PRODUCT:
      return LiteralUtil::One(type);
    case ReductionKind::MIN:
      if (!ordered) return std::nullopt;
      return LiteralUtil::MaxValue(type);
    case ReductionKind::MAX:
      if (!ordered) return std::nullopt;
      return LiteralUtil::MinValue(type);
  }
  LOG(FATAL) << "no reduction kind: " << static_cast<int>(kind);
}

}  // namespace xla
