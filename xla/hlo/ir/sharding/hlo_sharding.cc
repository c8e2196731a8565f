#include "xla/hlo/ir/hlo_sharding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Calls f(index) for each subshape that is not a tuple, in pre-order, and for
// the root if there is none.
void ForEachLeafIndex(const Shape& shape, ShapeIndex* index,
                      absl::FunctionRef<void(const ShapeIndex&)> f) {
  if (!shape.IsTuple()) {
    f(*index);
    return;
  }
  for (int i = 0; i < static_cast<int>(shape.tuple_shapes().size()); ++i) {
    index->push_back(i);
    ForEachLeafIndex(shape.tuple_shapes(i), index, f);
    index->pop_back();
  }
}

int64_t CountLeaves(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int64_t leaves = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    leaves += CountLeaves(element);
  }
  return leaves;
}

}  // namespace

// ---------------------------------------------------------------- tuples

int64_t HloSharding::RequiredLeaves(const Shape& shape) {
  // Empty tuples have no leaf, and yet a sharding.
  return std::max<int64_t>(1, CountLeaves(shape));
}

HloSharding HloSharding::FlatTuple(std::vector<HloSharding> sub_shardings) {
  CHECK(!sub_shardings.empty());
  for (const HloSharding& element : sub_shardings) CHECK(!element.IsTuple());
  HloSharding result(Kind::kTuple, {});
  result.tuple_elements_ = std::move(sub_shardings);
  return result;
}

HloSharding HloSharding::Tuple(const ShapeTree<HloSharding>& sub_shardings) {
  std::vector<HloSharding> elements;
  ShapeIndex index;
  ForEachLeafIndex(sub_shardings.shape(), &index, [&](const ShapeIndex& leaf) {
    elements.push_back(sub_shardings.element(leaf));
  });
  if (elements.empty()) elements.push_back(sub_shardings.element({}));
  return FlatTuple(std::move(elements));
}

HloSharding HloSharding::Tuple(const Shape& tuple_shape,
                               absl::Span<const HloSharding> shardings) {
  CHECK(tuple_shape.IsTuple()) << ShapeUtil::HumanString(tuple_shape);
  CHECK_EQ(shardings.size(), RequiredLeaves(tuple_shape));
  return FlatTuple(
      std::vector<HloSharding>(shardings.begin(), shardings.end()));
}

HloSharding HloSharding::SingleTuple(const Shape& tuple_shape,
                                     const HloSharding& sharding) {
  CHECK(tuple_shape.IsTuple()) << ShapeUtil::HumanString(tuple_shape);
  CHECK(!sharding.IsTuple()) << sharding.ToString();
  return FlatTuple(
      std::vector<HloSharding>(RequiredLeaves(tuple_shape), sharding));
}

HloSharding HloSharding::Single(const Shape& shape,
                                const HloSharding& sharding) {
  return shape.IsTuple() ? SingleTuple(shape, sharding) : sharding;
}

absl::Status HloSharding::CheckLeafCount(const Shape& shape) const {
  const int64_t leaves = RequiredLeaves(shape);
  if (leaves == static_cast<int64_t>(tuple_elements_.size())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "tuple sharding ", ToString(), " has ", tuple_elements_.size(),
      " leaves, but shape ", ShapeUtil::HumanString(shape), " has ", leaves));
}

absl::StatusOr<ShapeTree<HloSharding>> HloSharding::AsShapeTree(
    const Shape& shape) const {
  if (!IsTuple()) return ShapeTree<HloSharding>(shape, *this);
  absl::Status status = CheckLeafCount(shape);
  if (!status.ok()) return status;
  ShapeTree<HloSharding> tree(shape, Replicate());
  auto element = tuple_elements_.begin();
  ShapeIndex index;
  ForEachLeafIndex(shape, &index, [&](const ShapeIndex& leaf) {
    *tree.mutable_element(leaf) = *element++;
  });
  // The one leaf of an empty tuple.
  if (element == tuple_elements_.begin()) *tree.mutable_element({}) = *element;
  return tree;
}

ShapeTree<HloSharding> HloSharding::GetAsShapeTree(const Shape& shape) const {
  absl::StatusOr<ShapeTree<HloSharding>> tree = AsShapeTree(shape);
  CHECK(tree.ok()) << tree.status();
  return *std::move(tree);
}

