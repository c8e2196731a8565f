#ifndef XLA_HLO_IR_PTRVEC_H_
#define XLA_HLO_IR_PTRVEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/log/check.h"

namespace xla {

// A vector of pointers that takes one word and no heap while it holds at most
// one element. Null elements are allowed.
//
// The word is kEmpty for an empty vector, the element itself for one element,
// and otherwise the address of a heap block with kBigTag in its low bits, which
// aligned pointers never have. Pointers to bytes, which may have any bits, are
// always in a block. Iterators are plain pointers; every change of size
// invalidates them.
template <class T>
class PtrVec {
  static_assert(std::is_pointer<T>::value, "PtrVec holds pointers");

 public:
  using difference_type = ptrdiff_t;
  using value_type = T;
  using pointer = T*;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  PtrVec() = default;
  ~PtrVec() { Release(); }

  PtrVec(const PtrVec& x) { assign(x.begin(), x.end()); }
  PtrVec& operator=(const PtrVec& x) {
    if (this != &x) assign(x.begin(), x.end());
    return *this;
  }
  PtrVec(PtrVec&& x) noexcept : word_(x.word_) { x.word_ = Empty(); }
  PtrVec& operator=(PtrVec&& x) noexcept {
    if (this != &x) {
      Release();
      word_ = x.word_;
      x.word_ = Empty();
    }
    return *this;
  }
  PtrVec(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  template <typename InputIter>
  PtrVec(InputIter first, InputIter last) {
    assign(first, last);
  }

  iterator begin() { return data(); }
  iterator end() { return data() + size(); }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size(); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  const_reverse_iterator rbegin() const {
    return const_reverse_iterator(end());
  }
  const_reverse_iterator rend() const {
    return const_reverse_iterator(begin());
  }

  size_t size() const {
    if (IsBig()) return big()->size;
    return word_ == Empty() ? 0 : 1;
  }
  bool empty() const { return size() == 0; }
  size_t capacity() const { return IsBig() ? big()->capacity : 1; }

  T* data() { return IsBig() ? big()->data() : &word_; }
  T const* data() const { return IsBig() ? big()->data() : &word_; }

  T& operator[](size_t i) {
    DCHECK_LT(i, size());
    return data()[i];
  }
  T operator[](size_t i) const {
    DCHECK_LT(i, size());
    return data()[i];
  }
  T at(size_t i) const {
    CHECK_LT(i, size());
    return data()[i];
  }
  T front() const { return (*this)[0]; }
  T back() const { return (*this)[size() - 1]; }

  // New elements are null unless a value is given.
  void resize(size_t new_len) { resize(new_len, nullptr); }
  void resize(size_t new_len, T value) {
    const size_t old_len = size();
    if (new_len == old_len) return;
    if (new_len < old_len) {
      Truncate(new_len);
      return;
    }
    reserve(new_len);
    for (size_t i = old_len; i < new_len; ++i) push_back(value);
  }
  void reserve(size_t new_capacity) {
    if (new_capacity > capacity()) Grow(new_capacity);
  }
  // Frees the heap block, if any.
  void clear() {
    Release();
    word_ = Empty();
  }
  void pop_back() {
    DCHECK(!empty());
    Truncate(size() - 1);
  }
  void push_back(T x) {
    if (!IsBig()) {
      if (word_ == Empty() && !Reserved(x)) {
        word_ = x;
        return;
      }
      Grow(4);
    }
    Big* block = big();
    if (block->size == block->capacity) {
      Grow(block->capacity * 2);
      block = big();
    }
    block->data()[block->size++] = x;
  }
  // Keeps the order of the others.
  void erase(const_iterator iter) {
    DCHECK(iter >= cbegin() && iter < cend());
    iterator position = begin() + (iter - cbegin());
    std::copy(position + 1, end(), position);
    pop_back();
  }
  template <typename InputIter>
  void assign(InputIter first, InputIter last) {
    // The range may lie in this very vector.
    PtrVec fresh;
    for (; first != last; ++first) fresh.push_back(*first);
    std::swap(word_, fresh.word_);
  }

  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

 private:
  struct Big {
    size_t size;
    size_t capacity;
    T* data() { return reinterpret_cast<T*>(this + 1); }
    const T* data() const { return reinterpret_cast<const T*>(this + 1); }
  };

  static constexpr uintptr_t kEmpty = 2;
  // An odd number that an address plus 1 is not, where objects are at multiples
  // of 4: an element may be overwritten by such a pointer in place.
  static constexpr uintptr_t kBigTag = 11;
  static constexpr uintptr_t kTagMask = 15;
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ > kTagMask);

  using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
  static constexpr bool kPointsToBytes =
      std::is_void_v<Pointee> || std::is_same_v<Pointee, char> ||
      std::is_same_v<Pointee, signed char> ||
      std::is_same_v<Pointee, unsigned char> || std::is_same_v<Pointee, bool>;

  static T Empty() { return reinterpret_cast<T>(kEmpty); }
  static bool HasBigTag(T x) {
    return (reinterpret_cast<uintptr_t>(x) & kTagMask) == kBigTag;
  }
  // Elements that cannot be stored in the word.
  static bool Reserved(T x) {
    return kPointsToBytes || x == Empty() || HasBigTag(x);
  }
  bool IsBig() const { return HasBigTag(word_); }
  Big* big() const {
    return reinterpret_cast<Big*>(reinterpret_cast<uintptr_t>(word_) - kBigTag);
  }

  void Grow(size_t new_capacity) {
    const size_t count = size();
    new_capacity = std::max<size_t>(new_capacity, 2);
    Big* block = static_cast<Big*>(
        ::operator new(sizeof(Big) + new_capacity * sizeof(T)));
    block->size = count;
    block->capacity = new_capacity;
    std::copy(data(), data() + count, block->data());
    Release();
    word_ = reinterpret_cast<T>(reinterpret_cast<uintptr_t>(block) + kBigTag);
  }
  void Truncate(size_t new_len) {
    if (IsBig()) {
      big()->size = new_len;
    } else if (new_len == 0) {
      word_ = Empty();
    }
  }
  void Release() {
    if (IsBig()) ::operator delete(big());
  }

  T word_ = Empty();
};

template <class T>
bool operator==(const PtrVec<T>& a, const PtrVec<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

template <class T>
bool operator!=(const PtrVec<T>& a, const PtrVec<T>& b) {
  return !(a == b);
}

}  // namespace xla

#endif  // XLA_HLO_IR_PTRVEC_H_
