#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_AXIS_MESH_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_AXIS_MESH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"

namespace xla {

// Numbers of axes, major first.
using AxisList = std::vector<int>;
using AxisMask = uint32_t;

// How the axes of a mesh cut one array. Axes that do not appear replicate it.
struct TensorSharding {
  std::vector<AxisList> dims;
  // Dimensions that propagation may cut further, at the minor end.
  std::vector<bool> open;
  // Axes that may not cut the array, and axes over which it is a sum.
  AxisMask replicated = 0;
  AxisMask unreduced = 0;
  // Axes along which each device has values of its own, in a manual region.
  AxisMask manual = 0;
  ReductionOp reduction_op = ReductionOp::kSum;

  // Axes that appear anywhere.
  AxisMask Used() const;
};

// The device numbering cut into prime factors, so that every sharding of a
// module is a list of such axes per dimension:
//
//   {devices=[4,2]<=[8]}  →  axes of sizes 2,2,2; dims {0,1}, {2}
class AxisMesh {
 public:
  // Finds axes that serve all of `shardings` (leaves, named or tiled, over one
  // number of devices), the first ones taking precedence; shardings that they
  // do not serve cannot be translated. Irregular device orders are supported if
  // all shardings share one.
  static AxisMesh Build(absl::Span<const HloSharding> shardings);

  const std::vector<int64_t>& sizes() const { return sizes_; }
  int num_axes() const { return static_cast<int>(sizes_.size()); }
  int64_t num_devices() const { return num_devices_; }
  // Devices along the axes of the list.
  int64_t Extent(const AxisList& axes) const;

  // nullopt for one device, manual, unknown and tuple shardings, ranks that
  // differ from `rank`, and device orders that the axes cannot express.
  // Dimensions of tiled shardings are closed, those of named ones as they say.
  std::optional<TensorSharding> Translate(const HloSharding& sharding,
                                          int64_t rank) const;
  // Tiled or replicated.
  HloSharding ToHloSharding(const TensorSharding& sharding) const;

 private:
  // The tiles with devices renumbered by their positions in base_.
  std::optional<TileAssignment> InBaseOrder(const TileAssignment& tiles) const;
  // The axes of each tile dimension.
  std::optional<std::vector<AxisList>> AxesOfDims(
      const TileAssignment& tiles) const;

  int64_t num_devices_ = 1;
  std::vector<int64_t> sizes_;
  // Empty: 0, 1, 2, ...
  std::vector<int64_t> base_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_AXIS_MESH_H_