// The sharding of a tuple is a flat list with one element per leaf in
// pre-order, so the part below `index` is a contiguous range, found by counting
// the leaves before it.
HloSharding HloSharding::GetSubSharding(const Shape& shape,
                                        const ShapeIndex& index) const {
  if (!IsTuple()) return *this;
  int64_t first = 0;
  const Shape* sub_shape = &shape;
  for (int64_t i : index) {
    for (int64_t before = 0; before < i; ++before) {
      first += CountLeaves(sub_shape->tuple_shapes(before));
    }
    sub_shape = &sub_shape->tuple_shapes(i);
  }
  if (!sub_shape->IsTuple()) {
    CHECK_LT(first, tuple_elements_.size());
    return tuple_elements_[first];
  }
  const int64_t count = CountLeaves(*sub_shape);
  if (count == 0) {
    // A nested empty tuple owns no element; the whole empty shape owns one.
    return FlatTuple({CountLeaves(shape) == 0 ? tuple_elements_[0]
                                              : HloSharding::Replicate()});
  }
  CHECK_LE(first + count, tuple_elements_.size());
  const auto begin = tuple_elements_.begin() + first;
  return FlatTuple(std::vector<HloSharding>(begin, begin + count));
}

absl::StatusOr<HloSharding> HloSharding::GetTupleSharding(
    const Shape& shape) const {
  if (!shape.IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no tuple: ", ShapeUtil::HumanString(shape)));
  }
  if (!IsTuple()) return SingleTuple(shape, *this);
  absl::Status status = CheckLeafCount(shape);
  if (!status.ok()) return status;
  return *this;
}

HloSharding HloSharding::NormalizeTupleSharding(const Shape& shape) const {
  return shape.IsTuple() && !IsTuple() ? SingleTuple(shape, *this) : *this;
}

std::optional<HloSharding> HloSharding::ExtractSingleSharding() const {
  if (!IsTuple()) return *this;
  for (const HloSharding& element : tuple_elements_) {
    if (element != tuple_elements_[0]) return std::nullopt;
  }
  return tuple_elements_[0];
}

// ----------------------------------------------------------------- kinds

bool HloSharding::AllLeaves(
    absl::FunctionRef<bool(const HloSharding&)> f) const {
  if (!IsTuple()) return f(*this);
  for (const HloSharding& element : tuple_elements_) {
    if (!f(element)) return false;
  }
  return true;
}

bool HloSharding::IsShardGroup() const {
  return AllLeaves([](const HloSharding& leaf) {
    return leaf.shard_group_.shard_as || leaf.shard_group_.shard_like;
  });
}

bool HloSharding::IsShardAs() const {
  return AllLeaves(
      [](const HloSharding& leaf) { return leaf.shard_group_.shard_as; });
}

bool HloSharding::IsShardLike() const {
  return AllLeaves(
      [](const HloSharding& leaf) { return leaf.shard_group_.shard_like; });
}

bool HloSharding::IsManualSubgroup() const {
  return AllLeaves(
      [](const HloSharding& leaf) { return leaf.SubgroupManualDim() >= 0; });
}

bool HloSharding::IsUnreducedSubgroup() const {
  return AllLeaves(
      [](const HloSharding& leaf) { return leaf.SubgroupUnreducedDim() >= 0; });
}

bool HloSharding::HasNonReplicatedSubgroup() const {
  return AllLeaves([](const HloSharding& leaf) {
    return std::any_of(
        leaf.subgroup_types_.begin(), leaf.subgroup_types_.end(),
        [](OpSharding::Type t) { return t != OpSharding::REPLICATED; });
  });
}

bool HloSharding::HasPartialReplication() const {
  return replicate_on_last_tile_dim_ || SubgroupReplicationDim() >= 0;
}

int64_t HloSharding::SubgroupDim(OpSharding::Type type) const {
  const auto it =
      std::find(subgroup_types_.begin(), subgroup_types_.end(), type);
  if (it == subgroup_types_.end()) return -1;
  return TiledDataRank() + (it - subgroup_types_.begin());
}

int64_t HloSharding::SubgroupReplicationDim() const {
  if (replicate_on_last_tile_dim_) return num_dimensions() - 1;
  return SubgroupDim(OpSharding::REPLICATED);
}

int64_t HloSharding::SubgroupManualDim() const {
  return SubgroupDim(OpSharding::MANUAL);
}

int64_t HloSharding::SubgroupUnreducedDim() const {
  return SubgroupDim(OpSharding::UNREDUCED);
}

int64_t HloSharding::TiledDataRank() const {
  CHECK(IsTiledLeaf()) << ToString();
  return num_dimensions() - (replicate_on_last_tile_dim_ ? 1 : 0) -
         static_cast<int64_t>(subgroup_types_.size());
}

// ------------------------------------------------------ devices, equality

