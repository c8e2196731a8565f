#ifndef XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_
#define XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

struct RandomShardingOptions {
  // Half of the tiled shardings are named: of axes of a mesh.
  bool named = false;
  // One numeric result in eight is left in addends.
  bool unreduced = false;
};

// Gives three values out of four, and every entry parameter, a sharding over
// `devices` devices: replicated, on one device, tiled and partially tiled, with
// devices in order, backwards or in any order. Equal seeds, equal shardings.
void AnnotateWithRandomShardings(
    uint64_t seed, int64_t devices, HloModule& module,
    const RandomShardingOptions& options = RandomShardingOptions());

// Makes the entry computation what one of `manual` groups of `free` devices
// does: it is called in a manual region, whose values have random shardings
// over the devices of a group. An entry parameter and each array of the result
// become the tiles of all groups, side by side along one dimension:
//
//   before: f32[3,4] p     ENTRY {...}                   f32[3]
//   after:  f32[3,8] p → SPMDFullToShardShape → call → SPMDShardToFullShape →
//           f32[6], for manual = 2
void MoveIntoManualRegion(uint64_t seed, int64_t manual, int64_t free,
                          HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_
