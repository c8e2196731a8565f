#include "xla/hlo/evaluator/run/sharded_literals.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The part of a leaf on a device: [offset, limit) of the whole, at the start
// of the shard.
struct Region {
  std::vector<int64_t> offset;
  std::vector<int64_t> limit;

  std::vector<int64_t> sizes() const {
    std::vector<int64_t> sizes = limit;
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] -= offset[i];
    return sizes;
  }
  bool empty() const {
    for (size_t i = 0; i < offset.size(); ++i) {
      if (offset[i] >= limit[i]) return true;
    }
    return false;
  }
};

// Nothing where the device holds none of it.
//
// Only the valid part of a shard: with f32[5] on 4 devices the third one has
// one element and a place of padding, and the fourth nothing but padding.
std::optional<Region> RegionOf(const Shape& leaf, const HloSharding& sharding,
                               int64_t device) {
  if (sharding.IsSingleDeviceLeaf() && sharding.GetUniqueDevice() != device) {
    return std::nullopt;
  }
  return Region{sharding.TileOffsetForDevice(leaf, device),
                sharding.TileLimitForDevice(leaf, device)};
}

absl::Status CheckSharding(const Shape& shape, const HloSharding& sharding,
                           int64_t num_devices) {
  TF_RETURN_IF_ERROR(sharding.Validate(shape, num_devices));
  const auto check = [&](const HloSharding& leaf) -> absl::Status {
    if (leaf.IsSingleDeviceLeaf() &&
        (leaf.GetUniqueDevice() < 0 || leaf.GetUniqueDevice() >= num_devices)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sharding ", leaf.ToString(), " on ", num_devices, " devices"));
    }
    return absl::OkStatus();
  };
  if (!sharding.IsTuple()) return check(sharding);
  for (const HloSharding& leaf : sharding.tuple_elements()) {
    TF_RETURN_IF_ERROR(check(leaf));
  }
  return absl::OkStatus();
}

// Calls f(index, shape, sharding) for each array of a value; the first error
// ends it.
absl::Status ForEachArray(
    const Shape& shape, const HloSharding& sharding,
    absl::FunctionRef<absl::Status(const ShapeIndex&, const Shape&,
                                   const HloSharding&)>
        f) {
  std::optional<ShapeTree<HloSharding>> tree;
  if (shape.IsTuple()) {
    TF_ASSIGN_OR_RETURN(const HloSharding full,
                        sharding.GetTupleSharding(shape));
    TF_ASSIGN_OR_RETURN(ShapeTree<HloSharding> leaves, full.AsShapeTree(shape));
    tree.emplace(std::move(leaves));
  }
  for (const ShapeUtil::IndexedShape& leaf : ShapeUtil::GetLeafShapes(shape)) {
    if (!leaf.shape.IsArray()) continue;
    TF_RETURN_IF_ERROR(
        f(leaf.index, leaf.shape,
          tree.has_value() ? tree->element(leaf.index) : sharding));
  }
  return absl::OkStatus();
}

absl::Status CopyBox(Literal& to, absl::Span<const int64_t> to_base,
                     const LiteralSlice& from,
                     absl::Span<const int64_t> from_base,
                     absl::Span<const int64_t> sizes) {
  if (sizes.empty()) {
    to.CopyElementFrom(from, {}, {});
    return absl::OkStatus();
  }
  return to.CopySliceFrom(from, from_base, to_base, sizes);
}

// Copies a part of an array into a new array.
absl::StatusOr<Literal> Cut(const LiteralSlice& from,
                            absl::Span<const int64_t> base,
                            absl::Span<const int64_t> sizes) {
  TF_ASSIGN_OR_RETURN(Literal part, Literal::Make(ShapeUtil::MakeShape(
                                        from.shape().element_type(), sizes)));
  const std::vector<int64_t> zeros(sizes.size(), 0);
  TF_RETURN_IF_ERROR(CopyBox(part, zeros, from, base, sizes));
  return part;
}