bool HloSharding::UsesDevice(int64_t device) const {
  if (IsTuple()) {
    return std::any_of(
        tuple_elements_.begin(), tuple_elements_.end(),
        [device](const HloSharding& leaf) { return leaf.UsesDevice(device); });
  }
  switch (kind_) {
    case Kind::kSingleDevice:
    case Kind::kTiled:
      return tile_assignment_.contains(device);
    default:
      return true;
  }
}

std::vector<std::pair<int64_t, int64_t>> HloSharding::UsedDevices() const {
  std::map<int64_t, int64_t> counts;
  AllLeaves([&](const HloSharding& leaf) {
    if (leaf.IsTiledLeaf() || leaf.IsSingleDeviceLeaf()) {
      leaf.tile_assignment_.Each(
          [&](absl::Span<const int64_t>, int64_t device) { ++counts[device]; });
    }
    return true;
  });
  return {counts.begin(), counts.end()};
}

TileAssignment HloSharding::device_assignment() const {
  return named_sharding_ != nullptr ? named_sharding_->device_assignment()
                                    : tile_assignment_;
}

std::optional<int64_t> HloSharding::UniqueDevice() const {
  const HloSharding& first = IsTuple() ? tuple_elements_[0] : *this;
  if (!first.IsSingleDeviceLeaf()) return std::nullopt;
  const int64_t device = first.tile_assignment_.first();
  const bool unique = AllLeaves([device](const HloSharding& leaf) {
    return leaf.IsSingleDeviceLeaf() && leaf.tile_assignment_.first() == device;
  });
  return unique ? std::optional<int64_t>(device) : std::nullopt;
}

int64_t HloSharding::GetUniqueDevice() const {
  const std::optional<int64_t> device = UniqueDevice();
  CHECK(device.has_value()) << ToString();
  return *device;
}

// A named sharding over a mesh equals only named shardings; all others are
// compared by their tiles.
bool HloSharding::operator==(const HloSharding& other) const {
  if (kind_ != other.kind_ || !(shard_group_ == other.shard_group_)) {
    return false;
  }
  if (IsTuple()) return tuple_elements_ == other.tuple_elements_;
  const auto depends_on_mesh = [](const HloSharding& sharding) {
    return sharding.named_sharding_ != nullptr &&
           !sharding.named_sharding_->IsIndependentOfMesh();
  };
  if (depends_on_mesh(*this) || depends_on_mesh(other)) {
    return named_sharding_ != nullptr && other.named_sharding_ != nullptr &&
           (named_sharding_ == other.named_sharding_ ||
            *named_sharding_ == *other.named_sharding_);
  }
  return replicate_on_last_tile_dim_ == other.replicate_on_last_tile_dim_ &&
         reduction_op_ == other.reduction_op_ &&
         subgroup_types_ == other.subgroup_types_ &&
         tile_assignment_ == other.tile_assignment_;
}

// -------------------------------------------------------------- metadata

HloSharding HloSharding::WithoutMetadata() const {
  return WithMetadata({}, /*overwrite=*/true);
}

HloSharding HloSharding::WithMetadata(absl::Span<const OpMetadata> metadata,
                                      bool overwrite) const {
  HloSharding result = *this;
  const auto assign = [&](HloSharding& leaf) {
    if (!overwrite && !leaf.metadata_.empty()) return;
    leaf.metadata_.assign(metadata.begin(), metadata.end());
    leaf.ExtractReductionOpFromMetadata();
    if (leaf.named_sharding_ == nullptr) return;
    NamedSharding named = *leaf.named_sharding_;
    named.metadata() = leaf.metadata_;
    leaf.named_sharding_ = std::make_shared<NamedSharding>(std::move(named));
  };
  if (!IsTuple()) {
    assign(result);
  } else {
    for (HloSharding& element : result.tuple_elements_) assign(element);
  }
  return result;
}

void HloSharding::set_reduction_op(ReductionOp op) {
  reduction_op_ = op;
  if (named_sharding_ == nullptr || named_sharding_->reduction_op() == op) {
    return;
  }
  NamedSharding named = *named_sharding_;
  named.set_reduction_op(op);
  named_sharding_ = std::make_shared<NamedSharding>(std::move(named));
}

void HloSharding::ExtractReductionOpFromMetadata() {
  bool found = false;
  const auto extract = [&](const OpMetadata& metadata) {
    if (metadata.op_type() != "reduction_op") return false;
    for (ReductionOp op :
         {ReductionOp::kSum, ReductionOp::kMax, ReductionOp::kMin}) {
      if (metadata.op_name() != ReductionOpToString(op)) continue;
      if (!found) set_reduction_op(op);
      found = true;
      return true;
    }
    return false;
  };
  // All of them: what is left would be taken for the operator the next time.
  metadata_.erase(std::remove_if(metadata_.begin(), metadata_.end(), extract),
                  metadata_.end());
}

