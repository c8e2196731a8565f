#include "xla/hlo/transforms/sharding_propagation/product_edges.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::sharding_edges {
namespace {

using dot_as_convolution_util::DotConvolutionDimsInfo;

// Chains are followed so far: each product of one looks ahead.
constexpr size_t kMaxLookAhead = 128;

// What the first user that has a sharding, at the end of a chain of single
// users, asks of the instruction.
//
// The chain is walked down to the first sharding and then back up, asking at
// each step what the user would ask of its operand if it had the sharding found
// so far. In x.y -> add -> transpose -> {tiled by columns}, the dot is asked
// for tiles by rows. All edges count here, whatever the level: the answer
// orders suggestions and spreads nothing.
std::optional<HloSharding> LookAhead(const HloInstruction& inst,
                                     const Context& context,
                                     LeafReader reader) {
  std::vector<const HloInstruction*> chain = {&inst};
  do {
    if (chain.back()->user_count() != 1 || chain.size() > kMaxLookAhead) {
      return std::nullopt;
    }
    chain.push_back(chain.back()->users()[0]);
  } while (reader(chain.back(), 0) == nullptr);
  Context all = context;
  all.level = std::numeric_limits<int64_t>::max() - 1;
  std::vector<LeafSharding> asked;
  for (size_t i = chain.size() - 1; i > 0; --i) {
    const HloInstruction* user = chain[i];
    auto read = [&](const HloInstruction* of, int64_t leaf) {
      if (of != user || i + 1 == chain.size()) return reader(of, leaf);
      for (const LeafSharding& found : asked) {
        if (found.leaf == leaf) return &found.sharding;
      }
      return static_cast<const HloSharding*>(nullptr);
    };
    std::vector<LeafSharding> found = FromUser(*chain[i - 1], *user, all, read);
    if (found.empty()) return std::nullopt;
    asked = std::move(found);
  }
  return asked[0].sharding;
}

// Orders the suggestions of the two operands of a product: first the one that
// fits its consumer, then the one that keeps the larger operand in place.
void OrderProductOperands(const HloInstruction& inst, const Context& context,
                          LeafReader reader, std::vector<LeafSharding>* found) {
  if (found->size() != 2) return;
  bool swap = ShapeUtil::ByteSizeOf(inst.operand(1)->shape()) >
              ShapeUtil::ByteSizeOf(inst.operand(0)->shape());
  if (const std::optional<HloSharding> ahead =
          LookAhead(inst, context, reader)) {
    const bool first = hlo_sharding_util::IsSubTilingOrEqualSharding(
        inst.shape(), *ahead, (*found)[0].sharding);
    const bool second = hlo_sharding_util::IsSubTilingOrEqualSharding(
        inst.shape(), *ahead, (*found)[1].sharding);
    if (first != second) swap = second;
  }
  if (swap) std::swap((*found)[0], (*found)[1]);
}

// The sharding of a product in which its operand stays where it is.
std::optional<HloSharding> ThroughProduct(const HloInstruction& inst,
                                          const DotConvolutionDimsInfo& dims,
                                          int operand,
                                          const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return sharding;
  const Shape& from = inst.operand(operand)->shape();
  if (!Fits(sharding, from)) return std::nullopt;
  std::vector<int64_t> contracting;
  std::vector<int64_t> to_output(from.dimensions().size(), -1);
  std::vector<int64_t> from_output(inst.shape().dimensions().size(), -1);
  using DimNums = DotConvolutionDimsInfo::DimNums;
  const auto of = [operand](const DimNums& dim) {
    return operand == 0 ? dim.lhs : dim.rhs;
  };
  for (const DimNums& dim : dims.contracting_dims) {
    if (of(dim) >= 0) contracting.push_back(of(dim));
  }
  const auto keep = [&](const std::vector<DimNums>& kept) {
    for (const DimNums& dim : kept) {
      if (of(dim) < 0 || dim.output < 0) continue;
      to_output[of(dim)] = dim.output;
      from_output[dim.output] = of(dim);
    }
  };
  keep(dims.batch_dims);
  keep(operand == 0 ? dims.lhs_non_contracting_dims
                    : dims.rhs_non_contracting_dims);
  return hlo_sharding_util::TransposeShardingWithCollapsedDims(
      hlo_sharding_util::PartiallyReplicateTiledShardingOnDims(
          HloSharding::V3ToV2Sharding(sharding), contracting),
      to_output, from_output);
}

// Whether the kernel is smaller than the result along every spatial dimension,
// so that windows reach from a shard to its neighbors alone.
bool HasSmallKernel(const HloInstruction& convolution) {
  const ConvolutionDimensionNumbers& dims =
      convolution.convolution_dimension_numbers();
  const auto kernel = convolution.operand(1)->shape().dimensions();
  const auto result = convolution.shape().dimensions();
  return absl::c_equal(
      dims.kernel_spatial_dimensions(), dims.output_spatial_dimensions(),
      [&](int64_t k, int64_t r) { return kernel[k] < result[r]; });
}

// The result is tiled as the left operand where the kernel is small, along the
// batch dimension alone where it is not.
std::vector<LeafSharding> WindowsForward(const HloInstruction& convolution,
                                         const HloSharding& lhs) {
  if (!lhs.IsTiledLeaf()) return {{0, lhs}};
  const ConvolutionDimensionNumbers& dims =
      convolution.convolution_dimension_numbers();
  const HloSharding tiled = HloSharding::V3ToV2Sharding(lhs);
  std::vector<int64_t> to_lhs(convolution.shape().dimensions().size());
  to_lhs[dims.output_batch_dimension()] = dims.input_batch_dimension();
  to_lhs[dims.output_feature_dimension()] = dims.input_feature_dimension();
  for (int i = 0; i < dims.input_spatial_dimensions_size(); ++i) {
    to_lhs[dims.output_spatial_dimensions(i)] =
        dims.input_spatial_dimensions(i);
  }
  if (HasSmallKernel(convolution)) {
    if (tiled.dimension(dims.input_feature_dimension()) > 1) return {};
    return {{0, hlo_sharding_util::TransposeSharding(tiled, to_lhs)}};
  }
  return {
      {0, hlo_sharding_util::TransposeSharding(
              hlo_sharding_util::PartiallyReplicateTiledShardingOnAllDimsExcept(
                  tiled, {dims.input_batch_dimension()}),
              to_lhs)}};
}

}  // namespace

