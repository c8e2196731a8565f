#ifndef XLA_HLO_IR_HLO_SHARDING_H_
#define XLA_HLO_IR_HLO_SHARDING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// How a value is laid out over devices. A leaf is one of
//
//   {replicated}                     every device holds the whole value
//   {maximal device=3}               one device holds it
//   {devices=[2,2]<=[4]}             tile (i,j) lives on the device at (i,j)
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate}
//                                    ... replicated over the last dimension
//   {devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}
//                                    ... one subgroup dimension per type
//   {manual} {unknown} {unreduced}
//   {mesh['x'=2,'y'=2], [{'x'}, {}]}  the same by names (NamedSharding)
//
// and a tuple sharding is the list of the leaves of its shape in pre-order; an
// empty tuple carries one leaf.
//
// Factories bring tilings to canonical form: subgroup dimensions of one type
// merge and stand in the order manual, unreduced, replicated; those of extent 1
// go, unless there is one device in all; a lone replicated one becomes
// last_tile_dim_replicate, and with no data dimension cut {replicated}; members
// of a replication group are sorted. Tiles are ceil(size / tiles) long, so
// trailing ones may be short or empty.
//
// A named leaf answers every query as its tiled form does. It never equals a
// tiled sharding; compare V3ToV2Sharding() forms to ignore names.
class HloSharding {
 public:
  // --- Construction. All CHECK-fail on arguments that break the rules above;
  // input from outside goes through FromProto or the Make* functions.

  static HloSharding Replicate(absl::Span<const OpMetadata> metadata = {}) {
    return HloSharding(Kind::kReplicated, metadata);
  }
  static HloSharding Manual(absl::Span<const OpMetadata> metadata = {}) {
    return HloSharding(Kind::kManual, metadata);
  }
  static HloSharding Unknown(absl::Span<const OpMetadata> metadata = {}) {
    return HloSharding(Kind::kUnknown, metadata);
  }
  static HloSharding Unreduced(absl::Span<const OpMetadata> metadata = {});
  static HloSharding SingleDevice(int64_t device_id,
                                  absl::Span<const OpMetadata> metadata = {});
  static HloSharding AssignDevice(int64_t device_id,
                                  absl::Span<const OpMetadata> metadata = {}) {
    return SingleDevice(device_id, metadata);
  }
  static HloSharding Tile(TileAssignment tile_assignment,
                          absl::Span<const OpMetadata> metadata = {});
  static HloSharding Tile(Array<int64_t> tile_assignment,
                          absl::Span<const OpMetadata> metadata = {});
  // A rank-1 tiling that gives device i the i-th tile.
  static HloSharding Tile1D(const Shape& input_shape, int64_t num_tiles,
                            absl::Span<const OpMetadata> metadata = {});
  static HloSharding IotaTile(absl::Span<const int64_t> tile_assignment_dims,
                              absl::Span<const OpMetadata> metadata = {});
  static HloSharding IotaTile(absl::Span<const int64_t> tile_assignment_dims,
                              absl::Span<const int64_t> reshape_dims,
                              absl::Span<const int> transpose_perm,
                              absl::Span<const OpMetadata> metadata = {});
  static HloSharding PartialTile(
      const TileAssignment& tile_assignment_last_dim_replicate,
      absl::Span<const OpMetadata> metadata = {});
  static HloSharding PartialTile(
      Array<int64_t> tile_assignment_last_dim_replicate,
      absl::Span<const OpMetadata> metadata = {});
  // One type of {REPLICATED, MANUAL, UNREDUCED} per trailing dimension; the
  // result may have fewer, in the canonical form.
  static HloSharding Subgroup(const TileAssignment& tile_assignment,
                              absl::Span<const OpSharding::Type> subgroup_types,
                              absl::Span<const OpMetadata> metadata = {});
  static HloSharding Subgroup(Array<int64_t> tile_assignment,
                              absl::Span<const OpSharding::Type> subgroup_types,
                              absl::Span<const OpMetadata> metadata = {});
  static HloSharding Tuple(const ShapeTree<HloSharding>& sub_shardings);
  static HloSharding Tuple(const Shape& tuple_shape,
                           absl::Span<const HloSharding> shardings);
  static HloSharding FlatTuple(std::vector<HloSharding> sub_shardings);
  // `sharding` (not a tuple) for every leaf of the shape.
  static HloSharding SingleTuple(const Shape& tuple_shape,
                                 const HloSharding& sharding);
  // SingleTuple for tuple shapes, else `sharding` itself.
  static HloSharding Single(const Shape& shape, const HloSharding& sharding);
  // Implicit, and for any NamedSharding value.
  HloSharding(NamedSharding named_sharding);  // NOLINT

