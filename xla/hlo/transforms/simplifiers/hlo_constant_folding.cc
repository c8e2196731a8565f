#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
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

// OpenXLA's maximum of elements of a result and of its operands.
constexpr int64_t kMaxElementsOfXla = 45 * 1000 * 1000;
// OpenXLA has none, and takes as long as it takes.
constexpr int64_t kMaxOperationsAsXla = int64_t{1} << 30;

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
      HloOpcode::kConstant, HloOpcode::kDomain, HloOpcode::kFusion,
      HloOpcode::kOptimizationBarrier, HloOpcode::kParameter>(&hlo);
}

// Whether it computes something else, for longer than anyone knows, or what the
// evaluator does not know, wherever it is called.
bool ForbidsFolding(const HloInstruction& hlo) {
  return HloPredicateIsOp<HloOpcode::kAfterAll, HloOpcode::kCustomCall,
                          HloOpcode::kOptimizationBarrier, HloOpcode::kRng,
                          HloOpcode::kWhile>(&hlo) ||
         !HloEvaluator::IsOpcodeImplemented(hlo.opcode());
}

bool IsFloat(const Shape& shape) {
  return primitive_util::IsFloatingPointType(shape.element_type()) ||
         primitive_util::IsComplexType(shape.element_type());
}

// Whether elements only move.
bool IsMovement(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kBitcast, HloOpcode::kBroadcast, HloOpcode::kConcatenate,
      HloOpcode::kConstant, HloOpcode::kCopy, HloOpcode::kDynamicSlice,
      HloOpcode::kDynamicUpdateSlice, HloOpcode::kGather,
      HloOpcode::kGetTupleElement, HloOpcode::kPad, HloOpcode::kParameter,
      HloOpcode::kReshape, HloOpcode::kReverse, HloOpcode::kSelect,
      HloOpcode::kSlice, HloOpcode::kTranspose, HloOpcode::kTuple>(opcode);
}

// What is called is asked on its own.
bool IsFloatArithmetic(const HloInstruction& hlo) {
  if (IsMovement(hlo.opcode()) ||
      HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kConditional,
                       HloOpcode::kFusion>(&hlo)) {
    return false;
  }
  return IsFloat(hlo.shape()) ||
         absl::c_any_of(hlo.operands(), [](const HloInstruction* operand) {
           return IsFloat(operand->shape());
         });
}

// Operations on elements that evaluating instructions takes, from above.
class OperationCounts {
 public:
  explicit OperationCounts(bool fold_float_arithmetic)
      : fold_float_arithmetic_(fold_float_arithmetic) {}

  // To be told of callees before callers.
  void Add(const HloComputation& computation);
  // Infinite where they must not be evaluated.
  double Of(const HloInstruction& hlo) const;

 private:
  const bool fold_float_arithmetic_;
  absl::flat_hash_map<const HloComputation*, double> computations_;
};

void OperationCounts::Add(const HloComputation& computation) {
  double operations = 0;
  for (const HloInstruction* hlo : computation.instructions()) {
    operations += Of(*hlo);
  }
  computations_[&computation] = operations;
}

double OperationCounts::Of(const HloInstruction& hlo) const {
  if (ForbidsFolding(hlo) ||
      (!fold_float_arithmetic_ && IsFloatArithmetic(hlo))) {
    return std::numeric_limits<double>::infinity();
  }
  double elements =
      static_cast<double>(ShapeUtil::ElementsInRecursive(hlo.shape()));
  double results = elements;
  for (const HloInstruction* operand : hlo.operands()) {
    elements +=
        static_cast<double>(ShapeUtil::ElementsInRecursive(operand->shape()));
  }
  double called = 0;
  for (const HloComputation* computation : hlo.called_computations()) {
    called += computations_.at(computation);
  }
  // Nothing is called for no element, but what is forbidden stays so.
  if (std::isinf(called)) return called;
  const double each = 1 + called;
  switch (hlo.opcode()) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kFusion:
      return elements + called;
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
         const std::function<bool(const Shape&)>& can_fold_shape,
         bool sizes_as_xla, const OperationCounts& counts)
      : options_(options),
        can_fold_shape_(can_fold_shape),
        sizes_as_xla_(sizes_as_xla),
        counts_(counts) {}

  absl::StatusOr<bool> Run(HloComputation* computation) {
    bool changed = false;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (!IsCandidate(*hlo) ||
          (hlo->opcode() == HloOpcode::kCopy && options_.is_layout_sensitive)) {
        continue;
      }
      if (std::isinf(counts_.Of(*hlo))) continue;
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
  const bool sizes_as_xla_;
  const OperationCounts& counts_;
  HloEvaluator evaluator_;
};

// A broadcast of a constant takes no memory and is computed where it is read,
// so instructions of broadcasts alone are left: folded, they would be large
// constants of few different values. Beside a constant that is in memory
// anyway, a broadcast may be folded.
bool Folder::IsOfConstants(const HloInstruction& hlo) const {
  // Elements of constants: those of broadcasts take no memory yet.
  int64_t read = 0;
  int64_t largest = ShapeUtil::ElementsIn(hlo.shape());
  bool any_broadcast = false;
  for (const HloInstruction* operand : hlo.unique_operands()) {
    if (IsKnownConstant(*operand)) {
      read += ShapeUtil::ElementsIn(operand->shape());
    } else if (IsBroadcastOfKnownConstant(*operand)) {
      any_broadcast = true;
    } else {
      return false;
    }
    largest = std::max(largest, ShapeUtil::ElementsIn(operand->shape()));
  }
  if (any_broadcast &&
      (hlo.opcode() == HloOpcode::kPad ||
       absl::c_none_of(hlo.operands(), [](const HloInstruction* operand) {
         return IsKnownConstant(*operand);
       }))) {
    return false;
  }
  if (can_fold_shape_ && !can_fold_shape_(hlo.shape())) return false;
  if (counts_.Of(hlo) > static_cast<double>(options_.max_operations)) {
    return false;
  }
  if (sizes_as_xla_) {
    return largest <= kMaxElementsOfXla && hlo.opcode() != HloOpcode::kFft &&
           (options_.aggressive ||
            HloPredicateIsNotOp<HloOpcode::kBroadcast, HloOpcode::kIota>(&hlo));
  }
  return ShapeUtil::ByteSizeOf(hlo.shape()) <= options_.max_bytes &&
         (options_.aggressive || ShapeUtil::ElementsIn(hlo.shape()) <= read);
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

HloConstantFolding::HloConstantFolding(Level level)
    : HloConstantFolding([level] {
        Options options;
        options.level = level;
        return options;
      }()) {}

HloConstantFolding::HloConstantFolding(const Options& options)
    : can_fold_shape_(options.can_fold_shape), sizes_as_xla_(true) {
  options_.aggressive = options.level == Level::kAggressive;
  options_.fold_float_arithmetic = options.fold_float_arithmetic;
  options_.is_layout_sensitive = options.is_layout_sensitive;
  options_.uniform_values = false;
  options_.max_operations = kMaxOperationsAsXla;
}

absl::StatusOr<bool> HloConstantFolding::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  OperationCounts counts(options_.fold_float_arithmetic);
  for (const HloComputation* computation : module->MakeComputationPostOrder()) {
    counts.Add(*computation);
  }
  Folder folder(options_, can_fold_shape_, sizes_as_xla_, counts);
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(const bool folded, folder.Run(computation));
    changed |= folded;
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla
