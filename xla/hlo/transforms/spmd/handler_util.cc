#include "xla/hlo/transforms/spmd/handler_util.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/evaluator/run/init_values.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {

bool IsComputedAnywhere(const HloInstruction& hlo, int most) {
  // Random numbers are elementwise, but no two devices draw the same.
  return most > 0 && hlo.IsElementwise() && !hlo.HasSideEffect() &&
         hlo.operand_count() > 0 && hlo.shape().IsArray() &&
         hlo.called_computations().empty() &&
         absl::c_all_of(hlo.operands(), [&](const HloInstruction* operand) {
           return operand->opcode() == HloOpcode::kIota ||
                  (operand->has_sharding() &&
                   operand->sharding().IsReplicatedLeaf()) ||
                  (operand->opcode() == HloOpcode::kBroadcast &&
                   RepeatsWhatAllHave(*operand)) ||
                  (ShapeUtil::SameDimensions(operand->shape(), hlo.shape()) &&
                   IsComputedAnywhere(*operand, most - 1));
         });
}

HloInstruction* AddBinary(HloOpcode opcode, HloInstruction* lhs,
                          HloInstruction* rhs, SpmdBuilder* b) {
  return b->AddInstruction(
      HloInstruction::CreateBinary(lhs->shape(), opcode, lhs, rhs));
}

HloInstruction* AddCompare(HloInstruction* lhs, ComparisonDirection direction,
                           HloInstruction* rhs, SpmdBuilder* b) {
  return b->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::ChangeElementType(lhs->shape(), PRED), lhs, rhs, direction));
}

HloInstruction* AddConvert(HloInstruction* inst, PrimitiveType type,
                           SpmdBuilder* b) {
  if (inst->shape().element_type() == type) return inst;
  return b->AddInstruction(HloInstruction::CreateConvert(
      ShapeUtil::ChangeElementType(inst->shape(), type), inst));
}

HloInstruction* AddSelect(HloInstruction* mask,
                          absl::Span<const int64_t> mask_dims,
                          HloInstruction* on_true, HloInstruction* on_false,
                          SpmdBuilder* b) {
  const Shape shape = ShapeUtil::ChangeElementType(on_true->shape(), PRED);
  if (!ShapeUtil::SameDimensions(mask->shape(), shape)) {
    mask = b->AddInstruction(
        HloInstruction::CreateBroadcast(shape, mask, mask_dims));
  }
  return b->AddInstruction(HloInstruction::CreateTernary(
      on_true->shape(), HloOpcode::kSelect, mask, on_true, on_false));
}

namespace {

HloInstruction* Number(int64_t value, const Shape& like, SpmdBuilder* b) {
  return CreateBroadcast(CreateR0(value, like.element_type(), b),
                         like.dimensions(), b);
}

// Whether a type of fractions has every whole number from 0 to `count`.
bool IsExactUpTo(int64_t count, PrimitiveType type) {
  const PrimitiveType real = primitive_util::IsComplexType(type)
                                 ? primitive_util::ComplexComponentType(type)
                                 : type;
  return count <= int64_t{1} << primitive_util::SignificandWidth(real);
}

}  // namespace

HloInstruction* IsInRange(HloInstruction* x, int64_t high, SpmdBuilder* b) {
  const Shape& shape = x->shape();
  HloInstruction* not_low =
      AddCompare(x, ComparisonDirection::kGe, Number(0, shape, b), b);
  HloInstruction* not_high =
      AddCompare(x, ComparisonDirection::kLt, Number(high, shape, b), b);
  return AddBinary(HloOpcode::kAnd, not_low, not_high, b);
}

HloInstruction* ClampToS32(HloInstruction* index, int64_t limit,
                           SpmdBuilder* b) {
  const Shape& shape = index->shape();
  const PrimitiveType type = shape.element_type();
  // A narrow type may not reach the limit.
  const int bits = primitive_util::BitWidth(type);
  const int value_bits =
      primitive_util::IsUnsignedIntegralType(type) ? bits : bits - 1;
  if (value_bits < 62) {
    limit = std::min(limit, (int64_t{1} << value_bits) - 1);
  }
  CheckIndex(limit, b);
  HloInstruction* clamped = b->AddInstruction(HloInstruction::CreateTernary(
      shape, HloOpcode::kClamp, Number(0, shape, b), index,
      Number(limit, shape, b)));
  return AddConvert(clamped, S32, b);
}

