#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "xla/comparison_util.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/index_dims.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Scatters as loop nests. Factors are the dimensions of the updates, and one
// for each dimension of the operand in which single elements are updated:
//   - windows as long as the operand: operand and updates are cut alike;
//   - batch dimensions, explicit ones and those whose index is an iota along a
//     dimension of the indices: operand, indices and updates are cut alike;
//   - updated dimensions: indices are shifted, and updates for other shards
//     drop out of bounds;
//   - dimensions of the indices, if the combiner has an identity: each device
//     combines its updates, all but the first into identities, and an
//     all-reduce combines the results.

namespace xla::spmd {
namespace {

using Method = GatherScatterPartitioningMethod;

struct ScatterFactors {
  int64_t num_factors = 0;
  FactorTensor operand;
  FactorTensor indices;
  FactorTensor updates;
  FactorTensor result;
  std::vector<int64_t> combined;  // factors of indices alone
  MethodFactors methods;
  std::vector<int64_t> dim_of_component;
};

// For each dimension of the updates, the dimension of the operand that it is a
// window of, or -1.
std::vector<int64_t> WindowOfUpdates(const ScatterDimensionNumbers& dnums,
                                     int64_t operand_rank,
                                     int64_t updates_rank) {
  std::vector<int64_t> windows;
  for (int64_t d = 0; d < operand_rank; ++d) {
    if (!absl::c_linear_search(dnums.inserted_window_dims(), d) &&
        !absl::c_linear_search(dnums.input_batching_dims(), d)) {
      windows.push_back(d);
    }
  }
  std::vector<int64_t> result(updates_rank, -1);
  for (int i = 0; i < dnums.update_window_dims_size(); ++i) {
    result[dnums.update_window_dims(i)] = windows[i];
  }
  return result;
}

// Factors are numbered by dimensions of the updates, plus one for each operand
// dimension that indices pick from. A window as large as the operand dimension
// passes through; an index component that runs along an iota is tied to its
// batch dimension; batch dimensions of indices and updates that belong to no
// operand dimension are summed over (combined).
ScatterFactors FactorsOf(const HloScatterInstruction& scatter,
                         const HloSharding& operand_sharding,
                         const HloSharding& indices_sharding,
                         const HloSharding& updates_sharding,
                         const HloSharding& result_sharding, bool can_combine,
                         const CallGraph& call_graph) {
  const ScatterDimensionNumbers& dnums = scatter.scatter_dimension_numbers();
  const Shape& operand = scatter.scatter_operands()[0]->shape();
  const HloInstruction& indices = *scatter.scatter_indices();
  const Shape& updates = scatter.scatter_updates()[0]->shape();
  const int64_t rank = operand.dimensions().size();
  ScatterFactors f;
  f.num_factors = updates.dimensions().size();
  f.operand = {operand, operand_sharding, std::vector<int64_t>(rank, -1)};
  f.indices = {indices.shape(), indices_sharding,
               std::vector<int64_t>(indices.shape().dimensions().size(), -1)};
  f.updates = {updates, updates_sharding,
               std::vector<int64_t>(updates.dimensions().size(), -1)};
  f.dim_of_component.assign(dnums.scatter_dims_to_operand_dims().begin(),
                            dnums.scatter_dims_to_operand_dims().end());
  const std::vector<int64_t> windows =
      WindowOfUpdates(dnums, rank, updates.dimensions().size());
  // Windows, and which factor each dimension of the indices is.
  std::vector<int64_t> factor_of_index(f.indices.factors.size(), -1);
  std::vector<int64_t> window_size(rank, 1);
  int64_t next_index = 0;
  for (int64_t d = 0; d < windows.size(); ++d) {
    if (windows[d] < 0) {
      if (next_index == dnums.index_vector_dim()) ++next_index;
      factor_of_index[next_index++] = d;
      continue;
    }
    window_size[windows[d]] = updates.dimensions(d);
    if (updates.dimensions(d) != operand.dimensions(windows[d])) continue;
    f.operand.factors[windows[d]] = d;
    f.updates.factors[d] = d;
    f.methods[Method::kOperandPassthrough].push_back(d);
  }
  auto tie = [&](int64_t operand_dim, int64_t index_dim, Method method) {
    f.operand.factors[operand_dim] = factor_of_index[index_dim];
    f.methods[method].push_back(factor_of_index[index_dim]);
  };
  for (int i = 0; i < dnums.input_batching_dims_size(); ++i) {
    tie(dnums.input_batching_dims(i), dnums.scatter_indices_batching_dims(i),
        Method::kExplicitBatch);
  }
  for (int64_t i = 0; i < f.dim_of_component.size(); ++i) {
    const int64_t d = f.dim_of_component[i];
    if (window_size[d] != 1 || operand.dimensions(d) == 1) continue;
    const std::optional<int64_t> along =
        hlo_sharding_util::IotaDimensionOfComponent(
            indices, dnums.index_vector_dim(), i, operand.dimensions(d),
            &call_graph);
    if (along.has_value() &&
        !absl::c_linear_search(f.operand.factors, factor_of_index[*along])) {
      tie(d, *along, Method::kIndexParallel);
    } else {
      f.methods[Method::kTrivialSlicedOperand].push_back(f.num_factors);
      f.operand.factors[d] = f.num_factors++;
    }
  }
  for (int64_t i = 0; i < factor_of_index.size(); ++i) {
    const int64_t factor = factor_of_index[i];
    if (factor < 0) continue;
    const bool tied = absl::c_linear_search(f.operand.factors, factor);
    if (!tied && !can_combine) continue;
    if (!tied) f.combined.push_back(factor);
    f.indices.factors[i] = factor;
    f.updates.factors[factor] = factor;
  }
  f.methods[Method::kIndexPassthrough] = f.combined;
  f.result = f.operand;
  f.result.sharding = result_sharding;
  f.result.is_result = true;
  f.result.readers = ReadersOf(scatter);
  if (scatter.scatter_operand_count() == 1 &&
      MatchReductionComputation(scatter.to_apply()) == ReductionKind::SUM) {
    f.result.addends = AddendsWanted(scatter);
  }
  return f;
}

// All arrays that are read and made: with those that FactorsOf knows, the
// others of as many dimensions, which are cut alike.
std::vector<FactorTensor> TensorsOf(
    const HloInstruction& scatter, const ScatterFactors& f,
    absl::FunctionRef<HloSharding(const HloInstruction*)> sharding_of) {
  std::vector<FactorTensor> tensors = {f.operand, f.indices, f.updates,
                                       f.result};
  const auto add = [&](const FactorTensor& like, const Shape& shape,
                       HloSharding sharding) {
    tensors.push_back(like);
    tensors.back().shape = shape;
    tensors.back().sharding = std::move(sharding);
  };
  const int64_t count = scatter.operand_count() / 2;
  const HloSharding& wanted = scatter.sharding();
  for (int64_t i = 1; i < count; ++i) {
    const HloInstruction* operand = scatter.operand(i);
    const HloInstruction* updates = scatter.operand(count + 1 + i);
    add(f.operand, operand->shape(), sharding_of(operand));
    add(f.updates, updates->shape(), sharding_of(updates));
    add(f.result, scatter.shape().tuple_shapes(i),
        wanted.IsTuple() ? wanted.tuple_elements()[i] : wanted);
  }
  return tensors;
}

}  // namespace

// Each device applies the updates that fall into its shard: indices are shifted
// by the shard's offset, and out-of-range ones are dropped by the semantics of
// scatter. Where the updates themselves are cut, only the first device of each
// group keeps the operand, the others start from the identity, and an
// all-reduce combines them.
absl::Status SpmdPartitioningVisitor::HandleScatter(HloInstruction* hlo) {
  const auto* scatter = Cast<HloScatterInstruction>(hlo);
  const int64_t count = scatter->scatter_operand_count();
  const HloSharding& wanted = hlo->sharding();
  PartitionedHlo& indices = GetPartitionedHlo(scatter->scatter_indices());
  const std::optional<Literal> identity =
      count == 1 ? CombinerIdentity(*hlo->to_apply()) : std::nullopt;
  // Updates beyond the whole of a padded tile drop only if there is an index.
  const bool has_index = !scatter->scatter_dimension_numbers()
                              .scatter_dims_to_operand_dims()
                              .empty();
  ScatterFactors f = FactorsOf(
      *scatter, GetPartitionedHlo(hlo->operand(0)).sharding(),
      indices.sharding(), GetPartitionedHlo(hlo->operand(count + 1)).sharding(),
      wanted.IsTuple() ? wanted.tuple_elements()[0] : wanted,
      identity.has_value() && has_index, call_graph_);
  const std::vector<FactorTensor> tensors =
      TensorsOf(*hlo, f, [&](const HloInstruction* operand) {
        return GetPartitionedHlo(operand).sharding();
      });
  TF_ASSIGN_OR_RETURN(
      const std::optional<HloSharding> factors,
      !options_.need_resolve_conflicts
          ? AgreedFactorSharding(*hlo, f.num_factors, tensors)
          : ChooseFactorSharding(
                f.num_factors, tensors, f.combined, /*work=*/0,
                FactorsOfMethods(
                    f.methods, options_.preferred_scatter_partition_methods)));
  ExplainPriced(tensors, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  const HloSharding operand_sharding = TensorSharding(*factors, f.operand);
  const HloSharding updates_sharding = TensorSharding(*factors, f.updates);
  const Shape& whole = scatter->scatter_operands()[0]->shape();

  // Signed, so that an index before a shard is negative.
  PartitionedHlo local_indices =
      indices.Reshard(TensorSharding(*factors, f.indices));
  const PrimitiveType type = hlo->operand(count)->shape().element_type();
  const bool narrow = primitive_util::BitWidth(type) < 32 || type == S32;
  HloInstruction* signed_indices =
      AddConvert(local_indices.hlo(), narrow ? S32 : S64, &b_);
  const HloSharding indices_sharding = local_indices.sharding();
  signed_indices->set_sharding(indices_sharding);
  if (has_index) {
    signed_indices = PartitionedHlo(signed_indices,
                                    ShapeUtil::ChangeElementType(
                                        hlo->operand(count)->shape(),
                                        signed_indices->shape().element_type()),
                                    MakePartitioningState())
                         .PadWithValue(CreateR0(
                             -1, signed_indices->shape().element_type(), &b_))
                         .hlo();
  }
  const int64_t vector_dim =
      scatter->scatter_dimension_numbers().index_vector_dim();
  const std::vector<HloInstruction*> offsets =
      MakePartitionOffsets(whole, operand_sharding, partition_id_, &b_);
  std::vector<HloInstruction*> components;
  bool shifted = false;
  for (int64_t i = 0; i < f.dim_of_component.size(); ++i) {
    const int64_t d = f.dim_of_component[i];
    HloInstruction* index = IndexComponent(signed_indices, vector_dim, i, &b_);
    // Windows as long as the operand start at 0 in every shard.
    const int64_t factor = f.operand.factors[d];
    const bool window = factor >= 0 && factor < f.updates.factors.size() &&
                        !absl::c_linear_search(f.indices.factors, factor);
    if (!window && ShardCountAtDim(operand_sharding, d) > 1) {
      HloInstruction* offset =
          AddConvert(offsets[d], index->shape().element_type(), &b_);
      index = AddBinary(
          HloOpcode::kSubtract, index,
          CreateBroadcast(offset, index->shape().dimensions(), &b_), &b_);
      shifted = true;
    }
    components.push_back(index);
  }
  if (shifted) {
    signed_indices = StackIndexComponents(components, signed_indices->shape(),
                                          vector_dim, &b_);
  }

  const std::vector<int64_t> combined = CutFactors(*factors, f.combined);
  std::vector<HloInstruction*> operands, updates;
  for (int64_t i = 0; i < count; ++i) {
    operands.push_back(Operand(hlo, i, operand_sharding));
    updates.push_back(Operand(hlo, count + 1 + i, updates_sharding));
  }
  for (int64_t factor : combined) {
    HloInstruction* is_first = AddCompare(
        TableLookup(OrdinalTable(*factors, factor), S32, partition_id_, &b_),
        ComparisonDirection::kEq, CreateR0(0, S32, &b_), &b_);
    operands[0] =
        AddSelect(is_first, {}, operands[0],
                  CreateBroadcast(CreateScalar(identity->Clone(), &b_),
                                  operands[0]->shape().dimensions(), &b_),
                  &b_);
  }
  HloSharding local_sharding =
      HloSharding::Single(hlo->shape(), operand_sharding);
  HloInstruction* local = b_.AddInstruction(HloInstruction::CreateScatter(
      MakePartitionedShape(hlo->shape(), local_sharding), operands,
      signed_indices, updates, hlo->to_apply(),
      scatter->scatter_dimension_numbers(),
      scatter->indices_are_sorted() &&
          EvenlyPartitions(hlo->operand(count)->shape(), indices_sharding),
      scatter->unique_indices() &&
          EvenlyPartitions(hlo->operand(count)->shape(), indices_sharding)));
  if (!combined.empty()) {
    ShardedSum sum = SumAddends(local, *factors, f.result, f.combined,
                                MakePartitioningState(), hlo->to_apply());
    local = sum.sum;
    local_sharding = std::move(sum.sharding);
  }
  Finish(hlo, local, local_sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
