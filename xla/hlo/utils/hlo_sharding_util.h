#ifndef XLA_HLO_UTILS_HLO_SHARDING_UTIL_H_
#define XLA_HLO_UTILS_HLO_SHARDING_UTIL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"  // IWYU pragma: export
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {
namespace hlo_sharding_util {

// The algebra of shardings: pure functions from shardings to shardings.
//
//   TransposeSharding({devices=[2,4]<=[8]}, {1,0})
//       → {devices=[4,2]<=[2,4]T(1,0)}
//   PartiallyReplicateTiledShardingOnDims({devices=[2,4]<=[8]}, {0})
//       → {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}
//
// Arguments are leaves unless said otherwise. Leaves that cut nothing
// (replicated, one device, manual, unknown, unreduced) come back as they are.
// Named shardings are answered in their tiled form. An iota assignment stays
// one wherever a rule for the result exists, and then costs O(rank), not
// O(devices); listed devices cost O(devices). Subgroup dimensions stay behind
// the data dimensions and keep their types; metadata is kept.

// --- Dimensions.

// Dimension i of the result is dimension dimensions[i] of the argument.
HloSharding TransposeSharding(const HloSharding& sharding,
                              absl::Span<const int64_t> dimensions);

// Reverses the order of the tiles along `dimensions`.
HloSharding ReverseSharding(const HloSharding& sharding,
                            absl::Span<const int64_t> dimensions);

// The tiles along these dimensions become replicas of each other.
HloSharding PartiallyReplicateTiledShardingOnDims(
    const HloSharding& sharding, absl::Span<const int64_t> dims_to_replicate);
HloSharding PartiallyReplicateTiledShardingOnAllDimsExcept(
    const HloSharding& sharding, absl::Span<const int64_t> dims_to_keep);
// No data dimension is cut; manual and unreduced subgroups stay. `data_rank`
// (-1: that of the argument) is the rank of the result.
HloSharding ReplicateAllDataDims(const HloSharding& sharding,
                                 int64_t data_rank = -1);

// CHECK-fails if one of the dimensions is cut.
HloSharding RemoveShapeDimensions(const HloSharding& sharding,
                                  absl::Span<const int64_t> dims_to_remove);
// `num_dims` uncut dimensions before dimension `insertion_index`.
HloSharding AddShapeDimensions(const HloSharding& sharding,
                               int64_t insertion_index, int64_t num_dims);

// Renames dimensions: src_to_tgt[i] is the new place of dimension i, or -1 if
// it goes; tgt_to_src is the inverse, -1 for new dimensions, which are not cut.
// The tiles of dimensions that go become replicas. nullopt if the two maps
// contradict each other.
std::optional<HloSharding> TransposeShardingWithCollapsedDims(
    const HloSharding& source, absl::Span<int64_t const> src_to_tgt,
    absl::Span<int64_t const> tgt_to_src);

// Dimension target_dims[i] of the result is cut as source_dims[i] is; the
// others are not.
HloSharding PropagateShardingAlongDimsAndReplicateOthers(
    const HloSharding& source_sharding, absl::Span<const int64_t> source_dims,
    absl::Span<const int64_t> target_dims, int64_t target_shape_rank);

// Moves the tiles of one dimension into another, as its minor part:
//   {devices=[2,3,5]<=[30]}, 0, 1  →  {devices=[1,6,5]<=[2,3,5]T(1,0,2)}
HloSharding MoveAndMergeShardingTiles(const HloSharding& sharding,
                                      int64_t source_dim, int64_t target_dim);
// The first other dimension whose size its own tiles and those of `source_dim`
// divide, and that `can_be_target_dim` accepts.
std::optional<int64_t> GetFirstTargetDimToMoveShardingTiles(
    const Shape& shape, const HloSharding& sharding, int64_t source_dim,
    std::function<bool(int64_t)> can_be_target_dim = [](int64_t) {
      return true;
    });

// Dimension d of n tiles becomes two: [.., new_dim_size, n / new_dim_size, ..].
// CHECK-fails unless new_dim_size divides n.
HloSharding SplitShardingDimension(const HloSharding& sharding,
                                   int64_t dimension, int64_t new_dim_size);
// Dimensions d and d + 1 become one.
HloSharding MergeShardingDimension(const HloSharding& sharding,
                                   int64_t dimension);

// --- Reshape.

// The sharding of the result for which a reshape moves no data, or nullopt.
//   f32[8,4] → f32[2,16], {devices=[2,1]<=[2]}  →  {devices=[2,1]<=[2]}
//   f32[8,4] → f32[32], {devices=[1,2]<=[2]}    →  nullopt
std::optional<HloSharding> ReshapeSharding(const Shape& source_shape,
                                           const Shape& target_shape,
                                           const HloSharding& source_sharding);
// The same, keeping what can be kept and replicating the rest.
HloSharding PropagateShardingThroughReshape(const Shape& source_shape,
                                            const Shape& target_shape,
                                            const HloSharding& sharding);

// --- Order and merge. Tuples are compared and merged element by element.

// True if lhs says more than rhs: anything over {unknown}, manual over a single
// device and replicated, a single device over replicated, else more tiles.
bool IsShardingMoreSpecific(const HloSharding& lhs, const HloSharding& rhs);
// True if each device's tile under the first lies in its tile under the second.
bool IsSubTilingOrEqualSharding(const Shape& shape,
                                const HloSharding& potential_subsharding,
                                const HloSharding& sharding);
// Replaces *dst by the common refinement of both, if there is one with equally
// many devices on every tile and at least `minimum_tiles` tiles:
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate} and
//   {devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
//       → {devices=[2,2]<=[4]}
// Returns whether it did. The two must have subgroups of the same types.
bool MergeShardingIfCompatible(const HloSharding& to_merge,
                               int64_t minimum_tiles, HloSharding* dst);
// With minimum_tiles = tiles of *dst + 1.
bool MergeShardingIfCompatible(const HloSharding& to_merge, HloSharding* dst);
// What to have in the place of `now` where `offered` improves on it, else
// nullopt. With `combine`, the common refinement of two that are partially
// replicated, if it has more tiles than either; else `offered`, if it is more
// specific. Of a tuple, elements without improvement are those of `now`.
std::optional<HloSharding> BetterSharding(const HloSharding& offered,
                                          const HloSharding& now, bool combine);
// Whether *dst, or an element of it, improves on to_merge in the sense of
// BetterSharding; where it does, *dst becomes that.
bool MergeSharding(const HloSharding& to_merge, HloSharding* dst,
                   bool may_combine_partial_sharding);
// What all have in common: the first, replicated on the dimensions that some
// other cuts differently. nullopt of the default means replicated.
HloSharding FindCommonSharding(
    absl::Span<const HloSharding> shardings,
    std::optional<HloSharding> default_sharding = std::nullopt);
// `from` if it improves on *to_improved (null: none yet), or their merge if
// that has more tiles than both. Nothing if `from` is a single device, or has
// more tiles than *to_improved but other elements on a device, unless
// `allow_aggressive_resharding`.
std::optional<HloSharding> ReturnImprovedShardingImpl(
    HloSharding from, const HloSharding* to_improved,
    const Shape& to_improved_shape, bool may_combine_partial_sharding,
    bool allow_aggressive_resharding = false);

// --- Groups of devices.

// Devices in groups: a tile assignment of dimensions [groups, group size].
class DeviceGroupTileAssignment : public TileAssignment {
 public:
  DeviceGroupTileAssignment(int64_t num_groups, int64_t num_devices_per_group)
      : TileAssignment(
            absl::MakeConstSpan({num_groups, num_devices_per_group})) {}
  DeviceGroupTileAssignment(int64_t num_groups, int64_t num_devices_per_group,
                            absl::Span<const int64_t> reshape_dims,
                            absl::Span<const int> transpose_perm)
      : TileAssignment(absl::MakeConstSpan({num_groups, num_devices_per_group}),
                       reshape_dims, transpose_perm) {}
  // CHECK-fails unless of rank 2.
  explicit DeviceGroupTileAssignment(const TileAssignment& tile_assignment);
  // CHECK-fails unless the groups are of one size.
  explicit DeviceGroupTileAssignment(
      absl::Span<const std::vector<int64_t>> device_groups);

  bool has_iota() const { return iota().has_value(); }
  int64_t num_total_devices() const { return num_elements(); }
  int64_t num_groups() const { return dim(0); }
  int64_t num_devices_per_group() const { return dim(1); }
  // O(devices).
  std::vector<std::vector<int64_t>> flattened_device_groups() const;
};

// A sharding in two levels: the groups stand at the coordinates of group_dims
// (row-major, the major part of each dimension), and within each group
// `sharding` places the rest over the ids 0..k-1, the positions in the group.
// A group dimension at or behind data_rank is a subgroup dimension: manual if
// subgroup_manual, else replicated.
struct GroupedSharding {
  GroupedSharding(DeviceGroupTileAssignment device_groups,
                  DimensionVector group_dims, DimensionVector group_dim_sizes,
                  int64_t data_rank, HloSharding grouped_sharding,
                  bool subgroup_manual = false)
      : device_groups(std::move(device_groups)),
        group_dims(std::move(group_dims)),
        group_dim_sizes(std::move(group_dim_sizes)),
        data_rank(data_rank),
        sharding(std::move(grouped_sharding)),
        subgroup_manual(subgroup_manual) {}
  std::string ToString() const;

  DeviceGroupTileAssignment device_groups;
  DimensionVector group_dims;
  // Number of groups along each group dimension.
  DimensionVector group_dim_sizes;
  int64_t data_rank;
  HloSharding sharding;
  bool subgroup_manual;
};

// Groups on tile dimensions (subgroup dimensions count on from the rank), each
// leaving group_dim_shards[i] tiles inside its groups; 1 in the second form.
// CHECK-fails for leaves without tiles.
GroupedSharding GroupShardingOnDims(const HloSharding& sharding,
                                    absl::Span<const int64_t> group_dims,
                                    absl::Span<const int64_t> group_dim_shards,
                                    bool subgroup_manual = false);
GroupedSharding GroupShardingOnDims(const HloSharding& sharding,
                                    absl::Span<const int64_t> group_dims,
                                    bool subgroup_manual = false);
GroupedSharding GroupShardingOnAllDimsExcept(
    const HloSharding& sharding, absl::Span<const int64_t> non_group_dims,
    bool subgroup_manual = false);
// `num_groups` groups of a sharding of `num_tiles` devices that hold equal
// data: part of its replicas; else, prime by prime, tiles along
// `replicable_dims` (first ones first) are made replicas; else everything is.
GroupedSharding GroupShardingOnReplicatedDim(
    const HloSharding& sharding, int64_t num_groups, int64_t num_tiles,
    int64_t data_rank, absl::Span<const int64_t> replicable_dims = {});
// Everything replicated within consecutive groups.
GroupedSharding GetGroupedReplicatedSharding(int64_t num_groups,
                                             int64_t num_tiles,
                                             int64_t data_rank);
// Groups at the coordinates of the manual subgroup dimension.
GroupedSharding GetManualSubgroupSharding(const HloSharding& sharding);
// Groups as given that hold equal data, `num_shards` of them; nullopt if the
// replicas of `sharding` do not lie across these groups in one and the same
// way.
std::optional<GroupedSharding>
PartialReplicatedGroupShardingWithAssignedDeviceGroups(
    const HloSharding& sharding, int64_t num_shards,
    const DeviceGroupTileAssignment& device_groups);
// The inverse of grouping.
HloSharding UngroupSharding(const GroupedSharding& grouped_sharding);
// Whether both have the same sets of devices as groups, in the same order
// unless that is ignored.
bool DeviceGroupsAreMatch(const GroupedSharding& lhs,
                          const GroupedSharding& rhs,
                          bool ignore_group_order = true);

// The same sharding over the groups of `reference`, with ids inside the groups
// renamed so that no data moves, where one renaming serves all groups; the
// second form is nullopt where none does.
GroupedSharding AlignGroupsWith(GroupedSharding grouped_sharding,
                                const GroupedSharding& reference,
                                bool ignore_group_order = false);
std::optional<GroupedSharding> AlignGroupsWithIfCompatible(
    GroupedSharding grouped_sharding, const GroupedSharding& reference);

// A sharding with the tiles of `target` that every device of `partial` can cut
// out of its own tile, in the target's device order if that does. nullopt
// unless each dimension of `target` has a multiple of the tiles, and there are
// replicas enough.
std::optional<HloSharding> PartialReplicateReshardCompatibleSharding(
    const HloSharding& partial_sharding, const HloSharding& target_sharding);

// --- Shapes.

// The shape of one tile, and the whole of which `shape` is a tile. The `Leaf`
// forms take arrays only.
Shape TileShape(const HloSharding& sharding, const Shape& shape);
Shape TileLeafShape(const HloSharding& sharding, const Shape& shape);
Shape UntileShape(const HloSharding& sharding, const Shape& shape);
Shape UntileLeafShape(const HloSharding& sharding, const Shape& shape);

// One way from an array to a form that fits a computation, and back:
//   pad        high edges with padding_value; back: slice
//   transpose  by xpose_permutation; back: by its inverse
//   reshape    back: reshape
// to output_shape, and back to reverse_input_shape where that is given, else to
// input_shape. Element types are those of the data.
struct FormattingStep {
  Shape input_shape;
  Shape output_shape;
  std::optional<Shape> reverse_input_shape;
  HloOpcode formatting_opcode;
  HloInstruction* padding_value = nullptr;
  std::optional<absl::Span<const int64_t>> xpose_permutation;
};
// All steps in order, or undone from the last to the first. New instructions go
// into `computation`. CHECK-fails for other opcodes.
HloInstruction* FormatShape(HloInstruction* data,
                            absl::Span<const FormattingStep> formatting_steps,
                            HloComputation* computation);
HloInstruction* ReverseFormatShape(
    HloInstruction* data, absl::Span<const FormattingStep> formatting_steps,
    HloComputation* computation);

// The tuple sharding of `elements`, {replicated} for those that have none; null
// if none has any.
std::shared_ptr<const HloSharding> CreateTupleSharding(
    const Shape& shape, absl::Span<const HloInstruction* const> elements);
// That of the array an instruction produces (for outfeed: without the token).
std::optional<HloSharding> GetOutputSharding(const HloInstruction* instruction);

// --- Products.

// The sharding of operand `operand_index` that fits that of the product, and,
// if considered, that of the other operand along batch and contracting
// dimensions; {replicated} where they say nothing. Null: not known.
HloSharding InferDotOperandSharding(
    const HloSharding* dot_sharding, const HloSharding* other_operand_sharding,
    int64_t operand_index,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dnums,
    bool consider_other_operand, bool may_combine_partial_sharding);
// With the shardings that the instructions have.
HloSharding InferDotOperandSharding(
    const HloInstruction* dot, int64_t operand_index,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dnums,
    bool consider_other_operand, bool may_combine_partial_sharding);

// --- What the caller of a module sees. Flags are one for all, or one per
// element of the root, and per parameter or element of a single tuple
// parameter.

// No device has padding: tiles divide the dimensions that they cut, in all
// elements of a tuple; true for untiled shardings.
bool EvenlyPartitions(const Shape& shape, const HloSharding& sharding);
// Entry parameters and results whose tiles would be uneven become replicated.
void ReplicateBoundaryShardingsIfIndivisible(
    HloModule* module, absl::Span<const bool> process_output,
    absl::Span<const bool> process_parameters);
// Asks the module's layout callback, if it has one, for the layouts of entry
// parameters and results with a flag. InvalidArgument if what it gives has
// other dimensions.
absl::Status CanonicalizeLayoutAfterShardingPropagation(
    HloModule* module, absl::Span<const bool> update_output_layout,
    absl::Span<const bool> update_parameters_layout);

// Lists the devices instead of giving the rule.
void ConvertV2ToV1Sharding(OpSharding& sharding);

}  // namespace hlo_sharding_util
}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_SHARDING_UTIL_H_
