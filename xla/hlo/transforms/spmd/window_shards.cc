#include "xla/hlo/transforms/spmd/window_shards.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"

namespace xla::spmd {
namespace {

// The first element at or after a position. Elements lie at the multiples of
// the dilation, and positions in the padding are negative, where C++ division
// rounds up by itself.
int64_t ElementFrom(int64_t position, int64_t dilation) {
  return position >= 0 ? CeilOfRatio(position, dilation)
                       : -(-position / dilation);
}

// A dimension that moves and is cut.
struct CutWindow {
  int64_t dim;
  ShardIntervals intervals;
};

std::vector<CutWindow> CutWindows(const HloSharding& sharding,
                                  const Shape& result,
                                  absl::Span<const WindowDim> windows) {
  std::vector<CutWindow> cuts;
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (!windows[d].moves || shards == 1) continue;
    cuts.push_back(
        {static_cast<int64_t>(d),
         ShardWindows(windows[d], result.dimensions(d), shards).intervals});
  }
  return cuts;
}

// The bytes that a device receives where it has `source` before it has windows.
double BytesFrom(const HloSharding& source, const Shape& operand,
                 const HloSharding& present, const HloSharding& sharding,
                 const Shape& result, absl::Span<const WindowDim> windows) {
  const std::vector<CutWindow> cuts = CutWindows(sharding, result, windows);
  Shape shard = MakePartitionedShape(operand, sharding);
  for (const auto& [dim, intervals] : cuts) {
    if (ShardCountAtDim(source, dim) == 1) {
      shard.set_dimensions(dim, intervals.size);
    }
  }
  double bytes = RouteBytes(operand, present, source);
  for (const auto& [dim, intervals] : cuts) {
    if (ShardCountAtDim(source, dim) == 1) continue;
    bytes += BytesOfIntervals(operand.dimensions(dim), intervals, dim, &shard);
  }
  return bytes;
}

// The interval of this device, of a dimension that it has whole.
HloInstruction* CutOutOfWhole(HloInstruction* whole, int64_t dim,
                              const ShardIntervals& intervals,
                              const std::vector<int64_t>& ordinals,
                              HloInstruction* pad_value,
                              const PartitionedHlo::PartitioningState& state) {
  const int64_t whole_size = whole->shape().dimensions(dim);
  // Far away from the whole, an interval has nothing of it wherever it is.
  std::vector<int64_t> starts;
  for (int64_t start : intervals.start) {
    starts.push_back(std::clamp(start, -intervals.size, whole_size));
  }
  const auto [first, last] = absl::c_minmax_element(starts);
  const int64_t low = *first;
  PaddingConfig padding =
      MakeNoPaddingConfig(whole->shape().dimensions().size());
  padding.mutable_dimensions(dim)->set_edge_padding_low(-low);
  padding.mutable_dimensions(dim)->set_edge_padding_high(
      *last + intervals.size - whole_size);
  if (pad_value == nullptr) {
    pad_value =
        CreateScalar(LiteralUtil::Zero(whole->shape().element_type()), state.b);
  }
  Shape shape = ShapeUtil::MakeShape(whole->shape().element_type(),
                                     whole->shape().dimensions());
  shape.set_dimensions(dim, *last + intervals.size - low);
  HloInstruction* padded = state.b->AddInstruction(
      HloInstruction::CreatePad(shape, whole, pad_value, padding));
  std::vector<int64_t> table;
  for (int64_t ordinal : ordinals) {
    table.push_back(starts[ordinal] - low);
  }
  return WindowAt(padded, dim,
                  TableLookup(table, S32, state.partition_id, state.b),
                  intervals.size, state.b);
}

}  // namespace

WindowDim WindowDimOf(const WindowDimension& dim) {
  WindowDim window;
  window.moves = !window_util::IsTrivialWindowDimension(dim);
  window.low = dim.padding_low();
  window.stride = dim.stride();
  window.width = window_util::DilatedBound(dim.size(), dim.window_dilation());
  window.base_dilation = dim.base_dilation();
  return window;
}

bool WindowShards::CutsResult() const {
  return absl::c_any_of(result_start, [](int64_t start) { return start != 0; });
}

// Where a shard begins in a hole of the base, it needs padding up to the next
// element, and shards that need less compute results that are cut off. One
// result is `stride` positions, though, so with a stride other than 1 the
// difference may be no whole number of results; then all shards must begin at
// the same place between two elements.
bool CanShardWindows(const WindowDim& window, int64_t result_size,
                     int64_t shards) {
  if (result_size == 0) return false;
  return window.stride == 1 || CeilOfRatio(result_size, shards) *
                                       window.stride % window.base_dilation ==
                                   0;
}

// For each shard of the result, which interval of the operand its windows read,
// and how to set up a window operation of the same shape on every device. All
// devices run one program, so padding and sizes must agree: the largest low
// padding that any shard needs is used by all, and a shard that needs less
// computes some extra results at the start, which are cut off afterwards
// (result_start).
WindowShards ShardWindows(const WindowDim& window, int64_t result_size,
                          int64_t shards) {
  const int64_t shard_size = CeilOfRatio(result_size, shards);
  const int64_t dilation = window.base_dilation;
  WindowShards result;
  result.result_size = shard_size;
  // The padding at the low end that all shards have in common: where they need
  // different ones, each skips results instead.
  std::vector<int64_t> low;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t position = i * shard_size * window.stride - window.low;
    const int64_t first = ElementFrom(position, dilation);
    const int64_t results =
        std::clamp<int64_t>(result_size - i * shard_size, 0, shard_size);
    const int64_t end =
        position + (shard_size - 1) * window.stride + window.width;
    const int64_t needed_end =
        position + (results - 1) * window.stride + window.width;
    result.intervals.start.push_back(first);
    result.intervals.needed.push_back(
        results == 0
            ? 0
            : std::max<int64_t>(0, ElementFrom(needed_end, dilation) - first));
    result.intervals.size =
        std::max(result.intervals.size, ElementFrom(end, dilation) - first);
    low.push_back(first * dilation - position);
  }
  result.padding_low = *absl::c_max_element(low);
  for (int64_t padding : low) {
    result.result_start.push_back(result.padding_low - padding);
  }
  result.result_size += *absl::c_max_element(result.result_start);
  // A window that meets only holes reads no element; one is there all the same.
  result.intervals.size = std::max<int64_t>(result.intervals.size, 1);
  // Both paddings and the base with its holes are together as long as all
  // windows span. Negative padding cuts.
  result.padding_high = (result.result_size - 1) * window.stride +
                        window.width - result.padding_low -
                        ((result.intervals.size - 1) * dilation + 1);
  return result;
}

