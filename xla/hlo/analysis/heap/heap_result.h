#ifndef XLA_HLO_ANALYSIS_HEAP_HEAP_RESULT_H_
#define XLA_HLO_ANALYSIS_HEAP_HEAP_RESULT_H_

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// Bytes [offset, offset + size) of a heap. HeapSimulator::Chunk.
struct HeapChunk {
  static HeapChunk FromOffsetEnd(int64_t offset, int64_t end) {
    return FromOffsetSize(offset, end - offset);
  }
  static HeapChunk FromOffsetSize(int64_t offset, int64_t size) {
    HeapChunk chunk;
    chunk.offset = offset;
    chunk.size = size;
    return chunk;
  }

  int64_t chunk_end() const { return offset + size; }
  bool OverlapsWith(HeapChunk other) const {
    return offset < other.chunk_end() && other.offset < chunk_end();
  }
  // `[offset,end)`
  std::string ToString() const;

  friend bool operator==(const HeapChunk& a, const HeapChunk& b) {
    return a.offset == b.offset && a.size == b.size;
  }

  int64_t offset = -1;
  int64_t size = -1;
};

std::ostream& operator<<(std::ostream& stream, const HeapChunk& chunk);

// The chunks of one heap. HeapSimulator::HeapResult.
template <typename BufferType>
struct HeapResultOf {
  // The size of the heap with this chunk added.
  int64_t UpdatedHeapSize(const HeapChunk& chunk) const {
    return std::max(heap_size, chunk.chunk_end());
  }

  // Buffers that share memory have one offset. Heaps that place all buffers in
  // Finish() give each of them the size of the largest; CommitChunk of
  // GlobalDecreasingSizeBestFitHeap gives each its own.
  absl::flat_hash_map<const BufferType*, HeapChunk> chunk_map;
  int64_t heap_size = 0;  // bytes
};

// HeapSimulator::Result.
template <typename BufferType>
struct HeapSimulationOf {
  // Algorithms that only count have no heap; constrained ones several.
  std::vector<HeapResultOf<BufferType>> heap_results;
  int64_t heap_size = 0;           // bytes, of all heaps
  int64_t fragmentation_size = 0;  // heap_size less the most live bytes
  HeapSimulatorTrace debug_trace;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_HEAP_RESULT_H_
