#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/convolution_halves.h"   // IWYU pragma: export
#include "xla/hlo/transforms/spmd/device_group_state.h"   // IWYU pragma: export
#include "xla/hlo/transforms/spmd/device_groups.h"        // IWYU pragma: export
#include "xla/hlo/transforms/spmd/exchange_halo.h"        // IWYU pragma: export
#include "xla/hlo/transforms/spmd/offset_calculation.h"   // IWYU pragma: export
#include "xla/hlo/transforms/spmd/partial_replication.h"  // IWYU pragma: export
#include "xla/hlo/transforms/spmd/partition_cost.h"       // IWYU pragma: export
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/windowed_reshard.h"  // IWYU pragma: export
#include "xla/hlo/utils/hlo_sharding_util.h"
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
int64_t ShapeSizeInBytes(const Shape& shape);
// The shardings of a tuple's elements, in one pass over its leaves.
std::vector<HloSharding> ElementShardings(const HloSharding& sharding,
                                          const Shape& tuple);
// Tiles along a dimension; 1 for untiled shardings.
int64_t ShardCountAtDim(const HloSharding& sharding, int64_t dim);
// The only tiled dimension.
std::optional<int64_t> UniqueTiledDim(const HloSharding& sharding);
// Shard size times number of shards.
Shape GetPaddedShapeForUnevenPartitioning(const Shape& base_shape,
                                          const HloSharding& sharding);
// Dimension i is tiled as dimension source_dims[i] of `sharding` (-1: not at
// all), by the same devices. Devices of tiles left out hold copies. Manual
// subgroups stay; untiled shardings are unchanged.
HloSharding MapShardingDims(const HloSharding& sharding,
                            absl::Span<const int64_t> source_dims);
// Not tiled along `dims` (all: along any); devices of the tiles hold copies.
// Manual subgroups stay.
HloSharding ReplicatedOnDims(const HloSharding& sharding,
                             absl::Span<const int64_t> dims);
HloSharding ReplicatedOnAllDims(const HloSharding& sharding);

// --- Small instructions.

// `value` must be representable in S32, the type of indices into shards;
// otherwise the builder fails.
HloInstruction* CreateR0(int64_t value, PrimitiveType type, SpmdBuilder* b);
// Fails the builder unless the value is representable in S32.
void CheckIndex(int64_t value, SpmdBuilder* b);
// The types that T may be below: where instructions are added.
template <typename T>
using IsCompOrCompBuilder =
    typename std::enable_if_t<std::is_same_v<HloComputation, T> ||
                              std::is_base_of_v<HloComputation::Builder, T>>;
// The same as CreateR0 for values of any type.
template <typename NativeT, typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateR0WithType(PrimitiveType type, NativeT value, T* b) {
  return b->AddInstruction(HloInstruction::CreateConstant(
      LiteralUtil::CreateR0<NativeT>(value).Convert(type).value()));
}
// What a sort in descending order puts last (CreateFirstWithType) or first
// (CreateLastWithType): NaNs with that sign of F32, else the least or the
// largest value.
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateFirstWithType(PrimitiveType type, T* b) {
  if (type == F32) {
    return CreateR0WithType(type, -std::numeric_limits<float>::quiet_NaN(), b);
  }
  return b->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::MinValue(type)));
}
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateLastWithType(PrimitiveType type, T* b) {
  if (type == F32) {
    return CreateR0WithType(type, std::numeric_limits<float>::quiet_NaN(), b);
  }
  return b->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::MaxValue(type)));
}
// literal_creator(value, element type), a scalar, broadcast to the shape;
// tuples element by element.
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateConstantBase(const Shape& shape, Literal value, T* b,
                                   Literal (*literal_creator)(Literal,
                                                              PrimitiveType)) {
  if (shape.IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (const Shape& element : shape.tuple_shapes()) {
      elements.push_back(
          CreateConstantBase(element, value.Clone(), b, literal_creator));
    }
    return b->AddInstruction(HloInstruction::CreateTuple(elements));
  }
  if (shape.IsToken()) {
    return b->AddInstruction(HloInstruction::CreateToken());
  }
  HloInstruction* scalar = b->AddInstruction(HloInstruction::CreateConstant(
      literal_creator(std::move(value), shape.element_type())));
  if (shape.dimensions().empty()) return scalar;
  return b->AddInstruction(HloInstruction::CreateBroadcast(
      ShapeUtil::MakeShape(shape.element_type(), shape.dimensions()), scalar,
      {}));
}
// The scalar `value`, broadcast to the shape.
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateConstant(const Shape& shape, Literal value, T* b) {
  return CreateConstantBase(
      shape, std::move(value), b,
      [](Literal scalar, PrimitiveType) { return scalar; });
}
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateZero(const Shape& shape, T* b) {
  return CreateConstantBase(
      shape, Literal(), b,
      [](Literal, PrimitiveType type) { return LiteralUtil::Zero(type); });
}
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* CreateOne(const Shape& shape, T* b) {
  return CreateConstantBase(
      shape, Literal(), b,
      [](Literal, PrimitiveType type) { return LiteralUtil::One(type); });
}
HloInstruction* CreateScalar(Literal value, SpmdBuilder* b);
HloInstruction* CreateBroadcast(HloInstruction* scalar,
                                absl::Span<const int64_t> dims, SpmdBuilder* b);
// a + b, a or b of two scalars.
HloComputation* MakeBinaryAdd(PrimitiveType type, HloModule* module);
// table[ordinal]: a constant if all entries are equal, a product if they are
// multiples of the ordinal, otherwise an element of a constant. `ordinal` is a
// scalar of U32.
HloInstruction* TableLookup(absl::Span<const int64_t> table, PrimitiveType type,
                            HloInstruction* ordinal, SpmdBuilder* b);
