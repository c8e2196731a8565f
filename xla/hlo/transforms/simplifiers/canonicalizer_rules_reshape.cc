#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"
#include "xla/permutation_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

bool IsStaticArray(const HloInstruction* inst) {
  return inst->shape().IsArray() && inst->shape().is_static();
}

// Both keep elements in row-major order, so one reshape does as well.
HloInstruction* ReshapeOfReshape(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kReshape || !IsStaticArray(inst) ||
      !IsStaticArray(inner->operand(0))) {
    return nullptr;
  }
  if (HasShapeOf(inst, inner->operand(0))) return inner->mutable_operand(0);
  return inst->AddInstruction(
      HloInstruction::CreateReshape(inst->shape(), inner->mutable_operand(0)));
}

HloInstruction* ReshapeOfScalarBroadcast(HloInstruction* inst) {
  HloInstruction* broadcast = inst->mutable_operand(0);
  if (broadcast->opcode() != HloOpcode::kBroadcast ||
      !ShapeUtil::IsScalar(broadcast->operand(0)->shape()) ||
      !IsStaticArray(inst)) {
    return nullptr;
  }
  return inst->AddInstruction(HloInstruction::CreateBroadcast(
      inst->shape(), broadcast->mutable_operand(0), {}));
}

HloInstruction* BitcastOfBitcast(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kBitcast) return nullptr;
  if (HasShapeOf(inst, inner->operand(0))) return inner->mutable_operand(0);
  return inst->AddInstruction(
      HloInstruction::CreateBitcast(inst->shape(), inner->mutable_operand(0)));
}

HloInstruction* IdentityTranspose(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return IsIdentityPermutation(inst->dimensions()) && HasShapeOf(inst, x)
             ? x
             : nullptr;
}

HloInstruction* TransposeOfTranspose(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kTranspose) return nullptr;
  // Output dimension i is dimension outer[i] of the inner one's result.
  std::vector<int64_t> composed;
  for (int64_t dimension : inst->dimensions()) {
    composed.push_back(inner->dimensions(dimension));
  }
  HloInstruction* x = inner->mutable_operand(0);
  if (IsIdentityPermutation(composed) && HasShapeOf(inst, x)) return x;
  return inst->AddInstruction(
      HloInstruction::CreateTranspose(inst->shape(), x, composed));
}

HloInstruction* TransposeOfBroadcast(HloInstruction* inst) {
  HloInstruction* broadcast = inst->mutable_operand(0);
  if (broadcast->opcode() != HloOpcode::kBroadcast) return nullptr;
  // Output dimension i shows dimension permutation[i] of the broadcast.
  std::vector<int64_t> position = InversePermutation(inst->dimensions());
  std::vector<int64_t> dimensions;
  for (int64_t dimension : broadcast->dimensions()) {
    dimensions.push_back(position[dimension]);
  }
  // Broadcast dimensions stand in ascending order.
  if (!absl::c_is_sorted(dimensions)) return nullptr;
  return inst->AddInstruction(HloInstruction::CreateBroadcast(
      inst->shape(), broadcast->mutable_operand(0), dimensions));
}

HloInstruction* IdentityBroadcast(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return HasShapeOf(inst, x) && absl::c_is_sorted(inst->dimensions()) ? x
                                                                      : nullptr;
}

HloInstruction* BroadcastOfBroadcast(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kBroadcast) return nullptr;
  std::vector<int64_t> dimensions;
  for (int64_t dimension : inner->dimensions()) {
    dimensions.push_back(inst->dimensions(dimension));
  }
  return inst->AddInstruction(HloInstruction::CreateBroadcast(
      inst->shape(), inner->mutable_operand(0), dimensions));
}

// Dimensions of size 1 that a reshape adds are no dimensions of the operand.
// Sizes are matched from the left. Which one of several neighbors of size 1 is
// the operand's does not matter: there is one element along each.
HloInstruction* BroadcastOfExpandedDims(HloInstruction* inst) {
  HloInstruction* reshape = inst->mutable_operand(0);
  if (reshape->opcode() != HloOpcode::kReshape) return nullptr;
  const Shape& from = reshape->operand(0)->shape();
  const Shape& to = reshape->shape();
  if (!IsStaticArray(reshape) || !from.is_static() ||
      from.dimensions().size() >= to.dimensions().size()) {
    return nullptr;
  }
  std::vector<int64_t> dimensions;
  size_t next = 0;
  for (size_t i = 0; i < to.dimensions().size(); ++i) {
    if (next < from.dimensions().size() &&
        to.dimensions(i) == from.dimensions(next)) {
      dimensions.push_back(inst->dimensions(i));
      ++next;
    } else if (to.dimensions(i) != 1) {
      return nullptr;
    }
  }
  if (next != from.dimensions().size()) return nullptr;
  return inst->AddInstruction(HloInstruction::CreateBroadcast(
      inst->shape(), reshape->mutable_operand(0), dimensions));
}

