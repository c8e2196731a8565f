#include "xla/backends/gpu/transforms/priority_fusion/convolution_body.h"

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

// The next index into an array of those sizes; false after the last one.
bool Next(absl::Span<const int64_t> sizes, std::vector<int64_t>* index) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++(*index)[i] < sizes[i]) return true;
    (*index)[i] = 0;
  }
  return false;
}

}  // namespace

ConvolutionBody::ConvolutionBody(const HloConvolutionInstruction& convolution)
    : convolution_(convolution),
      dnums_(convolution.convolution_dimension_numbers()),
      type_(SumType(convolution.shape().element_type())),
      builder_("fused_convolution") {
  HloInstruction* operands[2];
  for (int64_t i = 0; i < 2; ++i) {
    operands[i] = Converted(
        &builder_,
        builder_.AddInstruction(HloInstruction::CreateParameter(
            i, convolution.operand(i)->shape(), absl::StrCat("param_", i))),
        type_);
  }
  zero_ = builder_.AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::Zero(type_)));
  image_ = Padded(operands[0]);
  other_ = operands[1];
}

// The sum over the places of the window: the padded image, moved by the place
// and thinned by the stride, times the weight of that place, which each feature
// has one of. The image is a parameter read several times at different places,
// so a producer that is fused in is computed once for each place.
std::unique_ptr<HloComputation> ConvolutionBody::Depthwise() {
  const Window& window = convolution_.window();
  std::vector<int64_t> sizes;
  for (const WindowDimension& d : window.dimensions()) {
    sizes.push_back(d.size());
  }
  const Shape shape = ShapeUtil::ChangeElementType(convolution_.shape(), type_);
  HloInstruction* sum = nullptr;
  std::vector<int64_t> tap(sizes.size(), 0);
  do {
    std::vector<int64_t> starts(sizes.size()), steps(sizes.size()),
        counts(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      starts[i] = tap[i] * window.dimensions(i).window_dilation();
      steps[i] = window.dimensions(i).stride();
      counts[i] = shape.dimensions(dnums_.output_spatial_dimensions(i));
    }
    HloInstruction* product =
        Binary(HloOpcode::kMultiply, ImageAt(starts, steps, counts),
               WeightsAt(tap, shape));
    sum = sum == nullptr ? product : Binary(HloOpcode::kAdd, sum, product);
  } while (Next(sizes, &tap));
  return builder_.Build(
      Converted(&builder_, sum, convolution_.shape().element_type()));
}

// The weight at one place has as its gradient the sum of what came back, times
// the image moved by that place. The result's places are those of the window,
// so stride and dilation change roles: places are `stride` apart, and the
// elements that one place meets are `window_dilation` apart. All places are
// sums of one variadic reduction, which reads what came back once.
std::unique_ptr<HloComputation> ConvolutionBody::WindowGradient(
    Additions* adds, const DeviceDescription& device) {
  const Window& window = convolution_.window();
  const std::vector<int64_t> sizes = WindowSizes();
  std::vector<HloInstruction*> products;
  std::vector<int64_t> tap(sizes.size(), 0);
  do {
    std::vector<int64_t> starts(sizes.size()), steps(sizes.size()),
        counts(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      starts[i] = tap[i] * window.dimensions(i).stride();
      steps[i] = window.dimensions(i).window_dilation();
      counts[i] = window.dimensions(i).size();
    }
    products.push_back(
        Binary(HloOpcode::kMultiply, ImageAt(starts, steps, counts), other_));
  } while (Next(sizes, &tap));
  const int64_t kept = dnums_.input_batch_dimension();
  std::vector<int64_t> all;
  for (int64_t d = 0; d < other_->shape().dimensions_size(); ++d) {
    if (d != kept) all.push_back(d);
  }
  std::vector<int64_t> of_image(dnums_.kernel_spatial_dimensions().begin(),
                                dnums_.kernel_spatial_dimensions().end());
  absl::c_sort(of_image);
  HloInstruction* refused = nullptr;
  for (const std::vector<int64_t>& dimensions : {all, of_image}) {
    HloInstruction* reduce = SumsOver(dimensions, products, adds);
    // Nothing splits what is in a fusion: a block has to finish each sum.
    if (IsReductionFromOrToContiguousDimensions(*reduce, device) &&
        ReductionIsRaceFree(*ReductionDimensionsOf(*reduce), device)) {
      std::unique_ptr<HloComputation> body = builder_.Build(reduce);
      if (refused != nullptr) CHECK_OK(body->RemoveInstruction(refused));
      return body;
    }
    refused = reduce;
    if (of_image.empty()) break;
  }
  return nullptr;
}