template <typename NativeT>
HloInstruction* TableLookup(absl::Span<const NativeT> table, PrimitiveType type,
                            HloInstruction* ordinal, SpmdBuilder* b) {
  const std::vector<int64_t> values(table.begin(), table.end());
  return TableLookup(values, type, ordinal, b);
}
// The padding at the end of every dimension up to `padded_shape`.
PaddingConfig HighPaddingTo(const Shape& shape, const Shape& padded_shape);
// High padding up to `padded_shape`, with zero or `value`.
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* PadToShape(HloInstruction* hlo, const Shape& padded_shape, T* b,
                           std::optional<Literal> value = std::nullopt) {
  if (ShapeUtil::SameDimensions(hlo->shape(), padded_shape)) return hlo;
  const PrimitiveType type = hlo->shape().element_type();
  HloInstruction* padding = b->AddInstruction(HloInstruction::CreateConstant(
      value.has_value() ? value->Clone() : LiteralUtil::Zero(type)));
  return b->AddInstruction(HloInstruction::CreatePad(
      ShapeUtil::MakeShape(type, padded_shape.dimensions()), hlo, padding,
      HighPaddingTo(hlo->shape(), padded_shape)));
}
template <typename T, typename = IsCompOrCompBuilder<T>>
HloInstruction* PadBaseShapeBeforeUnevenTiledSharding(
    HloInstruction* hlo, const HloSharding& sharding, T* b,
    std::optional<Literal> value = std::nullopt) {
  return PadToShape(hlo,
                    GetPaddedShapeForUnevenPartitioning(hlo->shape(), sharding),
                    b, std::move(value));
}
// The low elements, up to the given dimensions; `hlo` itself if those are all.
HloInstruction* SliceTo(HloInstruction* hlo, absl::Span<const int64_t> dims,
                        SpmdBuilder* b);
HloInstruction* AddReshape(HloInstruction* hlo, absl::Span<const int64_t> dims,
                           SpmdBuilder* b);
HloInstruction* AddTranspose(HloInstruction* hlo,
                             absl::Span<const int64_t> perm, SpmdBuilder* b);
// The start of each device's shard, an S32 scalar per dimension (0 for those
// not in `dims`, unless that is empty).
std::vector<HloInstruction*> MakePartitionOffsets(
    const Shape& shape, const HloSharding& sharding,
    HloInstruction* partition_id, SpmdBuilder* b,
    absl::Span<const int64_t> dims = {});
// The number of each device's tile along each dimension, as S32 scalars.
std::vector<HloInstruction*> MakeTiledPartitionOrdinals(
    const HloSharding& sharding, HloInstruction* partition_id, SpmdBuilder* b);
// The ordinal of each device along `dim`.
std::vector<int64_t> OrdinalTable(const HloSharding& sharding, int64_t dim);
// A copy of the shard, with its sharding, that is in no cache.
PartitionedHlo MakeACopyAndReturnItsPartitionedHlo(const PartitionedHlo& phlo,
                                                   SpmdBuilder* b);

// --- What instructions read.

// The first k elements along `slice_dim`; `hlo` itself if those are all.
HloInstruction* SliceFirstK(HloInstruction* hlo, SpmdBuilder* builder,
                            int64_t slice_dim, int64_t k);
// The k of a sort whose first operand is sharded along the sorted dimension and
// whose users read only the first k elements of each row.
std::optional<int64_t> GetKValueInTopKWhenPartitionSortDim(HloInstruction* hlo);

// Whether a sort's comparator computes a > b for floats with a total order of
// NaNs: a compare in total order, or of the bits as integers with that order,
// in which negative numbers are s32 max - bits.
bool IsNanSafeGt(HloComputation* computation);

// By how much concatenate(slice(x), slice(x)) rotates x towards higher indices,
// if it does and x or the result is cut along that dimension.
//
//   concatenate(x[n-2:n], x[0:n-2]) → 2
std::optional<int64_t> FindRotateRightPattern(const HloInstruction* concat);

// concatenate(f(slice(x)), x, g(slice(x))): x between parts of itself, if x or
// the result is cut along that dimension.
struct PadWithWrapPattern {
  int64_t lhs_slice_start;
  int64_t rhs_slice_start;
  // f and g, elementwise of one operand, the last one first; without copies.
  std::vector<const HloInstruction*> lhs_modifiers;
  std::vector<const HloInstruction*> rhs_modifiers;
};
std::optional<PadWithWrapPattern> FindPadWithWrapPattern(
    const HloInstruction* concat);

// OpenXLA declares these here.
using hlo_sharding_util::AlignGroupsWith;
using hlo_sharding_util::AlignGroupsWithIfCompatible;
using hlo_sharding_util::EvenlyPartitions;

enum class DynamicUpdateSliceMethod {
  kDefault,
  // All of the update lies in one shard along each cut slice dimension.
  kUpdateOnASinglePartition,
  // Its position is known for all cut slice dimensions.
  kAllPartitionedSliceDimsHaveConstantIndices,
};
struct DynamicUpdateSliceAnalysis {
  DynamicUpdateSliceMethod method = DynamicUpdateSliceMethod::kDefault;
  // Dimensions along which the update is smaller.
  std::vector<int64_t> slice_dims;
  // Those of slice_dims that the sharding of `hlo` cuts.
  std::vector<int64_t> partitioned_slice_dims;
};
DynamicUpdateSliceAnalysis AnalyzeDynamicUpdateSlice(const HloInstruction* hlo);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_H_
