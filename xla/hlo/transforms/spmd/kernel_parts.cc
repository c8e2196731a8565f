#include "xla/hlo/transforms/spmd/kernel_parts.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// Elements [low, high) of the shards along each dimension, and which devices
// have them: all or none of each.
struct KernelPart {
  std::vector<int64_t> low, high;
  std::vector<bool> owned;
};

// Where parts begin and end: wherever what some device has does.
std::set<int64_t> BoundsOfParts(const KernelShards& shards) {
  std::set<int64_t> bounds = {0, shards.size};
  for (int64_t start : shards.start) {
    bounds.insert(std::clamp<int64_t>(-start, 0, shards.size));
    bounds.insert(std::clamp<int64_t>(shards.whole - start, 0, shards.size));
  }
  return bounds;
}

// The parts of `part` along one dimension more.
std::vector<KernelPart> PartsAlong(const KernelPart& part,
                                   const KernelShards& shards,
                                   const std::vector<int64_t>& ordinals) {
  const std::set<int64_t> bounds = BoundsOfParts(shards);
  std::vector<KernelPart> parts;
  for (auto low = bounds.begin(); std::next(low) != bounds.end(); ++low) {
    KernelPart finer = part;
    finer.low.push_back(*low);
    finer.high.push_back(*std::next(low));
    for (size_t id = 0; id < ordinals.size(); ++id) {
      const int64_t first = shards.start[ordinals[id]] + *low;
      if (first < 0 || first >= shards.whole) finer.owned[id] = false;
    }
    if (absl::c_linear_search(finer.owned, true)) parts.push_back(finer);
  }
  return parts;
}

// The window of a part: the elements that the rest of the kernel meets are
// negative padding.
void NarrowWindow(int64_t low, int64_t high, WindowDimension* dim) {
  const int64_t before = low * dim->window_dilation();
  const int64_t behind = (dim->size() - high) * dim->window_dilation();
  const bool reversed = dim->window_reversal();
  dim->set_padding_low(dim->padding_low() - (reversed ? behind : before));
  dim->set_padding_high(dim->padding_high() - (reversed ? before : behind));
  dim->set_size(high - low);
}

bool HasZeroTimesSomethingElse(PrimitiveType type) {
  return primitive_util::IsFloatingPointType(type) ||
         primitive_util::IsComplexType(type);
}

}  // namespace

int64_t MostKernelParts(const KernelShards& shards, PrimitiveType type) {
  if (!HasZeroTimesSomethingElse(type)) return 1;
  return static_cast<int64_t>(BoundsOfParts(shards).size()) - 1;
}

// The kernel is cut wherever some device's elements begin or end, so that of
// each part a device has all or nothing; along several dimensions, parts are
// boxes between the cuts of each. All devices run one program: one that has
// nothing of a part multiplies zeros by zeros.
absl::StatusOr<HloInstruction*> ConvolveByKernelParts(
    const PartitionedHlo& lhs, const PartitionedHlo& rhs,
    absl::Span<const KernelShards> shards, const Window& window,
    const CreateShardedConvolutionFunctor& create_sharded_conv) {
  const PartitionedHlo::PartitioningState& state = lhs.state();
  SpmdBuilder* b = state.b;
  if (shards.empty() ||
      !HasZeroTimesSomethingElse(lhs.base_shape().element_type())) {
    return create_sharded_conv.CreateSharded(lhs, rhs, b, window);
  }
  const int64_t devices = rhs.sharding().tile_assignment().num_elements();
  std::vector<KernelPart> parts = {{{}, {}, std::vector<bool>(devices, true)}};
  for (const KernelShards& dim : shards) {
    const std::vector<int64_t> ordinals =
        OrdinalTable(rhs.sharding(), dim.rhs_dim);
    std::vector<KernelPart> finer;
    for (const KernelPart& part : parts) {
      absl::c_move(PartsAlong(part, dim, ordinals), std::back_inserter(finer));
    }
    parts = std::move(finer);
  }
  // A kernel without elements.
  if (parts.empty()) {
    return create_sharded_conv.CreateSharded(lhs, rhs, b, window);
  }
  HloInstruction* sum = nullptr;
  for (const KernelPart& part : parts) {
    HloInstruction* data = lhs.hlo();
    HloInstruction* kernel = rhs.hlo();
    Window narrow = window;
    for (size_t i = 0; i < shards.size(); ++i) {
      kernel =
          SliceDim(kernel, shards[i].rhs_dim, part.low[i], part.high[i], b);
      NarrowWindow(part.low[i], part.high[i],
                   narrow.mutable_dimensions(shards[i].spatial_dim));
    }
    if (absl::c_linear_search(part.owned, false)) {
      const std::vector<int64_t> table(part.owned.begin(), part.owned.end());
      HloInstruction* owned =
          AddCompare(TableLookup(table, S32, state.partition_id, b),
                     ComparisonDirection::kNe, CreateR0(0, S32, b), b);
      data = AddSelect(owned, {}, data, CreateZero(data->shape(), b), b);
    }
    data->set_sharding(lhs.sharding());
    kernel->set_sharding(rhs.sharding());
    TF_ASSIGN_OR_RETURN(
        HloInstruction * products,
        create_sharded_conv.CreateSharded(
            PartitionedHlo(data, lhs.base_shape(), state),
            PartitionedHlo(kernel, rhs.base_shape(), state), b, narrow));
    sum = sum == nullptr ? products
                         : AddBinary(HloOpcode::kAdd, sum, products, b);
  }
  return sum;
}

}  // namespace xla::spmd
