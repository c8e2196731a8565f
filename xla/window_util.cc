#include "xla/window_util.h"

#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace window_util {
namespace {

bool AnyDimension(const Window& window,
                  absl::FunctionRef<bool(const WindowDimension&)> predicate) {
  return absl::c_any_of(window.dimensions(), predicate);
}

bool IsPadded(const WindowDimension& dim) {
  return dim.padding_low() != 0 || dim.padding_high() != 0;
}

}  // namespace

Window MakeWindow(absl::Span<const int64_t> sizes) {
  Window window;
  for (int64_t size : sizes) {
    WindowDimension* dim = window.add_dimensions();
    dim->set_size(size);
    dim->set_stride(1);
    dim->set_base_dilation(1);
    dim->set_window_dilation(1);
  }
  return window;
}

Window MakeWindow(absl::Span<const int64_t> sizes,
                  absl::Span<const int64_t> strides) {
  CHECK_EQ(sizes.size(), strides.size());
  Window window = MakeWindow(sizes);
  for (size_t i = 0; i < strides.size(); ++i) {
    window.mutable_dimensions(i)->set_stride(strides[i]);
  }
  return window;
}

PaddingConfig MakeSymmetricPadding(absl::Span<const int64_t> sizes) {
  PaddingConfig config;
  for (int64_t size : sizes) {
    auto* dim = config.add_dimensions();
    dim->set_edge_padding_low(size);
    dim->set_edge_padding_high(size);
  }
  return config;
}

std::string ToString(const WindowDimension& dim) {
  std::string text = absl::StrCat("(size=", dim.size());
  if (dim.stride() != 1) absl::StrAppend(&text, ",stride=", dim.stride());
  if (dim.padding_low() != 0) {
    absl::StrAppend(&text, ",padding_low=", dim.padding_low());
  }
  if (dim.padding_high() != 0) {
    absl::StrAppend(&text, ",padding_high=", dim.padding_high());
  }
  if (dim.base_dilation() != 1) {
    absl::StrAppend(&text, ",base_dilation=", dim.base_dilation());
  }
  if (dim.window_dilation() != 1) {
    absl::StrAppend(&text, ",window_dilation=", dim.window_dilation());
  }
  if (dim.window_reversal()) absl::StrAppend(&text, ",window_reversal");
  return text + ")";
}

std::string ToString(const Window& window) {
  std::string text;
  auto add = [&](absl::string_view key, auto value_of) {
    absl::StrAppend(
        &text, text.empty() ? "" : " ", key, "=",
        absl::StrJoin(window.dimensions(), "x",
                      [&](std::string* out, const WindowDimension& dim) {
                        absl::StrAppend(out, value_of(dim));
                      }));
  };
  if (window.dimensions_size() > 0) {
    add("size", [](const WindowDimension& d) { return d.size(); });
  }
  if (HasStride(window)) {
    add("stride", [](const WindowDimension& d) { return d.stride(); });
  }
  if (HasPadding(window)) {
    add("pad", [](const WindowDimension& d) {
      return absl::StrCat(d.padding_low(), "_", d.padding_high());
    });
  }
  if (HasBaseDilation(window)) {
    add("lhs_dilate",
        [](const WindowDimension& d) { return d.base_dilation(); });
  }
  if (HasWindowDilation(window)) {
    add("rhs_dilate",
        [](const WindowDimension& d) { return d.window_dilation(); });
  }
  if (HasWindowReversal(window)) {
    add("rhs_reversal",
        [](const WindowDimension& d) { return d.window_reversal() ? 1 : 0; });
  }
  return text;
}

bool HasStride(const Window& window) {
  return AnyDimension(window, [](const auto& d) { return d.stride() != 1; });
}

bool HasPadding(const Window& window) { return AnyDimension(window, IsPadded); }

bool HasSymmetricPadding(const Window& window) {
  return !AnyDimension(window, [](const auto& d) {
    return d.padding_low() != d.padding_high();
  });
}

bool HasSymmetricPadding(const PaddingConfig& padding_config) {
  return absl::c_all_of(padding_config.dimensions(), [](const auto& d) {
    return d.edge_padding_low() == d.edge_padding_high();
  });
}

bool HasNegativePadding(const Window& window) {
  return AnyDimension(window, [](const auto& d) {
    return d.padding_low() < 0 || d.padding_high() < 0;
  });
}

bool HasBaseDilation(const Window& window) {
  return AnyDimension(window,
                      [](const auto& d) { return d.base_dilation() != 1; });
}

bool HasWindowDilation(const Window& window) {
  return AnyDimension(window,
                      [](const auto& d) { return d.window_dilation() != 1; });
}

bool HasDilation(const Window& window) {
  return HasBaseDilation(window) || HasWindowDilation(window);
}

bool HasOverlappingWindow(const Window& window) {
  return AnyDimension(window,
                      [](const auto& d) { return d.size() > d.stride(); });
}

bool HasWindowReversal(const Window& window) {
  return AnyDimension(window,
                      [](const auto& d) { return d.window_reversal(); });
}

bool AllOrNoneReversed(const Window& window) {
  return !HasWindowReversal(window) || !AnyDimension(window, [](const auto& d) {
    return !d.window_reversal();
  });
}

bool IsTrivialWindowDimension(const WindowDimension& window_dimension) {
  return window_dimension.size() == 1 && window_dimension.stride() == 1 &&
         !IsPadded(window_dimension) &&
         window_dimension.window_dilation() == 1 &&
         window_dimension.base_dilation() == 1;
}

int64_t DilatedBound(int64_t bound, int64_t dilation) {
  CHECK_GE(bound, 0);
  CHECK_GE(dilation, 1);
  return bound == 0 ? 0 : (bound - 1) * dilation + 1;
}

int64_t StridedBound(int64_t bound, int64_t window_size, int64_t stride) {
  CHECK_GE(window_size, 0);
  CHECK_GE(bound, 0);
  CHECK_GE(stride, 1);
  if (bound == 0 || window_size > bound) return 0;
  return (bound - window_size) / stride + 1;
}

}  // namespace window_util
}  // namespace xla
