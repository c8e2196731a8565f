#include "xla/hlo/evaluator/devices/manual_regions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

// How a call cuts a value.
struct ManualTiles {
  // Outside of the region.
  HloSharding sharding = HloSharding::Replicate();
  // Tiles of the dimension that are one tile in the region.
  std::vector<int64_t> free_tiles;
  std::vector<int64_t> whole;
  std::vector<int64_t> shard;

  // Where the device's tile starts; beyond the end for empty ones.
  std::vector<int64_t> OffsetOf(int64_t partition) const {
    std::vector<int64_t> offset(whole.size(), 0);
    if (!sharding.IsTiledLeaf()) return offset;
    const std::vector<int64_t> tile = sharding.TileIndexForDevice(partition);
    for (size_t i = 0; i < offset.size(); ++i) {
      offset[i] = tile[i] / free_tiles[i] * shard[i];
    }
    return offset;
  }
};

absl::StatusOr<HloSharding> ShardingOf(const HloInstruction* instruction) {
  if (!instruction->has_sharding() || instruction->sharding().IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("%", instruction->name(), " has no sharding"));
  }
  return instruction->sharding();
}

absl::StatusOr<ManualTiles> TilesOf(const HloInstruction* call, bool enters,
                                    int64_t partitions) {
  if (absl::StartsWith(
          Cast<HloCustomCallInstruction>(call)->custom_call_target(),
          "xla.sdy.")) {
    return absl::UnimplementedError("a manual region with named axes");
  }
  if (call->operand_count() != 1 || !call->shape().IsArray() ||
      !call->operand(0)->shape().IsArray()) {
    return absl::UnimplementedError(
        "a manual region whose border is not a single array");
  }
  const HloInstruction* outside = enters ? call->operand(0) : call;
  const HloInstruction* inside = enters ? call : call->operand(0);
  ManualTiles tiles;
  TF_ASSIGN_OR_RETURN(tiles.sharding, ShardingOf(outside));
  TF_RETURN_IF_ERROR(tiles.sharding.Validate(outside->shape(), partitions));
  if (inside->shape().element_type() != outside->shape().element_type() ||
      inside->shape().dimensions().size() !=
          outside->shape().dimensions().size()) {
    return absl::InvalidArgumentError(
        "the shapes inside and outside the region have different types or "
        "ranks");
  }
  // Manual axes of one device are not in the sharding.
  const bool subgroup =
      inside->has_sharding() && inside->sharding().IsTiledLeaf();
  for (size_t i = 0; i < outside->shape().dimensions().size(); ++i) {
    const int64_t size = outside->shape().dimensions(i);
    const int64_t all =
        tiles.sharding.IsTiledLeaf() ? tiles.sharding.dimension(i) : 1;
    const int64_t free = subgroup ? inside->sharding().dimension(i) : 1;
    if (all % free != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sharding ", tiles.sharding.ToString(),
                       " outside the region does not go with ",
                       inside->sharding().ToString(), " inside"));
    }
    tiles.free_tiles.push_back(free);
    tiles.whole.push_back(size);
    tiles.shard.push_back((size + all / free - 1) / (all / free));
    if (inside->shape().dimensions(i) != tiles.shard.back()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sharding ", tiles.sharding.ToString(), " does not make ",
          ShapeUtil::HumanString(inside->shape()), " of ",
          ShapeUtil::HumanString(outside->shape())));
    }
  }
  return tiles;
}

// Copies between the whole at `offset` and the start of the shard, as much as
// both have; `f(bytes of the whole, bytes of the shard, count)` for each row.
template <typename F>
void ForEachRow(const ManualTiles& tiles, absl::Span<const int64_t> offset,
                int64_t element_bytes, F f) {
  const size_t rank = tiles.whole.size();
  std::vector<int64_t> sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = std::min(tiles.shard[i], tiles.whole[i] - offset[i]);
    if (sizes[i] <= 0) return;
  }
  const int64_t row = rank == 0 ? 1 : sizes[rank - 1];
  std::vector<int64_t> index(rank, 0);
  while (true) {
    int64_t in_whole = 0, in_shard = 0;
    for (size_t i = 0; i < rank; ++i) {
      in_whole = in_whole * tiles.whole[i] + offset[i] + index[i];
      in_shard = in_shard * tiles.shard[i] + index[i];
    }
    f(in_whole * element_bytes, in_shard * element_bytes, row * element_bytes);
    size_t i = rank == 0 ? 0 : rank - 1;
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace

absl::StatusOr<Value> EnterManualRegion(const HloInstruction* call,
                                        const Value& whole, int64_t partition,
                                        int64_t partitions,
                                        MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(const ManualTiles tiles,
                      TilesOf(call, /*enters=*/true, partitions));
  TF_ASSIGN_OR_RETURN(Value shard,
                      Value::MakeZeros(whole.type(), tiles.shard, budget));
  ForEachRow(tiles, tiles.OffsetOf(partition), whole.element_bytes(),
             [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
               std::memcpy(shard.mutable_raw() + in_shard,
                           whole.raw() + in_whole, bytes);
             });
  return shard;
}

// Replicas never share a value. In a nested region the devices that leave it
// together differ only along its own manual axes; the outer ones, which are
// still manual outside, tell one group from another.
absl::StatusOr<std::vector<std::vector<int64_t>>> ManualRegionGroups(
    const HloInstruction* call, const DeviceGrid& grid) {
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> groups;
  const bool nested =
      call->has_sharding() && call->sharding().IsManualSubgroup();
  if (nested) {
    TF_RETURN_IF_ERROR(
        call->sharding().Validate(call->shape(), grid.partitions));
  }
  for (int64_t d = 0; d < grid.size(); ++d) {
    int64_t place = 0;
    if (nested) {
      const HloSharding& sharding = call->sharding();
      place = sharding.tile_assignment().index_for(
          grid.partition(d))[sharding.SubgroupManualDim()];
    }
    groups[{grid.replica(d), place}].push_back(d);
  }
  std::vector<std::vector<int64_t>> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

absl::StatusOr<std::vector<Value>> LeaveManualRegion(
    const HloInstruction* call, absl::Span<const int64_t> group,
    absl::Span<const absl::Span<const Value>> operands, const DeviceGrid& grid,
    MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(const ManualTiles tiles,
                      TilesOf(call, /*enters=*/false, grid.partitions));
  const PrimitiveType type = operands[0][0].type();
  TF_ASSIGN_OR_RETURN(Value whole, Value::MakeZeros(type, tiles.whole, budget));
  // The first device of each tile.
  std::map<std::vector<int64_t>, size_t> first;
  for (size_t k = 0; k < group.size(); ++k) {
    const Value& shard = operands[k][0];
    const std::vector<int64_t> offset =
        tiles.OffsetOf(grid.partition(group[k]));
    const auto [owner, inserted] = first.emplace(offset, k);
    bool same = true;
    ForEachRow(tiles, offset, shard.element_bytes(),
               [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
                 if (inserted) {
                   std::memcpy(whole.mutable_raw() + in_whole,
                               shard.raw() + in_shard, bytes);
                 } else {
                   same &= std::memcmp(whole.raw() + in_whole,
                                       shard.raw() + in_shard, bytes) == 0;
                 }
               });
    if (same) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("devices ", group[owner->second], " and ", group[k],
                     " hold the same tile of sharding ",
                     tiles.sharding.ToString(), " with different elements"));
  }
  return std::vector<Value>(group.size(), whole);
}

}  // namespace evaluator
}  // namespace xla
