#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/custom_call_handler.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Several instructions that each would exchange halos become one.

namespace xla::spmd {
namespace {

bool IsCutAlong(const HloInstruction* hlo, int64_t dim) {
  return hlo->has_sharding() && hlo->sharding().IsTiledLeaf() &&
         ShardCountAtDim(hlo->sharding(), dim) > 1;
}

// Elements [start, limit) along `dim`, and all along the others.
struct Span {
  const HloInstruction* source;
  int64_t start, limit;
};

Span SpanOf(const HloInstruction* hlo, int64_t dim) {
  const Span itself = {hlo, 0, hlo->shape().dimensions(dim)};
  if (hlo->opcode() != HloOpcode::kSlice) return itself;
  const HloInstruction* source = hlo->operand(0);
  for (size_t d = 0; d < hlo->shape().dimensions().size(); ++d) {
    if (hlo->slice_strides(d) != 1) return itself;
    if (static_cast<int64_t>(d) != dim &&
        hlo->shape().dimensions(d) != source->shape().dimensions(d)) {
      return itself;
    }
  }
  return {source, hlo->slice_starts(dim), hlo->slice_limits(dim)};
}

// x, several times over, from `left` elements before its first to `right`
// elements behind its last; a rotation where right is -left.
struct Turns {
  const HloInstruction* x;
  int64_t left, right;
};

// Reads the operands as one walk around a ring of n elements: each must begin
// where the one before it ended, modulo n. A walk from n-2 to 2n-2 passes n
// elements, a rotation: left is 2 and right -2. One from n-1 to 2n+2 passes
// n+3: left is 1 and right 2.
std::optional<Turns> TurnsOf(const HloInstruction* concat) {
  const int64_t dim = concat->concatenate_dimension();
  if (concat->operand_count() < 2) return std::nullopt;
  const HloInstruction* x = nullptr;
  for (const HloInstruction* operand : concat->operands()) {
    if (operand->opcode() == HloOpcode::kSlice) {
      x = SpanOf(operand, dim).source;
      break;
    }
  }
  if (x == nullptr || (!IsCutAlong(x, dim) && !IsCutAlong(concat, dim))) {
    return std::nullopt;
  }
  const int64_t n = x->shape().dimensions(dim);
  int64_t start = -1, at = 0;
  for (const HloInstruction* operand : concat->operands()) {
    const Span span = operand == x ? Span{x, 0, n} : SpanOf(operand, dim);
    if (span.source != x || span.start == span.limit) return std::nullopt;
    if (start < 0) start = at = span.start;
    if (span.start != at % n) return std::nullopt;
    at += span.limit - span.start;
  }
  const int64_t left = (n - start) % n;
  return Turns{x, left, at - start - n - left};
}

// Whether `hlo`, or what would go with it, has a place in an order that one
// instruction for all of them would leave.
bool HasPlaceInOrder(const HloInstruction* hlo) {
  if (hlo->HasControlDependencies()) return true;
  return absl::c_any_of(hlo->operands(), [](const HloInstruction* side) {
    while (side->IsElementwise() && side->operand_count() == 1 &&
           !side->HasControlDependencies()) {
      side = side->operand(0);
    }
    return side->HasControlDependencies();
  });
}

// concatenate(slice(x, [n-2:n]), slice(x, [0:n-2])) → x rotated right by 2
// concatenate(slice(x, [n-1:n]), x, slice(x, [0:2])) → x wrapped by 1 and 2
std::unique_ptr<HloInstruction> RotationOf(const HloInstruction* concat) {
  const std::optional<Turns> turns = TurnsOf(concat);
  if (!turns.has_value()) return nullptr;
  const auto [x, left, right] = *turns;
  const int64_t dim = concat->concatenate_dimension();
  HloInstruction* operand = const_cast<HloInstruction*>(x);
  if (right == -left) {
    return CreateCustomCallSPMDInternal_RotateRight(operand, dim, left);
  }
  if (right < 0 || right > x->shape().dimensions(dim)) return nullptr;
  return HloInstruction::CreateCustomCall(
      concat->shape(), {operand}, "_SPMDInternalOp_Wrap",
      absl::StrCat("dimension=", dim, ",left_amount=", left,
                   ",right_amount=", right));
}

// concatenate(negate(slice(x, [n-1:n])), x, slice(x, [0:2]))
//   → w = x wrapped by 1 and 2, then select(place < 1, negate(w), w)
std::unique_ptr<HloInstruction> ModifiedWrapOf(HloInstruction* concat) {
  const std::optional<PadWithWrapPattern> pattern =
      FindPadWithWrapPattern(concat);
  if (!pattern.has_value() ||
      (pattern->lhs_modifiers.empty() && pattern->rhs_modifiers.empty())) {
    return nullptr;
  }
  const int64_t dim = concat->concatenate_dimension();
  const int64_t n = concat->operand(1)->shape().dimensions(dim);
  const int64_t left = concat->operand(0)->shape().dimensions(dim);
  const int64_t right = concat->operand(2)->shape().dimensions(dim);
  // Only what is next to x when x goes around.
  if (pattern->lhs_slice_start + left != n || pattern->rhs_slice_start != 0) {
    return nullptr;
  }
  if (HasPlaceInOrder(concat)) return nullptr;
  auto add = [&](std::unique_ptr<HloInstruction> instruction) {
    instruction->set_sharding(concat->sharding());
    instruction->set_metadata(concat->metadata());
    return concat->parent()->AddInstruction(std::move(instruction));
  };
  HloInstruction* wrapped = add(HloInstruction::CreateCustomCall(
      concat->shape(), {concat->mutable_operand(1)}, "_SPMDInternalOp_Wrap",
      absl::StrCat("dimension=", dim, ",left_amount=", left,
                   ",right_amount=", right)));
  auto modified = [&](const std::vector<const HloInstruction*>& modifiers) {
    HloInstruction* value = wrapped;
    for (auto it = modifiers.rbegin(); it != modifiers.rend(); ++it) {
      Shape shape = concat->shape();
      shape.set_element_type((*it)->shape().element_type());
      value = add((*it)->CloneWithNewOperands(shape, {value}));
    }
    return value;
  };
  const Shape index = ShapeUtil::MakeShape(S32, concat->shape().dimensions());
  HloInstruction* place = add(HloInstruction::CreateIota(index, dim));
  auto below = [&](int64_t limit) {
    HloInstruction* scalar = concat->parent()->AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(limit)));
    scalar->set_sharding(HloSharding::Replicate());
    return add(HloInstruction::CreateCompare(
        ShapeUtil::ChangeElementType(index, PRED), place,
        add(HloInstruction::CreateBroadcast(index, scalar, {})),
        ComparisonDirection::kLt));
  };
  HloInstruction* behind = add(HloInstruction::CreateTernary(
      concat->shape(), HloOpcode::kSelect, below(left + n), wrapped,
      modified(pattern->rhs_modifiers)));
  return HloInstruction::CreateTernary(
      concat->shape(), HloOpcode::kSelect, below(left),
      modified(pattern->lhs_modifiers), behind);
}

