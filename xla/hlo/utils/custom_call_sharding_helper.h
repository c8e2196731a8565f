#ifndef XLA_HLO_UTILS_CUSTOM_CALL_SHARDING_HELPER_H_
#define XLA_HLO_UTILS_CUSTOM_CALL_SHARDING_HELPER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {

// What propagation of shardings knows of custom calls: nothing, unless
// overridden.
class CustomCallShardingHelper {
 public:
  virtual ~CustomCallShardingHelper() = default;

  // The sharding of a user of `instruction`, as far as `instruction` can have
  // it.
  virtual HloSharding PropagateUserSharding(const HloInstruction* instruction,
                                            const HloInstruction* user,
                                            const HloSharding& sharding) const;
  // What the shardings of the operands say of that of the result.
  virtual std::optional<HloSharding> InferShardingFromOperands(
      const HloInstruction* instruction) const;
  // Whether it may have another sharding than a replicated one.
  virtual bool IsCustomCallShardable(const HloInstruction* instruction) const;
  // Instructions that must have the sharding of this one.
  virtual std::vector<HloInstruction*> GetRelatedInstructions(
      HloInstruction* instruction) const;
  // Whether operands may take the sharding of the result.
  virtual bool CanPropagateShardingToOperands(
      const HloInstruction* instruction) const;
};

namespace spmd {
class SpmdPartitioningVisitor;
}  // namespace spmd

// Also partitions the custom calls of a target.
class CustomCallPartitioner : public CustomCallShardingHelper {
 public:
  // Sets the partitioned form of `hlo` in the visitor.
  virtual absl::Status Partition(spmd::SpmdPartitioningVisitor* partitioner,
                                 HloInstruction* hlo) const;
  // Whether a call with side effects may run on every device.
  virtual bool CanSideEffectingHaveReplicatedSharding() const;
};

// How many leading dimensions of all operands and results a custom call has as
// batches that do not depend on one another: the frontend attribute
// num_batch_dims, which JAX writes on calls of linear algebra. 0 where there is
// none, or these dimensions differ, or the call has side effects.
int64_t CustomCallBatchDims(const HloInstruction& call);

// Null if none is registered. Threads may call both at once.
const CustomCallPartitioner* GetCustomCallPartitioner(
    absl::string_view custom_call_target);
// For good; the first one of a target stays.
void RegisterCustomCallPartitioner(
    absl::string_view custom_call_target,
    std::unique_ptr<CustomCallPartitioner> partitioner);

}  // namespace xla

#endif  // XLA_HLO_UTILS_CUSTOM_CALL_SHARDING_HELPER_H_