std::vector<LeafSharding> ProductForward(const HloInstruction& inst,
                                         const Context& context,
                                         LeafReader reader) {
  const HloSharding* operands[2];
  for (int i : {0, 1}) {
    operands[i] = reader(inst.operand(i), 0);
    if (operands[i] != nullptr && !MaySpread(*operands[i])) {
      operands[i] = nullptr;
    }
  }
  DotConvolutionDimsInfo dims;
  if (inst.opcode() == HloOpcode::kDot) {
    dims = dot_as_convolution_util::ParseDotGeneralFromDot(&inst);
  } else {
    dims = dot_as_convolution_util::ParseConvolutionDimsInfo(&inst);
    const auto cut = [&](int i) {
      if (operands[i] == nullptr || !operands[i]->IsTiledLeaf()) return false;
      return absl::c_any_of(dims.conv_spatial_dims, [&](const auto& dim) {
        const int64_t d = i == 0 ? dim.lhs : dim.rhs;
        return d >= 0 &&
               HloSharding::V3ToV2Sharding(*operands[i]).dimension(d) > 1;
      });
    };
    if (cut(0) || cut(1)) {
      if (operands[0] == nullptr) return {};
      return WindowsForward(inst, *operands[0]);
    }
  }
  std::vector<LeafSharding> found;
  for (int i : {0, 1}) {
    if (operands[i] == nullptr) continue;
    std::optional<HloSharding> mapped =
        ThroughProduct(inst, dims, i, *operands[i]);
    if (mapped) found.push_back({0, *std::move(mapped)});
  }
  OrderProductOperands(inst, context, reader, &found);
  return found;
}

void ProductBackward(const HloInstruction& user, int operand,
                     const Context& context, LeafReader reader,
                     std::vector<LeafSharding>* found) {
  const HloSharding* result = reader(&user, 0);
  if (result == nullptr || !MaySpread(*result)) return;
  DotConvolutionDimsInfo dims;
  if (user.opcode() == HloOpcode::kDot) {
    dims = dot_as_convolution_util::ParseDotGeneralFromDot(&user);
  } else {
    dims = dot_as_convolution_util::ParseConvolutionDimsInfo(&user);
    if (!dims.conv_spatial_dims.empty()) return;
  }
  found->push_back({0, hlo_sharding_util::InferDotOperandSharding(
                           result, reader(user.operand(1 - operand), 0),
                           operand, dims, /*consider_other_operand=*/true,
                           context.is_spmd && context.level >= 1)});
}

}  // namespace xla::sharding_edges