// For floats it is -0: x + -0 is x for every x, while -0 + 0 is 0 and would
// lose a sign.
std::optional<Literal> SumIdentity(PrimitiveType type) {
  switch (type) {
    case F8E8M0FNU:  // Every value is a power of 2, or NaN.
      return std::nullopt;
    case C64:
      return LiteralUtil::CreateR0<complex64>({-0.0f, -0.0f});
    case C128:
      return LiteralUtil::CreateR0<complex128>({-0.0, -0.0});
    default:
      break;
  }
  if (primitive_util::IsFloatingPointType(type)) {
    return LiteralUtil::CreateR0<float>(-0.0f).Convert(type).value();
  }
  return LiteralUtil::Zero(type);
}

std::optional<Literal> CombinerIdentity(const HloComputation& combiner) {
  const HloInstruction& root = *combiner.root_instruction();
  if (combiner.num_parameters() != 2 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1)) {
    return std::nullopt;
  }
  const PrimitiveType type = root.shape().element_type();
  switch (root.opcode()) {
    case HloOpcode::kAdd:
      return SumIdentity(type);
    case HloOpcode::kMultiply:
      return LiteralUtil::One(type);
    case HloOpcode::kMaximum:
      if (primitive_util::IsComplexType(type)) return std::nullopt;
      return LiteralUtil::MinValue(type);
    case HloOpcode::kMinimum:
      if (primitive_util::IsComplexType(type)) return std::nullopt;
      return LiteralUtil::MaxValue(type);
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return LiteralUtil::Zero(type);
    case HloOpcode::kAnd:
      if (type == PRED) return LiteralUtil::One(type);
      if (primitive_util::IsUnsignedIntegralType(type)) {
        return LiteralUtil::MaxValue(type);
      }
      return LiteralUtil::CreateR0<int64_t>(-1).Convert(type).value();
    default:  // No known neutral element.
      return std::nullopt;
  }
}

std::optional<std::vector<Literal>> NeutralInputs(
    const HloInstruction& reduction) {
  const int64_t inputs = reduction.operand_count() / 2;
  std::optional<Literal> identity;
  if (inputs == 1) {
    identity = CombinerIdentity(*reduction.to_apply());
    if (!identity.has_value()) return std::nullopt;
  }
  std::vector<Literal> neutral;
  if (InitMayRepeat(reduction)) {
    for (int64_t i = 0; i < inputs; ++i) {
      neutral.push_back(reduction.operand(inputs + i)->literal().Clone());
    }
    return neutral;
  }
  if (!identity.has_value()) return std::nullopt;
  neutral.push_back(*std::move(identity));
  return neutral;
}

bool HasLastInOrder(PrimitiveType type) {
  return primitive_util::IsIntegralType(type) || type == F16 || type == BF16 ||
         type == F32 || type == F64;
}

HloInstruction* LastInOrder(PrimitiveType type, bool largest_first,
                            SpmdBuilder* b) {
  if (primitive_util::IsIntegralType(type)) {
    return CreateScalar(largest_first ? LiteralUtil::MinValue(type)
                                      : LiteralUtil::MaxValue(type),
                        b);
  }
  if (!HasLastInOrder(type)) return nullptr;
  // NaNs of all ones, negative and positive.
  const int width = primitive_util::BitWidth(type);
  const PrimitiveType bits =
      largest_first ? primitive_util::UnsignedIntegralTypeForBitWidth(width)
                    : primitive_util::SignedIntegralTypeForBitWidth(width);
  return b->AddInstruction(HloInstruction::CreateBitcastConvert(
      ShapeUtil::MakeShape(type, {}),
      CreateScalar(LiteralUtil::MaxValue(bits), b)));
}

// A local iota plus the offset of the shard: of integers first, where sums of
// the type would round twice.
HloInstruction* AddIota(const HloInstruction* iota, const HloSharding& sharding,
                        HloInstruction* partition_id, SpmdBuilder* b) {
  const int64_t dim = iota->dimensions(0);
  const Shape shape = MakePartitionedShape(iota->shape(), sharding);
  if (ShardCountAtDim(sharding, dim) == 1) {
    return b->AddInstruction(iota->CloneWithNewOperands(shape, {}));
  }
  const PrimitiveType type = shape.element_type();
  const bool rounds = !primitive_util::IsIntegralType(type) &&
                      !IsExactUpTo(iota->shape().dimensions(dim), type);
  const Shape numbers =
      rounds ? ShapeUtil::ChangeElementType(shape, S32) : shape;
  HloInstruction* offset =
      AddConvert(MakePartitionOffsets(iota->shape(), sharding, partition_id, b,
                                      {dim})[dim],
                 numbers.element_type(), b);
  HloInstruction* sum =
      AddBinary(HloOpcode::kAdd,
                b->AddInstruction(iota->CloneWithNewOperands(numbers, {})),
                CreateBroadcast(offset, shape.dimensions(), b), b);
  return AddConvert(sum, type, b);
}

