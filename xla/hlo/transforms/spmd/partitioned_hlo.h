#ifndef XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_H_
#define XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

struct PiecePlan;
struct ReshardPlan;

class SpmdPartitioner;

// A value of the original module as one of several devices has it: an
// instruction of the shape of a shard, which carries the sharding, and the
// shape of the whole.
//
// Shards are equally long, ceil(size / tiles); elements of a trailing shard
// beyond the whole are unspecified. Code that combines elements along a sharded
// dimension must call PadWithValue first. Devices are in the order of the tile
// assignment, whatever it is; the partition id must not be taken for the number
// of a tile.
class PartitionedHlo {
 public:
  // What ReshardAsWindowedInput returns: the operand of the local instruction,
  // its window, and, if needed, where to cut the shard out of the local result,
  // one scalar per dimension.
  struct WindowedInputShardReturnValue {
    HloInstruction* sharded_input;
    Window shard_window;
    std::optional<std::vector<HloInstruction*>> dynamic_slice_index_on_output;
  };

  struct ReshardCache {
    struct PerHloCache {
      absl::flat_hash_map<HloSharding, PartitionedHlo> reshard_cache;
      // Sharding, window, and everything else that matters, as text.
      std::vector<std::tuple<HloSharding, Window, std::string,
                             WindowedInputShardReturnValue>>
          window_reshard_cache;
      // Whether a reader is going to want the whole.
      bool whole_is_read = false;
    };
    // References to its values stay valid.
    absl::node_hash_map<HloInstruction*, PerHloCache> per_hlo_cache;
    // By the text of a grouping of devices.
    absl::flat_hash_map<std::string, std::unique_ptr<ReshardCache>>
        groupd_caches;
  };

  struct PartitioningState {
    SpmdBuilder* b;
    HloModule* module;
    int64_t num_replicas;
    HloInstruction* partition_id;
    SPMDCollectiveOpsCreator collective_ops_creator;
    int64_t* next_channel_id;
    ReshardCache* reshard_cache;
    SpmdPartitioner* partitioner;
  };

  PartitionedHlo(HloInstruction* hlo, Shape base_shape,
                 PartitioningState state);

  // With this one's base shape, state and, unless it has one, sharding.
  PartitionedHlo CloneWithNewHlo(HloInstruction* hlo) const;

  // The value under another sharding. Elements beyond the whole are
  // unspecified, or `pad_value`. To {manual} from a replicated value: the value
  // itself.
  PartitionedHlo Reshard(const HloSharding& target,
                         std::optional<Literal> pad_value = std::nullopt) const;

  // Elements beyond the whole become `pad_value` (a scalar). The padding of
  // `left_padded_dims` is at the low end.
  PartitionedHlo PadWithValue(
      HloInstruction* pad_value,
      absl::Span<const int64_t> left_padded_dims = {},
      absl::Span<const int64_t> skipped_dims = {}) const;
  HloInstruction* PadWithValueHlo(
      HloInstruction* pad_value,
      absl::Span<const int64_t> left_padded_dims = {},
      absl::Span<const int64_t> skipped_dims = {}) const;
  PartitionedHlo PadWithZero(absl::Span<const int64_t> left_padded_dims = {},
                             absl::Span<const int64_t> skipped_dims = {}) const;
  PartitionedHlo PadWithZeroOnSpecifiedDims(
      absl::Span<const int64_t> dims,
      absl::Span<const int64_t> left_padded_dims = {}) const;

  // What shards of a result under `target` read through `window`, one window
  // dimension per dimension of the value. Elements outside of the whole are
  // `pad_value` (a scalar) if `mask_invalid_region` or `force_mask_in_compact`,
  // otherwise unspecified. nullopt if gathering would send no more, or if
  // dilated operands under strided windows need different padding on each
  // device.
  //
  //   f32[8] {devices=[2]<=[2]}, window of 3, padding 1_1
  //       → f32[6] with one element of the neighbor, and one of padding
  std::optional<WindowedInputShardReturnValue> ReshardAsWindowedInput(
      const Window& window, const HloSharding& target,
      HloInstruction* pad_value, bool mask_invalid_region = true,
      bool force_mask_in_compact = false);

  // The whole value on every device, or, of a sharding with manual subgroups,
  // on every device of a subgroup.
  PartitionedHlo Replicate() const;
  // Whether it has been brought to `sharding`, which costs nothing any more.
  bool IsAlso(const HloSharding& sharding) const;
  bool IsAlsoWhole() const { return IsAlso(HloSharding::Replicate()); }
  // Whole along `dims`, unchanged along the others.
  HloInstruction* ReplicatePartial(absl::Span<const int64_t> dims) const;

  void AddReshardCache(const HloSharding& sharding, const PartitionedHlo& phlo);

  HloInstruction* hlo() const { return hlo_; }
  const HloSharding& sharding() const { return hlo_->sharding(); }
  void set_sharding(const HloSharding& sharding) {
    hlo_->set_sharding(sharding);
  }
  // Gives a named sharding its tiled form.
  void set_sharding_may_convert_to_v2() const {
    hlo_->set_sharding(HloSharding::V3ToV2Sharding(hlo_->sharding()));
  }
  int64_t num_dimensions() const { return base_shape_.dimensions().size(); }
  // As the partitioner's.
  bool enable_rgv3() const { return false; }
  int64_t NewChannel() const { return (*state_.next_channel_id)++; }
  const Shape& base_shape() const { return base_shape_; }
  void set_base_shape(const Shape& base_shape) { base_shape_ = base_shape; }
  const PartitioningState& state() const { return state_; }
  void set_state(PartitioningState state) { state_ = std::move(state); }

 private:
  PartitionedHlo ReshardNoCache(const HloSharding& target,
                                std::optional<Literal> pad_value) const;
  PartitionedHlo ReshardTuple(const HloSharding& target) const;
  // Between replicated and tiled shardings.
  PartitionedHlo ReshardArray(const HloSharding& target,
                              std::optional<Literal> pad_value) const;
  // From or to an unreduced sharding.
  PartitionedHlo ReshardAddends(const HloSharding& target,
                                std::optional<Literal> pad_value) const;
  // For a value with equal elements along some dimensions (SpmdBuilder): moves
  // one of each, and repeats it at the destination. Nullopt if there are none,
  // or if each device has its shard already.
  std::optional<PartitionedHlo> ReshardRepeated(
      const HloSharding& target) const;
  // By the steps of PlanReshard (reshard_plan.h).
  PartitionedHlo ReshardByPlan(const ReshardPlan& plan,
                               const HloSharding& target) const;
  // By the rounds of PlanPieces (reshard_pieces.h).
  PartitionedHlo ReshardByPieces(const PiecePlan& plan,
                                 const HloSharding& target) const;
  // Sends shards to the devices where a target of equally many tiles wants
  // them.
  PartitionedHlo ReshardWithCollectivePermute(const HloSharding& target) const;
  // Gathers the whole and cuts the shard out of it.
  PartitionedHlo GatherAndCut(const HloSharding& target) const;
  // Sends a single device's value to all, or to each its tile of `target`.
  PartitionedHlo Spread(const HloSharding& target) const;
  // Whether less moves to `target` from the whole, which is read anyway.
  bool IsBetterWhole(const HloSharding& target) const;
  // Whether those are tiles.
  bool IsScattered(const HloSharding& target) const;

  HloInstruction* hlo_;
  Shape base_shape_;
  PartitioningState state_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_H_
