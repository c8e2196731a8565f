#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_ANNOTATIONS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_ANNOTATIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

namespace xla {

// Frontend attribute: when to propagate each dimension, 0 (if there is none)
// first: `0,2,1`, or `0,2;1` for a tuple of an array of two dimensions and one
// of one.
inline constexpr absl::string_view kShardingPriorities = "sharding_priorities";

// The value of that attribute: a list per leaf of the shape, with a number per
// dimension; nothing without it. InvalidArgument for other texts.
absl::StatusOr<std::vector<std::vector<int64_t>>> ShardingPriorities(
    const HloInstruction& inst);

// ShardBarrierFrom, which stops shardings from spreading to its users, or
// ShardBarrierTo, which stops them from spreading to its operand.
bool IsShardBarrier(const HloInstruction& inst);
// Lets their users read their operands instead. Returns whether there were any.
absl::StatusOr<bool> RemoveShardBarriers(HloModule* module);

// The dimensions that a `Sharding` call or a border of a manual region leaves
// open: `unspecified_dims=[0,2]` in its backend config. Empty for malformed
// texts, which CheckAnnotation reports.
std::vector<int64_t> UnspecifiedDims(const HloInstruction& inst);

// InvalidArgument with instruction, sharding and shape unless the instruction's
// sharding fits its shape and is over *devices devices (0: not known yet; set
// by the first sharding that tells).
absl::Status CheckAnnotation(const HloInstruction& inst, int64_t* devices);

// InvalidArgument unless the sharding fits the shape and is over the devices of
// the module; any number of devices is accepted if the module has one
// partition, the default.
absl::Status ValidateInModule(const HloSharding& sharding, const Shape& shape,
                              const HloModule& module);

// The sharding, open in all `rank` dimensions, of a value in the manual region
// in which another value has `leaf`: manual along the same axes.
HloSharding OpenInManualRegion(const HloSharding& leaf, int64_t rank);

// Makes everything manual that is computed from manual values, from
// SPMDFullToShardShape to SPMDShardToFullShape, through loops and calls:
// {manual} or, if the region is manual along some axes only, open along the
// others. Returns whether anything changed.
absl::StatusOr<bool> SpreadManualShardings(HloModule* module);

// Gives values that borders of manual regions read out of tuples the shardings
// that the tuples have, which describe the inside, as annotations of their own.
// Returns whether there were any.
bool AnnotateElementsAtBorders(HloModule* module);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_ANNOTATIONS_H_
