#ifndef XLA_ARRAY_H_
#define XLA_ARRAY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/types.h"

namespace xla {

namespace array_impl {

// Numbers of narrow floating point types are written as float constants.
template <typename T, typename T2>
using overload_for_float =
    std::enable_if_t<is_mini_float_v<T> && std::is_same_v<T2, float>, bool>;

template <typename... Ts>
struct pack_is_integral : std::conjunction<std::is_integral<Ts>...> {};

// Whether start <= value < end for each position of the lists.
template <typename C1, typename C2>
bool all_inside_range(const C1& values, const C2& range_starts,
                      const C2& range_ends) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < range_starts[i] || values[i] >= range_ends[i]) return false;
  }
  return true;
}

}  // namespace array_impl

// An N-dimensional array held in row-major order (the last index varies
// fastest). Also right for T = bool: elements have addresses.
template <typename T>
class Array {
 public:
  template <typename D>
  using InitializerList1D = std::initializer_list<D>;
  template <typename D>
  using InitializerList2D = std::initializer_list<InitializerList1D<D>>;
  template <typename D>
  using InitializerList3D = std::initializer_list<InitializerList2D<D>>;
  template <typename D>
  using InitializerList4D = std::initializer_list<InitializerList3D<D>>;

  using value_type = T;

  // An array of the given sizes, with value-initialized elements...
  explicit Array(absl::Span<const int64_t> sizes)
      : sizes_(sizes.begin(), sizes.end()), values_(CountOf(sizes)) {}
  // ... or copies of `value`...
  Array(absl::Span<const int64_t> sizes, T value) : Array(sizes) {
    Fill(value);
  }
  // ... or the given elements in row-major order.
  Array(absl::Span<const int64_t> sizes, absl::Span<const T> flattened_values)
      : Array(sizes) {
    SetValues(flattened_values);
  }

  // From nested lists, whose lengths are the sizes. A list of a list of T is
  // 2D; a flat list would be taken for sizes and exists only for float
  // constants.
  Array(InitializerList2D<T> values)  // NOLINT(google-explicit-constructor)
      : Array(ListSizes<2>(values)) {
    CopyList<2>(values);
  }
  Array(InitializerList3D<T> values)  // NOLINT(google-explicit-constructor)
      : Array(ListSizes<3>(values)) {
    CopyList<3>(values);
  }
  Array(InitializerList4D<T> values)  // NOLINT(google-explicit-constructor)
      : Array(ListSizes<4>(values)) {
    CopyList<4>(values);
  }
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  Array(std::initializer_list<T2> values)  // NOLINT
      : Array(ListSizes<1>(values)) {
    CopyList<1>(values);
  }
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  Array(std::initializer_list<std::initializer_list<T2>> values)  // NOLINT
      : Array(ListSizes<2>(values)) {
    CopyList<2>(values);
  }
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  Array(std::initializer_list<  // NOLINT(google-explicit-constructor)
        std::initializer_list<std::initializer_list<T2>>>
            values)
      : Array(ListSizes<3>(values)) {
    CopyList<3>(values);
  }
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  Array(std::initializer_list<  // NOLINT(google-explicit-constructor)
        std::initializer_list<std::initializer_list<std::initializer_list<T2>>>>
            values)
      : Array(ListSizes<4>(values)) {
    CopyList<4>(values);
  }

  Array(const Array<T>& other)
      : sizes_(other.sizes_), values_(other.values_.Clone()) {}
  Array(Array<T>&& other) noexcept = default;
  Array<T>& operator=(const Array<T>& other) {
    if (this != &other) {
      sizes_ = other.sizes_;
      values_ = other.values_.Clone();
    }
    return *this;
  }
  Array<T>& operator=(Array<T>&& other) noexcept = default;

  void Fill(const T& value) { std::fill(begin(), end(), value); }

  // value, value + 1, ...
  void FillIota(const T& value) {
    T next = value;
    for (T& element : *this) {
      element = next;
      next = static_cast<T>(next + static_cast<T>(1));
    }
  }
  // The same, restarting at `value` every `length` elements.
  void FillRepeatedIota(const T& value, int64_t length) {
    for (int64_t i = 0; i < num_elements(); ++i) {
      values_[i] =
          static_cast<T>(value + static_cast<T>(static_cast<int>(i % length)));
    }
  }
  // 0, multiplier, 2 * multiplier, ...
  void FillWithMultiples(const T& multiplier) {
    for (int64_t i = 0; i < num_elements(); ++i) {
      values_[i] = static_cast<T>(static_cast<T>(i) * multiplier);
    }
  }

