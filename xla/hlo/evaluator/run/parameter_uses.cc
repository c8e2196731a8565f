#include "xla/hlo/evaluator/run/parameter_uses.h"

#include <algorithm>
#include <cstdint>
#include <set>
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
using Place = std::pair<const HloInstruction*, ShapeIndex>;

// A forward traversal from a parameter to the uses of its unchanged elements.
// It follows the array through instructions that move or rearrange elements
// (tuples, reshapes, slices, calls, loops, selects) and collects the
// preconditions of the instructions that finally consume it: indices within
// bounds, positive arguments of logarithms and roots, unique sort keys,
// well-conditioned matrices. Inputs generated under these conditions keep a
// module away from clamping, NaNs and ties, where two correct programs may
// legitimately differ.
//
// It is a heuristic: arithmetic ends the traversal, and needs of different uses
// are intersected without proof that they can be met together. Each pair of
// instruction and tuple index is visited once, so the time is linear in their
// number.
class Tracer {
 public:
  ParameterNeeds Trace(const HloInstruction* parameter,
                       const ShapeIndex& index) {
    shape_ = &ShapeUtil::GetSubshape(parameter->shape(), index);
    Visit(parameter, index);
    while (!pending_.empty()) {
      const Place place = std::move(pending_.back());
      pending_.pop_back();
      for (const HloInstruction* user : place.first->users()) {
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (user->operand(i) != place.first) continue;
          Use(user, i, place.second);
        }
      }
      if (place.first->IsRoot()) Return(place);
    }
    return needs_;
  }

 private:
  void Visit(const HloInstruction* instruction, ShapeIndex index) {
    if (seen_.insert({instruction, index}).second) {
      pending_.push_back({instruction, std::move(index)});
    }
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
    const HloComputation* computation = place.first->parent();
    for (const HloInstruction* caller : computation->caller_instructions()) {
      switch (caller->opcode()) {
        case HloOpcode::kCall:
        case HloOpcode::kConditional:
        case HloOpcode::kFusion:
          Visit(caller, place.second);
          break;
        case HloOpcode::kWhile:
          if (caller->while_body() != computation) break;
          Visit(caller, place.second);
          Visit(computation->parameter_instruction(0), place.second);
          break;
        default:
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
    Need(user, operand);
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
      default:
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

  void Need(const HloInstruction* user, int64_t operand) {
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
      case HloOpcode::kLog:
      case HloOpcode::kRsqrt:
      case HloOpcode::kSqrt:
        needs_.positive = true;
        break;
      case HloOpcode::kDivide:
      case HloOpcode::kRemainder:
        needs_.positive |= operand == 1;
        break;
      case HloOpcode::kPower:
        needs_.positive |= operand == 0;
        break;
      case HloOpcode::kBatchNormInference:
        needs_.positive |= operand == 4;
        break;
      case HloOpcode::kBatchNormGrad:
        needs_.positive |= operand == 3;
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
      default:
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
  std::set<Place> seen_;
  std::vector<Place> pending_;
};

}  // namespace

ParameterNeeds FindParameterNeeds(const HloInstruction* parameter,
                                  const ShapeIndex& index) {
  return Tracer().Trace(parameter, index);
}

}  // namespace xla
