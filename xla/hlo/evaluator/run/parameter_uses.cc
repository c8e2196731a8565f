#include "xla/hlo/evaluator/run/parameter_uses.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"

namespace xla {
namespace {

// Where the array is: an instruction's result, or a part of it.
struct Place {
  const HloInstruction* instruction;
  ShapeIndex index;
  // Arithmetic that keeps signs has changed the elements.
  bool scaled;

  bool operator<(const Place& other) const {
    return std::tie(instruction, index, scaled) <
           std::tie(other.instruction, other.index, other.scaled);
  }
};

// How deep expressions are looked into for their sign.
constexpr int kDepth = 6;

// The single value of a constant, through broadcasts.
std::optional<double> ConstantOf(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kBroadcast ||
         inst->opcode() == HloOpcode::kConvert ||
         inst->opcode() == HloOpcode::kReshape) {
    inst = inst->operand(0);
  }
  if (inst->opcode() != HloOpcode::kConstant || !inst->shape().IsArray() ||
      ShapeUtil::ElementsIn(inst->shape()) != 1 ||
      !primitive_util::IsFloatingPointType(inst->shape().element_type())) {
    return std::nullopt;
  }
  return inst->literal().GetAsDouble(
      std::vector<int64_t>(inst->shape().dimensions().size(), 0));
}

// The factors of a product of products.
void CollectFactors(const HloInstruction* inst, int depth,
                    std::vector<const HloInstruction*>* factors) {
  if (inst->opcode() != HloOpcode::kMultiply || depth == 0) {
    factors->push_back(inst);
    return;
  }
  CollectFactors(inst->operand(0), depth - 1, factors);
  CollectFactors(inst->operand(1), depth - 1, factors);
}

// Whether no element is below zero, whatever the parameters are: constants,
// squares, magnitudes, exponentials, and sums and products of these.
bool IsNeverNegative(const HloInstruction* inst, int depth = kDepth) {
  if (depth == 0) return false;
  if (const std::optional<double> constant = ConstantOf(inst)) {
    return *constant >= 0;
  }
  switch (inst->opcode()) {
    case HloOpcode::kAbs:
    case HloOpcode::kExp:
      return true;
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
      return IsNeverNegative(inst->operand(0), depth - 1);
    case HloOpcode::kAdd:
      return IsNeverNegative(inst->operand(0), depth - 1) &&
             IsNeverNegative(inst->operand(1), depth - 1);
    case HloOpcode::kMultiply: {
      std::vector<const HloInstruction*> factors;
      CollectFactors(inst, depth, &factors);
      return absl::c_all_of(factors, [&](const HloInstruction* factor) {
        return absl::c_count(factors, factor) % 2 == 0 ||
               IsNeverNegative(factor, depth - 1);
      });
    }
    default:  // Unknown.
      return false;
  }
}

// Whether elements that are not negative stay so from this operand to the
// result: of 0.9 * p + 0.1 * g * g both products are followed.
bool KeepsSign(const HloInstruction* user, int64_t operand) {
  if (user->operand_count() != 2 ||
      !primitive_util::IsFloatingPointType(user->shape().element_type())) {
    return false;
  }
  switch (user->opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kMultiply:
      return IsNeverNegative(user->operand(1 - operand));
    case HloOpcode::kDivide:
      return operand == 0 && IsNeverNegative(user->operand(1));
    default:  // Unknown.
      return false;
  }
}

// A forward traversal from a parameter to the uses of its unchanged elements.
// It follows the array through instructions that move or rearrange elements
// (tuples, reshapes, slices, calls, loops, selects) and collects the
// preconditions of the instructions that finally consume it: indices within
// bounds, positive arguments of logarithms and roots, unique sort keys,
// well-conditioned matrices. Inputs generated under these conditions keep a
// module away from clamping, NaNs and ties, where two correct programs may
// legitimately differ.
//
// It is a heuristic: arithmetic ends the traversal, but for sums and products
// that keep signs, after which only positive arguments are asked for; and needs
// of different uses are intersected without proof that they can be met
// together. Each pair of instruction and tuple index is visited at most twice,
// so the time is linear in their number.
class Tracer {
 public:
  ParameterNeeds Trace(const HloInstruction* parameter,
                       const ShapeIndex& index) {
    shape_ = &ShapeUtil::GetSubshape(parameter->shape(), index);
    Visit(parameter, index, /*scaled=*/false);
    while (!pending_.empty()) {
      const Place place = std::move(pending_.back());
      pending_.pop_back();
      scaled_ = place.scaled;
      for (const HloInstruction* user : place.instruction->users()) {
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (user->operand(i) != place.instruction) continue;
          Use(user, i, place.index);
        }
      }
      if (place.instruction->IsRoot()) Return(place);
    }
    return needs_;
  }

