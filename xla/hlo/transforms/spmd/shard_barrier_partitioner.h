#ifndef XLA_HLO_TRANSFORMS_SPMD_SHARD_BARRIER_PARTITIONER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SHARD_BARRIER_PARTITIONER_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"

namespace xla::spmd {

inline constexpr char kShardBarrierFrom[] = "ShardBarrierFrom";
inline constexpr char kShardBarrierTo[] = "ShardBarrierTo";

// Identities through which shardings propagate one way only.
// ShardingPropagation removes them in the end; the partitioner returns an error
// if it meets one.
class ShardBarrierPartitioner : public CustomCallPartitioner {
 public:
  bool IsCustomCallShardable(const HloInstruction* instruction) const override {
    return true;
  }
  bool CanSideEffectingHaveReplicatedSharding() const override { return true; }
};

// From users to operands.
class ShardBarrierFromPartitioner : public ShardBarrierPartitioner {
 public:
  std::optional<HloSharding> InferShardingFromOperands(
      const HloInstruction* instruction) const override {
    return std::nullopt;
  }
  HloSharding PropagateUserSharding(
      const HloInstruction* instruction, const HloInstruction* user,
      const HloSharding& sharding) const override {
    return sharding;
  }
};

// From operands to users.
class ShardBarrierToPartitioner : public ShardBarrierPartitioner {
 public:
  std::optional<HloSharding> InferShardingFromOperands(
      const HloInstruction* instruction) const override {
    const HloInstruction* operand = instruction->operand(0);
    if (!operand->has_sharding()) return std::nullopt;
    return operand->sharding();
  }
  HloSharding PropagateUserSharding(
      const HloInstruction* instruction, const HloInstruction* user,
      const HloSharding& sharding) const override {
    return HloSharding::Replicate();
  }
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SHARD_BARRIER_PARTITIONER_H_
