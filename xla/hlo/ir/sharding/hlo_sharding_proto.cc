#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

absl::Status Invalid(const OpSharding& proto, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "bad OpSharding: ", why, ": ", proto.ShortDebugString().substr(0, 500)));
}

}  // namespace

OpSharding HloSharding::TiledToProto() const {
  OpSharding proto;
  proto.set_type(OpSharding::OTHER);
  for (int64_t dim : dimensions()) proto.add_tile_assignment_dimensions(dim);
  if (const std::optional<IotaTileAssignment>& iota = tile_assignment_.iota()) {
    for (int64_t dim : iota->reshape_dims()) proto.add_iota_reshape_dims(dim);
    for (int p : iota->transpose_perm()) proto.add_iota_transpose_perm(p);
  } else {
    for (int64_t device : tile_assignment_.array()) {
      proto.add_tile_assignment_devices(device);
    }
  }
  proto.set_replicate_on_last_tile_dim(replicate_on_last_tile_dim_);
  for (OpSharding::Type type : subgroup_types_) proto.add_last_tile_dims(type);
  return proto;
}

OpSharding HloSharding::ToProto() const {
  OpSharding proto;
  if (IsTuple()) {
    proto.set_type(OpSharding::TUPLE);
    for (const HloSharding& element : tuple_elements_) {
      *proto.add_tuple_shardings() = element.ToProto();
    }
    return proto;
  }
  // Without axes, a mesh says nothing that the type does not.
  if (named_sharding_ != nullptr && (named_sharding_->mesh().num_axes() > 0 ||
                                     !(IsManualLeaf() || IsUnreducedLeaf()))) {
    // Readers that do not know field 14 see the type of the value all the same.
    proto.set_type(IsReplicatedLeaf() ? OpSharding::REPLICATED
                                      : OpSharding::OTHER);
    *proto.mutable_named_sharding() = named_sharding_->ToProto();
  } else {
    switch (kind_) {
      case Kind::kReplicated:
        proto.set_type(OpSharding::REPLICATED);
        break;
      case Kind::kManual:
        proto.set_type(OpSharding::MANUAL);
        break;
      case Kind::kUnknown:
        proto.set_type(OpSharding::UNKNOWN);
        break;
      case Kind::kUnreduced:
        proto.set_type(OpSharding::UNREDUCED);
        break;
      case Kind::kSingleDevice:
        proto.set_type(OpSharding::MAXIMAL);
        proto.add_tile_assignment_dimensions(1);
        proto.add_tile_assignment_devices(tile_assignment_.first());
        break;
      case Kind::kTiled:
      case Kind::kTuple:
        proto = TiledToProto();
        break;
    }
    if (reduction_op_ != ReductionOp::kSum) {
      OpMetadata* metadata = proto.add_metadata();
      metadata->set_op_type("reduction_op");
      metadata->set_op_name(ReductionOpToString(reduction_op_));
    }
    for (const OpMetadata& metadata : metadata_) {
      *proto.add_metadata() = metadata;
    }
  }
  if (shard_group_.shard_as || shard_group_.shard_like) {
    proto.set_is_shard_group(true);
    proto.set_shard_group_id(shard_group_.shard_group_id);
    proto.set_shard_group_type(shard_group_.shard_as ? OpSharding::AS
                                                     : OpSharding::LIKE);
  }
  return proto;
}