 private:
  void Visit(const HloInstruction* instruction, ShapeIndex index, bool scaled) {
    Place place{instruction, std::move(index), scaled};
    if (seen_.insert(place).second) pending_.push_back(std::move(place));
  }
  // On, with the elements as they are.
  void Visit(const HloInstruction* instruction, ShapeIndex index) {
    Visit(instruction, std::move(index), scaled_);
  }

  void Within(int64_t lo, int64_t hi) {
    hi = std::max(lo, hi);
    if (!needs_.bounds.has_value()) needs_.bounds = {lo, hi};
    needs_.bounds->first = std::max(needs_.bounds->first, lo);
    needs_.bounds->second =
        std::max(needs_.bounds->first, std::min(needs_.bounds->second, hi));
  }

  // The value of a root goes to where the computation is called.
  void Return(const Place& place) {
    const HloComputation* computation = place.instruction->parent();
    for (const HloInstruction* caller : computation->caller_instructions()) {
      switch (caller->opcode()) {
        case HloOpcode::kCall:
        case HloOpcode::kConditional:
        case HloOpcode::kFusion:
          Visit(caller, place.index);
          break;
        case HloOpcode::kWhile:
          if (caller->while_body() != computation) break;
          Visit(caller, place.index);
          Visit(computation->parameter_instruction(0), place.index);
          break;
        default:  // The value ends in the computation.
          break;
      }
    }
  }

  // Whether a use that takes the whole array sees it as it is.
  bool Whole(const HloInstruction* operand) const {
    return ShapeUtil::Compatible(operand->shape(), *shape_);
  }

  void Use(const HloInstruction* user, int64_t operand,
           const ShapeIndex& index) {
    if (scaled_) {
      NeedSign(user, operand);
    } else {
      Need(user, operand);
    }
    if (KeepsSign(user, operand)) Visit(user, index, /*scaled=*/true);
    switch (user->opcode()) {
      case HloOpcode::kGetTupleElement:
        if (!index.empty() && index.front() == user->tuple_index()) {
          Visit(user, ShapeIndex(index.begin() + 1, index.end()));
        }
        break;
      case HloOpcode::kTuple: {
        ShapeIndex inner = {operand};
        for (int64_t i : index) inner.push_back(i);
        Visit(user, std::move(inner));
        break;
      }
      case HloOpcode::kConvert:
        if (primitive_util::IsIntegralType(user->shape().element_type())) {
          Visit(user, index);
        }
        break;
      case HloOpcode::kAddDependency:
      case HloOpcode::kDynamicSlice:
      case HloOpcode::kGather:
      case HloOpcode::kPad:
        if (operand == 0) Visit(user, index);
        break;
      case HloOpcode::kClamp:
        if (operand == 1) Visit(user, index);
        break;
      case HloOpcode::kSelect:
        if (operand > 0) Visit(user, index);
        break;
      case HloOpcode::kBitcast:
      case HloOpcode::kBroadcast:
      case HloOpcode::kConcatenate:
      case HloOpcode::kCopy:
      case HloOpcode::kDomain:
      case HloOpcode::kOptimizationBarrier:
      case HloOpcode::kReshape:
      case HloOpcode::kReverse:
      case HloOpcode::kSlice:
      case HloOpcode::kTranspose:
        Visit(user, index);
        break;
      case HloOpcode::kCall:
      case HloOpcode::kFusion:
        Visit(user->called_computations()[0]->parameter_instruction(operand),
              index);
        break;
      case HloOpcode::kWhile:
        Visit(user->while_condition()->parameter_instruction(0), index);
        Visit(user->while_body()->parameter_instruction(0), index);
        Visit(user, index);
        break;
      case HloOpcode::kConditional:
        if (operand > 0) {
          Visit(user->branch_computation(static_cast<int>(operand) - 1)
                    ->parameter_instruction(0),
                index);
        }
        break;
      case HloOpcode::kCustomCall:
        // Annotations pass their operand on.
        if (operand == 0 && user->operand_count() == 1 &&
            ShapeUtil::Compatible(user->shape(), user->operand(0)->shape())) {
          Visit(user, index);
        }
        break;
      default:  // Makes another value.
        break;
    }
  }

  // Start indices: one scalar per dimension from `first` on, or one vector.
  void NeedStarts(const HloInstruction* user, int64_t operand, int64_t first,
                  const Shape& whole, const Shape& part) {
    if (operand < first) return;
    const bool vector = !user->operand(operand)->shape().dimensions().empty();
    for (size_t d = 0; d < whole.dimensions().size(); ++d) {
      if (!vector && static_cast<int64_t>(d) != operand - first) continue;
      Within(0, whole.dimensions(d) - part.dimensions(d));
    }
  }

