#ifndef XLA_HLO_ANALYSIS_STABLE_VECTOR_H_
#define XLA_HLO_ANALYSIS_STABLE_VECTOR_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace xla {

// A sequence that grows at its end and whose elements never move. They are
// stored in blocks of 256, for fast iteration over many small elements.
template <typename T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    for (size_t i = 0; i < size_; ++i) (*this)[i].~T();
  }

  template <typename... Args>
  T& emplace_back(Args&&... args) {
    // Not make_unique, which would clear the block.
    if (size_ % kBlockSize == 0) blocks_.emplace_back(new Block);
    T* element = new (AddressOf(size_)) T(std::forward<Args>(args)...);
    ++size_;
    return *element;
  }

  size_t size() const { return size_; }
  T& operator[](size_t i) { return *std::launder(AddressOf(i)); }
  const T& operator[](size_t i) const {
    return *std::launder(const_cast<StableVector*>(this)->AddressOf(i));
  }

 private:
  static constexpr size_t kBlockSize = 256;
  struct Block {
    alignas(T) unsigned char bytes[kBlockSize * sizeof(T)];
  };

  T* AddressOf(size_t i) {
    return reinterpret_cast<T*>(blocks_[i / kBlockSize]->bytes) +
           i % kBlockSize;
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_STABLE_VECTOR_H_