// ---------------------------------------------------------- shard groups

std::string HloSharding::ShardGroup::ToString() const {
  if (shard_as) return absl::StrCat("shard_as ", shard_group_id);
  if (shard_like) return absl::StrCat("shard_like ", shard_group_id);
  return "";
}

HloSharding& HloSharding::SetShardGroup(const ShardGroup& shard_group) {
  shard_group_ = shard_group;
  return *this;
}

HloSharding& HloSharding::SetShardGroupFromProto(const OpSharding& proto) {
  if (!proto.is_shard_group()) return ClearShardGroup();
  return SetShardGroup(proto.shard_group_type() == OpSharding::AS
                           ? ShardAs(proto.shard_group_id())
                           : ShardLike(proto.shard_group_id()));
}

HloSharding& HloSharding::ClearShardGroup() {
  return SetShardGroup(NotShardGroup());
}

// -------------------------------------------------------------- validity

absl::Status HloSharding::ValidateNonTuple(
    const Shape& shape, std::optional<int64_t> num_devices) const {
  const auto error = [&](auto... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding ", ToString(), " of ",
                     ShapeUtil::HumanString(shape), ": ", text...));
  };
  if (shape.IsToken()) return absl::OkStatus();
  if (IsSingleDeviceLeaf()) {
    const int64_t device = tile_assignment_.first();
    // Reserved numbers stand for places outside the assignment.
    if (num_devices && device >= *num_devices) {
      return error("device ", device, " is not among ", *num_devices);
    }
    return absl::OkStatus();
  }
  if (!IsTiledLeaf()) return absl::OkStatus();
  if (!shape.IsArray()) return error("only arrays can be tiled");
  const int64_t rank = shape.dimensions().size();
  if (TiledDataRank() != rank) {
    return error("tile rank (excluding subgroups) is ", TiledDataRank(),
                 ", the shape's is ", rank);
  }
  const int64_t count = tile_assignment_.num_elements();
  if (count <= 1) return error("a tiling needs more than one device");
  if (num_devices && count != *num_devices) {
    return error("tile assignment has ", count, " devices instead of ",
                 *num_devices);
  }
  if (tile_assignment_.iota()) return absl::OkStatus();
  std::vector<int64_t> devices(tile_assignment_.array().begin(),
                               tile_assignment_.array().end());
  std::sort(devices.begin(), devices.end());
  if (devices.front() < 0 || (num_devices && devices.back() >= *num_devices)) {
    return error("a device number is out of range");
  }
  const auto repeated = std::adjacent_find(devices.begin(), devices.end());
  if (repeated != devices.end()) {
    return error("device ", *repeated, " appears twice");
  }
  return absl::OkStatus();
}

absl::Status HloSharding::Validate(const Shape& shape,
                                   std::optional<int64_t> num_devices) const {
  if (!IsTuple() && !shape.IsTuple()) {
    return ValidateNonTuple(shape, num_devices);
  }
  if (IsTuple() && !shape.IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuple sharding ", ToString(), " for the shape ",
                     ShapeUtil::HumanString(shape), ", which is not a tuple"));
  }
  if (!IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding ", ToString(), " is not a tuple, but the shape ",
                     ShapeUtil::HumanString(shape), " is"));
  }
  return ValidateTuple(shape, num_devices);
}

absl::Status HloSharding::ValidateTuple(
    const Shape& shape, std::optional<int64_t> num_devices) const {
  absl::Status status = CheckLeafCount(shape);
  int64_t next = 0;
  ShapeIndex index;
  ForEachLeafIndex(shape, &index, [&](const ShapeIndex& leaf) {
    if (!status.ok()) return;
    status = tuple_elements_[next].ValidateNonTuple(
        ShapeUtil::GetSubshape(shape, leaf), num_devices);
    if (!status.ok()) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "leaf ", next, " (index ", leaf.ToString(), "): ", status.message()));
    }
    ++next;
  });
  return status;
}

HloSharding::HloSharding(Kind kind, absl::Span<const OpMetadata> metadata)
    : metadata_(metadata.begin(), metadata.end()), kind_(kind) {}

bool HloSharding::ListsDevices() const {
  if (IsTuple()) {
    return absl::c_any_of(tuple_elements_, [](const HloSharding& element) {
      return element.ListsDevices();
    });
  }
  return IsTiledLeaf() && !tile_assignment_.iota().has_value();
}

size_t HloSharding::HasherV2::operator()(const HloSharding& sharding) const {
  CHECK(!sharding.ListsDevices()) << "devices are listed, not computed";
  return absl::HashOf(HashV2Wrapper{sharding});
}

}  // namespace xla
