#ifndef XLA_HLO_ANALYSIS_BUFFERS_TEMP_HEAP_H_
#define XLA_HLO_ANALYSIS_BUFFERS_TEMP_HEAP_H_

#include <cstdint>
#include <memory>

#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

// The packing algorithm for temporaries that the options select. `alignment`,
// `memory_limit` (INT64_MAX: none) and `max_block_size` (0: the heap is one
// block) in bytes.
std::unique_ptr<HeapAlgorithm<HloValue>> MakeTempHeap(
    const BufferAssigner::Options& options, int64_t alignment,
    int64_t memory_limit, uint64_t max_block_size);

// Moves the buffers selected by the options above all others, each with its
// padding; values of one buffer stay together. Returns the number of bytes that
// the heap grows by.
int64_t IsolateBuffers(const BufferAssignment::BufferIsolationOptions& options,
                       BufferValue::Color color, int64_t alignment,
                       const HloAliasAnalysis& alias_analysis,
                       HeapResultOf<HloValue>& heap);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_TEMP_HEAP_H_