std::vector<HloInstruction*> Elements(HloInstruction* result, SpmdBuilder* b) {
  if (!result->shape().IsTuple()) return {result};
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < result->shape().tuple_shapes().size(); ++i) {
    elements.push_back(b->AddInstruction(HloInstruction::CreateGetTupleElement(
        result->shape().tuple_shapes(i), result, i)));
  }
  return elements;
}

// A slice at a run-time position that may lie partly or wholly outside of the
// array, with zeros there. Padding by the window size on both sides makes every
// position with any overlap valid; the clamping of dynamic-slice takes care of
// the others.
HloInstruction* WindowAt(HloInstruction* inst, int64_t dim,
                         HloInstruction* shift, int64_t size, SpmdBuilder* b) {
  PaddingConfig config;
  Shape padded = inst->shape();
  Shape window = inst->shape();
  window.set_dimensions(dim, size);
  std::vector<HloInstruction*> starts;
  for (int64_t d = 0; d < padded.dimensions().size(); ++d) {
    auto* dimension = config.add_dimensions();
    dimension->set_edge_padding_low(d == dim ? size : 0);
    dimension->set_edge_padding_high(d == dim ? size : 0);
    starts.push_back(CreateR0(d == dim ? size : 0, S32, b));
  }
  padded.set_dimensions(dim, padded.dimensions(dim) + 2 * size);
  starts[dim] = AddBinary(HloOpcode::kAdd, shift, starts[dim], b);
  HloInstruction* zero =
      CreateZero(ShapeUtil::MakeShape(padded.element_type(), {}), b);
  HloInstruction* pad =
      b->AddInstruction(HloInstruction::CreatePad(padded, inst, zero, config));
  // Starts beyond the ends stop in the padding.
  return b->AddInstruction(HloInstruction::CreateDynamicSlice(
      window, pad, starts, window.dimensions()));
}

HloInstruction* SliceDim(HloInstruction* inst, int64_t dim, int64_t low,
                         int64_t high, SpmdBuilder* b, int64_t stride) {
  const auto dims = inst->shape().dimensions();
  if (low == 0 && high == dims[dim] && stride == 1) return inst;
  std::vector<int64_t> starts(dims.size(), 0), strides(dims.size(), 1);
  std::vector<int64_t> limits(dims.begin(), dims.end());
  starts[dim] = low;
  limits[dim] = high;
  strides[dim] = stride;
  Shape shape = ShapeUtil::MakeShape(inst->shape().element_type(), dims);
  shape.set_dimensions(dim, CeilOfRatio(high - low, stride));
  return b->AddInstruction(
      HloInstruction::CreateSlice(shape, inst, starts, limits, strides));
}

HloSharding MoveTilesOff(const Shape& shape, const HloSharding& sharding,
                         absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> fixed_dims) {
  if (!sharding.IsTiledLeaf()) return sharding;
  HloSharding result = sharding;
  for (int64_t d : dims) {
    if (!result.IsTiledLeaf()) break;
    if (result.dimension(d) == 1) continue;
    std::optional<int64_t> target =
        hlo_sharding_util::GetFirstTargetDimToMoveShardingTiles(
            shape, result, d, [&](int64_t candidate) {
              return !absl::c_linear_search(dims, candidate) &&
                     !absl::c_linear_search(fixed_dims, candidate);
            });
    result = target.has_value() ? hlo_sharding_util::MoveAndMergeShardingTiles(
                                      result, d, *target)
                                : ReplicatedOnDims(result, {d});
  }
  return result;
}

PrimitiveType IntegerOfBits(PrimitiveType type) {
  if (!primitive_util::IsFloatingPointType(type)) {
    return primitive_util::IsComplexType(type) ? PRIMITIVE_TYPE_INVALID : type;
  }
  const int width = primitive_util::BitWidth(type);
  return width < 8 ? PRIMITIVE_TYPE_INVALID
                   : primitive_util::UnsignedIntegralTypeForBitWidth(width);
}

