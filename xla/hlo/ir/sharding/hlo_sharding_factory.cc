// Construction of tilings, and their canonical forms.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The iota assignment whose last dimension lists the devices of each group in
// ascending order: the factors of that dimension, in device order.
//   [2,2]<=[2,2]T(1,0) has last groups {0,2} {1,3}: sorted already.
//   [1,4]<=[2,2]T(1,0) has the group {0,2,1,3}  ->  [1,4]<=[4]
// nullopt when the last dimension does not end at a factor.
std::optional<IotaTileAssignment> SortedLastDim(
    const IotaTileAssignment& iota) {
  const int64_t last = iota.dim(static_cast<int>(iota.ndims()) - 1);
  const absl::Span<const int> perm = iota.transpose_perm();
  // Split the rule's dimensions where the last tile dimension begins.
  std::vector<int64_t> reshape_dims;
  std::vector<std::pair<int64_t, bool>> pieces;  // in transposed order
  std::vector<int> owner;
  int64_t left = last;
  for (int i = static_cast<int>(perm.size()) - 1; i >= 0; --i) {
    const int64_t size = iota.reshape_dims()[perm[i]];
    const int64_t inside = std::min(left, size);
    if (size % inside != 0 || left % inside != 0) return std::nullopt;
    if (inside > 1) {
      pieces.push_back({inside, true});
      owner.push_back(perm[i] * 2 + 1);
    }
    if (size > inside) {
      pieces.push_back({size / inside, false});
      owner.push_back(perm[i] * 2);
    }
    left /= inside;
  }
  std::reverse(pieces.begin(), pieces.end());
  std::reverse(owner.begin(), owner.end());
  // Rank of each piece in device order.
  const int count = static_cast<int>(pieces.size());
  std::vector<int> by_device(count);
  std::iota(by_device.begin(), by_device.end(), 0);
  std::sort(by_device.begin(), by_device.end(),
            [&](int a, int b) { return owner[a] < owner[b]; });
  std::vector<int> place(count);
  for (int i = 0; i < count; ++i) {
    place[by_device[i]] = i;
    reshape_dims.push_back(pieces[by_device[i]].first);
  }
  const auto inside_begin =
      std::find_if(pieces.begin(), pieces.end(),
                   [](const auto& piece) { return piece.second; });
  std::sort(place.begin() + (inside_begin - pieces.begin()), place.end());
  if (count == 0) return iota;
  return IotaTileAssignment::Create(iota.dims(), reshape_dims, place);
}

// Sorts the devices of each group along the last dimension.
TileAssignment SortReplicationGroups(const TileAssignment& assignment) {
  if (assignment.iota()) {
    if (std::optional<IotaTileAssignment> sorted =
            SortedLastDim(*assignment.iota())) {
      return TileAssignment(*std::move(sorted));
    }
  }
  const int64_t group = assignment.dim(assignment.num_dimensions() - 1);
  std::shared_ptr<const Array<int64_t>> array = assignment.shared_array();
  const int64_t* const end = array->end();
  bool sorted = true;
  for (const int64_t* p = array->begin(); sorted && p != end; p += group) {
    sorted = std::is_sorted(p, p + group);
  }
  if (sorted) return assignment;
  auto copy = std::make_shared<Array<int64_t>>(*array);
  for (int64_t* p = copy->begin(); p != copy->end(); p += group) {
    std::sort(p, p + group);
  }
  return TileAssignment(std::move(copy));
}

TileAssignment FromArray(Array<int64_t> array) {
  return TileAssignment(
      std::make_shared<const Array<int64_t>>(std::move(array)));
}

// The position of a type among the subgroup dimensions.
int SubgroupRank(OpSharding::Type type) {
  switch (type) {
    case OpSharding::MANUAL:
      return 0;
    case OpSharding::UNREDUCED:
      return 1;
    case OpSharding::REPLICATED:
      return 2;
    default:
      return -1;
  }
}

}  // namespace

