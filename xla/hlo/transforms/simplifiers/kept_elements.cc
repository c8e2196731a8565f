#include "xla/hlo/transforms/simplifiers/kept_elements.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

Shape ShapeOfElements(const Shape& tuple, absl::Span<const int64_t> kept) {
  std::vector<Shape> shapes;
  for (int64_t i : kept) shapes.push_back(tuple.tuple_shapes(i));
  return ShapeUtil::MakeTupleShape(shapes);
}

HloSharding ShardingOfElements(const HloSharding& sharding, const Shape& tuple,
                               absl::Span<const int64_t> kept) {
  if (!sharding.IsTuple()) return sharding;
  std::vector<HloSharding> leaves;
  for (int64_t i : kept) {
    // Beside other elements, an empty tuple has no sharding.
    if (ShapeUtil::GetLeafCount(tuple.tuple_shapes(i)) == 0) continue;
    HloSharding element = sharding.GetSubSharding(tuple, {i});
    if (element.IsTuple()) {
      leaves.insert(leaves.end(), element.tuple_elements().begin(),
                    element.tuple_elements().end());
    } else {
      leaves.push_back(element);
    }
  }
  if (leaves.empty()) leaves.push_back(HloSharding::Replicate());
  return HloSharding::Tuple(ShapeOfElements(tuple, kept), leaves);
}

}  // namespace xla
