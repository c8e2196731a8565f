#ifndef XLA_HLO_EVALUATOR_DEVICES_MANUAL_REGIONS_H_
#define XLA_HLO_EVALUATOR_DEVICES_MANUAL_REGIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/devices/collective_groups.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// The meaning of the borders of manual regions in a module that is not
// partitioned. Outside of a region a value is the same on all devices; inside
// each device has its own, the tile of it:
//
//   x                           f32[5] {1 2 3 4 5} on each of 2 devices
//   SPMDFullToShardShape(x)     f32[3] {1 2 3}, {4 5 0}
//   SPMDShardToFullShape(that)  f32[5] {1 2 3 4 5} on both
//
// The tiles are those of the sharding outside: the operand's on the way in, the
// call's own on the way out. Where the sharding inside is a manual subgroup, a
// value is cut over the manual axes alone, which come first in each dimension:
// outside {devices=[4]<=[4]}, inside {devices=[2,2]<=[2,2]T(1,0)
// last_tile_dims={manual}}, x is cut in two.

// The device's own tile, with zeros after the last element. InvalidArgument
// where there is no sharding or it does not lead to the call's shape;
// Unimplemented for xla.sdy.GlobalToLocalShape, whose axes are not read.
absl::StatusOr<Value> EnterManualRegion(const HloInstruction* call,
                                        const Value& whole, int64_t partition,
                                        int64_t partitions,
                                        MemoryBudget* budget);

// Who puts a value together: the devices of a replica that are in the same
// place of the manual axes outside.
absl::StatusOr<std::vector<std::vector<int64_t>>> ManualRegionGroups(
    const HloInstruction* call, const DeviceGrid& grid);

// The value of every member of a group, given their operands. The same errors,
// and FailedPrecondition where devices with the same tile hold other elements:
// then the whole is not defined.
absl::StatusOr<std::vector<Value>> LeaveManualRegion(
    const HloInstruction* call, absl::Span<const int64_t> group,
    absl::Span<const absl::Span<const Value>> operands, const DeviceGrid& grid,
    MemoryBudget* budget);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICES_MANUAL_REGIONS_H_