// A reduction of each of the products over `dimensions`.
HloInstruction* ConvolutionBody::SumsOver(
    const std::vector<int64_t>& dimensions,
    const std::vector<HloInstruction*>& products, Additions* adds) {
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < other_->shape().dimensions_size(); ++d) {
    if (!absl::c_linear_search(dimensions, d)) {
      sizes.push_back(other_->shape().dimensions(d));
    }
  }
  const Shape sum = ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes);
  const int64_t count = static_cast<int64_t>(products.size());
  HloComputation* add = adds->Get(type_, count);
  return builder_.AddInstruction(
      count == 1
          ? HloInstruction::CreateReduce(sum, products[0], zero_, dimensions,
                                         add)
          : HloInstruction::CreateReduce(
                ShapeUtil::MakeTupleShape(std::vector<Shape>(count, sum)),
                products, std::vector<HloInstruction*>(count, zero_),
                dimensions, add));
}

std::vector<int64_t> ConvolutionBody::WindowSizes() const {
  std::vector<int64_t> sizes;
  for (int64_t d : dnums_.output_spatial_dimensions()) {
    sizes.push_back(convolution_.shape().dimensions(d));
  }
  return sizes;
}

HloInstruction* ConvolutionBody::Binary(HloOpcode opcode, HloInstruction* a,
                                        HloInstruction* b) {
  return builder_.AddInstruction(
      HloInstruction::CreateBinary(a->shape(), opcode, a, b));
}

HloInstruction* ConvolutionBody::Padded(HloInstruction* image) {
  PaddingConfig padding;
  std::vector<int64_t> sizes;
  bool pads = false;
  for (int64_t size : image->shape().dimensions()) {
    padding.add_dimensions();
    sizes.push_back(size);
  }
  for (int64_t i = 0; i < convolution_.window().dimensions_size(); ++i) {
    const WindowDimension& window = convolution_.window().dimensions(i);
    const int64_t d = dnums_.input_spatial_dimensions(i);
    PaddingConfig::PaddingConfigDimension* dimension =
        padding.mutable_dimensions(d);
    dimension->set_edge_padding_low(window.padding_low());
    dimension->set_edge_padding_high(window.padding_high());
    dimension->set_interior_padding(window.base_dilation() - 1);
    pads |= window.padding_low() != 0 || window.padding_high() != 0 ||
            window.base_dilation() != 1;
    sizes[d] = (sizes[d] - 1) * window.base_dilation() + 1 +
               window.padding_low() + window.padding_high();
  }
  if (!pads) return image;
  return builder_.AddInstruction(HloInstruction::CreatePad(
      ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes), image, zero_,
      padding));
}

HloInstruction* ConvolutionBody::ImageAt(absl::Span<const int64_t> starts,
                                         absl::Span<const int64_t> steps,
                                         absl::Span<const int64_t> counts) {
  std::vector<int64_t> sizes(image_->shape().dimensions().begin(),
                             image_->shape().dimensions().end());
  std::vector<int64_t> from(sizes.size(), 0), to = sizes, by(sizes.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t d = dnums_.input_spatial_dimensions(i);
    from[d] = starts[i];
    to[d] = starts[i] + (counts[i] - 1) * steps[i] + 1;
    by[d] = steps[i];
    sizes[d] = counts[i];
  }
  return builder_.AddInstruction(HloInstruction::CreateSlice(
      ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes), image_, from, to,
      by));
}

HloInstruction* ConvolutionBody::WeightsAt(absl::Span<const int64_t> tap,
                                           const Shape& shape) {
  const int64_t rank = other_->shape().dimensions_size();
  std::vector<int64_t> from(rank, 0), to(rank, 1);
  for (size_t i = 0; i < tap.size(); ++i) {
    const WindowDimension& window = convolution_.window().dimensions(i);
    const int64_t d = dnums_.kernel_spatial_dimensions(i);
    from[d] = window.window_reversal() ? window.size() - 1 - tap[i] : tap[i];
    to[d] = from[d] + 1;
  }
  const int64_t features = dnums_.kernel_output_feature_dimension();
  to[features] = other_->shape().dimensions(features);
  std::vector<int64_t> sizes(rank, 1);
  sizes[features] = to[features];
  HloInstruction* weights = builder_.AddInstruction(HloInstruction::CreateSlice(
      ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes), other_, from, to,
      std::vector<int64_t>(rank, 1)));
  weights = builder_.AddInstruction(HloInstruction::CreateReshape(
      ShapeUtil::MakeShapeWithDescendingLayout(type_, {to[features]}),
      weights));
  return builder_.AddInstruction(HloInstruction::CreateBroadcast(
      shape, weights, {dnums_.output_feature_dimension()}));
}

}  // namespace xla::gpu
