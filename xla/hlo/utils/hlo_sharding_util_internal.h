#ifndef XLA_HLO_UTILS_HLO_SHARDING_UTIL_INTERNAL_H_
#define XLA_HLO_UTILS_HLO_SHARDING_UTIL_INTERNAL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {
namespace internal {

// The sharding with tiles instead of names.
HloSharding TiledForm(const HloSharding& sharding);

// Types of the trailing tile dimensions, also for last_tile_dim_replicate.
std::vector<OpSharding::Type> SubgroupTypes(const HloSharding& sharding);

// Other tiles with the metadata and reduction operator of `like`. The last
// types.size() dimensions are subgroups, in any order and number.
HloSharding Retile(const HloSharding& like, const TileAssignment& tiles,
                   absl::Span<const OpSharding::Type> types);

int64_t Product(absl::Span<const int64_t> values);

// One factor of the device numbering and where a sharding puts it.
struct DeviceDigit {
  int64_t size;
  int64_t dim;    // tile dimension
  int64_t place;  // rank within that dimension, major = 0
};

// Two assignments over the same devices, cut into the same factors of the
// device numbering, major first. nullopt when an assignment has no rule or the
// rules have no common factors.
struct CommonDigits {
  std::vector<DeviceDigit> first;
  std::vector<DeviceDigit> second;
};
std::optional<CommonDigits> FindCommonDigits(const TileAssignment& first,
                                             const TileAssignment& second);

// The numbers of the digits of tile dimension `dim`, major first.
std::vector<int> DigitsOfDim(absl::Span<const DeviceDigit> digits, int64_t dim);

}  // namespace internal
}  // namespace hlo_sharding_util
}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_SHARDING_UTIL_INTERNAL_H_
