#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

Shape WithDimensions(const Shape& shape, absl::Span<const int64_t> dims) {
  return ShapeUtil::MakeShape(shape.element_type(), dims);
}

// k if the table is 0, k, 2k, ...; such tables are computed instead of looked
// up.
std::optional<int64_t> Multiplier(absl::Span<const int64_t> table) {
  if (table.size() < 2 || table[0] != 0) return std::nullopt;
  for (size_t i = 1; i < table.size(); ++i) {
    if (table[i] != table[1] * static_cast<int64_t>(i)) return std::nullopt;
  }
  return table[1];
}

}  // namespace

bool HasReplicatedSharding(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    return absl::c_any_of(sharding.tuple_elements(), HasReplicatedSharding);
  }
  return sharding.IsReplicatedLeaf();
}

std::vector<HloSharding> ElementShardings(const HloSharding& sharding,
                                          const Shape& tuple) {
  if (!sharding.IsTuple()) {
    return std::vector<HloSharding>(tuple.tuple_shapes().size(), sharding);
  }
  std::vector<HloSharding> elements;
  auto leaf = sharding.tuple_elements().begin();
  for (const Shape& element : tuple.tuple_shapes()) {
    if (!element.IsTuple()) {
      elements.push_back(*leaf++);
      continue;
    }
    const int64_t count = ShapeUtil::FlattenTupleShape(element).size();
    std::vector<HloSharding> leaves(leaf, leaf + count);
    leaf += count;
    // An empty tuple has one, which those of a tuple around it leave out.
    if (count == 0) leaves.push_back(HloSharding::Replicate());
    elements.push_back(HloSharding::FlatTuple(std::move(leaves)));
  }
  return elements;
}

Shape MakePartitionedShape(const Shape& shape, const HloSharding& sharding) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    const std::vector<HloSharding> shardings =
        ElementShardings(sharding, shape);
    for (int64_t i = 0; i < shape.tuple_shapes().size(); ++i) {
      elements.push_back(
          MakePartitionedShape(shape.tuple_shapes(i), shardings[i]));
    }
    return ShapeUtil::MakeTupleShape(elements);
  }
  if (!shape.IsArray()) return shape;
  return sharding.TileShape(shape);
}

Shape MakeNonPaddedShapeForGivenPartition(const Shape& shape,
                                          const HloSharding& sharding,
                                          int64_t partition_id) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    const std::vector<HloSharding> shardings =
        ElementShardings(sharding, shape);
    for (int64_t i = 0; i < shape.tuple_shapes().size(); ++i) {
      elements.push_back(MakeNonPaddedShapeForGivenPartition(
          shape.tuple_shapes(i), shardings[i], partition_id));
    }
    return ShapeUtil::MakeTupleShape(elements);
  }
  if (!shape.IsArray() || !sharding.IsTiledLeaf()) return shape;
  return sharding.TileShape(shape, partition_id);
}

int64_t ShapeSizeInBytes(const Shape& shape) {
  if (shape.IsTuple()) {
    int64_t total = 0;
    for (const Shape& element : shape.tuple_shapes()) {
      total += ShapeSizeInBytes(element);
    }
    return total;
  }
  return shape.IsArray() ? ShapeUtil::ByteSizeOf(shape) : 0;
}

int64_t ShardCountAtDim(const HloSharding& sharding, int64_t dim) {
  return sharding.IsTiledLeaf() && dim < sharding.TiledDataRank()
             ? sharding.dimension(dim)
             : 1;
}

std::optional<int64_t> UniqueTiledDim(const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return std::nullopt;
  std::optional<int64_t> found;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    if (sharding.dimension(d) == 1) continue;
    if (found.has_value()) return std::nullopt;
    found = d;
  }
  return found;
}

Shape GetPaddedShapeForUnevenPartitioning(const Shape& base_shape,
                                          const HloSharding& sharding) {
  Shape padded = base_shape;
  for (int64_t d = 0; d < base_shape.dimensions().size(); ++d) {
    const int64_t count = ShardCountAtDim(sharding, d);
    padded.set_dimensions(d,
                          CeilOfRatio(base_shape.dimensions(d), count) * count);
  }
  return padded;
}

