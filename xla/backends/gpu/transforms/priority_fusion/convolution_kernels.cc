#include "xla/backends/gpu/transforms/priority_fusion/convolution_kernels.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

// Elements of a window: each is a slice, a product and a sum in the kernel.
constexpr int64_t kMaxTaps = 32;

// Times the library's: what fusing may make up for.
constexpr double kMaxSlowdown = 1.6;

enum class ConvolutionForm {
  kDepthwise,       // of images with a window per feature
  kWindowGradient,  // of such a window
};

bool AnyReversed(const Window& window) {
  return absl::c_any_of(window.dimensions(), [](const WindowDimension& d) {
    return d.window_reversal();
  });
}

// As a convolution of images; the result has their dimensions.
bool IsDepthwise(const HloConvolutionInstruction& hlo) {
  const auto& dnums = hlo.convolution_dimension_numbers();
  const Shape& image = hlo.operand(0)->shape();
  const int64_t features = image.dimensions(dnums.input_feature_dimension());
  int64_t taps = 1;
  for (const WindowDimension& d : hlo.window().dimensions()) taps *= d.size();
  return hlo.batch_group_count() == 1 &&
         hlo.feature_group_count() == features && features > 1 &&
         hlo.shape().dimensions(dnums.output_feature_dimension()) == features &&
         taps <= kMaxTaps &&
         dnums.input_batch_dimension() == dnums.output_batch_dimension() &&
         dnums.input_feature_dimension() == dnums.output_feature_dimension() &&
         absl::c_equal(dnums.input_spatial_dimensions(),
                       dnums.output_spatial_dimensions());
}

// As one of images with what came back for the results; the window that is
// looked for is the result.
bool IsWindowGradient(const HloConvolutionInstruction& hlo) {
  const auto& dnums = hlo.convolution_dimension_numbers();
  const int64_t groups =
      hlo.operand(0)->shape().dimensions(dnums.input_batch_dimension());
  int64_t taps = 1;
  for (int64_t d : dnums.output_spatial_dimensions()) {
    taps *= hlo.shape().dimensions(d);
  }
  return hlo.feature_group_count() == 1 && groups > 1 &&
         hlo.batch_group_count() == groups &&
         hlo.shape().dimensions(dnums.output_feature_dimension()) == groups &&
         taps <= kMaxTaps && !AnyReversed(hlo.window()) &&
         dnums.input_feature_dimension() ==
             dnums.kernel_input_feature_dimension() &&
         dnums.input_batch_dimension() ==
             dnums.kernel_output_feature_dimension() &&
         absl::c_equal(dnums.input_spatial_dimensions(),
                       dnums.kernel_spatial_dimensions());
}

std::optional<ConvolutionForm> ConvolutionFormOf(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kConvolution || hlo.operand_count() != 2 ||
      hlo.HasControlDependencies() || !HasDefaultLayout(hlo.shape()) ||
      !HasDefaultLayout(hlo.operand(0)->shape()) ||
      !HasDefaultLayout(hlo.operand(1)->shape()) || !HasFloatTypes(hlo) ||
      ShapeUtil::IsZeroElementArray(hlo.shape()) ||
      ShapeUtil::IsZeroElementArray(hlo.operand(0)->shape()) ||
      ShapeUtil::IsZeroElementArray(hlo.operand(1)->shape())) {
    return std::nullopt;
  }
  const auto& convolution = *Cast<HloConvolutionInstruction>(&hlo);
  if (convolution.precision_config().algorithm() !=
      PrecisionConfig::ALG_UNSET) {
    return std::nullopt;
  }
  if (IsDepthwise(convolution)) return ConvolutionForm::kDepthwise;
  if (IsWindowGradient(convolution)) return ConvolutionForm::kWindowGradient;
  return std::nullopt;
}

// The next index into an array of those sizes; false after the last one.
bool Next(absl::Span<const int64_t> sizes, std::vector<int64_t>* index) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++(*index)[i] < sizes[i]) return true;
    (*index)[i] = 0;
  }
  return false;
}

// The body of a fusion that takes a convolution's place.
class ConvolutionBody {
 public:
  explicit ConvolutionBody(const HloConvolutionInstruction& convolution)
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

  std::unique_ptr<HloComputation> Depthwise() {
    const Window& window = convolution_.window();
    std::vector<int64_t> sizes;
    for (const WindowDimension& d : window.dimensions()) {
      sizes.push_back(d.size());
    }
    const Shape shape =
        ShapeUtil::ChangeElementType(convolution_.shape(), type_);
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

  // A tuple of sums, by element of the window, each of one value for each
  // feature. Null: the device has no use for such a reduction.
  std::unique_ptr<HloComputation> WindowGradient(
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
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; d < other_->shape().dimensions_size(); ++d) {
      if (d != kept) dimensions.push_back(d);
    }
    const Shape sum = ShapeUtil::MakeShapeWithDescendingLayout(
        type_, {other_->shape().dimensions(kept)});
    const int64_t count = static_cast<int64_t>(products.size());
    HloComputation* add = adds->Get(type_, count);
    HloInstruction* reduce = builder_.AddInstruction(
        count == 1
            ? HloInstruction::CreateReduce(sum, products[0], zero_, dimensions,
                                           add)
            : HloInstruction::CreateReduce(
                  ShapeUtil::MakeTupleShape(std::vector<Shape>(count, sum)),
                  products, std::vector<HloInstruction*>(count, zero_),
                  dimensions, add));
    if (!IsReductionFromOrToContiguousDimensions(*reduce, device)) {
      return nullptr;
    }
    return builder_.Build(reduce);
  }

