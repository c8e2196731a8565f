#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/util.h"
#include "xla/window_util.h"

// Gradients of pooling. Along dimensions of which windows are single elements,
// as batches and features, shards are local. Along those that windows slide
// over, a shard of the result is made of all windows that touch it:
//
//   8 rows in 2 shards, windows of 3 with stride 2, low padding 1:
//       rows 0..3 are touched by windows 0..2, rows 4..7 by windows 2..4
//
// Each device gets the rows of these windows, and their sources, from its
// neighbours, scatters them all, and cuts its own rows out. Windows that are
// not there add nothing. Rows beyond the whole are the least there is, and so
// win only in windows at an edge whose elements are all as small, or are no
// numbers: the sources of those are lost.

namespace xla::spmd {
namespace {

// What the two computations say that the padding needs.
struct Padding {
  // Wins against no element but its like.
  Literal loser;
  // Scattered into an element, it leaves it as it is.
  Literal nothing;
};

// nullopt unless `select` compares its two parameters by size, and `scatter`
// has an identity.
std::optional<Padding> PaddingOf(const HloInstruction& hlo) {
  const HloInstruction* compare = hlo.select()->root_instruction();
  const PrimitiveType type = hlo.shape().element_type();
  if (compare->opcode() != HloOpcode::kCompare ||
      primitive_util::IsComplexType(type)) {
    return std::nullopt;
  }
  for (const HloInstruction* operand : compare->operands()) {
    if (operand->opcode() != HloOpcode::kParameter) return std::nullopt;
  }
  const bool swapped = compare->operand(0)->parameter_number() == 1;
  if (compare->operand(0) == compare->operand(1)) return std::nullopt;
  bool largest = false;
  switch (compare->comparison_direction()) {
    case ComparisonDirection::kGe:
    case ComparisonDirection::kGt:
      largest = !swapped;
      break;
    case ComparisonDirection::kLe:
    case ComparisonDirection::kLt:
      largest = swapped;
      break;
    default:
      return std::nullopt;
  }
  const std::optional<ReductionKind> kind =
      MatchReductionComputation(hlo.scatter());
  if (!kind.has_value()) return std::nullopt;
  std::optional<Literal> nothing = GetReductionIdentity(*kind, type);
  if (!nothing.has_value()) return std::nullopt;
  // -0 + 0 is 0, -0 + -0 is -0.
  if (*kind == ReductionKind::SUM &&
      primitive_util::IsFloatingPointType(type)) {
    absl::StatusOr<Literal> negative =
        LiteralUtil::CreateR0<float>(-0.0f).Convert(type);
    if (!negative.ok()) return std::nullopt;
    nothing = *std::move(negative);
  }
  return Padding{
      largest ? LiteralUtil::MinValue(type) : LiteralUtil::MaxValue(type),
      *std::move(nothing)};
}

// Along one dimension: the windows of each shard, the elements under them, and
// where the shard stands among these.
struct TouchingWindows {
  ShardIntervals sources;
  ShardIntervals data;
  std::vector<int64_t> offset;
};

TouchingWindows WindowsOfShards(const WindowDimension& window, int64_t size,
                                int64_t shards) {
  const int64_t shard = CeilOfRatio(size, shards);
  const int64_t stride = window.stride();
  const int64_t low = window.padding_low();
  // Elements between two windows belong to the first of them.
  const int64_t width = std::max(window.size(), stride);
  TouchingWindows result;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t begin = shard * i;
    const int64_t end = std::min(size, shard * (i + 1));
    const int64_t first = CeilOfRatio(begin + low - width + 1, stride);
    const int64_t count =
        begin < end ? FloorOfRatio(end - 1 + low, stride) + 1 - first : 0;
    result.sources.start.push_back(first);
    result.sources.needed.push_back(count);
    result.sources.size = std::max(result.sources.size, count);
    result.data.start.push_back(first * stride - low);
    result.data.needed.push_back(count == 0 ? 0 : (count - 1) * stride + width);
    result.offset.push_back(begin - result.data.start.back());
  }
  result.data.size = (result.sources.size - 1) * stride + width;
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
  const std::optional<Padding> padding = PaddingOf(*hlo);
  std::vector<int64_t> dims;
  std::vector<bool> slides;
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDimension& window = hlo->window().dimensions(d);
    slides.push_back(!window_util::IsTrivialWindowDimension(window));
    const bool fetches = padding.has_value() && window.base_dilation() == 1 &&
                         window.window_dilation() == 1 &&
                         !window.window_reversal();
    dims.push_back(!slides[d] || fetches ? d : -1);
  }
  const FactorTensor data = {
      whole, GetPartitionedHlo(hlo->operand(0)).sharding(), dims};
  const FactorTensor source = {
      sources, GetPartitionedHlo(hlo->operand(1)).sharding(), dims};
  const FactorTensor result = {whole, hlo->sharding(), dims,
                               /*is_result=*/true};
  const std::optional<HloSharding> factors =
      ChooseFactorSharding(rank, {data, source, result}, {});
  ExplainPriced({data, source, result}, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  // What neighbours would send as much of as a gather does is gathered.
  std::vector<int64_t> gathered;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t shards = ShardCountAtDim(*factors, d);
    if (slides[d] && shards > 1 &&
        !CanFetch(WindowsOfShards(hlo->window().dimensions(d),
                                  whole.dimensions(d), shards),
                  whole.dimensions(d), sources.dimensions(d), shards)) {
      gathered.push_back(d);
    }
  }
  const HloSharding sharding = ReplicatedOnDims(*factors, gathered);
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  HloInstruction* local_data = Operand(hlo, 0, sharding);
  HloInstruction* local_source = Operand(hlo, 1, sharding);
  const PartitionedHlo::PartitioningState state = MakePartitioningState();
  Window window = hlo->window();
  std::vector<std::pair<int64_t, TouchingWindows>> cut;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (!slides[d] || shards == 1) continue;
    TouchingWindows windows = WindowsOfShards(hlo->window().dimensions(d),
                                              whole.dimensions(d), shards);
    local_data = ExchangeIntervals(
        local_data, sharding, d, whole.dimensions(d), windows.data,
        CreateScalar(padding->loser.Clone(), &b_), state);
    local_source = ExchangeIntervals(
        local_source, sharding, d, sources.dimensions(d), windows.sources,
        CreateScalar(padding->nothing.Clone(), &b_), state);
    window.mutable_dimensions(d)->set_padding_low(0);
    window.mutable_dimensions(d)->set_padding_high(0);
    cut.push_back({d, std::move(windows)});
  }
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      ShapeUtil::ChangeElementType(local_data->shape(), whole.element_type()),
      {local_data, local_source, ReplicatedOperand(hlo, 2)}));
  local->set_window(window);
  for (const auto& [d, windows] : cut) {
    const int64_t size =
        CeilOfRatio(whole.dimensions(d), ShardCountAtDim(sharding, d));
    const int64_t offset = windows.offset[0];
    if (absl::c_count(windows.offset, offset) == windows.offset.size()) {
      local = SliceDim(local, d, offset, offset + size, &b_);
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
