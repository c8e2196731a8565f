#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_ATTRIBUTES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"

namespace xla {

// Names of the frontend attributes that hold Shardy's part of a module.
inline constexpr absl::string_view kSdyMeshes = sdy::kMeshesRoundTripAttr;
inline constexpr absl::string_view kSdySharding = "xla.sdy.sharding";

// A mesh, or the device of a maximal one; an empty mesh has no axes and matches
// any.
struct SdyMesh {
  Mesh mesh;
  bool empty = false;
};

// By name. The names come from the module's attribute.
using SdyMeshes = std::map<std::string, SdyMesh>;

// A sharding as Shardy writes it.
struct SdySharding {
  // nullopt if every dimension is open on an empty mesh, which says nothing.
  // Otherwise replicated, one device, or named, where open dimensions are
  // marked.
  std::optional<HloSharding> sharding;
  // Rank of the list of dimensions.
  int64_t rank = 0;
  // Per dimension: when to propagate it, 0 first.
  std::vector<int64_t> priorities;
  // For messages: the text.
  std::string text;
};

// Parse Shardy's attribute texts. Quotes may be plain or escaped (`\"`, `\22`).
// Malformed texts are InvalidArgument with the text and the position: syntax,
// unknown meshes and axes, axes used twice, sub-axes that do not divide their
// axis, device lists that are not a permutation.
//
//   {mesh = #sdy.mesh<["a"=2, "b"=4], device_ids=[...]>}
absl::StatusOr<SdyMeshes> ParseSdyMeshes(absl::string_view text);
//   #sdy.sharding<@mesh, [{"a", ?}, {"b":(1)2}p1], replicated={..}>
absl::StatusOr<SdySharding> ParseSdySharding(absl::string_view text,
                                             const SdyMeshes& meshes);
//   #sdy.sharding_per_value<[<@mesh, [{"a"}]>, <@mesh, [{}]>]>
absl::StatusOr<std::vector<SdySharding>> ParseSdyShardingPerValue(
    absl::string_view text, const SdyMeshes& meshes);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_ATTRIBUTES_H_