  // Normally distributed values; equal for equal seeds.
  void FillRandom(const T& stddev, double mean = 0.0, int seed = 12345) {
    if constexpr (is_complex_v<T>) {
      using Part = typename T::value_type;
      std::minstd_rand0 generator(seed);
      std::normal_distribution<double> distribution;
      for (T& element : *this) {
        const double re = mean + distribution(generator) * std::real(stddev);
        const double im = mean + distribution(generator) * std::imag(stddev);
        element = T(static_cast<Part>(re), static_cast<Part>(im));
      }
    } else {
      FillRandomDouble(static_cast<double>(stddev), mean, seed);
    }
  }
  void FillRandomDouble(double stddev, double mean = 0.0, int seed = 12345) {
    std::minstd_rand0 generator(seed);
    std::normal_distribution<double> distribution(mean, stddev);
    for (T& element : *this) {
      if constexpr (std::is_same_v<T, bool>) {
        element = distribution(generator) > 0.0;
      } else {
        element = static_cast<T>(distribution(generator));
      }
    }
  }
  // Uniformly distributed in [min_value, max_value], max_value excluded for
  // floating point types.
  void FillRandomUniform(const T& min_value, const T& max_value,
                         int seed = 12345) {
    std::mt19937 generator(seed);
    if constexpr (is_specialized_integral_v<T>) {
      std::uniform_int_distribution<int64_t> distribution(
          static_cast<int64_t>(min_value), static_cast<int64_t>(max_value));
      for (T& element : *this)
        element = static_cast<T>(distribution(generator));
    } else {
      std::uniform_real_distribution<double> distribution(
          static_cast<double>(min_value), static_cast<double>(max_value));
      for (T& element : *this)
        element = static_cast<T>(distribution(generator));
    }
  }
  void FillRandomBool(int seed = 12345) {
    std::mt19937 generator(seed);
    std::bernoulli_distribution distribution;
    for (T& element : *this) element = static_cast<T>(distribution(generator));
  }

  // Copies the elements of `container` in row-major order.
  template <typename Container = std::initializer_list<T>>
  void SetValues(const Container& container) {
    CHECK_EQ(static_cast<int64_t>(
                 std::distance(std::begin(container), std::end(container))),
             num_elements());
    std::copy(std::begin(container), std::end(container), begin());
  }

  // Calls f with each index and a pointer to, or a copy of, the element, in
  // row-major order.
  void Each(absl::FunctionRef<void(absl::Span<const int64_t>, T*)> f) {
    TemplatedEach(f);
  }
  void Each(absl::FunctionRef<void(absl::Span<const int64_t>, T)> f) const {
    TemplatedEach(f);
  }
  template <typename Fn>
  void TemplatedEach(const Fn& f) {
    Index index(sizes_.size(), 0);
    for (T& element : *this) {
      f(absl::MakeConstSpan(index), &element);
      Advance(index);
    }
  }
  template <typename Fn>
  void TemplatedEach(const Fn& f) const {
    Index index(sizes_.size(), 0);
    for (const T& element : *this) {
      f(absl::MakeConstSpan(index), element);
      Advance(index);
    }
  }
  // The same, up to the first error.
  absl::Status EachStatus(
      absl::FunctionRef<absl::Status(absl::Span<const int64_t>, T*)> f) {
    Index index(sizes_.size(), 0);
    for (T& element : *this) {
      absl::Status status = f(index, &element);
      if (!status.ok()) return status;
      Advance(index);
    }
    return absl::OkStatus();
  }
  absl::Status EachStatus(
      absl::FunctionRef<absl::Status(absl::Span<const int64_t>, T)> f) const {
    Index index(sizes_.size(), 0);
    for (const T& element : *this) {
      absl::Status status = f(index, element);
      if (!status.ok()) return status;
      Advance(index);
    }
    return absl::OkStatus();
  }

  template <typename... Dims>
  typename std::enable_if<array_impl::pack_is_integral<Dims...>::value,
                          const T&>::type
  operator()(Dims... dims) const {
    const std::array<int64_t, sizeof...(dims)> index{
        {static_cast<int64_t>(dims)...}};
    return values_[Position(index)];
  }
  template <typename... Dims>
  typename std::enable_if<array_impl::pack_is_integral<Dims...>::value,
                          T&>::type
  operator()(Dims... dims) {
    const std::array<int64_t, sizeof...(dims)> index{
        {static_cast<int64_t>(dims)...}};
    return values_[Position(index)];
  }
  const T& operator()(absl::Span<const int64_t> indexes) const {
    return values_[Position(indexes)];
  }
  T& operator()(absl::Span<const int64_t> indexes) {
    return values_[Position(indexes)];
  }