absl::StatusOr<HloSharding> HloSharding::TiledFromProto(
    const OpSharding& proto) {
  const std::vector<OpMetadata> metadata(proto.metadata().begin(),
                                         proto.metadata().end());
  const absl::Span<const int64_t> dims = proto.tile_assignment_dimensions();
  std::optional<TileAssignment> assignment;
  if (proto.iota_reshape_dims().empty()) {
    // An explicit list of n devices bounds what the dimensions may claim.
    const int64_t devices = proto.tile_assignment_devices_size();
    int64_t product = 1;
    for (int64_t dim : dims) {
      if (dim <= 0 || dim > devices || (product *= dim) > devices) {
        return Invalid(proto, "dimensions do not match the number of devices");
      }
    }
    if (product != devices || dims.empty()) {
      return Invalid(proto, "dimensions do not match the number of devices");
    }
    auto array = std::make_shared<Array<int64_t>>(dims);
    std::copy(proto.tile_assignment_devices().begin(),
              proto.tile_assignment_devices().end(), array->begin());
    assignment = TileAssignment(std::move(array));
  } else {
    if (!proto.tile_assignment_devices().empty()) {
      return Invalid(proto, "devices are given twice");
    }
    const std::vector<int> perm(proto.iota_transpose_perm().begin(),
                                proto.iota_transpose_perm().end());
    absl::Status status =
        IotaTileAssignment::Validate(dims, proto.iota_reshape_dims(), perm);
    if (!status.ok()) return Invalid(proto, status.message());
    assignment = TileAssignment(dims, proto.iota_reshape_dims(), perm);
  }
  std::vector<OpSharding::Type> types;
  for (int type : proto.last_tile_dims()) {
    types.push_back(static_cast<OpSharding::Type>(type));
  }
  absl::StatusOr<HloSharding> sharding =
      MakeTiled(*std::move(assignment), proto.replicate_on_last_tile_dim(),
                types, metadata);
  if (!sharding.ok()) return Invalid(proto, sharding.status().message());
  return sharding;
}

absl::StatusOr<HloSharding> HloSharding::FromProto(const OpSharding& proto) {
  return FromProto(proto, /*allow_tuple=*/true);
}

absl::StatusOr<HloSharding> HloSharding::FromProto(const OpSharding& proto,
                                                   bool allow_tuple) {
  // The text has no group below 0.
  if (proto.is_shard_group() && proto.shard_group_id() < 0) {
    return Invalid(proto, "a negative shard group");
  }
  const std::vector<OpMetadata> metadata(proto.metadata().begin(),
                                         proto.metadata().end());
  if (proto.has_named_sharding()) {
    absl::StatusOr<NamedSharding> named =
        NamedSharding::CreateFromProto(proto.named_sharding());
    if (!named.ok()) return named.status();
    return HloSharding(*std::move(named)).SetShardGroupFromProto(proto);
  }
  const int64_t devices = proto.tile_assignment_devices_size();
  std::optional<HloSharding> result;
  switch (proto.type()) {
    case OpSharding::TUPLE: {
      if (!allow_tuple) return Invalid(proto, "a tuple within a tuple");
      if (proto.tuple_shardings().empty()) {
        return Invalid(proto, "a tuple without elements");
      }
      std::vector<HloSharding> elements;
      elements.reserve(proto.tuple_shardings_size());
      for (const OpSharding& element : proto.tuple_shardings()) {
        absl::StatusOr<HloSharding> leaf =
            FromProto(element, /*allow_tuple=*/false);
        if (!leaf.ok()) return leaf.status();
        elements.push_back(*std::move(leaf));
      }
      return FlatTuple(std::move(elements)).SetShardGroupFromProto(proto);
    }
    case OpSharding::REPLICATED:
      result = Replicate(metadata);
      break;
    case OpSharding::MANUAL:
      result = Manual(metadata);
      break;
    case OpSharding::UNKNOWN:
      result = Unknown(metadata);
      break;
    case OpSharding::UNREDUCED:
      result = Unreduced(metadata);
      // Only named shardings have another reduction in their text.
      if (result->reduction_op() != ReductionOp::kSum &&
          !proto.is_shard_group()) {
        NamedSharding named = NamedSharding::Unreduced(result->metadata());
        named.set_reduction_op(result->reduction_op());
        result = HloSharding(std::move(named));
      }
      break;
    case OpSharding::MAXIMAL:
      if (devices != 1) return Invalid(proto, "MAXIMAL needs one device");
      result = SingleDevice(proto.tile_assignment_devices(0), metadata);
      break;
    case OpSharding::OTHER: {
      absl::StatusOr<HloSharding> tiled = TiledFromProto(proto);
      if (!tiled.ok()) return tiled.status();
      result = *std::move(tiled);
      break;
    }
    default:
      return Invalid(proto, "unknown type");
  }
  return result->SetShardGroupFromProto(proto);
}

}  // namespace xla