HloInstruction* TrivialReverse(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  bool moves = absl::c_any_of(inst->dimensions(), [&](int64_t dimension) {
    return inst->shape().dimensions(dimension) != 1 ||
           inst->shape().is_dynamic_dimension(dimension);
  });
  return !moves && HasShapeOf(inst, x) ? x : nullptr;
}

HloInstruction* ReverseOfReverse(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kReverse) return nullptr;
  std::vector<int64_t> outer_dims(inst->dimensions().begin(),
                                  inst->dimensions().end());
  std::vector<int64_t> inner_dims(inner->dimensions().begin(),
                                  inner->dimensions().end());
  absl::c_sort(outer_dims);
  absl::c_sort(inner_dims);
  HloInstruction* x = inner->mutable_operand(0);
  return outer_dims == inner_dims && HasShapeOf(inst, x) ? x : nullptr;
}

HloInstruction* ReduceOfNothing(HloInstruction* inst) {
  const int64_t count = inst->operand_count() / 2;
  if (!ShapeUtil::IsZeroElementArray(inst->operand(0)->shape()) ||
      !inst->operand(0)->shape().is_static()) {
    return nullptr;
  }
  const auto shape_of = [&](int64_t i) -> const Shape& {
    return inst->shape().IsTuple() ? inst->shape().tuple_shapes(i)
                                   : inst->shape();
  };
  for (int64_t i = 0; i < count; ++i) {
    // Results may be of another precision.
    if (inst->operand(count + i)->shape().element_type() !=
        shape_of(i).element_type()) {
      return nullptr;
    }
  }
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < count; ++i) {
    results.push_back(inst->AddInstruction(HloInstruction::CreateBroadcast(
        shape_of(i), inst->mutable_operand(count + i), {})));
  }
  return inst->shape().IsTuple()
             ? inst->AddInstruction(HloInstruction::CreateTuple(results))
             : results[0];
}

constexpr CanonicalizerRule kReshapeRules[] = {
    {"reduce-of-nothing",
     "reduce(x, init) where x has no elements → broadcast(init)",
     HloOpcode::kReduce, ReduceOfNothing},
    {"reshape-nothing", "reshape(x) of the same shape → x", HloOpcode::kReshape,
     OperandIfSameShape},
    {"reshape-of-reshape", "reshape(reshape(x)) → reshape(x)",
     HloOpcode::kReshape, ReshapeOfReshape},
    {"reshape-of-scalar-broadcast", "reshape(broadcast(scalar)) → broadcast",
     HloOpcode::kReshape, ReshapeOfScalarBroadcast},
    {"bitcast-nothing", "bitcast(x) of the same shape → x", HloOpcode::kBitcast,
     OperandIfSameShape},
    {"bitcast-of-bitcast", "bitcast(bitcast(x)) → bitcast(x)",
     HloOpcode::kBitcast, BitcastOfBitcast},
    {"transpose-nothing", "transpose(x), dimensions={0,1,…} → x",
     HloOpcode::kTranspose, IdentityTranspose},
    {"transpose-of-transpose", "transpose(transpose(x)) → transpose(x)",
     HloOpcode::kTranspose, TransposeOfTranspose},
    {"transpose-of-broadcast", "transpose(broadcast(x)) → broadcast(x)",
     HloOpcode::kTranspose, TransposeOfBroadcast},
    {"broadcast-nothing", "broadcast(x) of the same shape → x",
     HloOpcode::kBroadcast, IdentityBroadcast},
    {"broadcast-of-broadcast", "broadcast(broadcast(x)) → broadcast(x)",
     HloOpcode::kBroadcast, BroadcastOfBroadcast},
    {"broadcast-of-expanded-dims",
     "broadcast(reshape(x)) that adds dimensions of size 1 → broadcast(x)",
     HloOpcode::kBroadcast, BroadcastOfExpandedDims},
    {"reverse-nothing", "reverse(x) along dimensions of size 1 → x",
     HloOpcode::kReverse, TrivialReverse},
    {"reverse-of-reverse", "reverse(reverse(x)) → x", HloOpcode::kReverse,
     ReverseOfReverse},
};

}  // namespace

absl::Span<const CanonicalizerRule> ReshapeRules() { return kReshapeRules; }

}  // namespace xla
