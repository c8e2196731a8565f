#include "xla/permutation_util.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"

namespace xla {

bool IsPermutation(absl::Span<const int64_t> permutation) {
  const int64_t size = permutation.size();
  absl::InlinedVector<bool, 16> seen(size, false);
  for (int64_t value : permutation) {
    if (value < 0 || value >= size || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

void MoveSingleElement(absl::Span<int64_t> permutation, int64_t from,
                       int64_t to) {
  const int64_t size = permutation.size();
  CHECK(from >= 0 && from < size && to >= 0 && to < size);
  auto* const begin = permutation.data();
  if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
}

}  // namespace xla