// slice(pad(x, 2_2), [1:n+1]) → pad(x, 1_-1), where pieces move at all.
std::unique_ptr<HloInstruction> PadOfSlice(const HloInstruction* slice) {
  const HloInstruction* pad = slice->operand(0);
  if (pad->opcode() != HloOpcode::kPad) return nullptr;
  bool moves = false;
  PaddingConfig config = pad->padding_config();
  for (size_t d = 0; d < slice->shape().dimensions().size(); ++d) {
    if (slice->slice_strides(d) != 1) return nullptr;
    auto* dim = config.mutable_dimensions(d);
    const int64_t low = slice->slice_starts(d);
    const int64_t high = pad->shape().dimensions(d) - slice->slice_limits(d);
    if (low == 0 && high == 0) continue;
    // An edge of holes is no padding that could be taken away.
    if (dim->interior_padding() != 0 &&
        (low > dim->edge_padding_low() || high > dim->edge_padding_high())) {
      return nullptr;
    }
    moves |= IsCutAlong(pad, d) || IsCutAlong(slice, d);
    dim->set_edge_padding_low(dim->edge_padding_low() - low);
    dim->set_edge_padding_high(dim->edge_padding_high() - high);
  }
  if (!moves) return nullptr;
  return HloInstruction::CreatePad(
      slice->shape(), const_cast<HloInstruction*>(pad->operand(0)),
      const_cast<HloInstruction*>(pad->operand(1)), config);
}

}  // namespace

std::optional<int64_t> FindRotateRightPattern(const HloInstruction* concat) {
  if (concat->opcode() != HloOpcode::kConcatenate ||
      concat->operand_count() != 2) {
    return std::nullopt;
  }
  const std::optional<Turns> turns = TurnsOf(concat);
  if (!turns.has_value() || turns->right != -turns->left) return std::nullopt;
  return turns->left;
}

std::optional<PadWithWrapPattern> FindPadWithWrapPattern(
    const HloInstruction* concat) {
  if (concat->opcode() != HloOpcode::kConcatenate ||
      concat->operand_count() != 3) {
    return std::nullopt;
  }
  const int64_t dim = concat->concatenate_dimension();
  const HloInstruction* x = concat->operand(1);
  if (!IsCutAlong(x, dim) && !IsCutAlong(concat, dim)) return std::nullopt;
  // Where the part begins; -1: no part of x.
  auto part = [&](const HloInstruction* side,
                  std::vector<const HloInstruction*>* modifiers) -> int64_t {
    while (side->IsElementwise() && side->operand_count() == 1) {
      if (side->opcode() != HloOpcode::kCopy) modifiers->push_back(side);
      side = side->operand(0);
    }
    if (side->opcode() != HloOpcode::kSlice) return -1;
    const Span span = SpanOf(side, dim);
    return span.source == x ? span.start : -1;
  };
  PadWithWrapPattern pattern;
  pattern.lhs_slice_start = part(concat->operand(0), &pattern.lhs_modifiers);
  pattern.rhs_slice_start = part(concat->operand(2), &pattern.rhs_modifiers);
  if (pattern.lhs_slice_start < 0 || pattern.rhs_slice_start < 0) {
    return std::nullopt;
  }
  return pattern;
}

absl::Status SpmdPartitioner::PreprocessHlos(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      std::unique_ptr<HloInstruction> merged;
      if (hlo->opcode() == HloOpcode::kConcatenate) {
        merged = RotationOf(hlo);
        if (merged == nullptr) merged = ModifiedWrapOf(hlo);
      }
      if (hlo->opcode() == HloOpcode::kSlice) merged = PadOfSlice(hlo);
      if (merged == nullptr || HasPlaceInOrder(hlo)) continue;
      merged->set_sharding(hlo->sharding());
      merged->set_metadata(hlo->metadata());
      HloInstruction* added = computation->AddInstruction(std::move(merged));
      // Its operands stay for others; the dead go with the rest.
      RETURN_IF_ERROR(hlo->ReplaceAllUsesWith(added));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::spmd
