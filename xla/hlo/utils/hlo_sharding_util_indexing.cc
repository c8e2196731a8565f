#include "xla/hlo/utils/hlo_sharding_util_indexing.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/primitive_util.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

// Maximum number of parameters, loops and calls followed on the way to an iota;
// indices are not computed by deeper chains.
constexpr int kCallsLookedThrough = 32;

// Dimensions of `rank` that are not in `left_out`, in order.
DimensionVector OtherDims(int64_t rank, absl::Span<const int64_t> left_out) {
  DimensionVector dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(left_out, d)) dims.push_back(d);
  }
  return dims;
}

// A gather or scatter, with the names of a gather.
struct IndexedOp {
  const HloInstruction* operand;
  const HloInstruction* indices;
  int64_t index_vector_dim;
  absl::Span<const int64_t> index_map;
  absl::Span<const int64_t> operand_batching_dims;
  absl::Span<const int64_t> indices_batching_dims;
  absl::Span<const int64_t> offset_dims;
  // Operand dimensions that the output does not have.
  DimensionVector dropped_dims;
  std::vector<int64_t> slice_sizes;
  const Shape* output;  // of a scatter: the updates
};

template <typename Repeated>
absl::Span<const int64_t> AsSpan(const Repeated& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

IndexedOp Read(const HloInstruction& hlo) {
  if (const auto* gather = DynCast<HloGatherInstruction>(&hlo)) {
    const GatherDimensionNumbers& dnums = gather->gather_dimension_numbers();
    IndexedOp op{hlo.operand(0),
                 hlo.operand(1),
                 dnums.index_vector_dim(),
                 AsSpan(dnums.start_index_map()),
                 AsSpan(dnums.operand_batching_dims()),
                 AsSpan(dnums.start_indices_batching_dims()),
                 AsSpan(dnums.offset_dims()),
                 {},
                 {gather->gather_slice_sizes().begin(),
                  gather->gather_slice_sizes().end()},
                 &hlo.shape()};
    absl::c_copy(dnums.collapsed_slice_dims(),
                 std::back_inserter(op.dropped_dims));
    absl::c_copy(dnums.operand_batching_dims(),
                 std::back_inserter(op.dropped_dims));
    return op;
  }
  const auto* scatter = Cast<HloScatterInstruction>(&hlo);
  const ScatterDimensionNumbers& dnums = scatter->scatter_dimension_numbers();
  const HloInstruction* operand = scatter->scatter_operands()[0];
  const Shape& update = scatter->scatter_updates()[0]->shape();
  IndexedOp op{operand,
               scatter->scatter_indices(),
               dnums.index_vector_dim(),
               AsSpan(dnums.scatter_dims_to_operand_dims()),
               AsSpan(dnums.input_batching_dims()),
               AsSpan(dnums.scatter_indices_batching_dims()),
               AsSpan(dnums.update_window_dims()),
               {},
               GetScatterSliceSize(operand->shape(), update, dnums),
               &update};
  absl::c_copy(dnums.inserted_window_dims(),
               std::back_inserter(op.dropped_dims));
  absl::c_copy(dnums.input_batching_dims(),
               std::back_inserter(op.dropped_dims));
  return op;
}

GatherScatterDims PassthroughDims(const IndexedOp& op,
                                  const Shape& operand_shape,
                                  absl::Span<const int64_t> slice_sizes) {
  GatherScatterDims dims;
  const DimensionVector kept =
      OtherDims(operand_shape.dimensions().size(), op.dropped_dims);
  for (int64_t i = 0; i < kept.size(); ++i) {
    if (slice_sizes[kept[i]] != operand_shape.dimensions(kept[i])) continue;
    dims.operand_dims.push_back(kept[i]);
    dims.output_dims.push_back(op.offset_dims[i]);
  }
  return dims;
}

GatherScatterDims IndexDims(const IndexedOp& op) {
  return GetGatherConnectedDimsAcrossIndicesAndOutput(
      op.indices->shape().dimensions().size(), op.index_vector_dim,
      op.output->dimensions().size(), op.offset_dims);
}

std::optional<GatherScatterDims> ParallelDims(const IndexedOp& op,
                                              const CallGraph& call_graph) {
  GatherScatterDims dims;
  if (auto counted = GetGatherScatterBatchParallelDims(
          op.operand, op.indices, op.slice_sizes, op.index_vector_dim,
          op.index_map, op.indices_batching_dims, op.offset_dims, call_graph)) {
    dims = *std::move(counted);
  }
  if (!op.operand_batching_dims.empty()) {
    GatherScatterDims named;
    absl::c_copy(op.operand_batching_dims,
                 std::back_inserter(named.operand_dims));
    absl::c_copy(op.indices_batching_dims,
                 std::back_inserter(named.indices_dims));
    named.FillOutputDimsWithIndicesDims(op.index_vector_dim, op.offset_dims);
    dims.append(named);
  }
  if (dims.operand_dims.empty()) return std::nullopt;
  return dims;
}

HloSharding Along(const HloSharding& sharding, absl::Span<const int64_t> from,
                  absl::Span<const int64_t> to, const Shape& shape) {
  if (sharding.IsTileMaximal() || sharding.IsManual()) return sharding;
  return PropagateShardingAlongDimsAndReplicateOthers(
      sharding, from, to, shape.dimensions().size());
}

std::optional<HloSharding> CutAlong(const HloSharding& sharding,
                                    absl::Span<const int64_t> from,
                                    absl::Span<const int64_t> to,
                                    const Shape& shape) {
  if (sharding.IsTileMaximal() || sharding.IsManual()) return std::nullopt;
  HloSharding result = Along(sharding, from, to, shape);
  if (result.IsTileMaximal() || result.NumTiles() == 1) return std::nullopt;
  return result;
}

std::optional<HloSharding> Merged(std::optional<HloSharding> a,
                                  std::optional<HloSharding> b) {
  if (!a.has_value()) return b;
  if (b.has_value()) MergeShardingIfCompatible(*b, &*a);
  return a;
}

std::optional<HloSharding> OperandFromOutputByParallelDims(
    const HloSharding& output_sharding, const IndexedOp& op,
    const CallGraph& call_graph) {
  const auto dims = ParallelDims(op, call_graph);
  if (!dims.has_value()) return std::nullopt;
  return CutAlong(output_sharding, dims->output_dims, dims->operand_dims,
                  op.operand->shape());
}

// What a parameter, or an element of a tuple parameter (index >= 0), is at all
// call sites; null where they differ or cannot be followed.
const HloInstruction* SameAtAllCalls(const HloInstruction* parameter,
                                     int64_t index,
                                     const CallGraph& call_graph) {
  const HloInstruction* found = nullptr;
  const auto sites = call_graph.GetNode(parameter->parent()).caller_callsites();
  for (const CallSite& site : sites) {
    const HloInstruction* call = site.instruction();
    const HloInstruction* value = nullptr;
    if (call->opcode() == HloOpcode::kWhile) {
      // An element that the body passes on keeps its initial value.
      const HloInstruction* root = call->while_body()->root_instruction();
      const HloInstruction* init = call->operand(0);
      if (index < 0 || root->opcode() != HloOpcode::kTuple ||
          init->opcode() != HloOpcode::kTuple) {
        return nullptr;
      }
      const HloInstruction* next = root->operand(index);
      if (next->opcode() != HloOpcode::kGetTupleElement ||
          next->tuple_index() != index ||
          next->operand(0) != call->while_body()->parameter_instruction(0)) {
        return nullptr;
      }
      value = init->operand(index);
    } else if (call->opcode() == HloOpcode::kCall ||
               call->opcode() == HloOpcode::kFusion) {
      value = call->operand(parameter->parameter_number());
      if (index >= 0) {
        if (value->opcode() != HloOpcode::kTuple) return nullptr;
        value = value->operand(index);
      }
    }
    if (value == nullptr || (found != nullptr && found != value)) {
      return nullptr;
    }
    found = value;
  }
  return found;
}

// x of select(x < 0, .., x), the usual wrapping of negative indices; null for
// others. The same value where x is never negative.
const HloInstruction* FromTheFront(const HloInstruction* select) {
  const HloInstruction* x = select->operand(2);
  const auto* compare = DynCast<HloCompareInstruction>(select->operand(0));
  if (compare == nullptr || compare->operand(0) != x ||
      compare->direction() != ComparisonDirection::kLt ||
      !hlo_query::IsAllConstant(compare->operand(1), 0)) {
    return nullptr;
  }
  return x;
}

// What stands behind a parameter, a tuple's element, an annotation or a copy;
// null for others.
const HloInstruction* SameValue(const HloInstruction* at,
                                const CallGraph* call_graph) {
  switch (at->opcode()) {
    case HloOpcode::kCopy:
      return at->operand(0);
    case HloOpcode::kCustomCall:
      return at->IsCustomCall("Sharding") && at->operand_count() == 1
                 ? at->operand(0)
                 : nullptr;
    case HloOpcode::kParameter:
      return call_graph == nullptr ? nullptr
                                   : SameAtAllCalls(at, -1, *call_graph);
    case HloOpcode::kGetTupleElement: {
      const HloInstruction* tuple = at->operand(0);
      if (tuple->opcode() == HloOpcode::kTuple) {
        return tuple->operand(at->tuple_index());
      }
      if (tuple->opcode() != HloOpcode::kParameter || call_graph == nullptr) {
        return nullptr;
      }
      return SameAtAllCalls(tuple, at->tuple_index(), *call_graph);
    }
    default:  // Another value.
      return nullptr;
  }
}

// For each dimension of the operand of a reshape that only adds and drops
// dimensions of size 1, the dimension of the result in `dims`; -1 for those of
// size 1. nullopt for other reshapes.
std::optional<DimensionVector> ThroughUnitReshape(
    const HloInstruction* reshape, absl::Span<const int64_t> dims) {
  DimensionVector inner;
  const auto outer_sizes = reshape->shape().dimensions();
  int64_t next = 0;
  for (int64_t size : reshape->operand(0)->shape().dimensions()) {
    if (size == 1) {
      inner.push_back(-1);
      continue;
    }
    while (next < outer_sizes.size() && outer_sizes[next] == 1) ++next;
    if (next == outer_sizes.size() || outer_sizes[next] != size) {
      return std::nullopt;
    }
    inner.push_back(dims[next++]);
  }
  return inner;
}

// Whether the type has all of the first `size` numbers: u8 counts to 255 and
// begins anew.
bool Counts(PrimitiveType type, int64_t size) {
  if (!primitive_util::IsIntegralType(type)) return false;
  const int bits = primitive_util::BitWidth(type) -
                   (primitive_util::IsSignedIntegralType(type) ? 1 : 0);
  return bits >= 63 || size <= int64_t{1} << bits;
}

// The dimension along which the value counts 0, 1, 2, ..., if it is an iota up
// to data movement. `dims` maps the dimensions of the current instruction to
// those of the value asked about; the walk follows broadcasts, transposes,
// reshapes of size-1 dimensions, copies, annotations, what brings indices from
// the end to the front, and parameters with equal arguments at all calls.
std::optional<int64_t> CountingDimension(const HloInstruction* at,
                                         const CallGraph* call_graph) {
  DimensionVector dims = OtherDims(at->shape().dimensions().size(), {});
  for (int calls = 0; calls < kCallsLookedThrough;) {
    switch (at->opcode()) {
      case HloOpcode::kIota: {
        const int64_t iota_dim = Cast<HloIotaInstruction>(at)->iota_dimension();
        if (dims[iota_dim] < 0 || !Counts(at->shape().element_type(),
                                          at->shape().dimensions(iota_dim))) {
          return std::nullopt;
        }
        return dims[iota_dim];
      }
      case HloOpcode::kBroadcast:
      case HloOpcode::kTranspose: {
        // Dimension i of a broadcast's operand is dimensions(i) of the result;
        // dimension i of a transpose's result is dimensions(i) of the operand.
        DimensionVector inner(at->operand(0)->shape().dimensions().size());
        for (int64_t i = 0; i < inner.size(); ++i) {
          if (at->opcode() == HloOpcode::kBroadcast) {
            inner[i] = dims[at->dimensions(i)];
          } else {
            inner[at->dimensions(i)] = dims[i];
          }
        }
        dims = inner;
        at = at->operand(0);
        break;
      }
      case HloOpcode::kReshape: {
        std::optional<DimensionVector> inner = ThroughUnitReshape(at, dims);
        if (!inner.has_value()) return std::nullopt;
        dims = *std::move(inner);
        at = at->operand(0);
        break;
      }
      default:  // The same value elsewhere, or none that counts.
        ++calls;
        // What counts is not negative.
        at = at->opcode() == HloOpcode::kSelect ? FromTheFront(at)
                                                : SameValue(at, call_graph);
        if (at == nullptr || !at->shape().IsArray()) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

void GatherScatterDims::append(const GatherScatterDims& other) {
  absl::c_copy(other.operand_dims, std::back_inserter(operand_dims));
  absl::c_copy(other.indices_dims, std::back_inserter(indices_dims));
  absl::c_copy(other.output_dims, std::back_inserter(output_dims));
}

void GatherScatterDims::FillOutputDimsWithIndicesDims(
    int64_t index_vector_dim, absl::Span<const int64_t> offset_or_window_dims) {
  output_dims.clear();
  for (int64_t indices_dim : indices_dims) {
    // How many other dimensions of the output come before this one.
    int64_t place = indices_dim - (index_vector_dim < indices_dim ? 1 : 0);
    int64_t dim = 0;
    while (true) {
      if (!absl::c_linear_search(offset_or_window_dims, dim) && place-- == 0) {
        break;
      }
      ++dim;
    }
    output_dims.push_back(dim);
  }
}

std::vector<int64_t> GetScatterSliceSize(const Shape& operand_shape,
                                         const Shape& update_shape,
                                         const ScatterDimensionNumbers& dnums) {
  std::vector<int64_t> sizes;
  int64_t window_dim = 0;
  for (int64_t d = 0; d < operand_shape.dimensions().size(); ++d) {
    if (absl::c_linear_search(dnums.inserted_window_dims(), d) ||
        absl::c_linear_search(dnums.input_batching_dims(), d)) {
      sizes.push_back(1);
    } else {
      sizes.push_back(
          update_shape.dimensions(dnums.update_window_dims(window_dim++)));
    }
  }
  return sizes;
}

std::optional<int64_t> GetDimensionForIota(const HloInstruction* maybe_iota,
                                           const CallGraph& call_graph) {
  if (!maybe_iota->shape().IsArray()) return std::nullopt;
  return CountingDimension(maybe_iota, &call_graph);
}

std::optional<int64_t> IotaDimensionOfComponent(const HloInstruction& indices,
                                                int64_t vector_dim,
                                                int64_t component, int64_t size,
                                                const CallGraph* call_graph) {
  const HloInstruction* at = &indices;
  if (at->opcode() == HloOpcode::kConcatenate &&
      at->concatenate_dimension() == vector_dim) {
    for (const HloInstruction* operand : at->operands()) {
      const int64_t length = operand->shape().dimensions(vector_dim);
      if (component < length) {
        if (length != 1) return std::nullopt;
        at = operand;
        break;
      }
      component -= length;
    }
  } else if (vector_dim < at->shape().dimensions().size() &&
             at->shape().dimensions(vector_dim) != 1) {
    return std::nullopt;
  }
  const std::optional<int64_t> along = CountingDimension(at, call_graph);
  if (!along.has_value() || *along == vector_dim ||
      at->shape().dimensions(*along) != size) {
    return std::nullopt;
  }
  return along;
}

// An index component that is an iota along an index dimension addresses element
// i of an operand dimension for batch i: the two dimensions run in parallel and
// can be sharded alike without communication, as if they were declared batching
// dimensions.
std::optional<GatherScatterDims> GetGatherScatterBatchParallelDims(
    const HloInstruction* operand, const HloInstruction* indices,
    absl::Span<const int64_t> slice_sizes, int64_t index_vector_dim,
    absl::Span<const int64_t> index_map,
    absl::Span<const int64_t> indices_batching_dims,
    absl::Span<const int64_t> offset_or_window_dims,
    const CallGraph& call_graph) {
  GatherScatterDims dims;
  for (int64_t i = 0; i < index_map.size(); ++i) {
    const int64_t operand_dim = index_map[i];
    if (slice_sizes[operand_dim] != 1) continue;
    const std::optional<int64_t> along = IotaDimensionOfComponent(
        *indices, index_vector_dim, i, operand->shape().dimensions(operand_dim),
        &call_graph);
    if (!along.has_value() ||
        absl::c_linear_search(indices_batching_dims, *along) ||
        absl::c_linear_search(dims.indices_dims, *along)) {
      continue;
    }
    dims.operand_dims.push_back(operand_dim);
    dims.indices_dims.push_back(*along);
  }
  if (dims.operand_dims.empty()) return std::nullopt;
  dims.FillOutputDimsWithIndicesDims(index_vector_dim, offset_or_window_dims);
  return dims;
}

std::optional<GatherScatterDims> GetGatherParallelBatchDims(
    const HloInstruction& hlo, const CallGraph& call_graph) {
  return ParallelDims(Read(hlo), call_graph);
}

std::optional<GatherScatterDims> GetScatterParallelBatchDims(
    const HloInstruction& hlo, const CallGraph& call_graph) {
  return ParallelDims(Read(hlo), call_graph);
}

GatherScatterDims GetGatherOperandPassthroughDims(
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes) {
  const IndexedOp op = Read(hlo);
  return PassthroughDims(op, op.operand->shape(), slice_sizes);
}

GatherScatterDims GetScatterOperandPassthroughDims(
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes) {
  return GetGatherOperandPassthroughDims(hlo, slice_sizes);
}

GatherScatterDims GetGatherConnectedDimsAcrossIndicesAndOutput(
    int64_t indices_rank, int64_t index_vector_dim, int64_t output_rank,
    absl::Span<const int64_t> offset_dims,
    absl::Span<const int64_t> excluded_indices_dims) {
  GatherScatterDims dims;
  const DimensionVector indices_dims =
      OtherDims(indices_rank, {index_vector_dim});
  const DimensionVector output_dims = OtherDims(output_rank, offset_dims);
  for (int64_t i = 0; i < indices_dims.size(); ++i) {
    if (absl::c_linear_search(excluded_indices_dims, indices_dims[i])) continue;
    dims.indices_dims.push_back(indices_dims[i]);
    dims.output_dims.push_back(output_dims[i]);
  }
  return dims;
}

GatherScatterDims GetGatherScatterIndexPassThroughDims(
    const HloInstruction& hlo, const CallGraph& call_graph) {
  const IndexedOp op = Read(hlo);
  const auto parallel = ParallelDims(op, call_graph);
  return GetGatherConnectedDimsAcrossIndicesAndOutput(
      op.indices->shape().dimensions().size(), op.index_vector_dim,
      op.output->dimensions().size(), op.offset_dims,
      parallel.has_value() ? parallel->indices_dims : DimensionVector());
}

HloSharding GatherOutputShardingFromIndex(const HloSharding& index_sharding,
                                          const HloInstruction* hlo) {
  const IndexedOp op = Read(*hlo);
  const GatherScatterDims dims = IndexDims(op);
  return Along(index_sharding, dims.indices_dims, dims.output_dims, *op.output);
}

HloSharding GatherIndexShardingFromOutput(const HloSharding& output_sharding,
                                          const HloInstruction* hlo) {
  const IndexedOp op = Read(*hlo);
  const GatherScatterDims dims = IndexDims(op);
  return Along(output_sharding, dims.output_dims, dims.indices_dims,
               op.indices->shape());
}

HloSharding ScatterIndexShardingFromUpdate(
    const HloSharding& update_sharding, const HloScatterInstruction* scatter) {
  return GatherIndexShardingFromOutput(update_sharding, scatter);
}

HloSharding ScatterUpdateShardingFromIndex(
    const HloSharding& index_sharding, const HloScatterInstruction* scatter) {
  return GatherOutputShardingFromIndex(index_sharding, scatter);
}

std::optional<HloSharding>
GatherOutputShardingFromOperandOperandPassthroughDimensions(
    const HloSharding& operand_sharding, const HloInstruction& hlo) {
  const IndexedOp op = Read(hlo);
  return GatherOutputShardingFromOperandOperandPassthroughDimensions(
      op.operand->shape(), operand_sharding, hlo, op.slice_sizes);
}

std::optional<HloSharding>
GatherOutputShardingFromOperandOperandPassthroughDimensions(
    const Shape& operand_shape, const HloSharding& operand_sharding,
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes) {
  const IndexedOp op = Read(hlo);
  const GatherScatterDims dims =
      PassthroughDims(op, operand_shape, slice_sizes);
  return CutAlong(operand_sharding, dims.operand_dims, dims.output_dims,
                  *op.output);
}

std::optional<HloSharding> GatherOperandShardingFromOutputParallelDimensions(
    const HloSharding& output_sharding, const HloInstruction& hlo,
    const CallGraph& call_graph) {
  return OperandFromOutputByParallelDims(output_sharding, Read(hlo),
                                         call_graph);
}

std::optional<HloSharding> GatherOperandShardingFromOutput(
    const HloSharding& output_sharding, const HloInstruction& hlo,
    const CallGraph& call_graph) {
  const IndexedOp op = Read(hlo);
  const GatherScatterDims dims =
      PassthroughDims(op, op.operand->shape(), op.slice_sizes);
  return Merged(
      OperandFromOutputByParallelDims(output_sharding, op, call_graph),
      CutAlong(output_sharding, dims.output_dims, dims.operand_dims,
               op.operand->shape()));
}

std::optional<HloSharding> ScatterOutputShardingFromUpdate(
    const HloSharding& update_sharding, const HloScatterInstruction& scatter) {
  const IndexedOp op = Read(scatter);
  const GatherScatterDims dims =
      PassthroughDims(op, op.operand->shape(), op.slice_sizes);
  return CutAlong(update_sharding, dims.output_dims, dims.operand_dims,
                  op.operand->shape());
}

std::optional<HloSharding> ScatterUpdateShardingFromOutput(
    const HloSharding& per_output_sharding,
    const HloScatterInstruction& scatter, const CallGraph& call_graph) {
  return Merged(ScatterUpdateShardingFromOutputParallelDimensions(
                    per_output_sharding, scatter, call_graph),
                ScatterUpdateShardingFromOutputOperandPassthroughDimensions(
                    per_output_sharding, scatter));
}

std::optional<HloSharding>
ScatterUpdateShardingFromOutputOperandPassthroughDimensions(
    const HloSharding& output_sharding, const HloInstruction& hlo) {
  return GatherOutputShardingFromOperandOperandPassthroughDimensions(
      output_sharding, hlo);
}

std::optional<HloSharding>
ScatterUpdateShardingFromOutputOperandPassthroughDimensions(
    const Shape& output_shape, const HloSharding& output_sharding,
    const HloInstruction& hlo, absl::Span<const int64_t> slice_sizes) {
  return GatherOutputShardingFromOperandOperandPassthroughDimensions(
      output_shape, output_sharding, hlo, slice_sizes);
}

std::optional<HloSharding> ScatterUpdateShardingFromOutputParallelDimensions(
    const HloSharding& output_sharding, const HloScatterInstruction& scatter,
    const CallGraph& call_graph) {
  const IndexedOp op = Read(scatter);
  const auto dims = ParallelDims(op, call_graph);
  if (!dims.has_value()) return std::nullopt;
  return CutAlong(output_sharding, dims->operand_dims, dims->output_dims,
                  *op.output);
}

HloSharding InferGatherScatterParallelShardingFromOperandSharding(
    const HloSharding& operand_sharding, const Shape& shape,
    absl::Span<const int64_t> output_aligned_operand_parallel_dims,
    absl::Span<const int64_t> output_parallel_dims) {
  return Along(operand_sharding, output_aligned_operand_parallel_dims,
               output_parallel_dims, shape);
}

}  // namespace hlo_sharding_util
}  // namespace xla
