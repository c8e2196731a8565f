#ifndef XLA_WINDOW_UTIL_H_
#define XLA_WINDOW_UTIL_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "xla/xla_data.pb.h"

// Windows of convolution, reduce-window and select-and-scatter, and paddings.

namespace xla {
namespace window_util {

// A window of those sizes (and strides, else 1) without padding, dilation or
// reversal.
Window MakeWindow(absl::Span<const int64_t> sizes);
Window MakeWindow(absl::Span<const int64_t> sizes,
                  absl::Span<const int64_t> strides);

// Pads dimension i by sizes[i] on both sides.
PaddingConfig MakeSymmetricPadding(absl::Span<const int64_t> sizes);

// "(size=3,stride=2,padding_low=1)": fields that differ from the default.
std::string ToString(const WindowDimension& dim);
// "size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=.. rhs_dilate=..
// rhs_reversal=..": fields that differ from the default in any dimension, as in
// HLO text.
std::string ToString(const Window& window);

bool HasStride(const Window& window);
bool HasPadding(const Window& window);
// Low and high padding are equal in each dimension.
bool HasSymmetricPadding(const Window& window);
bool HasSymmetricPadding(const PaddingConfig& padding_config);
bool HasNegativePadding(const Window& window);
bool HasBaseDilation(const Window& window);
bool HasWindowDilation(const Window& window);
bool HasDilation(const Window& window);
// Whether some element may be in several windows.
bool HasOverlappingWindow(const Window& window);
bool HasWindowReversal(const Window& window);
bool AllOrNoneReversed(const Window& window);
// Size and stride 1, no padding, no dilation.
bool IsTrivialWindowDimension(const WindowDimension& window_dimension);

// The extent of `bound` elements with dilation - 1 holes between them.
int64_t DilatedBound(int64_t bound, int64_t dilation);
// The number of windows that fit at multiples of `stride`.
int64_t StridedBound(int64_t bound, int64_t window_size, int64_t stride);

}  // namespace window_util
}  // namespace xla

#endif  // XLA_WINDOW_UTIL_H_