// Reorders, drops and adds dimensions of a sharding. Devices along dropped
// dimensions become copies; added ones (-1) are whole.
HloSharding MapShardingDims(const HloSharding& sharding,
                            absl::Span<const int64_t> source_dims) {
  if (!sharding.IsTiledLeaf()) return sharding;
  const int64_t rank = sharding.TiledDataRank();
  // The new data dimensions, then those left out, then subgroups: the former
  // become a subgroup of type REPLICATED, which the factory merges.
  std::vector<int> perm;
  std::vector<int64_t> sizes;
  for (int64_t d : source_dims) {
    if (d < 0) {
      sizes.push_back(1);
      continue;
    }
    perm.push_back(d);
    sizes.push_back(sharding.dimension(d));
  }
  int64_t replication = 1;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_linear_search(source_dims, d)) continue;
    perm.push_back(d);
    replication *= sharding.dimension(d);
  }
  // With a single device, a subgroup of one copy would be another sharding.
  std::vector<OpSharding::Type> types;
  if (replication > 1) {
    sizes.push_back(replication);
    types.push_back(OpSharding::REPLICATED);
  }
  for (int64_t d = rank; d < sharding.num_dimensions(); ++d) {
    perm.push_back(d);
    sizes.push_back(sharding.dimension(d));
    types.push_back(sharding.ReplicateOnLastTileDim()
                        ? OpSharding::REPLICATED
                        : sharding.subgroup_types()[d - rank]);
  }
  return HloSharding::Subgroup(
      sharding.tile_assignment().Transpose(perm).Reshape(sizes), types,
      sharding.metadata());
}

HloSharding ReplicatedOnDims(const HloSharding& sharding,
                             absl::Span<const int64_t> dims) {
  if (!sharding.IsTiledLeaf()) return sharding;
  std::vector<int64_t> source_dims;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    source_dims.push_back(absl::c_linear_search(dims, d) ? -1 : d);
  }
  return MapShardingDims(sharding, source_dims);
}

HloSharding ReplicatedOnAllDims(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    std::vector<HloSharding> elements;
    for (const HloSharding& element : sharding.tuple_elements()) {
      elements.push_back(ReplicatedOnAllDims(element));
    }
    return HloSharding::FlatTuple(std::move(elements));
  }
  if (sharding.IsManualLeaf()) return sharding;
  if (!sharding.IsTiledLeaf()) return HloSharding::Replicate();
  return MapShardingDims(sharding,
                         std::vector<int64_t>(sharding.TiledDataRank(), -1));
}

void CheckIndex(int64_t value, SpmdBuilder* b) {
  if (std::numeric_limits<int32_t>::min() <= value &&
      value <= std::numeric_limits<int32_t>::max()) {
    return;
  }
  b->Fail(absl::UnimplementedError(
      absl::StrCat("cuts of dimensions with such indices as ", value,
                   ", which s32 does not have")));
}

HloInstruction* CreateR0(int64_t value, PrimitiveType type, SpmdBuilder* b) {
  if (type == S32) CheckIndex(value, b);
  Literal literal = LiteralUtil::CreateR0<int64_t>(value);
  return b->AddInstruction(
      HloInstruction::CreateConstant(literal.Convert(type).value()));
}

HloInstruction* CreateScalar(Literal value, SpmdBuilder* b) {
  return b->AddInstruction(HloInstruction::CreateConstant(std::move(value)));
}

HloInstruction* CreateBroadcast(HloInstruction* scalar,
                                absl::Span<const int64_t> dims,
                                SpmdBuilder* b) {
  if (dims.empty()) return scalar;
  return b->AddInstruction(HloInstruction::CreateBroadcast(
      WithDimensions(scalar->shape(), dims), scalar, {}));
}

HloComputation* MakeBinaryAdd(PrimitiveType type, HloModule* module) {
  HloComputation::Builder b("add");
  const Shape scalar = ShapeUtil::MakeShape(type, {});
  HloInstruction* x =
      b.AddInstruction(HloInstruction::CreateParameter(0, scalar, "x"));
  HloInstruction* y =
      b.AddInstruction(HloInstruction::CreateParameter(1, scalar, "y"));
  b.AddInstruction(HloInstruction::CreateBinary(
      scalar, type == PRED ? HloOpcode::kOr : HloOpcode::kAdd, x, y));
  return module->AddEmbeddedComputation(b.Build());
}

HloInstruction* TableLookup(absl::Span<const int64_t> table, PrimitiveType type,
                            HloInstruction* ordinal, SpmdBuilder* b) {
  CHECK(!table.empty());
  if (absl::c_all_of(table, [&](int64_t x) { return x == table[0]; })) {
    return CreateR0(table[0], type, b);
  }
  if (type == S32) {
    CheckIndex(*absl::c_max_element(table), b);
    CheckIndex(*absl::c_min_element(table), b);
  }
  const Shape scalar = ShapeUtil::MakeShape(type, {});
  if (std::optional<int64_t> k = Multiplier(table)) {
    HloInstruction* index =
        b->AddInstruction(HloInstruction::CreateConvert(scalar, ordinal));
    if (*k == 1) return index;
    return b->AddInstruction(HloInstruction::CreateBinary(
        scalar, HloOpcode::kMultiply, index, CreateR0(*k, type, b)));
  }
  HloInstruction* constant = b->AddInstruction(HloInstruction::CreateConstant(
      LiteralUtil::CreateR1<int64_t>(table).Convert(type).value()));
  HloInstruction* row = b->AddInstruction(HloInstruction::CreateDynamicSlice(
      ShapeUtil::MakeShape(type, {1}), constant, {ordinal}, {1}));
  return b->AddInstruction(HloInstruction::CreateReshape(scalar, row));
}

