#ifndef XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_
#define XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

namespace xla::spmd {

// How to cut an instruction that is a loop nest: its loops are factors, each
// dimension of an operand or result runs over one factor or is needed whole,
// and one sharding of the factors gives those of all tensors.
//
//   f32[m,n] dot(f32[m,k], f32[k,n]): factors m, n, k; lhs {0,2}, rhs {2,1},
//   result {0,1}; k is summed up
//   lhs {devices=[1,2]<=[2]}, rhs {devices=[2,1]<=[2]}
//       → factors {devices=[1,1,2]<=[2]}: local, then an all-reduce

struct FactorTensor {
  Shape shape;
  // That which an operand has or a result shall have.
  HloSharding sharding = HloSharding::Replicate();
  // Factor of each dimension; -1: needed whole, or made whole.
  std::vector<int64_t> factors;
  bool is_result = false;
};

// The sharding of a tensor that goes with one of the factors.
HloSharding TensorSharding(const HloSharding& factors,
                           const FactorTensor& tensor);

// The cheapest sharding of `num_factors` factors, by bytes that a device
// receives: among those of the tensors and what they have in common with each
// other. `summed`: each device has an addend of the results where such a factor
// is cut, and an all-reduce follows. Nullopt where nothing beats operands that
// are whole on all devices. O(tensors squared) shardings, each O(rank).
std::optional<HloSharding> ChooseFactorSharding(
    int64_t num_factors, absl::Span<const FactorTensor> tensors,
    absl::Span<const int64_t> summed);

// A bound from below of the bytes that a device receives in a reshard.
int64_t ReshardBytes(const Shape& shape, const HloSharding& from,
                     const HloSharding& to);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_
