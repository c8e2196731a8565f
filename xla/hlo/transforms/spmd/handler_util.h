#ifndef XLA_HLO_TRANSFORMS_SPMD_HANDLER_UTIL_H_
#define XLA_HLO_TRANSFORMS_SPMD_HANDLER_UTIL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Helpers of the handlers that index into shards.

namespace xla::spmd {

// lhs opcode rhs, elementwise, in the type of lhs.
HloInstruction* AddBinary(HloOpcode opcode, HloInstruction* lhs,
                          HloInstruction* rhs, SpmdBuilder* b);
// lhs < rhs and so on: PRED, with the same dimensions.
HloInstruction* AddCompare(HloInstruction* lhs, ComparisonDirection direction,
                           HloInstruction* rhs, SpmdBuilder* b);
// inst itself if it has that type.
HloInstruction* AddConvert(HloInstruction* inst, PrimitiveType type,
                           SpmdBuilder* b);
// select(mask, on_true, on_false), the mask broadcast along the dimensions that
// are not among `mask_dims`.
HloInstruction* AddSelect(HloInstruction* mask,
                          absl::Span<const int64_t> mask_dims,
                          HloInstruction* on_true, HloInstruction* on_false,
                          SpmdBuilder* b);
// low <= x < high of integers; `high` is a number.
HloInstruction* IsInRange(HloInstruction* x, int64_t high, SpmdBuilder* b);
// Integers of any type, clamped to [0, limit], as S32.
HloInstruction* ClampToS32(HloInstruction* index, int64_t limit,
                           SpmdBuilder* b);

// Whether devices have different parts of a value.
inline bool IsCut(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() && sharding.NumTiles() > 1;
}

// The sharding of an instruction, or, if that cuts nothing, the other one.
inline const HloSharding& CuttingSharding(const HloInstruction& hlo,
                                          const HloSharding& operand) {
  return IsCut(hlo.sharding()) || !IsCut(operand) ? hlo.sharding() : operand;
}

// Whether a broadcast can be made under any sharding, whatever its own one is.
inline bool RepeatsWhatAllHave(const HloInstruction& broadcast) {
  const HloInstruction& operand = *broadcast.operand(0);
  return operand.opcode() == HloOpcode::kIota ||
         (operand.has_sharding() && operand.sharding().IsReplicatedLeaf());
}

// Whether it is a result of few elementwise instructions, at most `most` in a
// row, of what all devices have or can make: each can compute any shard of it.
bool IsComputedAnywhere(const HloInstruction& hlo, int most = 4);

// Whether nothing moves where a value that has `sharding` is needed under
// another one: iotas, and what is repeated or computed from those and from what
// all devices have.
inline bool IsMadeAnywhere(const HloInstruction& hlo,
                           const HloSharding& sharding) {
  return hlo.opcode() == HloOpcode::kIota || IsComputedAnywhere(hlo) ||
         (hlo.opcode() == HloOpcode::kBroadcast &&
          (sharding.IsReplicatedLeaf() || RepeatsWhatAllHave(hlo) ||
           (sharding.IsTiledLeaf() &&
            ReplicatedOnDims(sharding, hlo.dimensions()).NumTiles() ==
                sharding.NumTiles())));
}

// What leaves every addend of a sum as it is, bit by bit: -0 where there is
// one. nullopt for types without zero.
std::optional<Literal> SumIdentity(PrimitiveType type);
// The identity of a combiner of one instruction: x such that combining it with
// any y gives y bit by bit. nullopt if there is none, or if the computation has
// another form.
std::optional<Literal> CombinerIdentity(const HloComputation& combiner);

// For a reduce or reduce-window, a value for each input that changes nothing
// beside the init values, however often it is combined: for padding, and for
// devices that do not contribute the init values. These are the init values
// themselves if combining them again changes nothing, otherwise the identity of
// the reducer. nullopt if none are known: several inputs with other init
// values, or a single one whose reducer all-reduce does not support.
//
//   sum from 0 → 0; sum from 2 → -0; maximum from 3 → 3
//   (smallest, sum) from (inf, 0) → (inf, 0); from (inf, 2) → nullopt
std::optional<std::vector<Literal>> NeutralInputs(
    const HloInstruction& reduction);

// Whether a type has a value that comes after every element in total order.
bool HasLastInOrder(PrimitiveType type);
// That value, or, if `largest_first`, the one that comes before every element;
// null where there is none. A scalar.
HloInstruction* LastInOrder(PrimitiveType type, bool largest_first,
                            SpmdBuilder* b);

// Elements shift, shift + 1, .. along `dim`, `size` of them; unspecified where
// there are none. `shift` is a scalar of S32.
HloInstruction* WindowAt(HloInstruction* inst, int64_t dim,
                         HloInstruction* shift, int64_t size, SpmdBuilder* b);

// Elements low, low + stride, .. below high along `dim`; `inst` itself where
// those are all.
HloInstruction* SliceDim(HloInstruction* inst, int64_t dim, int64_t low,
                         int64_t high, SpmdBuilder* b, int64_t stride = 1);

// The elements of a tuple; of an array, itself.
std::vector<HloInstruction*> Elements(HloInstruction* result, SpmdBuilder* b);

// The shard of an iota of the module under a tiled or replicated sharding.
HloInstruction* AddIota(const HloInstruction* iota, const HloSharding& sharding,
                        HloInstruction* partition_id, SpmdBuilder* b);

// Shards whose tiles along `dims` go elsewhere: to the first other dimension
// that takes them without padding, and is not in `fixed_dims`, else they become
// replicas.
HloSharding MoveTilesOff(const Shape& shape, const HloSharding& sharding,
                         absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> fixed_dims = {});

// The type in which sums with zeros keep every bit of a value, or INVALID:
// unsigned integers for floating point, where -0 + 0 is 0.
PrimitiveType IntegerOfBits(PrimitiveType type);
// An array of SumIdentity. The builder fails if there is none.
HloInstruction* NothingToAdd(const Shape& shape, SpmdBuilder* b);

// The shards of each group side by side along `dim`, in the shape `whole`: an
// all-gather or, if the creator has none, an all-reduce of shards padded with
// zeros.
HloInstruction* GatherGroups(HloInstruction* shard, const Shape& whole,
                             int64_t dim,
                             const CollectiveDeviceListBase& groups,
                             int64_t channel_id,
                             const PartitionedHlo::PartitioningState& state);

// Whether adding up the shards that have elements sends less than a gather of
// all: where less than half of them have any. Not of types whose sums may
// change a bit.
bool FewHaveElements(int64_t base_size, int64_t shard_size, int64_t shards,
                     PrimitiveType type);
// GatherGroups of shards of a value of `base_size` elements along `dim`, or
// such a sum if the creator of collectives has it; at least those elements.
HloInstruction* GatherShards(HloInstruction* shard, int64_t base_size,
                             int64_t dim, int64_t shards,
                             const CollectiveDeviceListBase& groups,
                             int64_t channel_id,
                             const PartitionedHlo::PartitioningState& state);

// What `sum` makes of addends of which exactly one owns each element of `local`
// (`is_owner`, whose dimensions are `owner_dims` of it; null: the elements of
// all others are zero): the owner's element, bit by bit but for complex -0
// where `is_owner` is null. Addends of floats are integers of the same bits.
HloInstruction* SumOfOwners(
    HloInstruction* local, HloInstruction* is_owner,
    absl::Span<const int64_t> owner_dims,
    absl::FunctionRef<HloInstruction*(HloInstruction*)> sum, SpmdBuilder* b);
// On all devices that differ along `dims` of `sharding`.
HloInstruction* AllReduceOfOwners(
    HloInstruction* local, HloInstruction* is_owner,
    absl::Span<const int64_t> owner_dims, const HloSharding& sharding,
    absl::Span<const int64_t> dims,
    const PartitionedHlo::PartitioningState& state);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_HANDLER_UTIL_H_