absl::Status CheckShards(const Shape& shape, const HloSharding& sharding,
                         absl::Span<const Literal* const> shards) {
  TF_RETURN_IF_ERROR(
      CheckSharding(shape, sharding, static_cast<int64_t>(shards.size())));
  TF_ASSIGN_OR_RETURN(const HloSharding full,
                      shape.IsTuple() ? sharding.GetTupleSharding(shape)
                                      : absl::StatusOr<HloSharding>(sharding));
  const Shape expected = full.TileShape(shape);
  for (const Literal* shard : shards) {
    if (ShapeUtil::Compatible(shard->shape(), expected)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "shards are ", ShapeUtil::HumanString(shard->shape()), "; those of ",
        ShapeUtil::HumanString(shape), " by sharding ", sharding.ToString(),
        " are ", ShapeUtil::HumanString(expected)));
  }
  return absl::OkStatus();
}

// The place of each device among those that hold addends of its tile; empty for
// leaves without addends.
std::vector<int64_t> PlacesOfAddends(const HloSharding& leaf,
                                     int64_t num_devices) {
  std::vector<int64_t> places;
  if (leaf.IsUnreducedLeaf()) {
    for (int64_t d = 0; d < num_devices; ++d) places.push_back(d);
  } else if (const std::optional<int64_t> dim = UnreducedDim(leaf)) {
    places.resize(num_devices);
    leaf.tile_assignment().Each(
        [&](absl::Span<const int64_t> index, int64_t device) {
          places[device] = index[*dim];
        });
  }
  return places;
}

// The addend that changes nothing.
Literal Nothing(PrimitiveType type, ReductionOp op) {
  switch (op) {
    case ReductionOp::kMax:
      return LiteralUtil::MinValue(type);
    case ReductionOp::kMin:
      return LiteralUtil::MaxValue(type);
    case ReductionOp::kSum:
      break;
  }
  return LiteralUtil::Zero(type);
}

// What makes one value of two addends.
HloOpcode CombinerOf(ReductionOp op) {
  switch (op) {
    case ReductionOp::kMax:
      return HloOpcode::kMaximum;
    case ReductionOp::kMin:
      return HloOpcode::kMinimum;
    case ReductionOp::kSum:
      break;
  }
  return HloOpcode::kAdd;
}

// The shards under WithSums(sharding): each device has the sum of the addends
// of its group.
absl::StatusOr<std::vector<Literal>> SumAddends(
    const Shape& shape, const HloSharding& sharding,
    absl::Span<const Literal* const> shards) {
  std::vector<Literal> sums;
  for (const Literal* shard : shards) sums.push_back(shard->Clone());
  const int64_t devices = static_cast<int64_t>(shards.size());
  TF_RETURN_IF_ERROR(ForEachArray(
      shape, sharding,
      [&](const ShapeIndex& index, const Shape& leaf,
          const HloSharding& leaf_sharding) -> absl::Status {
        const std::vector<int64_t> places =
            PlacesOfAddends(leaf_sharding, devices);
        if (places.empty()) return absl::OkStatus();
        // By tile and copy of it: groups differ in nothing else.
        std::map<std::vector<int64_t>, std::vector<int64_t>> groups;
        if (leaf_sharding.IsUnreducedLeaf()) {
          groups[{}] = places;
        } else {
          leaf_sharding.tile_assignment().Each(
              [&](absl::Span<const int64_t> at, int64_t device) {
                std::vector<int64_t> group(at.begin(), at.end());
                group[*UnreducedDim(leaf_sharding)] = 0;
                groups[group].push_back(device);
              });
        }
        for (const auto& [tile, members] : groups) {
          TF_ASSIGN_OR_RETURN(Literal sum, Literal::Make(ShapeUtil::GetSubshape(
                                               shards[0]->shape(), index)));
          TF_RETURN_IF_ERROR(
              sum.CopyFrom(LiteralSlice(*shards[members[0]], index)));
          for (size_t i = 1; i < members.size(); ++i) {
            TF_ASSIGN_OR_RETURN(
                sum, HloEvaluator().EvaluateElementwiseBinaryOp(
                         CombinerOf(leaf_sharding.reduction_op()), sum,
                         LiteralSlice(*shards[members[i]], index).Clone()));
          }
          for (int64_t member : members) {
            TF_RETURN_IF_ERROR(sums[member].CopyFrom(sum, index));
          }
        }
        return absl::OkStatus();
      }));
  return sums;
}

std::vector<const Literal*> Pointers(absl::Span<const Literal> literals) {
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  return pointers;
}

}  // namespace

