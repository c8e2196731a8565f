// Random depthwise convolutions and gradients of their windows, between other
// kernels: fused, they are valid and compute what they did.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement_test_util.h"

namespace xla::gpu {
namespace {

class RandomConvolution {
 public:
  explicit RandomConvolution(uint64_t seed) : random_(seed) {}

  std::string Depthwise() {
    DrawDimensions();
    const std::vector<std::string> image = Shuffled("bf");
    const std::vector<std::string> weights = Shuffled("oi");
    for (int i = 0; i < spatial_; ++i) {
      const int window = Between(1, 3);
      const int dilation = Between(1, 2);
      const int base = Between(1, 2);
      const int stride = Between(1, 3);
      const int low = Between(-1, 2), high = Between(-1, 2);
      const int padded = (image_[i] - 1) * base + 1 + low + high;
      const int extent = (window - 1) * dilation + 1;
      if (padded < extent) return "";
      AddWindow(window, stride, low, high, base, dilation, Between(0, 1));
      window_[i] = window;
      result_[i] = (padded - extent) / stride + 1;
    }
    return Module(
        Shape(image, image_, images_, features_),
        Shape(weights, window_, features_, 1),
        Shape(image, result_, images_, features_),
        absl::StrCat("dim_labels=", absl::StrJoin(image, ""), "_",
                     absl::StrJoin(weights, ""), "->", absl::StrJoin(image, ""),
                     ", feature_group_count=", features_));
  }

  std::string WindowGradient() {
    DrawDimensions();
    // More than one block adds up, where their places are neighbors.
    if (Between(0, 3) == 0) images_ += 8;
    const std::vector<std::string> image = Shuffled("bf");
    std::vector<std::string> other = image;
    for (std::string& label : other) {
      if (label == "b") {
        label = "o";
      } else if (label == "f") {
        label = "i";
      }
    }
    const std::vector<std::string> result = Shuffled("bf");
    for (int i = 0; i < spatial_; ++i) {
      window_[i] = Between(1, 4);
      const int dilation = Between(1, 2);
      const int base = Between(1, 2);
      const int stride = Between(1, 2);
      const int low = Between(-1, 2), high = Between(-1, 2);
      const int padded = (image_[i] - 1) * base + 1 + low + high;
      const int extent = (window_[i] - 1) * dilation + 1;
      if (padded < extent) return "";
      AddWindow(window_[i], stride, low, high, base, dilation, 0);
      result_[i] = (padded - extent) / stride + 1;
    }
    // The batch of the image is the feature, its feature what is added up.
    return Module(
        Shape(image, image_, features_, images_),
        Shape(other, window_, features_, images_),
        Shape(result, result_, 1, features_),
        absl::StrCat("dim_labels=", absl::StrJoin(image, ""), "_",
                     absl::StrJoin(other, ""), "->", absl::StrJoin(result, ""),
                     ", batch_group_count=", features_));
  }

 private:
  int Between(int low, int high) {
    return low + static_cast<int>(random_() % (high - low + 1));
  }

  void DrawDimensions() {
    spatial_ = Between(1, 2);
    images_ = Between(1, 5);
    // Enough for a reduction to be worth a kernel.
    features_ = Between(2, 6);
    for (int& size : image_) size = Between(3, 9);
  }

  // The two letters and the spatial dimensions in some order.
  std::vector<std::string> Shuffled(const std::string& letters) {
    std::vector<std::string> labels = {letters.substr(0, 1),
                                       letters.substr(1, 1)};
    for (int i = 0; i < spatial_; ++i) labels.push_back(absl::StrCat(i));
    for (int i = spatial_ + 1; i > 0; --i) {
      std::swap(labels[i], labels[Between(0, i)]);
    }
    return labels;
  }

  void AddWindow(int size, int stride, int low, int high, int base,
                 int dilation, int reversal) {
    const auto add = [](std::string* to, const std::string& what) {
      absl::StrAppend(to, to->empty() ? "" : "x", what);
    };
    add(&sizes_, absl::StrCat(size));
    add(&strides_, absl::StrCat(stride));
    add(&pads_, absl::StrFormat("%d_%d", low, high));
    add(&bases_, absl::StrCat(base));
    add(&dilations_, absl::StrCat(dilation));
    add(&reversals_, absl::StrCat(reversal));
  }

  static std::string Shape(const std::vector<std::string>& labels,
                           const int* spatial, int first, int second) {
    std::vector<int> sizes;
    for (const std::string& label : labels) {
      if (label == "b" || label == "o") {
        sizes.push_back(first);
      } else if (label == "f" || label == "i") {
        sizes.push_back(second);
      } else {
        sizes.push_back(spatial[label[0] - '0']);
      }
    }
    return absl::StrCat("[", absl::StrJoin(sizes, ","), "]");
  }

  std::string Module(const std::string& image, const std::string& other,
                     const std::string& result, const std::string& attributes) {
    const std::string from = Between(0, 3) == 0 ? "bf16" : "f32";
    const std::string to = Between(0, 1) == 0 ? from : "f32";
    return absl::StrFormat(
        "HloModule m\nENTRY e {\n"
        "  x = %1$s%2$s parameter(0)\n  y = %1$s%3$s parameter(1)\n"
        "  n = %1$s%2$s negate(x)\n"
        "  c = %4$s%5$s convolution(n, y), window={size=%6$s stride=%7$s "
        "pad=%8$s lhs_dilate=%9$s rhs_dilate=%10$s rhs_reversal=%11$s}, "
        "%12$s\n"
        "  ROOT a = %4$s%5$s abs(c)\n}\n",
        from, image, other, to, result, sizes_, strides_, pads_, bases_,
        dilations_, reversals_, attributes);
  }

  std::mt19937_64 random_;
  int spatial_ = 0, images_ = 0, features_ = 0;
  int image_[2] = {}, window_[2] = {}, result_[2] = {};
  std::string sizes_, strides_, pads_, bases_, dilations_, reversals_;
};

TEST(ConvolutionKernelsTest, RandomDepthwiseConvolutionsKeepTheirMeaning) {
  int fused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = RandomConvolution(seed).Depthwise();
    if (text.empty()) continue;
    fused += BecomesFusion(text, "convolution");
    if (HasFailure()) return;
  }
  EXPECT_GT(fused, 250);
}

TEST(ConvolutionKernelsTest, RandomGradientsOfWindowsKeepTheirMeaning) {
  int fused = 0;
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    const std::string text = RandomConvolution(seed).WindowGradient();
    if (text.empty()) continue;
    fused += BecomesFusion(text, "convolution");
    if (HasFailure()) return;
  }
  EXPECT_GT(fused, 100);
}

}  // namespace
}  // namespace xla::gpu
