#ifndef XLA_HLO_EVALUATOR_WINDOW_AXIS_H_
#define XLA_HLO_EVALUATOR_WINDOW_AXIS_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// One dimension of a window: which input each window position of each output
// reads. Between inputs lie base_dilation - 1 holes, around them the padding,
// which may be negative.
struct WindowAxis {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t window_dilation = 1;
  int64_t base_dilation = 1;
  bool reversed = false;

  // The input under position `w` of the window at output `o`; -1 if there is a
  // hole or padding.
  int64_t Input(int64_t o, int64_t w) const {
    const int64_t at = o * stride + Position(w);
    if (at < 0) return -1;
    if (base_dilation == 1) return at < inputs ? at : -1;
    const int64_t index = at / base_dilation;
    return index * base_dilation == at && index < inputs ? index : -1;
  }

  // Offset of a window position from the window's place in the padded base.
  int64_t Position(int64_t w) const {
    return (reversed ? size - 1 - w : w) * window_dilation - padding_low;
  }

  // The outputs [first, last) that read an input at window position `w`. Pre:
  // no base dilation. Their inputs are `stride` apart.
  void ValidRange(int64_t w, int64_t* first, int64_t* last) const {
    const int64_t at = Position(w);
    *first = at >= 0 ? 0 : (-at + stride - 1) / stride;
    *last = at >= inputs ? 0 : (inputs - 1 - at) / stride + 1;
    *last = std::min(*last, outputs);
    *first = std::min(*first, *last);
  }
};

inline absl::StatusOr<WindowAxis> MakeWindowAxis(const WindowDimension& window,
                                                 int64_t inputs) {
  WindowAxis axis;
  axis.inputs = inputs;
  axis.size = window.size();
  axis.stride = std::max<int64_t>(window.stride(), 1);
  axis.padding_low = window.padding_low();
  axis.window_dilation = std::max<int64_t>(window.window_dilation(), 1);
  axis.base_dilation = std::max<int64_t>(window.base_dilation(), 1);
  axis.reversed = window.window_reversal();
  if (axis.size <= 0) return InvalidArgument("a window has size %d", axis.size);
  const int64_t base = inputs == 0 ? 0 : (inputs - 1) * axis.base_dilation + 1;
  const int64_t padded = base + window.padding_low() + window.padding_high();
  const int64_t width = (axis.size - 1) * axis.window_dilation + 1;
  axis.outputs = padded < width ? 0 : (padded - width) / axis.stride + 1;
  return axis;
}

using WindowAxes = absl::InlinedVector<WindowAxis, 6>;

// The axes of a window over all of `dims`.
inline absl::StatusOr<WindowAxes> MakeWindowAxes(
    const Window& window, absl::Span<const int64_t> dims) {
  if (window.dimensions_size() != static_cast<int64_t>(dims.size())) {
    return InvalidArgument("a window of %d dimensions over %d",
                           window.dimensions_size(), dims.size());
  }
  WindowAxes axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    absl::StatusOr<WindowAxis> axis =
        MakeWindowAxis(window.dimensions(d), dims[d]);
    if (!axis.ok()) return axis.status();
    axes.push_back(*axis);
  }
  return axes;
}

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_WINDOW_AXIS_H_
