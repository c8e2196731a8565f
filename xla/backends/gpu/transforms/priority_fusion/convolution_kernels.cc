#include "xla/backends/gpu/transforms/priority_fusion/convolution_kernels.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/transforms/priority_fusion/convolution_body.h"
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

// Elements of a window: each is a slice, a product and a sum in the kernel.
constexpr int64_t kMaxTaps = 32;

// Slowdown relative to the library that fusion may make up for.
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

// Replaces small depthwise convolutions, and gradients of their windows, by
// fusions of slices, products and sums. A library call is faster in isolation,
// but reads its image from memory and writes its result to memory; a fusion can
// take in the producers of the image or the readers of the result. The
// replacement is made only if an array need not be written because of it, and
// if the model does not predict the fusion itself to be much slower than the
// library.
class ConvolutionReplacer {
 public:
  ConvolutionReplacer(HloComputation* computation, GpuPerformanceModel* model,
                      const absl::flat_hash_set<std::string>& banned,
                      FusionRules* rules, FusionExplanation* explanation,
                      int64_t* fuel)
      : computation_(computation),
        model_(*model),
        banned_(banned),
        rules_(*rules),
        explanation_(explanation),
        fuel_(fuel),
        adds_(computation->parent()) {}

  absl::StatusOr<int64_t> Run() {
    for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
      if (fuel_ != nullptr && replaced_ == *fuel_) break;
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
    if (fuel_ != nullptr) *fuel_ -= replaced_;
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
    if (IsMuchSlower({fusion}, *hlo)) return Remove(fusion);
    return Finish(hlo, fusion, "each feature has a window of its own");
  }

  bool IsMuchSlower(const std::vector<const HloInstruction*>& kernels,
                    const HloInstruction& hlo) {
    absl::Duration time;
    for (const HloInstruction* kernel : kernels) {
      time += model_.EstimateRunTime(*kernel).time;
    }
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
    HloInstruction* over_images = OverImages(*hlo, sums);
    std::vector<const HloInstruction*> kernels = {sums};
    if (over_images != sums) kernels.push_back(over_images);
    if (IsMuchSlower(kernels, *hlo)) {
      if (over_images != sums) {
        TF_RETURN_IF_ERROR(RemoveReduction(over_images, sums));
      }
      return Remove(sums);
    }
    return Finish(hlo, Assembled(*hlo, over_images, body.WindowSizes()),
                  "the image need not be written for a reduction");
  }

  // With what else was made for it, but the sums themselves.
  absl::Status RemoveReduction(HloInstruction* reduction,
                               const HloInstruction* sums) {
    model_.Invalidate(*reduction);
    const HloInstruction::InstructionVector made = reduction->operands();
    TF_RETURN_IF_ERROR(computation_->RemoveInstruction(reduction));
    absl::flat_hash_set<const HloInstruction*> removed = {sums};
    for (HloInstruction* operand : made) {
      if (removed.insert(operand).second) {
        TF_RETURN_IF_ERROR(computation_->RemoveInstruction(operand));
      }
    }
    return absl::OkStatus();
  }

  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction,
                      const HloInstruction& like) {
    HloInstruction* added =
        computation_->AddInstruction(std::move(instruction));
    added->set_metadata_ptr(like.metadata_ptr());
    return added;
  }

  // Sums of images added up, if they are not yet.
  HloInstruction* OverImages(const HloInstruction& hlo, HloInstruction* sums) {
    const bool single = sums->shape().IsArray();
    const Shape& part = single ? sums->shape() : sums->shape().tuple_shapes(0);
    if (part.dimensions_size() == 1) return sums;
    const auto& dnums =
        Cast<HloConvolutionInstruction>(&hlo)->convolution_dimension_numbers();
    const int64_t images =
        dnums.input_feature_dimension() < dnums.input_batch_dimension() ? 0 : 1;
    const int64_t count = single ? 1 : sums->shape().tuple_shapes_size();
    HloInstruction* zero = Add(
        HloInstruction::CreateConstant(LiteralUtil::Zero(part.element_type())),
        hlo);
    std::vector<HloInstruction*> parts = {sums};
    if (!single) {
      parts.clear();
      for (int64_t i = 0; i < count; ++i) {
        parts.push_back(
            Add(HloInstruction::CreateGetTupleElement(sums, i), hlo));
      }
    }
    const Shape sum = ShapeUtil::MakeShapeWithDescendingLayout(
        part.element_type(), {part.dimensions(1 - images)});
    HloComputation* add = adds_.Get(part.element_type(), count);
    return Add(
        single ? HloInstruction::CreateReduce(sum, sums, zero, {images}, add)
               : HloInstruction::CreateReduce(
                     ShapeUtil::MakeTupleShape(std::vector<Shape>(count, sum)),
                     parts, std::vector<HloInstruction*>(count, zero), {images},
                     add),
        hlo);
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
  int64_t* fuel_;
  Additions adds_;
  int64_t replaced_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> MakeConvolutionsFusible(
    HloComputation* computation, GpuPerformanceModel* model,
    const absl::flat_hash_set<std::string>& banned, FusionRules* rules,
    FusionExplanation* explanation, int64_t* fuel) {
  return ConvolutionReplacer(computation, model, banned, rules, explanation,
                             fuel)
      .Run();
}

}  // namespace xla::gpu
