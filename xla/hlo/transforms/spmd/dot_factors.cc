#include "xla/hlo/transforms/spmd/dot_factors.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {

using dot_as_convolution_util::DotConvolutionDimsInfo;

// Numbers the independent dimensions ("factors") of a dot or convolution: first
// those of the result in order, then those that are summed over. Each operand
// dimension names the factor it runs along, or -1.
DotFactors DotFactorsOf(const HloInstruction& hlo,
                        const DotConvolutionDimsInfo& info,
                        const HloSharding& lhs, const HloSharding& rhs,
                        absl::Span<const int64_t> summed_spatial) {
  auto none = [](const Shape& shape) {
    return std::vector<int64_t>(shape.dimensions().size(), -1);
  };
  DotFactors f;
  f.num_factors = hlo.shape().dimensions().size();
  f.lhs = {hlo.operand(0)->shape(), lhs, none(hlo.operand(0)->shape())};
  f.rhs = {hlo.operand(1)->shape(), rhs, none(hlo.operand(1)->shape())};
  f.result = {hlo.shape(), hlo.sharding(), none(hlo.shape()), true};
  f.result.readers = ReadersOf(hlo);
  for (const auto* dims : {&info.batch_dims, &info.lhs_non_contracting_dims,
                           &info.rhs_non_contracting_dims}) {
    for (const auto& dim : *dims) {
      f.result.factors[dim.output] = dim.output;
      if (dim.lhs >= 0) f.lhs.factors[dim.lhs] = dim.output;
      if (dim.rhs >= 0) f.rhs.factors[dim.rhs] = dim.output;
    }
  }
  for (const auto& dim : info.contracting_dims) {
    f.lhs.factors[dim.lhs] = f.num_factors;
    f.rhs.factors[dim.rhs] = f.num_factors;
    f.contracting.push_back(f.num_factors++);
  }
  for (const auto& dim : info.conv_spatial_dims) {
    if (absl::c_linear_search(summed_spatial, dim.spatial_dim)) {
      f.lhs.factors[dim.lhs] = f.num_factors;
      f.rhs.factors[dim.rhs] = f.num_factors;
      f.contracting.push_back(f.num_factors++);
      continue;
    }
    f.result.factors[dim.output] = dim.output;
    f.lhs.factors[dim.lhs] = dim.output;
  }
  return f;
}

std::optional<HloSharding> AddendsWanted(const HloInstruction& hlo,
                                         ReductionOp op) {
  if (hlo.user_count() == 0 || hlo.parent()->root_instruction() == &hlo ||
      hlo.shape().element_type() == PRED) {
    return std::nullopt;
  }
  const HloInstruction* first = hlo.users()[0];
  const bool alike = absl::c_all_of(hlo.users(), [&](const auto* user) {
    return user->IsCustomCall("Sharding") &&
           user->sharding() == first->sharding();
  });
  if (!alike || !UnreducedDim(first->sharding()).has_value() ||
      first->sharding().reduction_op() != op ||
      WithSums(first->sharding()) != hlo.sharding()) {
    return std::nullopt;
  }
  return first->sharding();
}

namespace {

HloSharding ReadByTuple(const HloInstruction& hlo, const HloInstruction& tuple,
                        ReadsOfTuples* tuples) {
  if (tuples == nullptr) {
    return tuple.sharding().GetSubSharding(tuple.shape(),
                                           {tuple.operand_index(&hlo)});
  }
  const auto [reads, is_new] = tuples->try_emplace(&tuple);
  if (is_new) {
    const std::vector<HloSharding> elements =
        ElementShardings(tuple.sharding(), tuple.shape());
    for (int64_t i = 0; i < tuple.operand_count(); ++i) {
      if (!tuple.operand(i)->shape().IsArray()) continue;
      reads->second.try_emplace(tuple.operand(i), elements[i]);
    }
  }
  return reads->second.at(&hlo);
}

// The sharding of an array that `user` reads; nullopt where it may be another
// one than that of the user.
std::optional<HloSharding> ReadBy(const HloInstruction& hlo,
                                  const HloInstruction& user,
                                  ReadsOfTuples* tuples) {
  if (user.opcode() == HloOpcode::kTuple) {
    return ReadByTuple(hlo, user, tuples);
  }
  // Larger results, or several operands that are alike, move instead.
  const bool reads =
      user.IsElementwise() && user.shape().IsArray() &&
      ShapeUtil::SameDimensions(user.shape(), hlo.shape()) &&
      ShapeSizeInBytes(user.shape()) >= ShapeSizeInBytes(hlo.shape()) &&
      absl::c_all_of(user.operands(), [&](const HloInstruction* operand) {
        return operand == &hlo || operand->sharding() == user.sharding();
      });
  if (!reads || user.sharding().IsSingleDeviceLeaf()) return std::nullopt;
  return user.sharding();
}

}  // namespace

std::vector<HloSharding> ReadersOf(const HloInstruction& hlo,
                                   ReadsOfTuples* tuples) {
  std::vector<HloSharding> readers;
  if (!hlo.shape().IsArray()) return readers;
  for (const HloInstruction* user : hlo.users()) {
    std::optional<HloSharding> read = ReadBy(hlo, *user, tuples);
    if (!read.has_value()) continue;
    if (read->IsSingleDeviceLeaf()) read = HloSharding::Replicate();
    if (IsPriced(*read) && *read != hlo.sharding() &&
        !absl::c_linear_search(readers, *read)) {
      readers.push_back(*std::move(read));
    }
  }
  return readers;
}

double MultiplyAdds(const HloInstruction& hlo,
                    const DotConvolutionDimsInfo& info) {
  double count = ShapeUtil::ElementsIn(hlo.shape());
  const Shape& rhs = hlo.operand(1)->shape();
  for (const auto& dim : info.contracting_dims) {
    count *= rhs.dimensions(dim.rhs);
  }
  for (const auto& dim : info.conv_spatial_dims) {
    count *= rhs.dimensions(dim.rhs);
  }
  return count;
}

std::vector<int64_t> AddendDims(const FactorTensor& tensor,
                                absl::Span<const int64_t> contracting) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tensor.factors.size(); ++d) {
    if (tensor.factors[d] >= 0 &&
        absl::c_linear_search(contracting, tensor.factors[d])) {
      dims.push_back(d);
    }
  }
  return dims;
}

HloInstruction* ZeroPadded(const PartitionedHlo& phlo,
                           const FactorTensor& tensor,
                           absl::Span<const int64_t> contracting) {
  return phlo.PadWithZeroOnSpecifiedDims(AddendDims(tensor, contracting)).hlo();
}

}  // namespace xla::spmd