HloSharding HloSharding::Unreduced(absl::Span<const OpMetadata> metadata) {
  HloSharding result(Kind::kUnreduced, metadata);
  result.ExtractReductionOpFromMetadata();
  return result;
}

HloSharding HloSharding::SingleDevice(int64_t device_id,
                                      absl::Span<const OpMetadata> metadata) {
  HloSharding result(Kind::kSingleDevice, metadata);
  // The default assignment is device 0 already.
  if (device_id != 0) result.tile_assignment_ = TileAssignment(device_id);
  return result;
}

HloSharding HloSharding::Tile(TileAssignment tile_assignment,
                              absl::Span<const OpMetadata> metadata) {
  HloSharding result(Kind::kTiled, metadata);
  result.tile_assignment_ = std::move(tile_assignment);
  return result;
}

HloSharding HloSharding::Tile(Array<int64_t> tile_assignment,
                              absl::Span<const OpMetadata> metadata) {
  return Tile(FromArray(std::move(tile_assignment)), metadata);
}

HloSharding HloSharding::Tile1D(const Shape& input_shape, int64_t num_tiles,
                                absl::Span<const OpMetadata> metadata) {
  CHECK_EQ(input_shape.dimensions().size(), 1);
  CHECK_GT(num_tiles, 1);
  return IotaTile({num_tiles}, metadata);
}

HloSharding HloSharding::IotaTile(
    absl::Span<const int64_t> tile_assignment_dims,
    absl::Span<const OpMetadata> metadata) {
  return Tile(TileAssignment(tile_assignment_dims), metadata);
}

HloSharding HloSharding::IotaTile(
    absl::Span<const int64_t> tile_assignment_dims,
    absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm,
    absl::Span<const OpMetadata> metadata) {
  return Tile(
      TileAssignment(tile_assignment_dims, reshape_dims, transpose_perm),
      metadata);
}

HloSharding HloSharding::PartialTile(const TileAssignment& assignment,
                                     absl::Span<const OpMetadata> metadata) {
  CHECK_GT(assignment.num_dimensions(), 0);
  const absl::Span<const int64_t> dims = assignment.dimensions();
  if (dims.back() == assignment.num_elements()) return Replicate(metadata);
  if (dims.back() == 1) {
    return Tile(assignment.Reshape(dims.first(dims.size() - 1)), metadata);
  }
  HloSharding result = Tile(SortReplicationGroups(assignment), metadata);
  result.replicate_on_last_tile_dim_ = true;
  return result;
}

HloSharding HloSharding::PartialTile(Array<int64_t> assignment,
                                     absl::Span<const OpMetadata> metadata) {
  return PartialTile(FromArray(std::move(assignment)), metadata);
}

