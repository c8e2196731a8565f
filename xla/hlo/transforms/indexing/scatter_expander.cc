#include "xla/hlo/transforms/indexing/scatter_expander.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/indexing/scatter_simplifier.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsElementwise(const HloComputation& update) {
  return absl::c_all_of(update.instructions(), [](const HloInstruction* inst) {
    return inst->opcode() == HloOpcode::kParameter ||
           inst->opcode() == HloOpcode::kConstant ||
           (inst->IsElementwise() && !inst->has_called_computations() &&
            !inst->HasSideEffect() && !inst->HasControlDependencies());
  });
}

bool CanExpand(const HloScatterInstruction& scatter) {
  const Shape& indices = scatter.scatter_indices()->shape();
  return scatter.scatter_operand_count() == 1 && scatter.shape().IsArray() &&
         ScatterSimplifier::IsSimplifiedScatter(&scatter) &&
         indices.dimensions(0) == 1 &&
         (indices.element_type() == S32 || indices.element_type() == S64) &&
         scatter.shape().is_static() && !scatter.HasControlDependencies() &&
         !ShapeUtil::IsZeroElementArray(scatter.shape()) &&
         !ShapeUtil::IsZeroElementArray(
             scatter.scatter_updates()[0]->shape()) &&
         IsElementwise(*scatter.to_apply());
}

// The pieces of one scatter.
class Expansion {
 public:
  explicit Expansion(HloScatterInstruction* scatter)
      : scatter_(scatter),
        computation_(scatter->parent()),
        operand_(scatter->mutable_operand(0)),
        indices_(scatter->mutable_operand(1)) {
    const Shape& updates = scatter->operand(2)->shape();
    std::vector<int64_t> sizes(updates.dimensions().begin() + 1,
                               updates.dimensions().end());
    window_ = ShapeUtil::MakeShapeWithDenseLayout(
        operand_->shape().element_type(), sizes,
        operand_->shape().layout().minor_to_major());
    constants_ = FindConstants();
  }

  // What stands for the scatter.
  //
  // dynamic-slice and dynamic-update-slice clamp a start so that the window
  // fits, whereas a scatter drops a window that does not. Both clamp alike, so
  // where the window is out of bounds the old elements are read and written
  // back at the clamped place, which changes nothing.
  HloInstruction* Run() {
    MakeStarts();
    HloInstruction* updates = scatter_->mutable_operand(2);
    Shape row_major =
        ShapeUtil::MakeShape(window_.element_type(), window_.dimensions());
    HloInstruction* update =
        Add(HloInstruction::CreateReshape(row_major, updates));
    if (!LayoutUtil::Equal(row_major.layout(), window_.layout())) {
      update =
          Add(HloInstruction::CreateUnary(window_, HloOpcode::kCopy, update));
    }
    HloInstruction* old = Add(HloInstruction::CreateDynamicSlice(
        window_, operand_, starts_, window_.dimensions()));
    HloInstruction* value = Combined(old, update);
    if (HloInstruction* fits = InBounds(); fits != nullptr) {
      HloInstruction* all = Add(HloInstruction::CreateBroadcast(
          ShapeUtil::ChangeElementType(window_, PRED), fits, {}));
      value = Add(HloInstruction::CreateTernary(window_, HloOpcode::kSelect,
                                                all, value, old));
    }
    return Add(HloInstruction::CreateDynamicUpdateSlice(
        scatter_->shape(), operand_, value, starts_));
  }

  // Whether constant indices say that nothing is updated.
  bool IsOutOfBounds() const {
    if (!HasConstantIndices()) return false;
    for (int64_t d = 0; d < Named(); ++d) {
      const int64_t start = ConstantIndex(d);
      if (start < 0 || start > Limit(d)) return true;
    }
    return false;
  }

 private:
  template <typename Instruction>
  HloInstruction* Add(std::unique_ptr<Instruction> instruction) {
    return computation_->AddInstruction(std::move(instruction));
  }

  // Dimensions that indices name: the first ones.
  int64_t Named() const { return indices_->shape().dimensions(1); }
  // The last place for the window that an index can name.
  int64_t Limit(int64_t d) const {
    const int64_t last =
        operand_->shape().dimensions(d) - window_.dimensions(d);
    return IndexType() == S32
               ? std::min<int64_t>(last, std::numeric_limits<int32_t>::max())
               : last;
  }
  PrimitiveType IndexType() const { return indices_->shape().element_type(); }

  bool HasConstantIndices() const { return !constants_.empty(); }
  int64_t ConstantIndex(int64_t d) const { return constants_[d]; }

