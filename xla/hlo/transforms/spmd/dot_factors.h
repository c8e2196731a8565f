#ifndef XLA_HLO_TRANSFORMS_SPMD_DOT_FACTORS_H_
#define XLA_HLO_TRANSFORMS_SPMD_DOT_FACTORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"

// Dots and convolutions as loop nests.

namespace xla::spmd {

struct DotFactors {
  int64_t num_factors = 0;
  FactorTensor lhs;
  FactorTensor rhs;
  FactorTensor result;
  std::vector<int64_t> contracting;
};

// Each batch, contracting and non-contracting dimension is a factor. Those of
// the result come first, under their own numbers; so do sliding dimensions,
// which the left operand shares with the result. Sliding dimensions of
// `summed_spatial` (window dimension numbers) are contracting instead: the
// kernel is cut there.
DotFactors DotFactorsOf(
    const HloInstruction& hlo,
    const dot_as_convolution_util::DotConvolutionDimsInfo& info,
    const HloSharding& lhs, const HloSharding& rhs,
    absl::Span<const int64_t> summed_spatial = {});

// The unreduced sharding, to be reduced by `op`, that all users of a value
// want, where the value itself has the sharding of the sum; nullopt if they
// want different ones.
std::optional<HloSharding> AddendsWanted(const HloInstruction& hlo,
                                         ReductionOp op = ReductionOp::kSum);

// Of tuples seen before: the shardings of their array elements, by operand; of
// an operand that is an element twice, the first one's.
using ReadsOfTuples = absl::flat_hash_map<
    const HloInstruction*,
    absl::flat_hash_map<const HloInstruction*, HloSharding>>;

// The priced shardings, other than its own, under which users of an array read
// it as far as that can be told: elements of tuples, and operands of
// elementwise instructions that have nothing to gain from another one. One
// device needs the whole. `tuples` serves many calls: a call for each element
// of a tuple takes linear time with it, quadratic time without.
std::vector<HloSharding> ReadersOf(const HloInstruction& hlo,
                                   ReadsOfTuples* tuples = nullptr);

// An upper bound if windows meet padding.
double MultiplyAdds(
    const HloInstruction& hlo,
    const dot_as_convolution_util::DotConvolutionDimsInfo& info);

// Dimensions of a tensor that are contracted.
std::vector<int64_t> AddendDims(const FactorTensor& tensor,
                                absl::Span<const int64_t> contracting);

// The shard of an operand whose padding along contracted dimensions is zero.
HloInstruction* ZeroPadded(const PartitionedHlo& phlo,
                           const FactorTensor& tensor,
                           absl::Span<const int64_t> contracting);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_DOT_FACTORS_H_
