#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What a sort or a decomposition does with one element, roughly.
constexpr double kOperationsPerElement = 32;

bool IsKnownConstant(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kConstant && hlo.shape().IsArray() &&
         !hlo.literal().is_elided();
}

bool IsBroadcastOfKnownConstant(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kBroadcast &&
         IsKnownConstant(*hlo.operand(0));
}

// The scalar constant of which every element is a copy; null if there is none.
HloInstruction* UniformValue(HloInstruction* hlo) {
  if (hlo->opcode() == HloOpcode::kBroadcast) hlo = hlo->mutable_operand(0);
  return IsKnownConstant(*hlo) && hlo->shape().dimensions().empty() ? hlo
                                                                    : nullptr;
}

// What runs as a kernel of its own and is the same at each run.
bool IsCandidate(const HloInstruction& hlo) {
  if (!hlo.shape().IsArray() || hlo.shape().is_dynamic() ||
      hlo.HasControlDependencies() || hlo.HasSideEffect() ||
      (hlo.users().empty() && !hlo.IsRoot()) ||
      !HloEvaluator::IsOpcodeImplemented(hlo.opcode())) {
    return false;
  }
  return HloPredicateIsNotOp<
      HloOpcode::kCall, HloOpcode::kConditional, HloOpcode::kConstant,
      HloOpcode::kCustomCall, HloOpcode::kDomain, HloOpcode::kFusion,
      HloOpcode::kOptimizationBarrier, HloOpcode::kRng, HloOpcode::kWhile>(
      &hlo);
}

bool IsFloat(const Shape& shape) {
  return primitive_util::IsFloatingPointType(shape.element_type()) ||
         primitive_util::IsComplexType(shape.element_type());
}

// Whether elements only move.
bool IsMovement(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kBitcast, HloOpcode::kBroadcast, HloOpcode::kConcatenate,
      HloOpcode::kCopy, HloOpcode::kDynamicSlice,
      HloOpcode::kDynamicUpdateSlice, HloOpcode::kGather, HloOpcode::kPad,
      HloOpcode::kReshape, HloOpcode::kReverse, HloOpcode::kSelect,
      HloOpcode::kSlice, HloOpcode::kTranspose>(opcode);
}

bool IsFloatArithmetic(const HloInstruction& hlo) {
  if (IsMovement(hlo.opcode())) return false;
  return IsFloat(hlo.shape()) ||
         absl::c_any_of(hlo.operands(), [](const HloInstruction* operand) {
           return IsFloat(operand->shape());
         });
}

// Operations on elements that evaluating takes, from above.
double Operations(const HloInstruction& hlo) {
  double elements = static_cast<double>(ShapeUtil::ElementsIn(hlo.shape()));
  double results = elements;
  for (const HloInstruction* operand : hlo.operands()) {
    elements += static_cast<double>(ShapeUtil::ElementsIn(operand->shape()));
  }
  double each = 1;
  for (const HloComputation* called : hlo.called_computations()) {
    each += static_cast<double>(called->instruction_count());
  }
  switch (hlo.opcode()) {
    case HloOpcode::kDot:
      return HloCostAnalysis::GetDotFlops(hlo.operand(0)->shape(), hlo.shape(),
                                          hlo.dot_dimension_numbers());
    case HloOpcode::kConvolution:
      return static_cast<double>(HloCostAnalysis::GetConvolutionFlops(&hlo));
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      for (const WindowDimension& window : hlo.window().dimensions()) {
        results *= static_cast<double>(window.size());
      }
      return (elements + results) * each;
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return elements * static_cast<double>(hlo.shape().dimensions().back());
    case HloOpcode::kFft:
    case HloOpcode::kSort:
      return elements * each * kOperationsPerElement;
    default:  // An operation for each element and each call.
      return elements * each;
  }
}

class Folder {
 public:
  Folder(const HloConstantFoldingOptions& options,
         const std::function<bool(const Shape&)>& can_fold_shape)
      : options_(options), can_fold_shape_(can_fold_shape) {}