PaddingConfig HighPaddingTo(const Shape& shape, const Shape& padded_shape) {
  PaddingConfig config = MakeNoPaddingConfig(shape.dimensions().size());
  for (size_t d = 0; d < shape.dimensions().size(); ++d) {
    config.mutable_dimensions(d)->set_edge_padding_high(
        padded_shape.dimensions(d) - shape.dimensions(d));
  }
  return config;
}

HloInstruction* SliceTo(HloInstruction* hlo, absl::Span<const int64_t> dims,
                        SpmdBuilder* b) {
  if (absl::c_equal(hlo->shape().dimensions(), dims)) return hlo;
  const std::vector<int64_t> starts(dims.size(), 0), strides(dims.size(), 1);
  return b->AddInstruction(HloInstruction::CreateSlice(
      WithDimensions(hlo->shape(), dims), hlo, starts, dims, strides));
}

HloInstruction* AddReshape(HloInstruction* hlo, absl::Span<const int64_t> dims,
                           SpmdBuilder* b) {
  if (absl::c_equal(hlo->shape().dimensions(), dims)) return hlo;
  return b->AddInstruction(
      HloInstruction::CreateReshape(WithDimensions(hlo->shape(), dims), hlo));
}

HloInstruction* AddTranspose(HloInstruction* hlo,
                             absl::Span<const int64_t> perm, SpmdBuilder* b) {
  std::vector<int64_t> dims;
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i) {
    dims.push_back(hlo->shape().dimensions(perm[i]));
    identity &= perm[i] == static_cast<int64_t>(i);
  }
  if (identity) return hlo;
  return b->AddInstruction(HloInstruction::CreateTranspose(
      WithDimensions(hlo->shape(), dims), hlo, perm));
}

// By device: which tile along the dimension it holds.
std::vector<int64_t> OrdinalTable(const HloSharding& sharding, int64_t dim) {
  std::vector<int64_t> table(sharding.tile_assignment().num_elements(), 0);
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> index, int64_t device) {
        CHECK_LT(device, table.size());
        table[device] = index[dim];
      });
  return table;
}

PartitionedHlo MakeACopyAndReturnItsPartitionedHlo(const PartitionedHlo& phlo,
                                                   SpmdBuilder* b) {
  HloInstruction* copy = b->AddInstruction(HloInstruction::CreateUnary(
      phlo.hlo()->shape(), HloOpcode::kCopy, phlo.hlo()));
  copy->set_sharding(phlo.sharding());
  return PartitionedHlo(copy, phlo.base_shape(), phlo.state());
}

HloInstruction* SliceFirstK(HloInstruction* hlo, SpmdBuilder* builder,
                            int64_t slice_dim, int64_t k) {
  std::vector<int64_t> dims(hlo->shape().dimensions().begin(),
                            hlo->shape().dimensions().end());
  dims[slice_dim] = k;
  return SliceTo(hlo, dims, builder);
}

// Offsets count in whole shards, so shards without elements begin at the end or
// behind it: f32[5] on 4 devices has offsets 0, 2, 4 and 6, and the last device
// has padding only. What compares an index with the size, offset included,
// needs no other test for that.
std::vector<HloInstruction*> MakePartitionOffsets(
    const Shape& shape, const HloSharding& sharding,
    HloInstruction* partition_id, SpmdBuilder* b,
    absl::Span<const int64_t> dims) {
  std::vector<HloInstruction*> offsets;
  for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
    const int64_t count = ShardCountAtDim(sharding, d);
    if (count == 1 || (!dims.empty() && !absl::c_linear_search(dims, d))) {
      offsets.push_back(CreateR0(0, S32, b));
      continue;
    }
    std::vector<int64_t> table = OrdinalTable(sharding, d);
    const int64_t size = CeilOfRatio(shape.dimensions(d), count);
    for (int64_t& entry : table) entry *= size;
    offsets.push_back(TableLookup(table, S32, partition_id, b));
  }
  return offsets;
}

std::vector<HloInstruction*> MakeTiledPartitionOrdinals(
    const HloSharding& sharding, HloInstruction* partition_id, SpmdBuilder* b) {
  std::vector<HloInstruction*> ordinals;
  if (!sharding.IsTiledLeaf()) return ordinals;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    ordinals.push_back(
        sharding.dimension(d) == 1
            ? CreateR0(0, S32, b)
            : TableLookup(OrdinalTable(sharding, d), S32, partition_id, b));
  }
  return ordinals;
}

}  // namespace xla::spmd