HloInstruction* NothingToAdd(const Shape& shape, SpmdBuilder* b) {
  std::optional<Literal> nothing = SumIdentity(shape.element_type());
  if (!nothing.has_value()) {
    b->Fail(absl::UnimplementedError(absl::StrCat(
        "addends of a type without zero: ", ShapeUtil::HumanString(shape))));
    nothing = LiteralUtil::One(shape.element_type());
  }
  return CreateConstant(shape, *std::move(nothing), b);
}

namespace {

Shape WithDimInFront(const Shape& shape, PrimitiveType type, int64_t size) {
  std::vector<int64_t> dims = {size};
  dims.insert(dims.end(), shape.dimensions().begin(), shape.dimensions().end());
  return ShapeUtil::MakeShape(type, dims);
}

// c64[..] → f32[2,..]: the real parts and the imaginary ones.
HloInstruction* PartsOfComplex(HloInstruction* complex, SpmdBuilder* b) {
  const PrimitiveType type =
      primitive_util::ComplexComponentType(complex->shape().element_type());
  std::vector<HloInstruction*> parts;
  for (HloOpcode opcode : {HloOpcode::kReal, HloOpcode::kImag}) {
    HloInstruction* part = b->AddInstruction(HloInstruction::CreateUnary(
        ShapeUtil::ChangeElementType(complex->shape(), type), opcode, complex));
    parts.push_back(b->AddInstruction(HloInstruction::CreateReshape(
        WithDimInFront(complex->shape(), type, 1), part)));
  }
  return b->AddInstruction(HloInstruction::CreateConcatenate(
      WithDimInFront(complex->shape(), type, 2), parts, 0));
}

HloInstruction* ComplexOfParts(HloInstruction* parts, const Shape& shape,
                               SpmdBuilder* b) {
  const Shape part =
      ShapeUtil::ChangeElementType(shape, parts->shape().element_type());
  std::vector<HloInstruction*> both;
  for (int64_t i = 0; i < 2; ++i) {
    both.push_back(b->AddInstruction(
        HloInstruction::CreateReshape(part, SliceDim(parts, 0, i, i + 1, b))));
  }
  return b->AddInstruction(HloInstruction::CreateBinary(
      shape, HloOpcode::kComplex, both[0], both[1]));
}

// Shards at their places in zeros of the shape `whole`, added up; shards that
// begin beyond it count for nothing. Floating point is added up as integers, so
// that every bit stays.
HloInstruction* SumOfPlaced(HloInstruction* shard, const Shape& whole,
                            int64_t dim, const CollectiveDeviceListBase& groups,
                            int64_t channel_id,
                            const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  if (primitive_util::IsComplexType(whole.element_type())) {
    HloInstruction* parts = PartsOfComplex(shard, b);
    HloInstruction* sum = SumOfPlaced(
        parts, WithDimInFront(whole, parts->shape().element_type(), 2), dim + 1,
        groups, channel_id, state);
    return ComplexOfParts(sum, whole, b);
  }
  const int64_t size = shard->shape().dimensions(dim);
  const auto members = groups.flattened_replica_groups();
  int64_t devices = 0, longest = 0;
  for (const auto& group : members) {
    devices += group.size();
    longest = std::max<int64_t>(longest, group.size());
  }
  std::vector<int64_t> starts(devices, 0);
  for (const auto& group : members) {
    for (int64_t i = 0; i < group.size(); ++i) starts[group[i]] = i * size;
  }
  const PrimitiveType type = shard->shape().element_type();
  const PrimitiveType bits = IntegerOfBits(type);
  Shape shape = whole;
  if (bits != PRIMITIVE_TYPE_INVALID) {
    shape.set_element_type(bits);
    Shape shard_shape = shard->shape();
    shard_shape.set_element_type(bits);
    shard = b->AddInstruction(
        HloInstruction::CreateBitcastConvert(shard_shape, shard));
  }
  HloInstruction* start = TableLookup(starts, S32, state.partition_id, b);
  if (longest * size > whole.dimensions(dim)) {
    shard = AddSelect(AddCompare(start, ComparisonDirection::kLt,
                                 CreateR0(whole.dimensions(dim), S32, b), b),
                      {}, shard, NothingToAdd(shard->shape(), b), b);
  }
  HloInstruction* placed = shard;
  if (!ShapeUtil::SameDimensions(shape, shard->shape())) {
    std::vector<HloInstruction*> at(whole.dimensions().size(),
                                    CreateR0(0, S32, b));
    at[dim] = start;
    placed = b->AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
        shape, NothingToAdd(shape, b), shard, at));
  }
  HloInstruction* sum = state.collective_ops_creator.create_all_reduce(
      b, placed, MakeBinaryAdd(shape.element_type(), state.module), groups,
      channel_id);
  if (bits == PRIMITIVE_TYPE_INVALID) return sum;
  return b->AddInstruction(HloInstruction::CreateBitcastConvert(whole, sum));
}

}  // namespace