  // What is not defined, or infinite, for arguments that are not positive.
  void NeedSign(const HloInstruction* user, int64_t operand) {
    switch (user->opcode()) {
      case HloOpcode::kLog:
      case HloOpcode::kRsqrt:
      case HloOpcode::kSqrt:
        needs_.positive = true;
        break;
      case HloOpcode::kDivide:
      case HloOpcode::kRemainder:
        needs_.positive |= operand == 1;
        break;
      case HloOpcode::kPower: {
        // A constant base is a rate of decay, and the exponent counts steps.
        const std::optional<double> base = ConstantOf(user->operand(0));
        needs_.positive |=
            operand == 0 || (base.has_value() && *base > 0 && *base < 1);
        break;
      }
      case HloOpcode::kBatchNormInference:
        needs_.positive |= operand == 4;
        break;
      case HloOpcode::kBatchNormGrad:
        needs_.positive |= operand == 3;
        break;
      default:  // Defined for either sign.
        break;
    }
  }

  void Need(const HloInstruction* user, int64_t operand) {
    NeedSign(user, operand);
    switch (user->opcode()) {
      case HloOpcode::kDynamicSlice:
        NeedStarts(user, operand, 1, user->operand(0)->shape(), user->shape());
        break;
      case HloOpcode::kDynamicUpdateSlice:
        NeedStarts(user, operand, 2, user->shape(), user->operand(1)->shape());
        break;
      case HloOpcode::kGather:
        if (operand == 1) {
          const auto* gather = Cast<HloGatherInstruction>(user);
          for (int64_t d :
               gather->gather_dimension_numbers().start_index_map()) {
            Within(0, user->operand(0)->shape().dimensions(d) -
                          gather->gather_slice_sizes()[d]);
          }
        }
        break;
      case HloOpcode::kScatter:
        NeedOfScatter(Cast<HloScatterInstruction>(user), operand);
        break;
      case HloOpcode::kConditional:
        if (operand == 0) Within(0, user->branch_count() - 1);
        break;
      case HloOpcode::kSort:
        needs_.unique |= operand == 0;
        break;
      case HloOpcode::kSetDimensionSize:
        if (operand == 1) {
          Within(0, user->operand(0)->shape().dimensions(user->dimension()));
        }
        break;
      case HloOpcode::kCholesky:
        if (Whole(user->operand(0))) {
          needs_.matrix = ParameterNeeds::Matrix::kPositiveDefinite;
        }
        break;
      case HloOpcode::kTriangularSolve:
        if (operand == 0 && Whole(user->operand(0)) &&
            needs_.matrix == ParameterNeeds::Matrix::kAny) {
          needs_.matrix = ParameterNeeds::Matrix::kDominant;
        }
        break;
      case HloOpcode::kRaggedDot:
        if (operand == 2 && Whole(user->operand(2))) {
          const auto& numbers = user->ragged_dot_dimension_numbers();
          if (numbers.lhs_ragged_dimensions_size() == 1) {
            needs_.sum = user->operand(0)->shape().dimensions(
                numbers.lhs_ragged_dimensions(0));
          }
        }
        break;
      default:  // Takes any value.
        break;
    }
  }

  void NeedOfScatter(const HloScatterInstruction* scatter, int64_t operand) {
    const int64_t arrays = scatter->scatter_operand_count();
    if (operand != arrays) return;
    const ScatterDimensionNumbers& numbers =
        scatter->scatter_dimension_numbers();
    const Shape& whole = scatter->operand(0)->shape();
    const Shape& updates = scatter->operand(arrays + 1)->shape();
    // Sizes of the window, per dimension of the operand.
    std::vector<int64_t> window(whole.dimensions().size(), 1);
    int next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(window.size()); ++d) {
      const bool inserted =
          absl::c_linear_search(numbers.inserted_window_dims(), d) ||
          absl::c_linear_search(numbers.input_batching_dims(), d);
      if (inserted || next >= numbers.update_window_dims_size()) continue;
      window[d] = updates.dimensions(numbers.update_window_dims(next++));
    }
    for (int64_t d : numbers.scatter_dims_to_operand_dims()) {
      Within(0, whole.dimensions(d) - window[d]);
    }
    if (!scatter->unique_indices()) return;
    needs_.unique = true;
    const Shape& indices = scatter->operand(arrays)->shape();
    const auto rank = static_cast<int64_t>(indices.dimensions().size());
    if (numbers.index_vector_dim() == rank - 1) {
      needs_.vector_size = indices.dimensions(rank - 1);
    }
  }

  const Shape* shape_ = nullptr;
  ParameterNeeds needs_;
  bool scaled_ = false;  // of the place that is looked at
  std::set<Place> seen_;
  std::vector<Place> pending_;
};

}  // namespace

ParameterNeeds FindParameterNeeds(const HloInstruction* parameter,
                                  const ShapeIndex& index) {
  return Tracer().Trace(parameter, index);
}

}  // namespace xla
