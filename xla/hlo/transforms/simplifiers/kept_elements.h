#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_KEPT_ELEMENTS_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_KEPT_ELEMENTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

// Tuples from which elements are removed.

namespace xla {

// The tuple of the elements of `tuple` listed in `kept`, in this order.
Shape ShapeOfElements(const Shape& tuple, absl::Span<const int64_t> kept);

// The sharding of such a tuple, derived from that of `tuple`. A sharding
// without leaves stays as it is.
HloSharding ShardingOfElements(const HloSharding& sharding, const Shape& tuple,
                               absl::Span<const int64_t> kept);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_KEPT_ELEMENTS_H_