  // A tiling from its parts in text or proto, validated: InvalidArgument for
  // devices that repeat or (V1) have negative numbers, bad subgroup types, or
  // fewer dimensions than subgroups. One device in all gives {replicated}
  // unless a subgroup type is given. One group of all devices gives what its
  // type says: `[1,4]<=[4] last_tile_dims={unreduced}` is {unreduced}.
  static absl::StatusOr<HloSharding> MakeTiled(
      TileAssignment tile_assignment, bool replicate_on_last_tile_dim,
      absl::Span<const OpSharding::Type> subgroup_types,
      absl::Span<const OpMetadata> metadata = {});

  // Validates: counts, overflow, distinct devices, known types, nesting.
  static absl::StatusOr<HloSharding> FromProto(const OpSharding& proto);
  OpSharding ToProto() const;

  // -1 (host) and -2 (unassigned) are reserved; so are all negative numbers.
  static bool IsReservedDevice(int64_t device) { return device < 0; }

  // --- Named <-> tiled.

  static HloSharding V3ToV2Sharding(const NamedSharding& named_sharding);
  // Leaf by leaf; tiled leaves are unchanged.
  static HloSharding V3ToV2Sharding(const HloSharding& sharding);
  // Axes are named axis_0, axis_1, ..., one per factor of the iota rule; V1
  // assignments without a rule keep their devices as device_ids. CHECK-fails
  // for tuples, {unknown}, {manual} and {unreduced}, which name no mesh.
  static NamedSharding ToNamedSharding(const HloSharding& sharding);
  // Leaf by leaf; {unknown}, {manual} and {unreduced} are unchanged.
  static HloSharding ToV3Sharding(const HloSharding& sharding);

  // --- Text: see the class comment. Shard groups and a reduction operator
  // that is not the sum are always printed, other metadata on request.

  void Print(Printer* printer, bool include_metadata = false) const;
  std::string ToString(bool include_metadata = false) const;

  // InvalidArgument (with both texts) unless the sharding fits the shape:
  // number of leaves, rank, and for tilings distinct devices in
  // [0, num_devices), as many as num_devices. Tokens accept everything.
  absl::Status Validate(const Shape& shape,
                        std::optional<int64_t> num_devices = {}) const;

  // --- Kinds. On a tuple, the variants without `Leaf` test all elements.

  bool UseNamedShardingLeaf() const { return named_sharding_ != nullptr; }
  ReductionOp reduction_op() const { return reduction_op_; }
  void set_reduction_op(ReductionOp op);
  // Moves a reduction operator that metadata carries (op_type "reduction_op",
  // op_name its text) into reduction_op().
  void ExtractReductionOpFromMetadata();

  bool IsTuple() const { return kind_ == Kind::kTuple; }
  bool IsReplicated() const { return All(&HloSharding::IsReplicatedLeaf); }
  bool IsReplicatedLeaf() const { return kind_ == Kind::kReplicated; }
  bool IsSingleDevice() const { return All(&HloSharding::IsSingleDeviceLeaf); }
  bool IsSingleDeviceLeaf() const { return kind_ == Kind::kSingleDevice; }
  bool IsReplicatedOrSingleDevice() const {
    return All(&HloSharding::IsReplicatedOrSingleDeviceLeaf);
  }
  bool IsReplicatedOrSingleDeviceLeaf() const {
    return IsReplicatedLeaf() || IsSingleDeviceLeaf();
  }
  // Older names of the two above.
  bool IsTileMaximal() const { return IsReplicatedOrSingleDevice(); }
  bool IsTileMaximalLeaf() const { return IsReplicatedOrSingleDeviceLeaf(); }
  bool IsManual() const { return All(&HloSharding::IsManualLeaf); }
  bool IsManualLeaf() const { return kind_ == Kind::kManual; }
  bool IsUnknown() const { return All(&HloSharding::IsUnknownLeaf); }
  bool IsUnknownLeaf() const { return kind_ == Kind::kUnknown; }
  bool IsUnreduced() const { return All(&HloSharding::IsUnreducedLeaf); }
  bool IsUnreducedLeaf() const { return kind_ == Kind::kUnreduced; }
  bool IsTiled() const { return All(&HloSharding::IsTiledLeaf); }
  bool IsTiledLeaf() const { return kind_ == Kind::kTiled; }
  bool IsShardGroup() const;
  bool IsShardAs() const;
  bool IsShardLike() const;
  bool IsManualSubgroup() const;
  bool IsUnreducedSubgroup() const;
  // Some subgroup type is not REPLICATED.
  bool HasNonReplicatedSubgroup() const;
  bool ReplicateOnLastTileDim() const { return replicate_on_last_tile_dim_; }
  // Leaf: replicated over some, not all, devices.
  bool HasPartialReplication() const;

  // --- Devices and tiles. For one leaf unless said otherwise.

