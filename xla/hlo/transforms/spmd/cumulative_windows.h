#ifndef XLA_HLO_TRANSFORMS_SPMD_CUMULATIVE_WINDOWS_H_
#define XLA_HLO_TRANSFORMS_SPMD_CUMULATIVE_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/literal.h"
#include "xla/xla_data.pb.h"

// Windows that reach from the first element to their own one, or from their own
// one to the last, as of cumulative sums. No halo is shorter than a gather, but
// of what other devices have, only the total counts:
//
//   f32[8] {devices=[2]<=[2]}, window={size=8 pad=7_0}, sum
//     → totals f32[1] of both shards gathered, those of earlier shards added:
//       f32[5] (that sum, the shard), window={size=5 pad=4_0}, elements 1..4

namespace xla::spmd {

struct CumulativeWindow {
  int64_t dim;
  bool from_end;
};
// The window along dimension `dim`, which has `size` elements, if it is one.
std::optional<CumulativeWindow> CumulativeWindowOf(
    const WindowDimension& window, int64_t dim, int64_t size);

// The shards (all under `sharding`), behind, or in front of, what `reducer`
// makes of all shards before, or behind, them. `neutral` are scalars that
// change nothing beside init values, and stand for elements beyond the whole.
std::vector<HloInstruction*> WithTotals(
    const std::vector<HloInstruction*>& shards,
    const std::vector<Literal>& neutral, HloComputation* reducer,
    const CumulativeWindow& window, const HloSharding& sharding,
    const PartitionedHlo::PartitioningState& state);

// The window over a shard of `size` elements with that; elements beside it are
// results.
void SetCumulativeWindow(int64_t size, bool from_end, WindowDimension* window);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_CUMULATIVE_WINDOWS_H_
