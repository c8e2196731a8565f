#ifndef XLA_HLO_ANALYSIS_HEAP_HEAP_ALGORITHM_H_
#define XLA_HLO_ANALYSIS_HEAP_HEAP_ALGORITHM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Places buffers, given a sequence of Alloc and Free calls in the order of
// time. Every buffer is allocated once and freed once, with the same size.
template <typename BufferType>
class HeapAlgorithm {
 public:
  using Chunk = HeapChunk;
  using Result = HeapSimulationOf<BufferType>;
  using HeapResult = HeapResultOf<BufferType>;

  virtual ~HeapAlgorithm() = default;

  virtual void Alloc(const BufferType* buffer, int64_t size) = 0;
  virtual void Free(const BufferType* buffer, int64_t size) = 0;

  // Allocates `buffer` in the memory of `share_with`, which must have been
  // freed unless the two hold the same value.
  virtual void ShareWith(const BufferType* buffer, const BufferType* share_with,
                         int64_t size) {
    Alloc(buffer, size);
  }

  // Reports the bytes that computations called by `instruction` take while it
  // runs, if they are not part of the simulation.
  virtual void AccountForSubcomputationMemory(
      const HloInstruction* instruction, int64_t alloc_size_by_instruction) {}

  // Called after the last Free. FailedPrecondition if some buffer was not
  // freed.
  virtual absl::StatusOr<Result> Finish() = 0;
};

// Counts live bytes: the heap size of an algorithm without fragmentation.
// Buffers that share are one block, as large as the largest of them since the
// block was last free. The result has a size but no chunks. O(1) per call.
template <typename BufferType>
class NoFragmentationStatsHeap : public HeapAlgorithm<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;

  void Alloc(const BufferType* buffer, int64_t size) override;
  void ShareWith(const BufferType* buffer, const BufferType* share_with,
                 int64_t size) override;
  void AccountForSubcomputationMemory(
      const HloInstruction* instruction,
      int64_t alloc_size_by_instruction) override;
  void Free(const BufferType* buffer, int64_t size) override;
  absl::StatusOr<Result> Finish() override;

 private:
  struct Block {
    int64_t num_live = 0;  // buffers
    int64_t size = 0;      // bytes
  };
  void AddTo(int64_t block, const BufferType* buffer, int64_t size);

  std::vector<Block> blocks_;
  absl::flat_hash_map<const BufferType*, int64_t> block_of_;
  int64_t current_heap_size_ = 0;
  int64_t max_heap_size_ = 0;
};

// Runs several algorithms and returns the result with the smallest heap, the
// first among equal ones. Takes ownership of the algorithms.
template <typename BufferType>
class ChooseBestHeapAlgorithm : public HeapAlgorithm<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;
  using Algorithms = std::vector<std::unique_ptr<HeapAlgorithm<BufferType>>>;

  explicit ChooseBestHeapAlgorithm(std::unique_ptr<Algorithms> algorithms)
      : algorithms_(std::move(*algorithms)) {}

  void Alloc(const BufferType* buffer, int64_t size) override;
  void ShareWith(const BufferType* buffer, const BufferType* share_with,
                 int64_t size) override;
  void Free(const BufferType* buffer, int64_t size) override;
  absl::StatusOr<Result> Finish() override;

 private:
  Algorithms algorithms_;
};

// The primary algorithm's result if it fits into the limit (bytes), else the
// fallback's, if that is smaller.
template <typename BufferType>
class HeapAlgorithmWithFallback : public HeapAlgorithm<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;
  using Factory = std::function<std::unique_ptr<HeapAlgorithm<BufferType>>()>;

  HeapAlgorithmWithFallback(
      std::unique_ptr<HeapAlgorithm<BufferType>> primary_algorithm,
      Factory fallback_factory, int64_t memory_limit)
      : primary_(std::move(primary_algorithm)),
        fallback_factory_(std::move(fallback_factory)),
        memory_limit_(memory_limit) {}

  void Alloc(const BufferType* buffer, int64_t size) override;
  void ShareWith(const BufferType* buffer, const BufferType* share_with,
                 int64_t size) override;
  void Free(const BufferType* buffer, int64_t size) override;
  absl::StatusOr<Result> Finish() override;

 private:
  enum class CallType { kAlloc, kShareWith, kFree };
  struct RecordedCall {
    CallType type;
    const BufferType* buffer;
    const BufferType* share_with;
    int64_t size;
  };

  std::unique_ptr<HeapAlgorithm<BufferType>> primary_;
  Factory fallback_factory_;
  const int64_t memory_limit_;
  std::vector<RecordedCall> calls_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_HEAP_ALGORITHM_H_