  // True if some part of the value lives on `device`; tuples: of any element.
  bool UsesDevice(int64_t device) const;
  // The devices that hold parts, each with the number of leaves it holds a part
  // of; replicated and unreduced leaves count for none.
  std::vector<std::pair<int64_t, int64_t>> UsedDevices() const;
  TileAssignment device_assignment() const;
  std::vector<int64_t> TileIndexForDevice(int64_t device) const;
  // First element of the device's tile, and one past its last, per dimension.
  std::vector<int64_t> TileOffsetForDevice(const Shape& shape,
                                           int64_t device) const;
  std::vector<int64_t> TileLimitForDevice(const Shape& shape,
                                          int64_t device) const;
  // f(index in the tile assignment, device), in row-major order. The index
  // includes subgroup dimensions.
  void EachTile(
      absl::FunctionRef<void(absl::Span<const int64_t>, int64_t)> f) const;
  // f(device, tile offset, tile limit) for a value of dimensions `dims`.
  // InvalidArgument when ranks differ.
  absl::Status EachTile(
      absl::Span<const int64_t> dims,
      absl::FunctionRef<void(int64_t, absl::Span<const int64_t>,
                             absl::Span<const int64_t>)>
          f) const;
  // The one device of a single-device sharding (tuple: of all elements).
  std::optional<int64_t> UniqueDevice() const;
  int64_t GetUniqueDevice() const;

  // --- Tuples.

  absl::StatusOr<ShapeTree<HloSharding>> AsShapeTree(const Shape& shape) const;
  // As above; CHECK-fails where that returns an error.
  ShapeTree<HloSharding> GetAsShapeTree(const Shape& shape) const;
  HloSharding GetSubSharding(const Shape& shape, const ShapeIndex& index) const;
  // *this if already a tuple that fits, else SingleTuple.
  absl::StatusOr<HloSharding> GetTupleSharding(const Shape& shape) const;
  // The sharding as a tuple for tuple shapes; for other shapes the leaf.
  HloSharding NormalizeTupleSharding(const Shape& shape) const;
  // The one sharding all leaves have, if there is one.
  std::optional<HloSharding> ExtractSingleSharding() const;
  // Leaves that a sharding of `shape` has: at least 1.
  static int64_t RequiredLeaves(const Shape& shape);

  HloSharding WithoutMetadata() const;
  // Adds metadata to leaves that have none, or replaces it on all.
  HloSharding WithMetadata(absl::Span<const OpMetadata> metadata,
                           bool overwrite) const;

  // --- Comparison; metadata is not compared.

  bool operator==(const HloSharding& other) const;
  bool operator!=(const HloSharding& other) const { return !(*this == other); }
  template <typename H>
  friend H AbslHashValue(H h, const HloSharding& sharding) {
    if (sharding.named_sharding_ != nullptr &&
        !sharding.named_sharding_->IsIndependentOfMesh()) {
      return H::combine(std::move(h), *sharding.named_sharding_,
                        sharding.shard_group_.shard_group_id);
    }
    return sharding.HashTiledForm(std::move(h));
  }
  // Hashes named leaves by their tiled form.
  struct HashV2Wrapper {
    const HloSharding& sharding;
    template <typename H>
    friend H AbslHashValue(H h, const HashV2Wrapper& wrapper) {
      return wrapper.HashInto(std::move(h));
    }
    template <typename H>
    H HashInto(H h) const {
      return sharding.HashTiledForm(std::move(h));
    }
  };
  // CHECK-fails for tilings that list their devices: equal ones may be written
  // as a rule, and this does not look for it.
  struct HasherV2 {
    size_t operator()(const HloSharding& sharding) const;
  };

  // --- Parts.

  const TileAssignment& tile_assignment() const { return tile_assignment_; }
  const NamedSharding& named_sharding() const { return *named_sharding_; }
  // Subgroup dimensions included.
  int64_t num_dimensions() const { return tile_assignment_.num_dimensions(); }
  int64_t dimension(int64_t dim_index) const {
    return tile_assignment_.dim(dim_index);
  }
  absl::Span<const int64_t> dimensions() const {
    return tile_assignment_.dimensions();
  }
  // Elements of the tile assignment; for named leaves, devices of the mesh.
  int64_t num_devices() const {
    return named_sharding_ != nullptr ? named_sharding_->num_devices()
                                      : tile_assignment_.num_elements();
  }
  const std::vector<OpSharding::Type>& subgroup_types() const {
    return subgroup_types_;
  }
  std::vector<HloSharding>& tuple_elements() { return tuple_elements_; }
  const std::vector<HloSharding>& tuple_elements() const {
    return tuple_elements_;
  }
  std::vector<OpMetadata>& metadata() { return metadata_; }
  const std::vector<OpMetadata>& metadata() const { return metadata_; }

  // --- Sizes.