  absl::StatusOr<bool> Run(HloComputation* computation) {
    bool changed = false;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (!IsCandidate(*hlo) ||
          (hlo->opcode() == HloOpcode::kCopy && options_.is_layout_sensitive)) {
        continue;
      }
      if (!options_.fold_float_arithmetic && IsFloatArithmetic(*hlo)) continue;
      std::unique_ptr<HloInstruction> folded;
      if (IsOfConstants(*hlo)) {
        folded = Fold(*hlo);
      } else if (options_.uniform_values && IsUniform(*hlo)) {
        folded = FoldUniform(hlo);
      }
      if (folded == nullptr) continue;
      folded->set_metadata_ptr(hlo->metadata_ptr());
      TF_RETURN_IF_ERROR(
          computation->ReplaceWithNewInstruction(hlo, std::move(folded)));
      changed = true;
    }
    return changed;
  }

 private:
  // Whether it may be a constant.
  bool IsOfConstants(const HloInstruction& hlo) const;
  // Null where the evaluator refuses.
  std::unique_ptr<HloInstruction> Fold(const HloInstruction& hlo);
  bool IsUniform(const HloInstruction& hlo) const;
  std::unique_ptr<HloInstruction> FoldUniform(HloInstruction* hlo);

  const HloConstantFoldingOptions& options_;
  const std::function<bool(const Shape&)>& can_fold_shape_;
  HloEvaluator evaluator_;
};

bool Folder::IsOfConstants(const HloInstruction& hlo) const {
  // Elements of constants: those of broadcasts take no memory yet.
  int64_t read = 0;
  bool any_broadcast = false;
  for (const HloInstruction* operand : hlo.unique_operands()) {
    if (IsKnownConstant(*operand)) {
      read += ShapeUtil::ElementsIn(operand->shape());
    } else if (IsBroadcastOfKnownConstant(*operand)) {
      any_broadcast = true;
    } else {
      return false;
    }
  }
  if (any_broadcast &&
      (hlo.opcode() == HloOpcode::kPad ||
       absl::c_none_of(hlo.operands(), [](const HloInstruction* operand) {
         return IsKnownConstant(*operand);
       }))) {
    return false;
  }
  return ShapeUtil::ByteSizeOf(hlo.shape()) <= options_.max_bytes &&
         (options_.aggressive || ShapeUtil::ElementsIn(hlo.shape()) <= read) &&
         (!can_fold_shape_ || can_fold_shape_(hlo.shape())) &&
         Operations(hlo) <= static_cast<double>(options_.max_operations);
}

std::unique_ptr<HloInstruction> Folder::Fold(const HloInstruction& hlo) {
  // Operands that are broadcasts are evaluated, too.
  absl::StatusOr<Literal> value = evaluator_.Evaluate(
      &hlo, {}, /*recursively_evaluate_nonconstant_operands=*/true);
  if (!value.ok()) return nullptr;
  return HloInstruction::CreateConstant(hlo.shape().has_layout()
                                            ? value->Relayout(hlo.shape())
                                            : *std::move(value));
}

bool Folder::IsUniform(const HloInstruction& hlo) const {
  return hlo.IsElementwise() && hlo.operand_count() > 0 &&
         !hlo.shape().dimensions().empty() &&
         hlo.called_computations().empty() &&
         absl::c_all_of(hlo.operands(), [](HloInstruction* operand) {
           return UniformValue(operand) != nullptr;
         });
}

std::unique_ptr<HloInstruction> Folder::FoldUniform(HloInstruction* hlo) {
  HloComputation* computation = hlo->parent();
  std::vector<HloInstruction*> values;
  for (HloInstruction* operand : hlo->operands()) {
    values.push_back(UniformValue(operand));
  }
  const std::unique_ptr<HloInstruction> once = hlo->CloneWithNewOperands(
      ShapeUtil::MakeShape(hlo->shape().element_type(), {}), values);
  absl::StatusOr<Literal> value = evaluator_.Evaluate(once.get());
  once->DetachFromOperandsAndUsers();
  if (!value.ok()) return nullptr;
  HloInstruction* constant = computation->AddInstruction(
      HloInstruction::CreateConstant(*std::move(value)));
  return HloInstruction::CreateBroadcast(hlo->shape(), constant, {});
}

}  // namespace

HloConstantFolding::HloConstantFolding(Level level) {
  options_.aggressive = level == Level::kAggressive;
  options_.uniform_values = false;
}

HloConstantFolding::HloConstantFolding(const Options& options)
    : can_fold_shape_(options.can_fold_shape) {
  options_.aggressive = options.level == Level::kAggressive;
  options_.fold_float_arithmetic = options.fold_float_arithmetic;
  options_.is_layout_sensitive = options.is_layout_sensitive;
  options_.uniform_values = false;
}

absl::StatusOr<bool> HloConstantFolding::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  Folder folder(options_, can_fold_shape_);
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(const bool folded, folder.Run(computation));
    changed |= folded;
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla
