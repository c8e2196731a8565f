#include "xla/hlo/transforms/spmd/windowed_reshard.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/window_shards.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"

namespace xla::spmd {
namespace {

using Windowed = PartitionedHlo::WindowedInputShardReturnValue;

// Elements of a result along one dimension.
int64_t ResultSize(int64_t size, const WindowDimension& dim) {
  return window_util::StridedBound(
      window_util::DilatedBound(size, dim.base_dilation()) + dim.padding_low() +
          dim.padding_high(),
      window_util::DilatedBound(dim.size(), dim.window_dilation()),
      dim.stride());
}

std::optional<Windowed> FetchForWindow(const PartitionedHlo& moved,
                                       const Window& window,
                                       HloInstruction* pad_value) {
  const Shape& whole = moved.base_shape();
  const HloSharding& sharding = moved.sharding();
  SpmdBuilder* b = moved.state().b;
  Windowed result{moved.hlo(), window, std::nullopt};
  std::vector<HloInstruction*> starts;
  bool cuts = false;
  for (int64_t d = 0; d < window.dimensions_size(); ++d) {
    const WindowDim dim = WindowDimOf(window.dimensions(d));
    const int64_t size = ResultSize(whole.dimensions(d), window.dimensions(d));
    const int64_t shards = ShardCountAtDim(sharding, d);
    starts.push_back(CreateR0(0, S32, b));
    if (!dim.moves || shards == 1) continue;
    if (!CanShardWindows(dim, size, shards)) return std::nullopt;
    const WindowShards shard = ShardWindows(dim, size, shards);
    std::optional<HloInstruction*> fetched =
        FetchIntervals(result.sharded_input, sharding, d, whole.dimensions(d),
                       shard.intervals, pad_value, moved.state());
    if (!fetched.has_value()) return std::nullopt;
    result.sharded_input = *fetched;
    WindowDimension* local = result.shard_window.mutable_dimensions(d);
    local->set_padding_low(shard.padding_low);
    local->set_padding_high(shard.padding_high);
    if (!shard.CutsResult()) continue;
    cuts = true;
    std::vector<int64_t> table;
    for (int64_t ordinal : OrdinalTable(sharding, d)) {
      table.push_back(shard.result_start[ordinal]);
    }
    starts.back() = TableLookup(table, S32, moved.state().partition_id, b);
  }
  if (cuts) result.dynamic_slice_index_on_output = std::move(starts);
  return result;
}

WindowDimension OneElement() {
  WindowDimension dim;
  dim.set_size(1);
  dim.set_stride(1);
  dim.set_window_dilation(1);
  dim.set_base_dilation(1);
  return dim;
}

}  // namespace

std::optional<Windowed> PartitionedHlo::ReshardAsWindowedInput(
    const Window& window, const HloSharding& target, HloInstruction* pad_value,
    bool mask_invalid_region, bool force_mask_in_compact) {
  HloInstruction* padding =
      mask_invalid_region || force_mask_in_compact ? pad_value : nullptr;
  // Neither the value of the padding nor whether it is one may be mixed up.
  // Names are not unique before the computation is built; the address is only
  // compared.
  const std::string key =
      absl::StrCat(absl::Hex(reinterpret_cast<uintptr_t>(padding)));
  for (auto& [sharding, cached_window, cached_key, value] :
       state_.reshard_cache->per_hlo_cache[hlo_].window_reshard_cache) {
    if (sharding == target && cached_key == key &&
        google::protobuf::util::MessageDifferencer::Equals(cached_window,
                                                           window)) {
      return value;
    }
  }
  const PartitionedHlo moved = Reshard(target);
  std::optional<Windowed> result = FetchForWindow(moved, window, padding);
  if (result.has_value()) {
    state_.reshard_cache->per_hlo_cache[hlo_].window_reshard_cache.emplace_back(
        target, window, key, *result);
  }
  return result;
}

// A slice is a window of one element: the stride is the slice's, and negative
// padding cuts off what is before the start and from the limit on. It moves
// only elements near the boundaries of shards: x[2:10] on two devices has
// shards of 4, x[2..6) and x[6..10).
std::optional<Windowed> ReshardDataForSlicing(
    absl::Span<const int64_t> strides, absl::Span<const int64_t> starts,
    absl::Span<const int64_t> limits, PartitionedHlo to_reshard,
    const HloSharding& target_sharding, SpmdBuilder* b) {
  Window window;
  for (size_t d = 0; d < strides.size(); ++d) {
    WindowDimension dim = OneElement();
    dim.set_stride(strides[d]);
    dim.set_padding_low(-starts[d]);
    dim.set_padding_high(limits[d] - to_reshard.base_shape().dimensions(d));
    *window.add_dimensions() = dim;
  }
  return to_reshard.ReshardAsWindowedInput(window, target_sharding,
                                           /*pad_value=*/nullptr,
                                           /*mask_invalid_region=*/false);
}

HloInstruction* SliceDataFromWindowReshard(const Windowed& reshard_operand,
                                           absl::Span<const int64_t> strides,
                                           const Shape& base_shape,
                                           const HloSharding& target_sharding,
                                           SpmdBuilder* b) {
  HloInstruction* input = reshard_operand.sharded_input;
  std::vector<int64_t> starts, limits;
  for (size_t d = 0; d < strides.size(); ++d) {
    const WindowDimension& dim = reshard_operand.shard_window.dimensions(d);
    starts.push_back(-dim.padding_low());
    limits.push_back(input->shape().dimensions(d) + dim.padding_high());
  }
  return b->AddInstruction(HloInstruction::CreateSlice(
      MakePartitionedShape(base_shape, target_sharding), input, starts, limits,
      strides));
}

// A pad is a window of one element as well: padding at the ends is padding of
// the window, and interior padding of s elements a base dilation of s + 1.
std::optional<Windowed> ReshardDataForPad(HloInstruction* pad_value,
                                          PaddingConfig pc,
                                          PartitionedHlo to_reshard,
                                          const HloSharding& target_sharding,
                                          SpmdBuilder* b) {
  Window window;
  for (const PaddingConfig::PaddingConfigDimension& padding : pc.dimensions()) {
    WindowDimension dim = OneElement();
    dim.set_base_dilation(padding.interior_padding() + 1);
    dim.set_padding_low(padding.edge_padding_low());
    dim.set_padding_high(padding.edge_padding_high());
    *window.add_dimensions() = dim;
  }
  return to_reshard.ReshardAsWindowedInput(window, target_sharding, pad_value);
}

HloInstruction* PadDataFromWindowReshard(const Windowed& reshard_operand,
                                         HloInstruction* pad_value,
                                         SpmdBuilder* b) {
  HloInstruction* input = reshard_operand.sharded_input;
  PaddingConfig config;
  Shape shape = ShapeUtil::MakeShape(input->shape().element_type(),
                                     input->shape().dimensions());
  bool pads = false;
  for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
    const WindowDimension& dim = reshard_operand.shard_window.dimensions(d);
    auto* padding = config.add_dimensions();
    padding->set_edge_padding_low(dim.padding_low());
    padding->set_edge_padding_high(dim.padding_high());
    padding->set_interior_padding(dim.base_dilation() - 1);
    pads |= dim.padding_low() != 0 || dim.padding_high() != 0 ||
            dim.base_dilation() != 1;
    shape.set_dimensions(d, ResultSize(shape.dimensions(d), dim));
  }
  if (!pads) return input;
  return b->AddInstruction(
      HloInstruction::CreatePad(shape, input, pad_value, config));
}

}  // namespace xla::spmd
