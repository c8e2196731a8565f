#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

// Ragged dots as loop nests: batch, contracting and other dimensions are
// factors as in dots. Where the ragged dimension is cut, each device counts
// anew how much of each group its shard has; where the groups are cut, as the
// experts of a mixture, it has its own groups, and one more of zeros for what
// lies before them, whose rows of lhs are zeros there as well: what is infinite
// in them must not become NaN.

namespace xla::spmd {
namespace {

struct RaggedDotFactors {
  int64_t num_factors = 0;
  FactorTensor lhs, rhs, sizes, result;
  std::vector<int64_t> contracting;
  // Devices have addends: contracting dimensions, and groups of rows.
  std::vector<int64_t> summed;
  // Dimensions; -1: there is none.
  int64_t ragged = -1, rhs_group = -1, result_group = -1;
};

bool Contains(const google::protobuf::RepeatedField<int64_t>& dims, int64_t d) {
  return absl::c_linear_search(dims, d);
}

FactorTensor TensorOf(const Shape& shape, const HloSharding& sharding) {
  return {shape, sharding, std::vector<int64_t>(shape.dimensions().size(), -1)};
}

// The dimensions of lhs for each of whose elements there are other sizes.
std::vector<int64_t> SizedDims(const RaggedDotDimensionNumbers& numbers) {
  const DotDimensionNumbers& dot = numbers.dot_dimension_numbers();
  const int64_t ragged = numbers.lhs_ragged_dimensions(0);
  std::vector<int64_t> dims;
  for (int64_t d : dot.lhs_batch_dimensions()) {
    if (d == ragged) return dims;
    dims.push_back(d);
  }
  if (Contains(dot.lhs_contracting_dimensions(), ragged)) return dims;
  for (int64_t d = 0; d < ragged; ++d) {
    if (!Contains(dot.lhs_batch_dimensions(), d) &&
        !Contains(dot.lhs_contracting_dimensions(), d)) {
      dims.push_back(d);
    }
  }
  return dims;
}

RaggedDotFactors FactorsOf(const HloInstruction& hlo, const HloSharding& lhs,
                           const HloSharding& rhs, const HloSharding& sizes) {
  const RaggedDotDimensionNumbers& numbers = hlo.ragged_dot_dimension_numbers();
  const DotDimensionNumbers& dot = numbers.dot_dimension_numbers();
  RaggedDotFactors f;
  f.lhs = TensorOf(hlo.operand(0)->shape(), lhs);
  f.rhs = TensorOf(hlo.operand(1)->shape(), rhs);
  f.sizes = TensorOf(hlo.operand(2)->shape(), sizes);
  f.result = TensorOf(hlo.shape(), hlo.sharding());
  f.result.is_result = true;
  f.result.addends = AddendsWanted(hlo);
  f.ragged = numbers.lhs_ragged_dimensions(0);
  int64_t next = 0;
  auto result_factor = [&] {
    f.result.factors[next] = next;
    return next++;
  };
  if (Contains(dot.lhs_contracting_dimensions(), f.ragged)) {
    f.result_group = result_factor();
  }
  for (int i = 0; i < dot.lhs_batch_dimensions_size(); ++i) {
    const int64_t factor = result_factor();
    f.lhs.factors[dot.lhs_batch_dimensions(i)] = factor;
    f.rhs.factors[dot.rhs_batch_dimensions(i)] = factor;
  }
  for (int64_t d = 0; d < f.lhs.factors.size(); ++d) {
    if (Contains(dot.lhs_batch_dimensions(), d) ||
        Contains(dot.lhs_contracting_dimensions(), d)) {
      continue;
    }
    f.lhs.factors[d] = result_factor();
  }
  for (int64_t d = 0; d < f.rhs.factors.size(); ++d) {
    if (Contains(dot.rhs_batch_dimensions(), d) ||
        Contains(dot.rhs_contracting_dimensions(), d) ||
        Contains(numbers.rhs_group_dimensions(), d)) {
      continue;
    }
    f.rhs.factors[d] = result_factor();
  }
  f.num_factors = next;
  for (int i = 0; i < dot.lhs_contracting_dimensions_size(); ++i) {
    f.lhs.factors[dot.lhs_contracting_dimensions(i)] = f.num_factors;
    f.rhs.factors[dot.rhs_contracting_dimensions(i)] = f.num_factors;
    f.contracting.push_back(f.num_factors++);
  }
  f.summed = f.contracting;
  if (numbers.rhs_group_dimensions_size() == 1) {
    f.rhs_group = numbers.rhs_group_dimensions(0);
    f.rhs.factors[f.rhs_group] = f.num_factors;
    f.summed.push_back(f.num_factors++);
  }
  if (f.sizes.factors.size() > 1) {
    const std::vector<int64_t> sized = SizedDims(numbers);
    for (int64_t i = 0; i < sized.size(); ++i) {
      f.sizes.factors[i] = f.lhs.factors[sized[i]];
    }
  }
  return f;
}

// `lhs` with zeros in the rows of the first group.
HloInstruction* WithoutFirstGroup(HloInstruction* lhs, HloInstruction* sizes,
                                  const RaggedDotDimensionNumbers& numbers,
                                  SpmdBuilder* b) {
  const int64_t group_dim = sizes->shape().dimensions().size() - 1;
  HloInstruction* first = SliceDim(sizes, group_dim, 0, 1, b);
  first =
      AddReshape(first, sizes->shape().dimensions().subspan(0, group_dim), b);
  const Shape places =
      ShapeUtil::ChangeElementType(lhs->shape(), sizes->shape().element_type());
  HloInstruction* row = b->AddInstruction(
      HloInstruction::CreateIota(places, numbers.lhs_ragged_dimensions(0)));
  // Sizes of rank 1 are those of all places.
  const std::vector<int64_t> dims =
      group_dim == 0 ? std::vector<int64_t>() : SizedDims(numbers);
  HloInstruction* end =
      b->AddInstruction(HloInstruction::CreateBroadcast(places, first, dims));
  return AddSelect(AddCompare(row, ComparisonDirection::kGe, end, b), {}, lhs,
                   CreateZero(lhs->shape(), b), b);
}

// The sum of sizes along the last dimension, up to and with each.
HloInstruction* RunningSum(HloInstruction* sizes, HloModule* module,
                           SpmdBuilder* b) {
  const Shape& shape = sizes->shape();
  const int64_t rank = shape.dimensions().size();
  Window window;
  for (int64_t d = 0; d < rank; ++d) {
    WindowDimension* dim = window.add_dimensions();
    const int64_t size = d == rank - 1 ? shape.dimensions(d) : 1;
    dim->set_size(size);
    dim->set_padding_low(size - 1);
    dim->set_stride(1);
    dim->set_window_dilation(1);
    dim->set_base_dilation(1);
  }
  return b->AddInstruction(HloInstruction::CreateReduceWindow(
      shape, sizes, CreateR0(0, shape.element_type(), b), window,
      MakeBinaryAdd(shape.element_type(), module)));
}

// Where groups start and end, counted from the start of the first, none beyond
// `whole`.
struct GroupBounds {
  HloInstruction* starts;
  HloInstruction* ends;
};

// Bounds of groups whose sizes, S32 in [0, whole], lie along the last
// dimension, which is not empty.
GroupBounds BoundsOf(HloInstruction* sizes, int64_t whole,
                     const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  CheckIndex(whole, b);
  const int64_t groups = sizes->shape().dimensions().back();
  // Sizes may say more than there is.
  const bool fits = whole <= std::numeric_limits<int32_t>::max() / groups;
  sizes = AddConvert(sizes, fits ? S32 : S64, b);
  HloInstruction* ends = RunningSum(sizes, state.module, b);
  HloInstruction* starts = AddBinary(HloOpcode::kSubtract, ends, sizes, b);
  return {ClampToS32(starts, whole, b), ClampToS32(ends, whole, b)};
}

// x less a scalar.
HloInstruction* Minus(HloInstruction* x, HloInstruction* scalar,
                      SpmdBuilder* b) {
  return AddBinary(HloOpcode::kSubtract, x,
                   CreateBroadcast(scalar, x->shape().dimensions(), b), b);
}

// How many elements of each group lie in [offset, offset + length).
HloInstruction* SizesInShard(HloInstruction* sizes, HloInstruction* offset,
                             int64_t length, int64_t whole,
                             const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  const GroupBounds bounds = BoundsOf(sizes, whole, state);
  auto within = [&](HloInstruction* x) {
    return ClampToS32(Minus(x, offset, b), length, b);
  };
  return AddBinary(HloOpcode::kSubtract, within(bounds.ends),
                   within(bounds.starts), b);
}

// The sizes of `count` groups from `offset` on, after the sum of those before,
// at most `whole`.
HloInstruction* SizesOfGroups(HloInstruction* sizes, HloInstruction* offset,
                              int64_t count, int64_t padded, int64_t whole,
                              const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  const int64_t dim = sizes->shape().dimensions().size() - 1;
  Shape shape = sizes->shape();
  shape.set_dimensions(dim, padded);
  sizes = PadToShape(sizes, shape, b);
  HloInstruction* starts = BoundsOf(sizes, whole, state).starts;
  std::vector<HloInstruction*> at(dim + 1, CreateR0(0, S32, b));
  at[dim] = offset;
  auto cut = [&](HloInstruction* x, int64_t length) {
    Shape part = shape;
    part.set_dimensions(dim, length);
    return b->AddInstruction(
        HloInstruction::CreateDynamicSlice(part, x, at, part.dimensions()));
  };
  shape.set_dimensions(dim, count + 1);
  HloInstruction* parts[] = {cut(starts, 1), cut(sizes, count)};
  return b->AddInstruction(
      HloInstruction::CreateConcatenate(shape, parts, dim));
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleRaggedDot(HloInstruction* hlo) {
  // Without groups there are no windows to add sizes up in.
  if (hlo->ragged_dot_dimension_numbers().lhs_ragged_dimensions_size() != 1 ||
      ShapeUtil::IsZeroElementArray(hlo->operand(2)->shape())) {
    return DefaultAction(hlo);
  }
  const RaggedDotFactors f =
      FactorsOf(*hlo, GetPartitionedHlo(hlo->operand(0)).sharding(),
                GetPartitionedHlo(hlo->operand(1)).sharding(),
                GetPartitionedHlo(hlo->operand(2)).sharding());
  const auto tensors = {f.lhs, f.rhs, f.sizes, f.result};
  const std::optional<HloSharding> factors =
      ChooseFactorSharding(f.num_factors, tensors, f.summed);
  ExplainPriced(tensors, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  auto operand = [&](int64_t i, const FactorTensor& tensor) {
    return ZeroPadded(GetPartitionedHlo(hlo->operand(i))
                          .Reshard(TensorSharding(*factors, tensor)),
                      tensor, f.contracting);
  };
  HloInstruction* lhs = operand(0, f.lhs);
  HloInstruction* rhs = operand(1, f.rhs);
  // Groups end where the dimension does, whatever their sizes say.
  HloInstruction* sizes =
      ClampToS32(operand(2, f.sizes), f.lhs.shape.dimensions(f.ragged), &b_);
  auto offset = [&](int64_t factor, int64_t shard) {
    std::vector<int64_t> table = OrdinalTable(*factors, factor);
    for (int64_t& ordinal : table) ordinal *= shard;
    return TableLookup(table, S32, partition_id_, &b_);
  };
  const int64_t ragged = f.lhs.factors[f.ragged];
  if (factors->dimension(ragged) > 1) {
    const int64_t length = lhs->shape().dimensions(f.ragged);
    sizes =
        SizesInShard(sizes, offset(ragged, length), length,
                     f.lhs.shape.dimensions(f.ragged), MakePartitioningState());
  }
  const HloSharding result_sharding = TensorSharding(*factors, f.result);
  Shape shape = MakePartitionedShape(hlo->shape(), result_sharding);
  const int64_t group =
      f.rhs_group >= 0 ? f.rhs.factors[f.rhs_group] : f.result_group;
  const bool cuts_groups = group >= 0 && factors->dimension(group) > 1;
  if (cuts_groups) {
    const int64_t count = f.rhs_group >= 0
                              ? rhs->shape().dimensions(f.rhs_group)
                              : shape.dimensions(f.result_group);
    sizes = SizesOfGroups(
        sizes, offset(group, count), count, count * factors->dimension(group),
        lhs->shape().dimensions(f.ragged), MakePartitioningState());
    if (f.rhs_group >= 0) {
      lhs = WithoutFirstGroup(lhs, sizes, hlo->ragged_dot_dimension_numbers(),
                              &b_);
      Shape none = rhs->shape();
      none.set_dimensions(f.rhs_group, 1);
      Shape more = rhs->shape();
      more.set_dimensions(f.rhs_group, count + 1);
      HloInstruction* parts[] = {CreateZero(none, &b_), rhs};
      rhs = b_.AddInstruction(
          HloInstruction::CreateConcatenate(more, parts, f.rhs_group));
    } else {
      shape.set_dimensions(f.result_group, count + 1);
    }
  }
  HloInstruction* local =
      b_.AddInstruction(hlo->CloneWithNewOperands(shape, {lhs, rhs, sizes}));
  if (cuts_groups && f.rhs_group < 0) {
    local = SliceDim(local, f.result_group, 1, shape.dimensions(f.result_group),
                     &b_);
  }
  const ShardedSum sum =
      SumAddends(local, *factors, f.result, f.summed, MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