HloSharding HloSharding::Subgroup(
    const TileAssignment& assignment,
    absl::Span<const OpSharding::Type> subgroup_types,
    absl::Span<const OpMetadata> metadata) {
  if (subgroup_types.empty()) return Tile(assignment, metadata);
  const int64_t data_rank =
      assignment.num_dimensions() - static_cast<int64_t>(subgroup_types.size());
  CHECK_GE(data_rank, 0) << assignment.ToString();
  // Data dimensions stay, subgroup dimensions are sorted by type and merged;
  // groups of one device are none.
  absl::InlinedVector<int, 8> perm(assignment.num_dimensions());
  std::iota(perm.begin(), perm.end(), 0);
  const auto type_of = [&](int dim) { return subgroup_types[dim - data_rank]; };
  std::stable_sort(perm.begin() + data_rank, perm.end(), [&](int a, int b) {
    return SubgroupRank(type_of(a)) < SubgroupRank(type_of(b));
  });
  const int64_t tiles = assignment.num_elements();
  absl::InlinedVector<int64_t, 8> dims;
  std::vector<OpSharding::Type> types;
  for (int64_t i = 0; i < static_cast<int64_t>(perm.size()); ++i) {
    const int64_t size = assignment.dim(perm[i]);
    if (i < data_rank) {
      dims.push_back(size);
      continue;
    }
    const OpSharding::Type type = type_of(perm[i]);
    CHECK_GE(SubgroupRank(type), 0) << type;
    if (size == 1 && tiles > 1) continue;
    if (types.empty() || types.back() != type) {
      types.push_back(type);
      dims.push_back(size);
    } else {
      dims.back() *= size;
    }
  }
  if (tiles > 1 && types.size() == 1 && types[0] == OpSharding::MANUAL &&
      dims.back() == tiles) {
    return Manual(metadata);
  }
  TileAssignment ordered =
      std::is_sorted(perm.begin(), perm.end())
          ? assignment
          : assignment.Transpose(absl::MakeConstSpan(perm));
  if (ordered.dimensions() != absl::MakeConstSpan(dims)) {
    ordered = ordered.Reshape(dims);
  }
  if (types.empty()) return Tile(std::move(ordered), metadata);
  if (types.back() == OpSharding::REPLICATED) {
    if (types.size() == 1) return PartialTile(ordered, metadata);
    ordered = SortReplicationGroups(ordered);
  }
  HloSharding result = Tile(std::move(ordered), metadata);
  result.subgroup_types_ = std::move(types);
  result.ExtractReductionOpFromMetadata();
  return result;
}

HloSharding HloSharding::Subgroup(
    Array<int64_t> assignment,
    absl::Span<const OpSharding::Type> subgroup_types,
    absl::Span<const OpMetadata> metadata) {
  return Subgroup(FromArray(std::move(assignment)), subgroup_types, metadata);
}

absl::StatusOr<HloSharding> HloSharding::MakeTiled(
    TileAssignment assignment, bool replicate_on_last_tile_dim,
    absl::Span<const OpSharding::Type> subgroup_types,
    absl::Span<const OpMetadata> metadata) {
  const int64_t groups = replicate_on_last_tile_dim
                             ? 1
                             : static_cast<int64_t>(subgroup_types.size());
  if (replicate_on_last_tile_dim && !subgroup_types.empty()) {
    return absl::InvalidArgumentError(
        "last_tile_dim_replicate and last_tile_dims exclude each other");
  }
  if (assignment.num_dimensions() < groups || assignment.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(assignment.ToString(), " has fewer dimensions than its ",
                     groups, " subgroups, or no device"));
  }
  for (OpSharding::Type type : subgroup_types) {
    if (SubgroupRank(type) < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "subgroups are manual, replicated or unreduced, not type ", type));
    }
  }
  if (!assignment.iota()) {
    absl::flat_hash_set<int64_t> devices;
    for (int64_t device : assignment.array()) {
      if (device < 0 || !devices.insert(device).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("device ", device, " is negative or appears twice in ",
                         assignment.ToString()));
      }
    }
  }
  if (replicate_on_last_tile_dim) return PartialTile(assignment, metadata);
  if (!subgroup_types.empty()) {
    // One group of all devices. Groups of size 1 are dropped if there are
    // several devices, as in Subgroup, so that what is printed reads back as
    // itself.
    const int64_t devices = assignment.num_elements();
    const int64_t rank = assignment.num_dimensions() - groups;
    const auto is_whole = [&](OpSharding::Type type) {
      int64_t size = 1;
      for (int64_t i = 0; i < groups; ++i) {
        if (subgroup_types[i] == type) {
          size *= assignment.dim(rank + i);
        } else if (devices == 1) {
          return false;
        }
      }
      return size == devices;
    };
    if (is_whole(OpSharding::MANUAL)) return Manual(metadata);
    if (is_whole(OpSharding::UNREDUCED)) return Unreduced(metadata);
    // On one device, several types say nothing.
    if (devices == 1) return Replicate(metadata);
    return Subgroup(assignment, subgroup_types, metadata);
  }
  if (assignment.num_elements() == 1) return Replicate(metadata);
  return Tile(std::move(assignment), metadata);
}

}  // namespace xla