absl::StatusOr<std::vector<Literal>> SplitLiteral(const LiteralSlice& whole,
                                                  const HloSharding& sharding,
                                                  int64_t num_devices) {
  const Shape& shape = whole.shape();
  TF_RETURN_IF_ERROR(CheckSharding(shape, sharding, num_devices));
  TF_ASSIGN_OR_RETURN(const HloSharding full,
                      shape.IsTuple() ? sharding.GetTupleSharding(shape)
                                      : absl::StatusOr<HloSharding>(sharding));
  const Shape shard_shape = full.TileShape(shape);
  std::vector<Literal> shards;
  for (int64_t device = 0; device < num_devices; ++device) {
    TF_ASSIGN_OR_RETURN(Literal shard, PoisonLiteral(shard_shape, device));
    TF_RETURN_IF_ERROR(ForEachArray(
        shape, full,
        [&](const ShapeIndex& index, const Shape& leaf,
            const HloSharding& leaf_sharding) -> absl::Status {
          const std::optional<Region> region =
              RegionOf(leaf, leaf_sharding, device);
          if (!region.has_value() || region->empty()) return absl::OkStatus();
          TF_ASSIGN_OR_RETURN(
              Literal array,
              Literal::Make(ShapeUtil::GetSubshape(shard_shape, index)));
          TF_RETURN_IF_ERROR(array.CopyFrom(LiteralSlice(shard, index)));
          const std::vector<int64_t> zeros(region->offset.size(), 0);
          const std::vector<int64_t> places =
              PlacesOfAddends(leaf_sharding, num_devices);
          if (!places.empty() && places[device] != 0) {
            const Literal nothing =
                Nothing(leaf.element_type(), leaf_sharding.reduction_op());
            TF_ASSIGN_OR_RETURN(
                const Literal zeros_of_shard,
                nothing.Broadcast(array.shape(), /*dimensions=*/{}));
            TF_RETURN_IF_ERROR(
                CopyBox(array, zeros, zeros_of_shard, zeros, region->sizes()));
            return shard.MoveFrom(std::move(array), index);
          }
          TF_RETURN_IF_ERROR(CopyBox(array, zeros, LiteralSlice(whole, index),
                                     region->offset, region->sizes()));
          return shard.MoveFrom(std::move(array), index);
        }));
    shards.push_back(std::move(shard));
  }
  return shards;
}

absl::StatusOr<Literal> AssembleLiteral(
    const Shape& shape, const HloSharding& sharding,
    absl::Span<const Literal* const> shards) {
  TF_RETURN_IF_ERROR(CheckShards(shape, sharding, shards));
  if (HasUnreduced(sharding)) {
    TF_ASSIGN_OR_RETURN(const std::vector<Literal> sums,
                        SumAddends(shape, sharding, shards));
    return AssembleLiteral(shape, WithSums(sharding), Pointers(sums));
  }
  TF_ASSIGN_OR_RETURN(Literal whole, Literal::Make(shape));
  TF_RETURN_IF_ERROR(ForEachArray(
      shape, sharding,
      [&](const ShapeIndex& index, const Shape& leaf,
          const HloSharding& leaf_sharding) -> absl::Status {
        TF_ASSIGN_OR_RETURN(Literal array, Literal::Make(leaf));
        const std::vector<int64_t> zeros(leaf.dimensions().size(), 0);
        // Backwards, so that the first device that holds a tile decides its
        // contents.
        for (size_t device = shards.size(); device-- > 0;) {
          const std::optional<Region> region =
              RegionOf(leaf, leaf_sharding, static_cast<int64_t>(device));
          if (!region.has_value() || region->empty()) continue;
          TF_RETURN_IF_ERROR(CopyBox(array, region->offset,
                                     LiteralSlice(*shards[device], index),
                                     zeros, region->sizes()));
        }
        return whole.MoveFrom(std::move(array), index);
      }));
  return whole;
}