HloInstruction* GatherGroups(HloInstruction* shard, const Shape& whole,
                             int64_t dim,
                             const CollectiveDeviceListBase& groups,
                             int64_t channel_id,
                             const PartitionedHlo::PartitioningState& state) {
  const SPMDCollectiveOpsCreator& creator = state.collective_ops_creator;
  if (creator.create_all_gather != nullptr) {
    return creator.create_all_gather(state.b, shard, whole, groups, channel_id,
                                     dim);
  }
  return SumOfPlaced(shard, whole, dim, groups, channel_id, state);
}

// f32[5] on 16 devices has one element on each of 5, and an all-gather brings
// 16. An all-reduce of 5 elements that are 0 wherever a device has none brings
// about twice as many as it has elements, hence the factor of 2. Integers of
// the same bits keep -0 and NaN intact.
bool FewHaveElements(int64_t base_size, int64_t shard_size, int64_t shards,
                     PrimitiveType type) {
  return base_size > 0 && 2 * CeilOfRatio(base_size, shard_size) < shards &&
         (primitive_util::IsComplexType(type) ||
          IntegerOfBits(type) != PRIMITIVE_TYPE_INVALID);
}

HloInstruction* GatherShards(HloInstruction* shard, int64_t base_size,
                             int64_t dim, int64_t shards,
                             const CollectiveDeviceListBase& groups,
                             int64_t channel_id,
                             const PartitionedHlo::PartitioningState& state) {
  const int64_t size = shard->shape().dimensions(dim);
  Shape whole = shard->shape();
  const SPMDCollectiveOpsCreator& creator = state.collective_ops_creator;
  if (FewHaveElements(base_size, size, shards, whole.element_type()) &&
      (creator.all_reduces_groups || creator.create_all_gather == nullptr)) {
    whole.set_dimensions(dim, RoundUpTo(base_size, size));
    return SumOfPlaced(shard, whole, dim, groups, channel_id, state);
  }
  whole.set_dimensions(dim, size * shards);
  return GatherGroups(shard, whole, dim, groups, channel_id, state);
}

HloInstruction* SumOfOwners(
    HloInstruction* local, HloInstruction* is_owner,
    absl::Span<const int64_t> owner_dims,
    absl::FunctionRef<HloInstruction*(HloInstruction*)> sum, SpmdBuilder* b) {
  const PrimitiveType type = local->shape().element_type();
  const PrimitiveType bits = IntegerOfBits(type);
  const bool as_bits = bits != PRIMITIVE_TYPE_INVALID && bits != type;
  if (as_bits) {
    local = b->AddInstruction(HloInstruction::CreateBitcastConvert(
        ShapeUtil::ChangeElementType(local->shape(), bits), local));
  }
  if (is_owner != nullptr) {
    local = AddSelect(is_owner, owner_dims, local,
                      NothingToAdd(local->shape(), b), b);
  }
  HloInstruction* result = sum(local);
  if (!as_bits) return result;
  return b->AddInstruction(HloInstruction::CreateBitcastConvert(
      ShapeUtil::ChangeElementType(result->shape(), type), result));
}

HloInstruction* AllReduceOfOwners(
    HloInstruction* local, HloInstruction* is_owner,
    absl::Span<const int64_t> owner_dims, const HloSharding& sharding,
    absl::Span<const int64_t> dims,
    const PartitionedHlo::PartitioningState& state) {
  return SumOfOwners(
      local, is_owner, owner_dims,
      [&](HloInstruction* masked) {
        return state.partitioner->AllReduceAlongShardingDims(
            state.b, masked, sharding, state.next_channel_id, dims,
            state.collective_ops_creator,
            MakeBinaryAdd(masked->shape().element_type(), state.module));
      },
      state.b);
}

}  // namespace xla::spmd
