#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/util.h"
#include "xla/window_util.h"

// Gradients of pooling. Along dimensions of which windows are single elements,
// as batches and features, shards are local. Along those that windows slide
// over, a shard of the result is made of all windows that touch it:
//
//   8 rows in 2 shards, windows of 3 with stride 2, low padding 1:
//       rows 0..3 are touched by windows 0..2, rows 4..7 by windows 2..3
//
// Each device gets the rows of these windows, and their sources, from its
// neighbors, scatters them all, and cuts its own rows out. No element may
// stand for the padding of windows at edges, as it would be selected where all
// others are as small, or are no numbers. So what a device has is a part of the
// whole that begins a multiple of the stride behind its begin and ends such a
// multiple before its end, with the padding of the whole. Windows of that part
// that do not touch the shard find anything and scatter elsewhere.

namespace xla::spmd {
namespace {

// Along one dimension: the part of each shard, what of it is read, and where
// the shard stands in it. Sizes are 0 where no window touches anything.
struct TouchingWindows {
  ShardIntervals sources;
  ShardIntervals data;
  std::vector<int64_t> offset;
};

TouchingWindows WindowsOfShards(const WindowDimension& window, int64_t size,
                                int64_t windows, int64_t shards) {
  const int64_t shard = CeilOfRatio(size, shards);
  const int64_t stride = window.stride();
  const int64_t low = window.padding_low();
  TouchingWindows result;
  // The elements and windows that each needs.
  std::vector<std::pair<int64_t, int64_t>> elements, touching;
  // How many strides may be cut off at either end.
  std::vector<int64_t> before;
  int64_t cut = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t begin = std::min(size, shard * i);
    const int64_t end = std::min(size, shard * (i + 1));
    const int64_t first = std::max<int64_t>(
        0, FloorOfRatio(begin + low - window.size(), stride) + 1);
    const int64_t last =
        begin == end
            ? -1
            : std::min(windows - 1, FloorOfRatio(end - 1 + low, stride));
    elements.push_back({begin, end});
    touching.push_back({first, std::max(first, last + 1)});
    int64_t cut_low = begin / stride;
    int64_t cut_high = (size - end) / stride;
    if (last >= first) {
      auto& [from, to] = elements.back();
      from = std::clamp<int64_t>(first * stride - low, 0, begin);
      to = std::clamp<int64_t>(last * stride - low + window.size(), end, size);
      cut_low = std::min(from / stride, first);
      cut_high = std::min((size - to) / stride, windows - 1 - last);
      result.sources.size = windows;
      result.data.size = size;
    }
    if (begin < end) cut = std::min(cut, cut_low + cut_high);
    before.push_back(cut_low);
  }
  if (result.sources.size == 0) return result;
  result.sources.size -= cut;
  result.data.size -= cut * stride;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t skipped = std::min(before[i], cut);
    const auto [from, to] = elements[i];
    const auto [first, end] = touching[i];
    result.sources.start.push_back(skipped);
    result.sources.unread.push_back(std::max<int64_t>(0, first - skipped));
    result.sources.needed.push_back(std::max(first, end) - skipped);
    result.data.start.push_back(skipped * stride);
    result.data.unread.push_back(from - skipped * stride);
    result.data.needed.push_back(to - skipped * stride);
    result.offset.push_back(shard * i - skipped * stride);
  }
  return result;
}

