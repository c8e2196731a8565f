#ifndef XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_
#define XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
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
  // Results only: the unreduced sharding that all users want, which makes
  // summing the addends unnecessary. `sharding` describes the sum.
  std::optional<HloSharding> addends = std::nullopt;
  // Made under any sharding (IsMadeAnywhere), so that nothing moves.
  bool is_made = false;
  // The shardings beside `sharding` that users want of a result, or that other
  // readers bring an operand to.
  std::vector<HloSharding> readers = {};
};

// The sharding of the factors that goes with that of a tensor, as far as its
// dimensions are factors; nullopt where none of those is cut.
std::optional<HloSharding> FactorSharding(int64_t num_factors,
                                          const FactorTensor& tensor);

// The sharding of a tensor that goes with one of the factors.
HloSharding TensorSharding(const HloSharding& factors,
                           const FactorTensor& tensor);

// Bytes that a device receives under a sharding of the factors.
using FactorPrice = std::function<double(const HloSharding& factors)>;

// The cheapest sharding of `num_factors` factors, by bytes that a device
// receives: among those of the tensors, refinements that several have in
// common, each of them without the tiles of one factor, and those of the
// tensors with copies that cut one more factor. `summed`: each
// device has an addend of the results where such a factor is cut, and a
// reduce-scatter or all-reduce follows. Nullopt where nothing beats operands
// that are whole on all devices. `work`: what one device computes where nothing
// is cut, as bytes that it could receive meanwhile. `preferred`: cuts along
// these factors, as far as the first tensor that has them is cut so, go before
// all others, whatever they cost. `price` knows more than the shardings of the
// tensors say, such as what neighbors exchange. A result that may stay in
// addends offers the sharding that leaves them so, without a collective for it.
//
//   lhs {devices=[1,4]<=[4]}, rhs {devices=[4,1]<=[4]}, sum wanted everywhere
//       → 8x4 times 4x8: both gathered (192 bytes), against 384 of an
//       all-reduce → the same with `addends` {unreduced}: the contracting
//       factor, 0 bytes
//
// O(tensors squared * factors squared * divisors of a number of tiles)
// shardings, each O(rank) and more where devices are listed.
std::optional<HloSharding> ChooseFactorSharding(
    int64_t num_factors, absl::Span<const FactorTensor> tensors,
    absl::Span<const int64_t> summed, double work = 0,
    absl::Span<const int64_t> preferred = {},
    const FactorPrice& price = nullptr);

// Those of `dims`, numbers of factors, that are cut.
std::vector<int64_t> CutFactors(const HloSharding& factors,
                                absl::Span<const int64_t> dims);

// Bytes that a device receives for a result whose factors are cut so, of which
// those `summed` leave addends.
double BytesOfResult(const HloSharding& factors, const FactorTensor& result,
                     absl::Span<const int64_t> summed);

// Bytes from `made`, the sharding that a result is made under, to that which it
// shall have, and from the nearer of both to those of its readers. Devices that
// have the whole cut everything else out of it.
double BytesToReaders(const FactorTensor& result, const HloSharding& made);

// Says in the report of a running partitioner why operands are made whole from
// now on: their cuts were priced, but for those of dimensions that run over no
// factor, which no rule keeps.
void ExplainPriced(absl::Span<const FactorTensor> tensors,
                   SpmdPartitioner* partitioner);

// The sharding of the factors of `hlo` that goes with those of all tensors, as
// they are; nullopt where nothing is cut, InvalidArgument where they conflict.
absl::StatusOr<std::optional<HloSharding>> AgreedFactorSharding(
    const HloInstruction& hlo, int64_t num_factors,
    absl::Span<const FactorTensor> tensors);

// FLOPs as `work`: 989e12 a second (dense bf16) beside 450e9 bytes a second, as
// an H100 has them.
double WorkOfFlops(double flops);

// Whether ReshardBytes says what leaves or reaches such a sharding: replicated
// or tiled ones, without parts of another meaning.
bool IsPriced(const HloSharding& sharding);
// A bound from below of the bytes that a device receives in a reshard.
int64_t ReshardBytes(const Shape& shape, const HloSharding& from,
                     const HloSharding& to);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_FACTOR_SHARDING_H_