  // The shape of one (full) tile; tuples element-wise; layout is kept.
  Shape TileShape(const Shape& shape) const;
  // The shape of the device's tile without padding; dimensions may be 0.
  Shape TileShape(const Shape& shape, int64_t device) const;
  // Number of elements of the tile assignment, groups included.
  int64_t TotalNumTiles() const;
  // Number of distinct tiles.
  int64_t NumTiles() const;
  // Number of pieces along the dimensions `dims` taken together.
  int64_t NumTiles(absl::Span<const int64_t> dims) const;
  // Devices that hold each tile because of replication subgroups.
  int64_t ReplicationFactor() const;

  // Index of the tile dimension of that subgroup type, -1 if there is none.
  int64_t SubgroupReplicationDim() const;
  int64_t SubgroupManualDim() const;
  int64_t SubgroupUnreducedDim() const;
  // Rank without subgroup dimensions.
  int64_t TiledDataRank() const;

  // --- Shard groups: instructions whose shardings shall become the same
  // (shard_as) or alike where possible (shard_like).

  struct ShardGroup {
    ShardGroup(int64_t shard_group_id, bool shard_as, bool shard_like)
        : shard_group_id(shard_group_id),
          shard_as(shard_as),
          shard_like(shard_like) {}
    bool operator==(const ShardGroup& rhs) const {
      return shard_group_id == rhs.shard_group_id && shard_as == rhs.shard_as &&
             shard_like == rhs.shard_like;
    }
    // `shard_as 3`, `shard_like 3` or nothing.
    std::string ToString() const;

    int64_t shard_group_id;
    bool shard_as;
    bool shard_like;
  };
  static ShardGroup NotShardGroup() { return ShardGroup(-1, false, false); }
  static ShardGroup ShardAs(int64_t shard_group_id) {
    return ShardGroup(shard_group_id, true, false);
  }
  static ShardGroup ShardLike(int64_t shard_group_id) {
    return ShardGroup(shard_group_id, false, true);
  }
  HloSharding& SetShardGroup(const ShardGroup& shard_group);
  HloSharding& SetShardGroupFromProto(const OpSharding& proto);
  HloSharding& ClearShardGroup();
  const ShardGroup& GetShardGroup() const { return shard_group_; }

 private:
  enum class Kind : uint8_t {
    kReplicated,
    kSingleDevice,
    kTiled,
    kManual,
    kUnknown,
    kUnreduced,
    kTuple,
  };

  HloSharding(Kind kind, absl::Span<const OpMetadata> metadata);

  bool All(bool (HloSharding::*leaf)() const) const {
    if (!IsTuple()) return (this->*leaf)();
    for (const HloSharding& element : tuple_elements_) {
      if (!(element.*leaf)()) return false;
    }
    return true;
  }
  // Calls f for this leaf or every element; true if it holds for all.
  bool AllLeaves(absl::FunctionRef<bool(const HloSharding&)> f) const;
  // Index of the first subgroup of `type` as a tile dimension, or -1.
  int64_t SubgroupDim(OpSharding::Type type) const;
  absl::Status CheckLeafCount(const Shape& shape) const;
  absl::Status ValidateTuple(const Shape& shape,
                             std::optional<int64_t> num_devices) const;
  absl::Status ValidateNonTuple(const Shape& shape,
                                std::optional<int64_t> num_devices) const;
  void PrintLeafBody(Printer* printer) const;
  OpSharding TiledToProto() const;
  static absl::StatusOr<HloSharding> FromProto(const OpSharding& proto,
                                               bool allow_tuple);
  static absl::StatusOr<HloSharding> TiledFromProto(const OpSharding& proto);

  // Some tiling lists its devices instead of giving a rule.
  bool ListsDevices() const;
  template <typename H>
  H HashTiledForm(H h) const {
    if (IsTuple()) {
      for (const HloSharding& element : tuple_elements_) {
        h = element.HashTiledForm(std::move(h));
      }
      return H::combine(std::move(h), tuple_elements_.size());
    }
    return H::combine(std::move(h), kind_, tile_assignment_,
                      replicate_on_last_tile_dim_, subgroup_types_.size(),
                      shard_group_.shard_group_id);
  }

  TileAssignment tile_assignment_;
  std::vector<HloSharding> tuple_elements_;
  std::vector<OpMetadata> metadata_;
  // Types of the trailing tile dimensions; empty with
  // replicate_on_last_tile_dim_.
  std::vector<OpSharding::Type> subgroup_types_;
  // Set for a named leaf, whose other members hold the tiled form.
  std::shared_ptr<const NamedSharding> named_sharding_;
  ShardGroup shard_group_ = NotShardGroup();
  ReductionOp reduction_op_ = ReductionOp::kSum;
  Kind kind_;
  bool replicate_on_last_tile_dim_ = false;
};

std::ostream& operator<<(std::ostream& out, const HloSharding& sharding);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_SHARDING_H_