bool CanFetch(const TouchingWindows& windows, int64_t size, int64_t sources,
              int64_t shards) {
  return CanFetchIntervals(size, shards, windows.data) &&
         CanFetchIntervals(sources, shards, windows.sources);
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleSelectAndScatter(
    HloInstruction* hlo) {
  const Shape& whole = hlo->shape();
  const Shape& sources = hlo->operand(1)->shape();
  const int64_t rank = whole.dimensions().size();
  std::vector<int64_t> dims;
  std::vector<bool> slides;
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDimension& window = hlo->window().dimensions(d);
    slides.push_back(!window_util::IsTrivialWindowDimension(window));
    const bool dense = window.base_dilation() == 1 &&
                       window.window_dilation() == 1 &&
                       !window.window_reversal();
    dims.push_back(!slides[d] || dense ? d : -1);
  }
  const FactorTensor data = {
      whole, GetPartitionedHlo(hlo->operand(0)).sharding(), dims};
  const FactorTensor source = {
      sources, GetPartitionedHlo(hlo->operand(1)).sharding(), dims};
  const FactorTensor result = {whole, hlo->sharding(), dims,
                               /*is_result=*/true};
  // Without cuts along which neighbors would send as much as a gather does.
  const auto fetched = [&](const HloSharding& factors) {
    std::vector<int64_t> gathered;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t shards = ShardCountAtDim(factors, d);
      if (slides[d] && shards > 1 &&
          !CanFetch(
              WindowsOfShards(hlo->window().dimensions(d), whole.dimensions(d),
                              sources.dimensions(d), shards),
              whole.dimensions(d), sources.dimensions(d), shards)) {
        gathered.push_back(d);
      }
    }
    return ReplicatedOnDims(factors, gathered);
  };
  const auto price = [&](const HloSharding& factors) {
    const HloSharding sharding = fetched(factors);
    double bytes = RouteBytes(whole, data.sharding, sharding) +
                   RouteBytes(sources, source.sharding, sharding) +
                   RouteBytes(whole, sharding, hlo->sharding());
    Shape data_shard = MakePartitionedShape(whole, sharding);
    Shape source_shard = MakePartitionedShape(sources, sharding);
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t shards = ShardCountAtDim(sharding, d);
      if (!slides[d] || shards == 1) continue;
      const TouchingWindows windows =
          WindowsOfShards(hlo->window().dimensions(d), whole.dimensions(d),
                          sources.dimensions(d), shards);
      bytes +=
          BytesOfIntervals(whole.dimensions(d), windows.data, d, &data_shard) +
          BytesOfIntervals(sources.dimensions(d), windows.sources, d,
                           &source_shard);
    }
    return bytes;
  };
  const std::optional<HloSharding> factors = ChooseFactorSharding(
      rank, {data, source, result}, {}, /*work=*/0, /*preferred=*/{}, price);
  ExplainPriced({data, source, result}, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  const HloSharding sharding = fetched(*factors);
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  HloInstruction* local_data = Operand(hlo, 0, sharding);
  HloInstruction* local_source = Operand(hlo, 1, sharding);
  const PartitionedHlo::PartitioningState state = MakePartitioningState();
  std::vector<std::pair<int64_t, TouchingWindows>> cut;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (!slides[d] || shards == 1) continue;
    TouchingWindows windows =
        WindowsOfShards(hlo->window().dimensions(d), whole.dimensions(d),
                        sources.dimensions(d), shards);
    local_data = ExchangeIntervals(local_data, sharding, d, whole.dimensions(d),
                                   windows.data, /*pad_value=*/nullptr, state);
    local_source =
        ExchangeIntervals(local_source, sharding, d, sources.dimensions(d),
                          windows.sources, /*pad_value=*/nullptr, state);
    cut.push_back({d, std::move(windows)});
  }
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      local_data->shape(),
      {local_data, local_source, ReplicatedOperand(hlo, 2)}));
  for (const auto& [d, windows] : cut) {
    const int64_t size =
        CeilOfRatio(whole.dimensions(d), ShardCountAtDim(sharding, d));
    // The first shard has no offset, and uneven ones have several.
    if (absl::c_count(windows.offset, 0) == windows.offset.size()) {
      local = SliceDim(local, d, 0, size, &b_);
      continue;
    }
    std::vector<int64_t> table;
    for (int64_t ordinal : OrdinalTable(sharding, d)) {
      table.push_back(windows.offset[ordinal]);
    }
    local = WindowAt(local, d, TableLookup(table, S32, partition_id_, &b_),
                     size, &b_);
  }
  Finish(hlo, local, sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
