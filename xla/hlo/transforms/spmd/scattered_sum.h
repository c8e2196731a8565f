#ifndef XLA_HLO_TRANSFORMS_SPMD_SCATTERED_SUM_H_
#define XLA_HLO_TRANSFORMS_SPMD_SCATTERED_SUM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"

namespace xla::spmd {

// Where devices have addends along cut factors of `summed`, the dimensions of
// the result along which one reduce-scatter of them gives it as many tiles as
// it shall have, or as there are addends. Addends may be padded first.
//
//   result wanted {devices=[2,1,2]<=[4] last_tile_dim_replicate}, addends along
//   all four: scattered among the two rows of devices, then the sum over the
//   columns
//   result wanted {devices=[2,2]<=[4]}: scattered among all four, quarter by
//   quarter
struct ScatteredSum {
  // Of the result, in order.
  std::vector<int64_t> dims;
  // Factors, with one in place of all cut ones that are summed, which is then
  // split: into those along which addends are scattered, one for each of
  // `dims`, and that whose sum follows.
  HloSharding split = HloSharding::Replicate();
  std::vector<int64_t> scattered;
  int64_t rest;
  // What the result has then: what it shall have, larger tiles that devices cut
  // that out of, or such tiles on other devices, where to permute them takes
  // less than an all-reduce.
  HloSharding scattered_to = HloSharding::Replicate();

  // Shards that the addends of a device are cut into.
  int64_t Parts() const { return split.NumTiles(scattered); }
};
std::optional<ScatteredSum> ScatterSum(const HloSharding& factors,
                                       const FactorTensor& result,
                                       absl::Span<const int64_t> summed);

// The unreduced dimension of such a sharding as a tile dimension, behind those
// of the value.
HloSharding AddendsAsTiles(const HloSharding& addends);

// The sum of the addends `local`, or what else `reduction` makes of them, and
// its sharding: by a reduce-scatter if one will do, else by an all-reduce.
// `local` itself where nothing is cut.
struct ShardedSum {
  HloInstruction* sum;
  HloSharding sharding;
};
ShardedSum SumAddends(HloInstruction* local, const HloSharding& factors,
                      const FactorTensor& result,
                      absl::Span<const int64_t> summed,
                      const PartitionedHlo::PartitioningState& state,
                      HloComputation* reduction = nullptr);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SCATTERED_SUM_H_
