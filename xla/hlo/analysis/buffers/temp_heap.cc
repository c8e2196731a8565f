#include "xla/hlo/analysis/buffers/temp_heap.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla {
namespace {

using Heap = HeapAlgorithm<HloValue>;
using BestFit = GlobalDecreasingSizeBestFitHeap<HloValue>;
using Algorithm = buffer_assignment::BufferAssignmentAlgorithmProto;

std::unique_ptr<Heap> MakeHeap(Algorithm::Value algorithm, int64_t alignment,
                               int64_t memory_limit) {
  switch (algorithm) {
    case Algorithm::SPATIAL:
      return std::make_unique<BestFit>(alignment, BestFit::kSpatial);
    case Algorithm::TEMPORAL:
      return std::make_unique<BestFit>(alignment, BestFit::kTemporal);
    case Algorithm::BEST_OF_SPATIAL_TEMPORAL: {
      auto both = std::make_unique<std::vector<std::unique_ptr<Heap>>>();
      both->push_back(std::make_unique<BestFit>(alignment, BestFit::kSpatial));
      both->push_back(std::make_unique<BestFit>(alignment, BestFit::kTemporal));
      return std::make_unique<ChooseBestHeapAlgorithm<HloValue>>(
          std::move(both));
    }
    case Algorithm::FAST_MERGE:
      return std::make_unique<BestFit>(alignment, BestFit::kFastMerge);
    case Algorithm::FAST_SPLIT:
      return std::make_unique<BestFit>(alignment, BestFit::kFastSplit);
    case Algorithm::FAST_MERGE_WITH_FALLBACK:
      return std::make_unique<HeapAlgorithmWithFallback<HloValue>>(
          MakeHeap(Algorithm::FAST_MERGE, alignment, memory_limit),
          [alignment, memory_limit] {
            return MakeHeap(Algorithm::DEFAULT, alignment, memory_limit);
          },
          memory_limit);
    default:
      return std::make_unique<PlannedHeap<HloValue>>(alignment);
  }
}

// Mixes the salt into an id (the finalizer of MurmurHash3, Appleby).
uint64_t Scramble(uint64_t id, uint64_t salt) {
  uint64_t x = id ^ salt;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

}  // namespace

std::unique_ptr<Heap> MakeTempHeap(const BufferAssigner::Options& options,
                                   int64_t alignment, int64_t memory_limit,
                                   uint64_t max_block_size) {
  if (max_block_size > 0) {
    return std::make_unique<
        ConstrainedGlobalDecreasingSizeBestFitHeap<HloValue>>(
        max_block_size, alignment, options.multi_page_strategy,
        options.heap_buffer_interval_compare);
  }
  if (options.heap_buffer_interval_compare != nullptr) {
    return std::make_unique<BestFit>(alignment, BestFit::kCustom,
                                     options.heap_buffer_interval_compare);
  }
  std::unique_ptr<Heap> heap =
      MakeHeap(options.buffer_assignment_algorithm, alignment, memory_limit);
  if (!options.enable_fallback ||
      memory_limit == std::numeric_limits<int64_t>::max()) {
    return heap;
  }
  const Algorithm::Value fallback = options.fallback_algorithm;
  return std::make_unique<HeapAlgorithmWithFallback<HloValue>>(
      std::move(heap),
      [fallback, alignment, memory_limit] {
        return MakeHeap(fallback, alignment, memory_limit);
      },
      memory_limit);
}

// A debugging aid for memory corruption: moves buffers behind the heap, each to
// memory of its own, until `isolation_fuel` is used up. Bisecting over the fuel
// and the order finds the buffer whose sharing causes a failure. Returns the
// growth of the heap in bytes.
int64_t IsolateBuffers(const BufferAssignment::BufferIsolationOptions& options,
                       BufferValue::Color color, int64_t alignment,
                       const HloAliasAnalysis& alias_analysis,
                       HeapResultOf<HloValue>& heap) {
  const auto& config = options.config;
  if (!config.isolation_colors().empty() &&
      !absl::c_linear_search(config.isolation_colors(), color)) {
    return 0;
  }
  std::vector<const HloValue*> order;
  for (const auto& [value, chunk] : heap.chunk_map) order.push_back(value);
  absl::c_sort(order, HloValue::IdLessThan);
  if (const uint64_t salt = config.isolation_order_salt(); salt != 0) {
    absl::c_stable_sort(order, [&](const HloValue* a, const HloValue* b) {
      return Scramble(a->id(), salt) < Scramble(b->id(), salt);
    });
  }
  if (options.hlo_value_compare != nullptr) {
    absl::c_stable_sort(order, options.hlo_value_compare);
  }
  const int64_t old_size = heap.heap_size;
  const int64_t padding =
      std::max<int64_t>(0, config.isolation_padding_bytes());
  int64_t offset = std::max<int64_t>(0, config.base_offset_bytes()) +
                   heap.heap_size + padding;
  int64_t fuel = config.isolation_fuel();
  absl::flat_hash_set<HloBuffer::Id> done;
  for (const HloValue* value : order) {
    const HloBuffer& buffer = alias_analysis.GetBufferContainingValue(*value);
    if (!done.insert(buffer.id()).second) continue;
    if (fuel-- == 0) break;
    offset = packing::AlignUp(offset, alignment);
    for (const HloValue* other : buffer.values()) {
      auto it = heap.chunk_map.find(other);
      if (it == heap.chunk_map.end()) continue;
      it->second.offset = offset;
      heap.heap_size = heap.UpdatedHeapSize(it->second);
    }
    offset = heap.heap_size + padding;
  }
  return heap.heap_size - old_size;
}

}  // namespace xla
