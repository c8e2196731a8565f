#ifndef XLA_PERMUTATION_UTIL_H_
#define XLA_PERMUTATION_UTIL_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "absl/log/check.h"
#include "absl/types/span.h"

// Permutations of 0..n-1, as lists p where position i of the result takes
// element p[i] of the input. All are linear.

namespace xla {

// Whether the numbers are 0..n-1 in some order.
bool IsPermutation(absl::Span<const int64_t> permutation);

// result[i] = input[permutation[i]].
template <typename Container>
std::vector<typename Container::value_type> Permute(
    const Container& input, absl::Span<const int64_t> permutation) {
  CHECK_EQ(permutation.size(), input.size());
  CHECK(IsPermutation(permutation));
  std::vector<typename Container::value_type> result;
  result.reserve(input.size());
  for (int64_t from : permutation) result.push_back(input[from]);
  return result;
}

// result[permutation[i]] = input[i].
template <typename Container = std::vector<int64_t>>
Container PermuteInverse(absl::Span<const typename Container::value_type> input,
                         absl::Span<const int64_t> permutation) {
  CHECK_EQ(permutation.size(), input.size());
  CHECK(IsPermutation(permutation));
  Container result(input.size());
  for (size_t i = 0; i < input.size(); ++i) result[permutation[i]] = input[i];
  return result;
}
template <
    typename Input,
    std::enable_if_t<
        !std::is_same_v<std::remove_cv_t<typename Input::value_type>, int64_t>,
        int> = 0>
std::vector<typename Input::value_type> PermuteInverse(
    const Input& input, absl::Span<const int64_t> permutation) {
  return PermuteInverse<std::vector<typename Input::value_type>>(
      absl::MakeConstSpan(input), permutation);
}

// The permutation that undoes `input_permutation`.
template <typename Container = std::vector<int64_t>>
Container InversePermutation(absl::Span<const int64_t> input_permutation) {
  CHECK(IsPermutation(input_permutation));
  Container result(input_permutation.size());
  for (size_t i = 0; i < input_permutation.size(); ++i) {
    result[input_permutation[i]] = static_cast<int64_t>(i);
  }
  return result;
}

// result[i] = p1[p2[i]]: permuting by p1, then by p2.
template <typename Container = std::vector<int64_t>>
Container ComposePermutations(absl::Span<const int64_t> p1,
                              absl::Span<const int64_t> p2) {
  CHECK_EQ(p1.size(), p2.size());
  Container result;
  result.reserve(p1.size());
  for (int64_t i : p2) result.push_back(p1.at(i));
  return result;
}

// Whether the list is 0, 1, 2, ...
template <typename Container>
bool IsIdentityPermutation(const Container& permutation) {
  int64_t i = 0;
  return std::all_of(permutation.begin(), permutation.end(),
                     [&](int64_t value) { return value == i++; });
}

inline bool IsIdentityPermutation(std::initializer_list<int64_t> permutation) {
  return IsIdentityPermutation(
      absl::Span<const int64_t>(permutation.begin(), permutation.size()));
}

// Moves the element at position `from` to position `to`; those between shift
// by one.
void MoveSingleElement(absl::Span<int64_t> permutation, int64_t from,
                       int64_t to);

}  // namespace xla

#endif  // XLA_PERMUTATION_UTIL_H_