  T* data() const { return values_.data.get(); }
  int64_t dim(int64_t n) const {
    DCHECK_LT(n, sizes_.size());
    return sizes_[n];
  }
  absl::Span<const int64_t> dimensions() const { return sizes_; }
  int64_t num_dimensions() const { return sizes_.size(); }
  int64_t num_elements() const { return values_.size; }

  const T* begin() const { return values_.data.get(); }
  T* begin() { return values_.data.get(); }
  const T* end() const { return begin() + num_elements(); }
  T* end() { return begin() + num_elements(); }

  bool operator==(const Array<T>& other) const {
    return sizes_ == other.sizes_ && std::equal(begin(), end(), other.begin());
  }
  bool operator!=(const Array<T>& other) const { return !(*this == other); }

  // The part with starts[d] <= index[d] < limits[d]. Elements outside the array
  // are `out_of_bounds_value`; without it they are not allowed.
  Array<T> Slice(absl::Span<const int64_t> starts,
                 absl::Span<const int64_t> limits,
                 std::optional<T> out_of_bounds_value = std::nullopt) const {
    CHECK_EQ(starts.size(), num_dimensions());
    CHECK_EQ(limits.size(), num_dimensions());
    Index sizes(num_dimensions());
    for (int64_t d = 0; d < num_dimensions(); ++d) {
      CHECK_LE(starts[d], limits[d]);
      if (!out_of_bounds_value.has_value()) {
        CHECK_GE(starts[d], 0);
        CHECK_LE(limits[d], dim(d));
      }
      sizes[d] = limits[d] - starts[d];
    }
    Array<T> result(sizes);
    Index from(num_dimensions());
    result.TemplatedEach([&](absl::Span<const int64_t> index, T* element) {
      bool inside = true;
      for (int64_t d = 0; d < num_dimensions(); ++d) {
        from[d] = starts[d] + index[d];
        inside = inside && from[d] >= 0 && from[d] < dim(d);
      }
      *element = inside ? (*this)(from) : *out_of_bounds_value;
    });
    return result;
  }

  // Writes `from` at `start_indices`; it must fit into the array.
  void UpdateSlice(const Array<T>& from,
                   absl::Span<const int64_t> start_indices) {
    CHECK_EQ(from.num_dimensions(), num_dimensions());
    CHECK_EQ(start_indices.size(), num_dimensions());
    for (int64_t d = 0; d < num_dimensions(); ++d) {
      CHECK_GE(start_indices[d], 0);
      CHECK_LE(start_indices[d] + from.dim(d), dim(d));
    }
    Index to(num_dimensions());
    from.TemplatedEach([&](absl::Span<const int64_t> index, const T& element) {
      for (int64_t d = 0; d < num_dimensions(); ++d) {
        to[d] = start_indices[d] + index[d];
      }
      (*this)(to) = element;
    });
  }

  // New sizes for the same elements. Constant time.
  void Reshape(absl::Span<const int64_t> new_dimensions) {
    CHECK_EQ(CountOf(new_dimensions), static_cast<size_t>(num_elements()));
    sizes_.assign(new_dimensions.begin(), new_dimensions.end());
  }

  // New dimension i is old dimension permutation[i].
  void TransposeDimensions(absl::Span<const int64_t> permutation) {
    TransposeDimensionsImpl<int64_t>(permutation);
  }
  void TransposeDimensions(absl::Span<const int> permutation) {
    TransposeDimensionsImpl<int>(permutation);
  }
  void TransposeDimensions(std::initializer_list<int> permutation) {
    TransposeDimensionsImpl<int>(permutation);
  }

  template <typename H>
  friend H AbslHashValue(H h, const Array& array) {
    return H::combine(std::move(h),
                      absl::MakeConstSpan(array.begin(), array.num_elements()),
                      array.dimensions());
  }

