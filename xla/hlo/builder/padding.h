#ifndef XLA_HLO_BUILDER_PADDING_H_
#define XLA_HLO_BUILDER_PADDING_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/util.h"

namespace xla {

// How many positions a sliding window has: as many as input elements divided by
// the stride, or only those that lie within the input.
enum class Padding { kSame, kValid };

inline absl::Status ValidatePaddingValues(
    absl::Span<const int64_t> input_dimensions,
    absl::Span<const int64_t> window_dimensions,
    absl::Span<const int64_t> window_strides) {
  if (input_dimensions.size() != window_dimensions.size() ||
      input_dimensions.size() != window_strides.size()) {
    return InvalidArgument(
        "%d sizes of windows and %d strides for %d dimensions",
        window_dimensions.size(), window_strides.size(),
        input_dimensions.size());
  }
  for (size_t i = 0; i < input_dimensions.size(); ++i) {
    if (window_dimensions[i] <= 0 || window_strides[i] <= 0) {
      return InvalidArgument("window of size %d and stride %d in dimension %d",
                             window_dimensions[i], window_strides[i], i);
    }
  }
  return absl::OkStatus();
}

// Low and high padding of each dimension; the odd one goes to the high end.
inline std::vector<std::pair<int64_t, int64_t>> MakePadding(
    absl::Span<const int64_t> input_dimensions,
    absl::Span<const int64_t> window_dimensions,
    absl::Span<const int64_t> window_strides, Padding padding) {
  CHECK_OK(ValidatePaddingValues(input_dimensions, window_dimensions,
                                 window_strides));
  std::vector<std::pair<int64_t, int64_t>> result;
  for (size_t i = 0; i < input_dimensions.size(); ++i) {
    int64_t total = 0;
    if (padding == Padding::kSame) {
      const int64_t windows =
          (input_dimensions[i] + window_strides[i] - 1) / window_strides[i];
      total =
          std::max<int64_t>(0, (windows - 1) * window_strides[i] +
                                   window_dimensions[i] - input_dimensions[i]);
    }
    result.emplace_back(total / 2, total - total / 2);
  }
  return result;
}

}  // namespace xla

#endif  // XLA_HLO_BUILDER_PADDING_H_