  // Of the result of a gradient.
  std::vector<int64_t> WindowSizes() const {
    std::vector<int64_t> sizes;
    for (int64_t d : dnums_.output_spatial_dimensions()) {
      sizes.push_back(convolution_.shape().dimensions(d));
    }
    return sizes;
  }

 private:
  HloInstruction* Binary(HloOpcode opcode, HloInstruction* a,
                         HloInstruction* b) {
    return builder_.AddInstruction(
        HloInstruction::CreateBinary(a->shape(), opcode, a, b));
  }

  HloInstruction* Padded(HloInstruction* image) {
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

  // By spatial dimension: every `steps`-th element from `starts` on, `counts`
  // of them.
  HloInstruction* ImageAt(absl::Span<const int64_t> starts,
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
        ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes), image_, from,
        to, by));
  }

  // One weight for each feature, for all elements of the result.
  HloInstruction* WeightsAt(absl::Span<const int64_t> tap, const Shape& shape) {
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
    HloInstruction* weights =
        builder_.AddInstruction(HloInstruction::CreateSlice(
            ShapeUtil::MakeShapeWithDescendingLayout(type_, sizes), other_,
            from, to, std::vector<int64_t>(rank, 1)));
    weights = builder_.AddInstruction(HloInstruction::CreateReshape(
        ShapeUtil::MakeShapeWithDescendingLayout(type_, {to[features]}),
        weights));
    return builder_.AddInstruction(HloInstruction::CreateBroadcast(
        shape, weights, {dnums_.output_feature_dimension()}));
  }

  const HloConvolutionInstruction& convolution_;
  const ConvolutionDimensionNumbers& dnums_;
  const PrimitiveType type_;  // of products and sums
  HloComputation::Builder builder_;
  HloInstruction* zero_;
  HloInstruction* image_;  // with padding
  HloInstruction* other_;
};

class ConvolutionReplacer {
 public:
  ConvolutionReplacer(HloComputation* computation, GpuPerformanceModel* model,
                      const absl::flat_hash_set<std::string>& banned,
                      FusionRules* rules, FusionExplanation* explanation)
      : computation_(computation),
        model_(*model),
        banned_(banned),
        rules_(*rules),
        explanation_(explanation),
        adds_(computation->parent()) {}