  // "[[1, 2],\n [3, 4]]".
  std::string ToString() const {
    if (sizes_.empty()) return "";
    std::string text;
    const int64_t rank = num_dimensions();
    Index index(rank, 0);
    // An array without elements prints the brackets and commas that remain if
    // dimensions of size 0 are taken as 1.
    const auto last = [&](int64_t i) { return dim(i) == 0 ? 0 : dim(i) - 1; };
    int64_t places = 1;
    for (int64_t i = 0; i < rank; ++i) places *= last(i) + 1;
    const T* element = num_elements() == 0 ? nullptr : &*begin();
    for (int64_t place = 0; place < places; ++place) {
      // Brackets open for every trailing run of zeros in the index.
      int64_t opened = 0;
      while (opened < rank && index[rank - 1 - opened] == 0) ++opened;
      if (opened > 0) {
        text.append(rank - opened, ' ');
        text.append(opened, '[');
      }
      if (element != nullptr) {
        if constexpr (is_complex_v<T>) {
          absl::StrAppend(&text, "(", element->real(), ", ", element->imag(),
                          ")");
        } else {
          absl::StrAppend(&text, *element);
        }
        ++element;
      }
      int64_t closed = 0;
      while (closed < rank &&
             index[rank - 1 - closed] == last(rank - 1 - closed)) {
        index[rank - 1 - closed++] = 0;
      }
      text.append(closed, ']');
      if (closed < rank) {
        text += closed == 0 ? ", " : ",\n";
        ++index[rank - 1 - closed];
      }
    }
    return text;
  }

 private:
  using Index = absl::InlinedVector<int64_t, 6>;

  // An array with its size: what std::vector is, without its form for bool.
  struct OwnedBuffer {
    explicit OwnedBuffer(size_t count)
        : data(count == 0 ? nullptr : new T[count]()), size(count) {}
    OwnedBuffer(OwnedBuffer&& other) noexcept
        : data(std::move(other.data)), size(std::exchange(other.size, 0)) {}
    OwnedBuffer& operator=(OwnedBuffer&& other) noexcept {
      data = std::move(other.data);
      size = std::exchange(other.size, 0);
      return *this;
    }
    OwnedBuffer Clone() const {
      OwnedBuffer clone(size);
      std::copy(data.get(), data.get() + size, clone.data.get());
      return clone;
    }
    T& operator[](int64_t i) { return data[i]; }
    const T& operator[](int64_t i) const { return data[i]; }

    std::unique_ptr<T[]> data;
    size_t size;
  };

  static size_t CountOf(absl::Span<const int64_t> sizes) {
    size_t count = 1;
    for (int64_t size : sizes) {
      CHECK_GE(size, 0);
      count *= size;
    }
    return count;
  }

  template <int kRank, typename List>
  static std::array<int64_t, kRank> ListSizes(const List& list) {
    std::array<int64_t, kRank> sizes{};
    sizes[0] = list.size();
    if constexpr (kRank > 1) {
      if (list.size() > 0) {
        const auto inner = ListSizes<kRank - 1>(*list.begin());
        std::copy(inner.begin(), inner.end(), sizes.begin() + 1);
      }
    }
    return sizes;
  }
  template <int kRank, typename List>
  void CopyList(const List& list) {
    int64_t position = 0;
    CopyListAt<kRank>(list, position);
  }
  template <int kRank, typename List>
  void CopyListAt(const List& list, int64_t& position) {
    CHECK_EQ(static_cast<int64_t>(list.size()), dim(num_dimensions() - kRank))
        << "lists of different lengths";
    for (const auto& element : list) {
      if constexpr (kRank > 1) {
        CopyListAt<kRank - 1>(element, position);
      } else {
        values_[position++] = static_cast<T>(element);
      }
    }
  }

  template <typename Indexes>
  int64_t Position(const Indexes& indexes) const {
    DCHECK_EQ(indexes.size(), sizes_.size());
    int64_t position = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      DCHECK(indexes[d] >= 0 && indexes[d] < sizes_[d]);
      position = position * sizes_[d] + indexes[d];
    }
    return position;
  }

  // Advances to the next index in row-major order, from the last to the first.
  void Advance(Index& index) const {
    for (int64_t d = num_dimensions() - 1; d >= 0; --d) {
      if (++index[d] < sizes_[d]) return;
      index[d] = 0;
    }
  }

  template <typename IntT>
  void TransposeDimensionsImpl(absl::Span<const IntT> permutation) {
    CHECK_EQ(sizes_.size(), permutation.size());
    Index sizes(sizes_.size());
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = dim(permutation[i]);
    Array<T> transposed(sizes);
    Index from(sizes_.size());
    transposed.TemplatedEach([&](absl::Span<const int64_t> index, T* element) {
      for (size_t i = 0; i < index.size(); ++i) from[permutation[i]] = index[i];
      *element = (*this)(from);
    });
    *this = std::move(transposed);
  }

  Index sizes_;
  OwnedBuffer values_;
};

}  // namespace xla

#endif  // XLA_ARRAY_H_