  // The index vector, if it is known; else empty.
  std::vector<int64_t> FindConstants() const {
    const HloInstruction* source = indices_;
    while (source->opcode() == HloOpcode::kReshape) source = source->operand(0);
    const bool is_broadcast = source->opcode() == HloOpcode::kBroadcast &&
                              ShapeUtil::IsScalar(source->operand(0)->shape());
    if (is_broadcast) source = source->operand(0);
    if (source->opcode() != HloOpcode::kConstant ||
        source->literal().is_elided()) {
      return {};
    }
    const int64_t count = is_broadcast ? 1 : Named();
    const absl::StatusOr<Literal> flat = source->literal().Reshape({count});
    if (!flat.ok()) return {};
    std::vector<int64_t> constants;
    for (int64_t d = 0; d < Named(); ++d) {
      constants.push_back(*flat->GetIntegralAsS64({is_broadcast ? 0 : d}));
    }
    return constants;
  }
  HloInstruction* Constant(int64_t value) {
    return Add(HloInstruction::CreateConstant(
        IndexType() == S32
            ? LiteralUtil::CreateR0<int32_t>(static_cast<int32_t>(value))
            : LiteralUtil::CreateR0<int64_t>(value)));
  }

  void MakeStarts() {
    const Shape scalar = ShapeUtil::MakeShape(IndexType(), {});
    const Shape single = ShapeUtil::MakeShape(IndexType(), {1, 1});
    for (int64_t d = 0; d < operand_->shape().dimensions_size(); ++d) {
      if (d >= Named()) {
        starts_.push_back(Constant(0));
      } else if (HasConstantIndices()) {
        starts_.push_back(Constant(ConstantIndex(d)));
      } else {
        HloInstruction* slice = Add(HloInstruction::CreateSlice(
            single, indices_, {0, d}, {1, d + 1}, {1, 1}));
        starts_.push_back(Add(HloInstruction::CreateReshape(scalar, slice)));
      }
    }
  }

  // A scalar that tells whether the window lies within the operand; null if it
  // does for sure.
  HloInstruction* InBounds() {
    if (HasConstantIndices()) return nullptr;
    const Shape pred = ShapeUtil::MakeShape(PRED, {});
    HloInstruction* all = nullptr;
    auto require = [&](HloInstruction* lhs, HloInstruction* rhs) {
      HloInstruction* holds = Add(HloInstruction::CreateCompare(
          pred, lhs, rhs, ComparisonDirection::kLe));
      all = all == nullptr ? holds
                           : Add(HloInstruction::CreateBinary(
                                 pred, HloOpcode::kAnd, all, holds));
    };
    for (int64_t d = 0; d < Named(); ++d) {
      require(Constant(0), starts_[d]);
      require(starts_[d], Constant(Limit(d)));
    }
    return all;
  }

  // The update computation on whole windows.
  HloInstruction* Combined(HloInstruction* old, HloInstruction* update) {
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> values;
    const HloComputation* combine = scatter_->to_apply();
    for (HloInstruction* inst : combine->MakeInstructionPostOrder()) {
      const Shape shape =
          ShapeUtil::ChangeElementType(window_, inst->shape().element_type());
      if (inst->opcode() == HloOpcode::kParameter) {
        values[inst] = inst->parameter_number() == 0 ? old : update;
      } else if (inst->opcode() == HloOpcode::kConstant) {
        values[inst] = Add(
            HloInstruction::CreateBroadcast(shape, Add(inst->Clone("")), {}));
      } else {
        std::vector<HloInstruction*> operands;
        for (const HloInstruction* operand : inst->operands()) {
          operands.push_back(values.at(operand));
        }
        values[inst] = Add(inst->CloneWithNewOperands(shape, operands));
      }
    }
    return values.at(combine->root_instruction());
  }

  HloScatterInstruction* scatter_;
  HloComputation* computation_;
  HloInstruction* operand_;
  HloInstruction* indices_;
  // What is updated, in the operand's layout.
  Shape window_;
  std::vector<HloInstruction*> starts_;
  // The elements of a constant index vector; empty if it is not constant.
  std::vector<int64_t> constants_;
};

}  // namespace

absl::StatusOr<bool> ScatterExpander::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      auto* scatter = DynCast<HloScatterInstruction>(inst);
      if (scatter == nullptr || !CanExpand(*scatter)) continue;
      Expansion expansion(scatter);
      TF_RETURN_IF_ERROR(computation->ReplaceInstruction(
          scatter, expansion.IsOutOfBounds() ? scatter->mutable_operand(0)
                                             : expansion.Run()));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
