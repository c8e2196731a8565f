#ifndef XLA_ITERATOR_UTIL_H_
#define XLA_ITERATOR_UTIL_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "xla/iterator_range.h"

namespace xla {

// Iterates over the raw pointers of a sequence of std::unique_ptr.
template <typename NestedIter>
class UnwrappingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(std::declval<NestedIter>()->get());
  using difference_type = std::ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type&;

  UnwrappingIterator() = default;
  explicit UnwrappingIterator(NestedIter iter) : iter_(std::move(iter)) {}

  value_type operator*() const { return iter_->get(); }
  value_type operator->() const { return iter_->get(); }
  UnwrappingIterator& operator++() {
    ++iter_;
    return *this;
  }
  UnwrappingIterator operator++(int) {
    UnwrappingIterator old = *this;
    ++iter_;
    return old;
  }
  friend bool operator==(const UnwrappingIterator& a,
                         const UnwrappingIterator& b) {
    return a.iter_ == b.iter_;
  }
  friend bool operator!=(const UnwrappingIterator& a,
                         const UnwrappingIterator& b) {
    return !(a == b);
  }
  NestedIter underlying_iterator() const { return iter_; }

 private:
  NestedIter iter_;
};

template <typename NestedIter>
UnwrappingIterator<NestedIter> MakeUnwrappingIterator(NestedIter iter) {
  return UnwrappingIterator<NestedIter>(std::move(iter));
}

// Iterates over the elements for which `pred` holds.
template <typename NestedIter, typename UnaryPredicate>
class FilteringIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(*std::declval<NestedIter>());
  using difference_type = std::ptrdiff_t;
  using pointer = std::add_pointer_t<std::remove_reference_t<value_type>>;
  using reference = value_type&;

  FilteringIterator(NestedIter iter, NestedIter end_iter, UnaryPredicate pred)
      : iter_(std::move(iter)),
        end_iter_(std::move(end_iter)),
        pred_(std::move(pred)) {
    SkipRejected();
  }

  value_type operator*() const { return *iter_; }
  value_type operator->() const { return *iter_; }
  FilteringIterator& operator++() {
    ++iter_;
    SkipRejected();
    return *this;
  }
  FilteringIterator operator++(int) {
    FilteringIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const FilteringIterator& a,
                         const FilteringIterator& b) {
    return a.iter_ == b.iter_;
  }
  friend bool operator!=(const FilteringIterator& a,
                         const FilteringIterator& b) {
    return !(a == b);
  }
  NestedIter underlying_iterator() const { return iter_; }

 private:
  void SkipRejected() {
    while (iter_ != end_iter_ && !pred_(*iter_)) ++iter_;
  }

  NestedIter iter_;
  NestedIter end_iter_;
  UnaryPredicate pred_;
};

// The raw pointers of a sequence of std::unique_ptr for which `pred` holds.
template <typename NestedIter, typename UnaryPredicate>
using FilteringUnwrappingIterator =
    FilteringIterator<UnwrappingIterator<NestedIter>, UnaryPredicate>;

template <typename NestedIter, typename UnaryPredicate>
FilteringUnwrappingIterator<NestedIter, UnaryPredicate>
MakeFilteringUnwrappingIterator(NestedIter iter, NestedIter end_iter,
                                UnaryPredicate pred) {
  return FilteringUnwrappingIterator<NestedIter, UnaryPredicate>(
      MakeUnwrappingIterator(iter), MakeUnwrappingIterator(end_iter), pred);
}
template <typename NestedIter, typename UnaryPredicate>
iterator_range<FilteringUnwrappingIterator<NestedIter, UnaryPredicate>>
MakeFilteringUnwrappingIteratorRange(NestedIter begin_iter, NestedIter end_iter,
                                     UnaryPredicate pred) {
  return make_range(MakeFilteringUnwrappingIterator(begin_iter, end_iter, pred),
                    MakeFilteringUnwrappingIterator(end_iter, end_iter, pred));
}

// for (auto [index, value] : WithIndex(range)): elements with their positions.
// Holds a temporary range; refers to any other, which outlives it.
template <typename T>
class WithIndex {
  using Range = std::remove_reference_t<T>;
  using NestedIterator = decltype(std::begin(std::declval<Range&>()));

 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using reference =
        std::pair<size_t, decltype(*std::declval<NestedIterator>())>;
    using value_type = reference;
    using difference_type = std::ptrdiff_t;
    // Holds the pair that operator-> points to.
    struct pointer {
      reference pair;
      reference* operator->() { return &pair; }
    };

    iterator(size_t index, NestedIterator nested)
        : index_(index), nested_(std::move(nested)) {}

    reference operator*() const { return reference(index_, *nested_); }
    pointer operator->() const { return pointer{**this}; }
    iterator& operator++() {
      ++index_;
      ++nested_;
      return *this;
    }
    bool operator==(const iterator& other) const {
      return nested_ == other.nested_;
    }
    bool operator!=(const iterator& other) const { return !(*this == other); }

   private:
    size_t index_;
    NestedIterator nested_;
  };

  explicit WithIndex(T range) : range_(std::forward<T>(range)) {}

  iterator begin() const { return iterator(0, std::begin(mutable_range())); }
  iterator end() const { return iterator(0, std::end(mutable_range())); }

 private:
  // A held range is the caller's own, so elements of it may change.
  Range& mutable_range() const { return const_cast<Range&>(range_); }

  T range_;
};
template <typename T>
WithIndex(const T& v) -> WithIndex<const T&>;
template <typename T>
WithIndex(T& v) -> WithIndex<T&>;
template <typename T>
WithIndex(T&& v) -> WithIndex<T>;

}  // namespace xla

#endif  // XLA_ITERATOR_UTIL_H_
