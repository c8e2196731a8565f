#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/window_util.h"

namespace xla::spmd {

// Dimensions whose windows are single elements, as batches and features of
// pooling, stay cut; those that slide are gathered.
absl::Status SpmdPartitioningVisitor::HandleSelectAndScatter(
    HloInstruction* hlo) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < hlo->shape().dimensions().size(); ++d) {
    dims.push_back(
        window_util::IsTrivialWindowDimension(hlo->window().dimensions(d))
            ? d
            : -1);
  }
  const FactorTensor data = {hlo->operand(0)->shape(),
                             GetPartitionedHlo(hlo->operand(0)).sharding(),
                             dims};
  const FactorTensor source = {hlo->operand(1)->shape(),
                               GetPartitionedHlo(hlo->operand(1)).sharding(),
                               dims};
  const FactorTensor result = {hlo->shape(), hlo->sharding(), dims,
                               /*is_result=*/true};
  const std::optional<HloSharding> factors =
      ChooseFactorSharding(dims.size(), {data, source, result}, {});
  if (!factors.has_value()) return DefaultAction(hlo);
  const HloSharding sharding = TensorSharding(*factors, result);
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding),
             {Operand(hlo, 0, TensorSharding(*factors, data)),
              Operand(hlo, 1, TensorSharding(*factors, source)),
              ReplicatedOperand(hlo, 2)})),
         sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
