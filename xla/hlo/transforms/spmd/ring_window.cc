#include "xla/hlo/transforms/spmd/ring_window.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

Shape WithSize(const Shape& shape, int64_t dim, int64_t size) {
  Shape result = ShapeUtil::MakeShape(shape.element_type(), shape.dimensions());
  result.set_dimensions(dim, size);
  return result;
}

HloInstruction* Concatenate(const std::vector<HloInstruction*>& parts,
                            int64_t dim, SpmdBuilder* b) {
  if (parts.size() == 1) return parts[0];
  int64_t size = 0;
  for (const HloInstruction* part : parts) {
    size += part->shape().dimensions(dim);
  }
  return b->AddInstruction(HloInstruction::CreateConcatenate(
      WithSize(parts[0]->shape(), dim, size), parts, dim));
}

// Reads the ring from a replicated dimension: the end of one turn, whole turns,
// the start of the last.
HloInstruction* WholeRing(HloInstruction* whole, const RingWindow& window,
                          SpmdBuilder* b) {
  const int64_t n = whole->shape().dimensions(window.dim);
  std::vector<HloInstruction*> parts;
  for (int64_t at = window.offset; at < window.offset + window.size;) {
    const int64_t low = at - FloorOfRatio(at, n) * n;
    const int64_t high = std::min(n, low + window.offset + window.size - at);
    parts.push_back(SliceDim(whole, window.dim, low, high, b));
    at += high - low;
  }
  return Concatenate(parts, window.dim, b);
}

// Shards without padding that all read alike: whole shards of the ring's next
// devices, or as many of them as needed. Devices without elements are not part
// of the ring.
HloInstruction* EvenRing(const PartitionedHlo& operand,
                         const RingWindow& window) {
  const PartitionedHlo::PartitioningState& state = operand.state();
  const int64_t shard_size = operand.hlo()->shape().dimensions(window.dim);
  const int64_t shards =
      operand.base_shape().dimensions(window.dim) / shard_size;
  const auto groups =
      GetPartitionGroupsForReplication(operand.sharding(), {window.dim})
          ->flattened_replica_groups();
  std::vector<HloInstruction*> parts;
  for (int64_t at = window.offset; at < window.offset + window.size;) {
    const int64_t hop = FloorOfRatio(at, shard_size);
    const int64_t low = at - hop * shard_size;
    const int64_t high =
        std::min(shard_size, low + window.offset + window.size - at);
    HloInstruction* part =
        SliceDim(operand.hlo(), window.dim, low, high, state.b);
    if (hop % shards != 0) {
      std::vector<std::pair<int64_t, int64_t>> pairs;
      for (const std::vector<int64_t>& group : groups) {
        for (int64_t to = 0; to < shards; ++to) {
          const int64_t from = to + hop;
          pairs.push_back(
              {group[from - FloorOfRatio(from, shards) * shards], group[to]});
        }
      }
      absl::c_sort(pairs);
      part = state.collective_ops_creator.create_collective_permute(
          state.b, part, pairs, operand.NewChannel());
    }
    parts.push_back(part);
    at += high - low;
  }
  return Concatenate(parts, window.dim, state.b);
}

// The general case, with padded shards or windows that differ from the shards:
// the dimension is unrolled into turns around the ring. For each turn, the
// intervals that fall into it are fetched like any others, and an element is
// taken from the latest turn that it belongs to.
HloInstruction* UnevenRing(const PartitionedHlo& operand,
                           const RingWindow& window) {
  const PartitionedHlo::PartitioningState& state = operand.state();
  SpmdBuilder* b = state.b;
  const int64_t n = operand.base_shape().dimensions(window.dim);
  const int64_t shards = ShardCountAtDim(operand.sharding(), window.dim);
  std::vector<int64_t> starts, needed;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t results = std::clamp<int64_t>(
        window.result_size - i * window.step, 0, window.step);
    starts.push_back(i * window.step + window.offset);
    needed.push_back(results == 0 ? 0 : results + window.size - window.step);
  }
  const int64_t first = FloorOfRatio(window.offset, n);
  int64_t last = first;
  for (int64_t i = 0; i < shards; ++i) {
    if (needed[i] > 0) {
      last = std::max(last, FloorOfRatio(starts[i] + needed[i] - 1, n));
    }
  }
  HloInstruction* result = nullptr;
  for (int64_t turn = first; turn <= last; ++turn) {
    ShardIntervals intervals;
    intervals.size = window.size;
    for (int64_t i = 0; i < shards; ++i) {
      const int64_t start = starts[i] - turn * n;
      intervals.start.push_back(start);
      intervals.needed.push_back(start + needed[i] <= 0 || start >= n
                                     ? 0
                                     : std::min(needed[i], n - start));
    }
    if (absl::c_all_of(intervals.needed, [](int64_t x) { return x == 0; })) {
      continue;
    }
    HloInstruction* part =
        ExchangeIntervals(operand.hlo(), operand.sharding(), window.dim, n,
                          intervals, nullptr, state);
    if (result == nullptr) {
      result = part;
      continue;
    }
    // Whether an element is of this turn or a later one.
    std::vector<int64_t> table;
    for (int64_t ordinal : OrdinalTable(operand.sharding(), window.dim)) {
      table.push_back(starts[ordinal] - turn * n);
    }
    const Shape index = ShapeUtil::MakeShape(S32, part->shape().dimensions());
    HloInstruction* iota =
        b->AddInstruction(HloInstruction::CreateIota(index, window.dim));
    HloInstruction* place = AddBinary(
        HloOpcode::kAdd, iota,
        CreateBroadcast(TableLookup(table, S32, state.partition_id, b),
                        index.dimensions(), b),
        b);
    HloInstruction* mask = AddCompare(
        place, ComparisonDirection::kGe,
        CreateBroadcast(CreateR0(0, S32, b), index.dimensions(), b), b);
    result = b->AddInstruction(HloInstruction::CreateTernary(
        part->shape(), HloOpcode::kSelect, mask, part, result));
  }
  return result;
}

}  // namespace

HloInstruction* FetchRingWindow(const PartitionedHlo& operand,
                                const RingWindow& window) {
  const int64_t n = operand.base_shape().dimensions(window.dim);
  const int64_t shards = ShardCountAtDim(operand.sharding(), window.dim);
  if (shards == 1) {
    return WholeRing(operand.hlo(), window, operand.state().b);
  }
  const int64_t shard_size = operand.hlo()->shape().dimensions(window.dim);
  return n % shard_size == 0 && window.step == shard_size &&
                 window.result_size == n
             ? EvenRing(operand, window)
             : UnevenRing(operand, window);
}

}  // namespace xla::spmd
