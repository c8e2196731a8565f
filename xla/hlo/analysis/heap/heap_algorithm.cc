#include "xla/hlo/analysis/heap/heap_algorithm.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

std::string HeapChunk::ToString() const {
  return absl::StrCat("[", offset, ",", chunk_end(), ")");
}

std::ostream& operator<<(std::ostream& stream, const HeapChunk& chunk) {
  return stream << chunk.ToString();
}

// Buffers that share memory are a block. It is as large as the largest buffer
// that joined it since it was last empty, and costs nothing while it is empty.
// No layout of the blocks needs less than the most bytes that are live at once,
// so this is the bound that other heaps are measured by.
template <typename BufferType>
void NoFragmentationStatsHeap<BufferType>::AddTo(int64_t block,
                                                 const BufferType* buffer,
                                                 int64_t size) {
  Block& its_block = blocks_[block];
  block_of_[buffer] = block;
  const int64_t held = its_block.num_live++ > 0 ? its_block.size : 0;
  its_block.size = std::max(held, size);
  current_heap_size_ += its_block.size - held;
  max_heap_size_ = std::max(max_heap_size_, current_heap_size_);
}

template <typename BufferType>
void NoFragmentationStatsHeap<BufferType>::Alloc(const BufferType* buffer,
                                                 int64_t size) {
  blocks_.emplace_back();
  AddTo(blocks_.size() - 1, buffer, size);
}

template <typename BufferType>
void NoFragmentationStatsHeap<BufferType>::ShareWith(
    const BufferType* buffer, const BufferType* share_with, int64_t size) {
  AddTo(block_of_.at(share_with), buffer, size);
}

template <typename BufferType>
void NoFragmentationStatsHeap<BufferType>::AccountForSubcomputationMemory(
    const HloInstruction* instruction, int64_t alloc_size_by_instruction) {
  max_heap_size_ =
      std::max(max_heap_size_, current_heap_size_ + alloc_size_by_instruction);
}

template <typename BufferType>
void NoFragmentationStatsHeap<BufferType>::Free(const BufferType* buffer,
                                                int64_t size) {
  Block& block = blocks_[block_of_.at(buffer)];
  if (--block.num_live == 0) current_heap_size_ -= block.size;
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>>
NoFragmentationStatsHeap<BufferType>::Finish() {
  if (current_heap_size_ != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "heap: ", current_heap_size_, " bytes have not been freed"));
  }
  Result result;
  result.heap_size = max_heap_size_;
  return result;
}

template <typename BufferType>
void ChooseBestHeapAlgorithm<BufferType>::Alloc(const BufferType* buffer,
                                                int64_t size) {
  for (auto& algorithm : algorithms_) algorithm->Alloc(buffer, size);
}

template <typename BufferType>
void ChooseBestHeapAlgorithm<BufferType>::ShareWith(
    const BufferType* buffer, const BufferType* share_with, int64_t size) {
  for (auto& algorithm : algorithms_) {
    algorithm->ShareWith(buffer, share_with, size);
  }
}

template <typename BufferType>
void ChooseBestHeapAlgorithm<BufferType>::Free(const BufferType* buffer,
                                               int64_t size) {
  for (auto& algorithm : algorithms_) algorithm->Free(buffer, size);
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>>
ChooseBestHeapAlgorithm<BufferType>::Finish() {
  if (algorithms_.empty()) {
    return absl::FailedPreconditionError("heap: no algorithms to choose from");
  }
  Result best;
  for (int64_t a = 0; a < algorithms_.size(); ++a) {
    absl::StatusOr<Result> result = algorithms_[a]->Finish();
    if (!result.ok()) return result.status();
    if (a == 0 || result->heap_size < best.heap_size) best = *std::move(result);
  }
  return best;
}

template <typename BufferType>
void HeapAlgorithmWithFallback<BufferType>::Alloc(const BufferType* buffer,
                                                  int64_t size) {
  primary_->Alloc(buffer, size);
  calls_.push_back({CallType::kAlloc, buffer, nullptr, size});
}

template <typename BufferType>
void HeapAlgorithmWithFallback<BufferType>::ShareWith(
    const BufferType* buffer, const BufferType* share_with, int64_t size) {
  primary_->ShareWith(buffer, share_with, size);
  calls_.push_back({CallType::kShareWith, buffer, share_with, size});
}

template <typename BufferType>
void HeapAlgorithmWithFallback<BufferType>::Free(const BufferType* buffer,
                                                 int64_t size) {
  primary_->Free(buffer, size);
  calls_.push_back({CallType::kFree, buffer, nullptr, size});
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>>
HeapAlgorithmWithFallback<BufferType>::Finish() {
  absl::StatusOr<Result> result = primary_->Finish();
  if (!result.ok() || result->heap_size <= memory_limit_) return result;
  std::unique_ptr<HeapAlgorithm<BufferType>> fallback = fallback_factory_();
  for (const RecordedCall& call : calls_) {
    switch (call.type) {
      case CallType::kAlloc:
        fallback->Alloc(call.buffer, call.size);
        break;
      case CallType::kShareWith:
        fallback->ShareWith(call.buffer, call.share_with, call.size);
        break;
      case CallType::kFree:
        fallback->Free(call.buffer, call.size);
        break;
    }
  }
  absl::StatusOr<Result> other = fallback->Finish();
  if (!other.ok()) return other;
  return other->heap_size < result->heap_size ? std::move(other)
                                              : std::move(result);
}

template class NoFragmentationStatsHeap<HloValue>;
template class NoFragmentationStatsHeap<AllocationBlock>;
template class ChooseBestHeapAlgorithm<HloValue>;
template class ChooseBestHeapAlgorithm<AllocationBlock>;
template class HeapAlgorithmWithFallback<HloValue>;
template class HeapAlgorithmWithFallback<AllocationBlock>;

}  // namespace xla