absl::StatusOr<std::optional<std::string>> FindShardDifference(
    absl::Span<const Literal* const> whole, const HloSharding& sharding,
    absl::Span<const Literal* const> shards, const ShardTolerance& tolerance) {
  if (whole.size() != shards.size() || whole.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        whole.size(), " values for shards of ", shards.size(), " devices"));
  }
  const Shape& shape = whole[0]->shape();
  TF_RETURN_IF_ERROR(CheckShards(shape, sharding, shards));
  if (HasUnreduced(sharding)) {
    TF_ASSIGN_OR_RETURN(const std::vector<Literal> sums,
                        SumAddends(shape, sharding, shards));
    return FindShardDifference(whole, WithSums(sharding), Pointers(sums),
                               tolerance);
  }
  std::optional<std::string> found;
  TF_RETURN_IF_ERROR(ForEachArray(
      shape, sharding,
      [&](const ShapeIndex& index, const Shape& leaf,
          const HloSharding& leaf_sharding) -> absl::Status {
        for (size_t d = 0; d < shards.size() && !found.has_value(); ++d) {
          const std::optional<Region> region =
              RegionOf(leaf, leaf_sharding, static_cast<int64_t>(d));
          if (!region.has_value() || region->empty()) continue;
          const std::vector<int64_t> zeros(region->offset.size(), 0);
          TF_ASSIGN_OR_RETURN(const Literal expected,
                              Cut(LiteralSlice(*whole[d], index),
                                  region->offset, region->sizes()));
          TF_ASSIGN_OR_RETURN(
              const Literal actual,
              Cut(LiteralSlice(*shards[d], index), zeros, region->sizes()));
          TF_ASSIGN_OR_RETURN(
              const std::optional<LiteralDifference> difference,
              tolerance.tolerance.has_value()
                  ? FindDifference(expected, actual, *tolerance.tolerance,
                                   tolerance.errors)
                  : FindDifferenceByType(expected, actual, tolerance.scale,
                                         tolerance.errors));
          if (!difference.has_value()) continue;
          found = absl::StrCat(
              difference->ToString(), index.empty() ? "" : " of element ",
              index.empty() ? "" : index.ToString(), " in the shard of device ",
              d, ", sharding ", leaf_sharding.ToString());
        }
        return absl::OkStatus();
      }));
  return found;
}

absl::StatusOr<std::optional<std::string>> FindReplicaDifference(
    const Shape& shape, const HloSharding& sharding,
    absl::Span<const Literal* const> shards) {
  TF_RETURN_IF_ERROR(CheckShards(shape, sharding, shards));
  if (HasUnreduced(sharding)) {
    TF_ASSIGN_OR_RETURN(const std::vector<Literal> sums,
                        SumAddends(shape, sharding, shards));
    return FindReplicaDifference(shape, WithSums(sharding), Pointers(sums));
  }
  std::optional<std::string> found;
  TF_RETURN_IF_ERROR(ForEachArray(
      shape, sharding,
      [&](const ShapeIndex& index, const Shape& leaf,
          const HloSharding& leaf_sharding) -> absl::Status {
        if (leaf_sharding.IsManualLeaf() || leaf_sharding.IsUnknownLeaf() ||
            leaf_sharding.IsSingleDeviceLeaf() ||
            leaf_sharding.IsManualSubgroup()) {
          return absl::OkStatus();
        }
        // The first device of each tile, by where the tile starts.
        std::map<std::vector<int64_t>, std::pair<size_t, Literal>> first;
        for (size_t d = 0; d < shards.size() && !found.has_value(); ++d) {
          const std::optional<Region> region =
              RegionOf(leaf, leaf_sharding, static_cast<int64_t>(d));
          if (region->empty()) continue;
          const std::vector<int64_t> zeros(region->offset.size(), 0);
          TF_ASSIGN_OR_RETURN(Literal part, Cut(LiteralSlice(*shards[d], index),
                                                zeros, region->sizes()));
          auto it = first.find(region->offset);
          if (it == first.end()) {
            first.emplace(region->offset, std::make_pair(d, std::move(part)));
            continue;
          }
          TF_ASSIGN_OR_RETURN(
              const std::optional<LiteralDifference> difference,
              FindDifference(it->second.second, part, Tolerance()));
          if (!difference.has_value()) continue;
          found = absl::StrCat("devices ", it->second.first, " and ", d,
                               " hold the same tile",
                               index.empty() ? "" : " of element ",
                               index.empty() ? "" : index.ToString(),
                               " but differ: ", difference->ToString());
        }
        return absl::OkStatus();
      }));
  return found;
}

}  // namespace xla