  absl::StatusOr<int64_t> Run() {
    for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
      const std::optional<ConvolutionForm> form = ConvolutionFormOf(*hlo);
      if (!form.has_value() || banned_.contains(hlo->name())) continue;
      if (*form == ConvolutionForm::kDepthwise) {
        if (SparesImage(*hlo) || SparesResult(*hlo)) {
          TF_RETURN_IF_ERROR(ReplaceDepthwise(hlo));
        }
      } else if (SparesImage(*hlo)) {
        TF_RETURN_IF_ERROR(ReplaceWindowGradient(hlo));
      }
    }
    TF_RETURN_IF_ERROR(adds_.RemoveUnused());
    return replaced_;
  }

 private:
  bool WillBeFusible(const HloInstruction& user) const {
    return ConvolutionFormOf(user).has_value() &&
           !banned_.contains(user.name());
  }

  bool SparesImage(const HloInstruction& convolution) {
    const HloInstruction* image = convolution.operand(0);
    return image->opcode() != HloOpcode::kConstant &&
           rules_.CanBeProducer(*image) &&
           CanSpareValue(*image, &rules_, [&](const HloInstruction& user) {
             return WillBeFusible(user);
           });
  }

  bool SparesResult(const HloInstruction& convolution) {
    return CanSpareValue(convolution, &rules_, [&](const HloInstruction& user) {
      return WillBeFusible(user);
    });
  }

  absl::Status ReplaceDepthwise(HloInstruction* hlo) {
    ConvolutionBody body(*Cast<HloConvolutionInstruction>(hlo));
    HloInstruction* fusion =
        AddFusionFor(hlo, HloInstruction::FusionKind::kLoop, body.Depthwise());
    if (IsMuchSlower(*fusion, *hlo)) return Remove(fusion);
    return Finish(hlo, fusion, "each feature has a window of its own");
  }

  bool IsMuchSlower(const HloInstruction& fusion, const HloInstruction& hlo) {
    const absl::Duration time = model_.EstimateRunTime(fusion).time;
    return time > kMaxSlowdown * model_.EstimateRunTime(hlo).time;
  }

  absl::Status Remove(HloInstruction* fusion) {
    model_.Invalidate(*fusion);
    HloComputation* body = fusion->fused_instructions_computation();
    TF_RETURN_IF_ERROR(computation_->RemoveInstruction(fusion));
    return computation_->parent()->RemoveEmbeddedComputation(body);
  }

  absl::Status ReplaceWindowGradient(HloInstruction* hlo) {
    ConvolutionBody body(*Cast<HloConvolutionInstruction>(hlo));
    std::unique_ptr<HloComputation> computation =
        body.WindowGradient(&adds_, model_.device());
    if (computation == nullptr) return absl::OkStatus();
    HloInstruction* sums = AddFusionFor(hlo, HloInstruction::FusionKind::kInput,
                                        std::move(computation));
    if (IsMuchSlower(*sums, *hlo)) return Remove(sums);
    return Finish(hlo, Assembled(*hlo, sums, body.WindowSizes()),
                  "the image need not be written for a reduction");
  }

  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction,
                      const HloInstruction& like) {
    HloInstruction* added =
        computation_->AddInstruction(std::move(instruction));
    added->set_metadata_ptr(like.metadata_ptr());
    return added;
  }

  // Sums by element of the window in the place of the gradient's elements.
  HloInstruction* Assembled(const HloInstruction& hlo, HloInstruction* sums,
                            std::vector<int64_t> sizes) {
    const auto& dnums =
        Cast<HloConvolutionInstruction>(&hlo)->convolution_dimension_numbers();
    std::vector<HloInstruction*> rows;
    const bool single = sums->shape().IsArray();
    const Shape& sum = single ? sums->shape() : sums->shape().tuple_shapes(0);
    const PrimitiveType type = sum.element_type();
    const int64_t features = sum.dimensions(0);
    const int64_t count = single ? 1 : sums->shape().tuple_shapes_size();
    for (int64_t i = 0; i < count; ++i) {
      HloInstruction* row =
          single ? sums
                 : Add(HloInstruction::CreateGetTupleElement(sums, i), hlo);
      rows.push_back(
          Add(HloInstruction::CreateReshape(
                  ShapeUtil::MakeShapeWithDescendingLayout(type, {1, features}),
                  row),
              hlo));
    }
    HloInstruction* value = rows[0];
    if (count > 1) {
      value = Add(
          HloInstruction::CreateConcatenate(
              ShapeUtil::MakeShapeWithDescendingLayout(type, {count, features}),
              rows, /*dimension=*/0),
          hlo);
    }
    // The window's dimensions, the features; the batch is of size 1.
    std::vector<int64_t> from(dnums.output_spatial_dimensions().begin(),
                              dnums.output_spatial_dimensions().end());
    from.push_back(dnums.output_feature_dimension());
    from.push_back(dnums.output_batch_dimension());
    sizes.push_back(features);
    sizes.push_back(1);
    value =
        Add(HloInstruction::CreateReshape(
                ShapeUtil::MakeShapeWithDescendingLayout(type, sizes), value),
            hlo);
    std::vector<int64_t> permutation(from.size());
    for (size_t i = 0; i < from.size(); ++i) permutation[from[i]] = i;
    const Shape shape = ShapeUtil::ChangeElementType(hlo.shape(), type);
    std::vector<int64_t> without_batch;
    for (int64_t i : permutation) {
      if (sizes[i] != 1) without_batch.push_back(i);
    }
    value =
        absl::c_is_sorted(without_batch)
            ? Add(HloInstruction::CreateReshape(shape, value), hlo)
            : Add(HloInstruction::CreateTranspose(shape, value, permutation),
                  hlo);
    if (type == hlo.shape().element_type()) return value;
    return Add(HloInstruction::CreateConvert(hlo.shape(), value), hlo);
  }

  absl::Status Finish(HloInstruction* hlo, HloInstruction* value,
                      const std::string& reason) {
    ++replaced_;
    if (explanation_ != nullptr) {
      FusionRecord record;
      record.kind = FusionRecord::Kind::kConvolution;
      record.computation = std::string(computation_->name());
      record.producer = std::string(hlo->name());
      record.fused = true;
      record.reason = reason;
      explanation_->Record(std::move(record));
    }
    model_.Invalidate(*hlo);
    return PutInPlace(hlo, value, &rules_);
  }

  HloComputation* computation_;
  GpuPerformanceModel& model_;
  const absl::flat_hash_set<std::string>& banned_;
  FusionRules& rules_;
  FusionExplanation* explanation_;
  Additions adds_;
  int64_t replaced_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> MakeConvolutionsFusible(
    HloComputation* computation, GpuPerformanceModel* model,
    const absl::flat_hash_set<std::string>& banned, FusionRules* rules,
    FusionExplanation* explanation) {
  return ConvolutionReplacer(computation, model, banned, rules, explanation)
      .Run();
}

}  // namespace xla::gpu
