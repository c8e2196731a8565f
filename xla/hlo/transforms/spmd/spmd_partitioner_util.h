#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/device_group_state.h"  // IWYU pragma: export
#include "xla/hlo/transforms/spmd/device_groups.h"       // IWYU pragma: export
#include "xla/hlo/transforms/spmd/exchange_halo.h"       // IWYU pragma: export
#include "xla/hlo/transforms/spmd/offset_calculation.h"  // IWYU pragma: export
#include "xla/hlo/transforms/spmd/partition_cost.h"      // IWYU pragma: export
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/windowed_reshard.h"  // IWYU pragma: export
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// --- Shapes and shardings.

bool HasReplicatedSharding(const HloSharding& sharding);
// The shape of one shard; tuples element by element.
Shape MakePartitionedShape(const Shape& shape, const HloSharding& sharding);
// As above without the padding; dimensions may be 0.
Shape MakeNonPaddedShapeForGivenPartition(const Shape& shape,
                                          const HloSharding& sharding,
                                          int64_t partition_id);
// Some device has padding.
bool EvenlyPartitions(const Shape& shape, const HloSharding& sharding);
int64_t ShapeSizeInBytes(const Shape& shape);
// Tiles along a dimension; 1 for untiled shardings.
int64_t ShardCountAtDim(const HloSharding& sharding, int64_t dim);
// The only tiled dimension.
std::optional<int64_t> UniqueTiledDim(const HloSharding& sharding);
// Shard size times number of shards.
Shape GetPaddedShapeForUnevenPartitioning(const Shape& base_shape,
                                          const HloSharding& sharding);
// Dimension i is tiled as dimension source_dims[i] of `sharding` is (-1: not at
// all), by the same devices. Those of tiles left out hold copies. Manual
// subgroups stay; untiled shardings stay as they are.
HloSharding MapShardingDims(const HloSharding& sharding,
                            absl::Span<const int64_t> source_dims);
// Not tiled along `dims` (all: along any); devices of the tiles hold copies.
// Manual subgroups stay.
HloSharding ReplicatedOnDims(const HloSharding& sharding,
                             absl::Span<const int64_t> dims);
HloSharding ReplicatedOnAllDims(const HloSharding& sharding);

// --- Small instructions.

HloInstruction* CreateR0(int64_t value, PrimitiveType type, SpmdBuilder* b);
// The same for builders of any kind and values of any type.
template <typename NativeT, typename T>
HloInstruction* CreateR0WithType(PrimitiveType type, NativeT value, T* b) {
  return b->AddInstruction(HloInstruction::CreateConstant(
      LiteralUtil::CreateR0<NativeT>(value).Convert(type).value()));
}
// The scalar `value`, as often as the shape has elements.
template <typename T>
HloInstruction* CreateConstant(const Shape& shape, Literal value, T* b) {
  HloInstruction* scalar =
      b->AddInstruction(HloInstruction::CreateConstant(std::move(value)));
  if (shape.dimensions().empty()) return scalar;
  return b->AddInstruction(HloInstruction::CreateBroadcast(shape, scalar, {}));
}
HloInstruction* CreateScalar(Literal value, SpmdBuilder* b);
HloInstruction* CreateZero(const Shape& shape, SpmdBuilder* b);
HloInstruction* CreateOne(const Shape& shape, SpmdBuilder* b);
HloInstruction* CreateBroadcast(HloInstruction* scalar,
                                absl::Span<const int64_t> dims, SpmdBuilder* b);
// a + b, a or b of two scalars.
HloComputation* MakeBinaryAdd(PrimitiveType type, HloModule* module);
// Table[ordinal]: a constant where all are equal, a product where they are
// multiples, else an element of a constant. `ordinal` is a scalar of U32.
HloInstruction* TableLookup(absl::Span<const int64_t> table, PrimitiveType type,
                            HloInstruction* ordinal, SpmdBuilder* b);
// High padding up to `padded_shape`, with zero or `value`.
HloInstruction* PadToShape(HloInstruction* hlo, const Shape& padded_shape,
                           SpmdBuilder* b,
                           std::optional<Literal> value = std::nullopt);
HloInstruction* PadBaseShapeBeforeUnevenTiledSharding(
    HloInstruction* hlo, const HloSharding& sharding, SpmdBuilder* b,
    std::optional<Literal> value = std::nullopt);
// Low elements up to the dimensions given; `hlo` itself where nothing goes.
HloInstruction* SliceTo(HloInstruction* hlo, absl::Span<const int64_t> dims,
                        SpmdBuilder* b);
HloInstruction* AddReshape(HloInstruction* hlo, absl::Span<const int64_t> dims,
                           SpmdBuilder* b);
HloInstruction* AddTranspose(HloInstruction* hlo,
                             absl::Span<const int64_t> perm, SpmdBuilder* b);
// S32 scalars of the first element of each device's shard, one per dimension
// (0 for those not in `dims`, unless that is empty).
std::vector<HloInstruction*> MakePartitionOffsets(
    const Shape& shape, const HloSharding& sharding,
    HloInstruction* partition_id, SpmdBuilder* b,
    absl::Span<const int64_t> dims = {});
// S32 scalars: the number of each device's tile along each dimension.
std::vector<HloInstruction*> MakeTiledPartitionOrdinals(
    const HloSharding& sharding, HloInstruction* partition_id, SpmdBuilder* b);
// The ordinal of each device along `dim`.
std::vector<int64_t> OrdinalTable(const HloSharding& sharding, int64_t dim);
// A copy of the shard, with its sharding, that no cache knows.
PartitionedHlo MakeACopyAndReturnItsPartitionedHlo(const PartitionedHlo& phlo,
                                                   SpmdBuilder* b);

// --- What instructions read.

// The first k elements along `slice_dim`; `hlo` itself where those are all.
HloInstruction* SliceFirstK(HloInstruction* hlo, SpmdBuilder* builder,
                            int64_t slice_dim, int64_t k);
// The k of a sort whose first operand is sharded along the sorted dimension and
// whose users read only the first k elements of each row.
std::optional<int64_t> GetKValueInTopKWhenPartitionSortDim(HloInstruction* hlo);

// By how much concatenate(slice(x), slice(x)) rotates x towards higher indices,
// where it does and x or the result is cut along that dimension.
//
//   concatenate(x[n-2:n], x[0:n-2]) → 2
std::optional<int64_t> FindRotateRightPattern(const HloInstruction* concat);

enum class DynamicUpdateSliceMethod {
  kDefault,
  // All of the update lies in one shard along each cut slice dimension.
  kUpdateOnASinglePartition,
  // Where it lies is known for all cut slice dimensions.
  kAllPartitionedSliceDimsHaveConstantIndices,
};
struct DynamicUpdateSliceAnalysis {
  DynamicUpdateSliceMethod method = DynamicUpdateSliceMethod::kDefault;
  // Dimensions along which the update is shorter.
  std::vector<int64_t> slice_dims;
  // Those of slice_dims that the sharding of `hlo` partitions.
  std::vector<int64_t> partitioned_slice_dims;
};
DynamicUpdateSliceAnalysis AnalyzeDynamicUpdateSlice(const HloInstruction* hlo);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_