HloSharding ShardingOfWindows(const HloSharding& operand_sharding,
                              const Shape& operand, const Shape& result,
                              absl::Span<const WindowDim> windows) {
  std::vector<int64_t> gathered;
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t shards = ShardCountAtDim(operand_sharding, d);
    if (!windows[d].moves || shards == 1) continue;
    if (!CanShardWindows(windows[d], result.dimensions(d), shards) ||
        !CanFetchIntervals(
            operand.dimensions(d), shards,
            ShardWindows(windows[d], result.dimensions(d), shards).intervals)) {
      gathered.push_back(d);
    }
  }
  return ReplicatedOnDims(operand_sharding, gathered);
}

HloSharding SourceOfWindows(const Shape& operand, const HloSharding& present,
                            const HloSharding& sharding, const Shape& result,
                            absl::Span<const WindowDim> windows) {
  if (!IsPriced(present) || !sharding.IsTiledLeaf()) return sharding;
  std::vector<int64_t> whole;
  for (size_t d = 0; d < windows.size(); ++d) {
    if (windows[d].moves && ShardCountAtDim(sharding, d) > 1 &&
        ShardCountAtDim(present, d) == 1) {
      whole.push_back(d);
    }
  }
  if (whole.empty()) return sharding;
  HloSharding source = ReplicatedOnDims(sharding, whole);
  return BytesFrom(source, operand, present, sharding, result, windows) <=
                 BytesFrom(sharding, operand, present, sharding, result,
                           windows)
             ? source
             : sharding;
}

double BytesOfWindows(const Shape& operand, const HloSharding& present,
                      const HloSharding& sharding, const Shape& result,
                      absl::Span<const WindowDim> windows) {
  return BytesFrom(SourceOfWindows(operand, present, sharding, result, windows),
                   operand, present, sharding, result, windows);
}

HloInstruction* FetchWindows(const PartitionedHlo& operand,
                             const HloSharding& sharding, const Shape& result,
                             absl::Span<const WindowDim> windows,
                             HloInstruction* pad_value) {
  const PartitionedHlo::PartitioningState& state = operand.state();
  const std::vector<CutWindow> cuts = CutWindows(sharding, result, windows);
  HloInstruction* local = operand.hlo();
  // Dimensions that are whole are cut first: that takes no message, and what
  // neighbors exchange along the others is smaller afterwards.
  for (const auto& [dim, intervals] : cuts) {
    if (ShardCountAtDim(operand.sharding(), dim) > 1) continue;
    local = CutOutOfWhole(local, dim, intervals, OrdinalTable(sharding, dim),
                          pad_value, state);
  }
  for (const auto& [dim, intervals] : cuts) {
    if (ShardCountAtDim(operand.sharding(), dim) == 1) continue;
    local = *FetchIntervals(local, sharding, dim,
                            operand.base_shape().dimensions(dim), intervals,
                            pad_value, state);
  }
  return local;
}

double BytesSavedByTuples(const HloInstruction& hlo, const HloSharding& wanted,
                          const HloSharding& sharding) {
  if (!hlo.shape().IsArray() || sharding == wanted) return 0;
  const bool is_read =
      absl::c_any_of(hlo.users(), [&](const HloInstruction* user) {
        if (user->opcode() != HloOpcode::kTuple || !user->has_sharding()) {
          return false;
        }
        const HloSharding read = user->sharding().GetSubSharding(
            user->shape(), {user->operand_index(&hlo)});
        // What is whole on all devices is so on one.
        return (read.IsSingleDeviceLeaf() ? HloSharding::Replicate() : read) ==
               sharding;
      });
  return is_read ? RouteBytes(hlo.shape(), wanted, sharding) : 0;
}

// Per device start offsets come from a table.
HloInstruction* CutWindowResult(
    HloInstruction* local, const HloSharding& sharding, const Shape& result,
    absl::Span<const WindowDim> windows,
    const PartitionedHlo::PartitioningState& state) {
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (!windows[d].moves || shards == 1) continue;
    const WindowShards shard =
        ShardWindows(windows[d], result.dimensions(d), shards);
    if (!shard.CutsResult()) continue;
    std::vector<int64_t> table;
    for (int64_t ordinal : OrdinalTable(sharding, d)) {
      table.push_back(shard.result_start[ordinal]);
    }
    std::vector<HloInstruction*> starts(windows.size(),
                                        CreateR0(0, S32, state.b));
    starts[d] = TableLookup(table, S32, state.partition_id, state.b);
    Shape cut = local->shape();
    cut.set_dimensions(d, CeilOfRatio(result.dimensions(d), shards));
    local = state.b->AddInstruction(HloInstruction::CreateDynamicSlice(
        cut, local, starts, cut.dimensions()));
  }
  return local;
}

}  // namespace xla::spmd
