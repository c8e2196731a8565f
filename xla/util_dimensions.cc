#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/util.h"

namespace xla {
namespace {

using Runs = absl::InlinedVector<std::pair<int64_t, int64_t>, 8>;

// Extends `runs` by the runs of a[i..] and b[j..], whose sizes are positive
// and have the same product. A run ends as soon as the products agree.
void AppendRuns(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                int64_t i, int64_t j, Runs& runs) {
  const int64_t a_end = a.size();
  const int64_t b_end = b.size();
  while (true) {
    runs.emplace_back(i, j);
    if (i == a_end && j == b_end) return;
    // Start a run with the smaller of the next sizes, or both if equal: a size
    // of 1 that faces something else is a run of its own.
    const bool take_a = j == b_end || (i < a_end && a[i] <= b[j]);
    const bool take_b = i == a_end || (j < b_end && b[j] <= a[i]);
    int64_t a_product = take_a ? a[i++] : 1;
    int64_t b_product = take_b ? b[j++] : 1;
    while (a_product != b_product) {
      if (a_product < b_product) {
        CHECK_LT(i, a_end) << "products differ";
        a_product *= a[i++];
      } else {
        CHECK_LT(j, b_end) << "products differ";
        b_product *= b[j++];
      }
    }
  }
}

}  // namespace

absl::InlinedVector<std::pair<int64_t, int64_t>, 8> CommonFactors(
    absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  CHECK_EQ(Product(a), Product(b));
  Runs runs;
  if (absl::c_equal(a, b)) {
    for (int64_t i = 0; i <= static_cast<int64_t>(a.size()); ++i) {
      runs.emplace_back(i, i);
    }
    return runs;
  }
  // Equal leading sizes are runs of their own, zeros too.
  int64_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[shared] == b[shared]) {
    ++shared;
  }
  const auto a_rest = a.subspan(shared);
  const auto b_rest = b.subspan(shared);
  const int64_t rest = Product(a_rest);
  // A zero among the shared sizes makes the products agree whatever the rest.
  if (rest != Product(b_rest)) {
    runs.emplace_back(0, 0);
    runs.emplace_back(a.size(), b.size());
    return runs;
  }
  for (int64_t i = 0; i < shared; ++i) runs.emplace_back(i, i);
  if (rest == 0) {
    runs.emplace_back(shared, shared);
    runs.emplace_back(a.size(), b.size());
    return runs;
  }
  AppendRuns(a, b, shared, shared, runs);
  return runs;
}

ConvertedDimensionNumbers ConvertDimensionNumbers(
    absl::Span<const int64_t> from_dimensions,
    absl::Span<const int64_t> from_sizes, absl::Span<const int64_t> to_sizes) {
  ConvertedDimensionNumbers result;
  const Runs runs = CommonFactors(from_sizes, to_sizes);
  for (size_t r = 0; r + 1 < runs.size(); ++r) {
    const auto [from_begin, to_begin] = runs[r];
    const auto [from_end, to_end] = runs[r + 1];
    DimensionVector given;
    for (int64_t d = from_begin; d < from_end; ++d) {
      if (absl::c_linear_search(from_dimensions, d)) given.push_back(d);
    }
    if (static_cast<int64_t>(given.size()) == from_end - from_begin) {
      absl::c_copy(given,
                   std::back_inserter(result.transformed_from_dimensions));
      for (int64_t d = to_begin; d < to_end; ++d) {
        result.to_dimensions.push_back(d);
      }
      continue;
    }
    // The major dimension of the run, whose major part is one whole dimension
    // of the result.
    const bool splits = !given.empty() && given.front() == from_begin &&
                        to_begin < to_end && to_sizes[to_begin] > 0 &&
                        from_sizes[from_begin] % to_sizes[to_begin] == 0;
    for (int64_t d : given) {
      if (splits && d == from_begin) {
        result.split_from_dimensions.push_back(d);
        result.split_from_sizes.push_back(to_sizes[to_begin]);
        result.split_to_dimensions.push_back(to_begin);
      } else {
        result.untransformed_from_dimensions.push_back(d);
      }
    }
  }
  return result;
}

DimensionVector GetNonContractingDims(
    int64_t rank, absl::Span<const int64_t> contracting_dim_numbers,
    absl::Span<const int64_t> batch_dim_numbers) {
  DimensionVector result;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(contracting_dim_numbers, d) &&
        !absl::c_linear_search(batch_dim_numbers, d)) {
      result.push_back(d);
    }
  }
  return result;
}

bool DistinctNumbersAreConsecutiveIfSorted(absl::Span<const int64_t> seq) {
  if (seq.empty()) return true;
  const auto [low, high] = std::minmax_element(seq.begin(), seq.end());
  return *high - *low == static_cast<int64_t>(seq.size()) - 1;
}

}  // namespace xla
