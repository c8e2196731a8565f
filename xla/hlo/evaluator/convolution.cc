#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/dot.h"
#include "xla/hlo/evaluator/gemm.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/evaluator/window_axis.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Convolution as matrix products: what each output reads is gathered into the
// row of a matrix (im2col), a block of rows at a time.

namespace xla {
namespace evaluator {
namespace {

// Bytes of gathered rows that are kept at a time.
constexpr int64_t kBlockBytes = 1 << 20;

// Convolution as matrix multiplication (im2col): for a block of output
// positions, the input patches under the window are gathered as rows and
// multiplied by the kernel. Blocks bound the memory of gathered rows.
// Dimensions are in one order: input [batch, spatial..., feature], kernel
// [spatial..., input feature, output feature], output [batch, spatial...,
// feature].
class Convolver {
 public:
  Convolver(Value input, Value kernel, WindowAxes axes, Value output,
            int64_t feature_groups, int64_t batch_groups)
      : input_(std::move(input)),
        kernel_(std::move(kernel)),
        axes_(std::move(axes)),
        output_(std::move(output)),
        feature_groups_(feature_groups),
        batch_groups_(batch_groups) {
    for (const WindowAxis& axis : axes_) {
      window_dims_.push_back(axis.size);
      output_spatial_.push_back(axis.outputs);
    }
  }

  Value Run() && {
    const int64_t kernel_features = kernel_.dim(kernel_.rank() - 2);
    const int64_t output_features = kernel_.dims().back();
    // One kind of groups is 1.
    const int64_t groups = std::max(feature_groups_, batch_groups_);
    const int64_t group_outputs = output_features / groups;
    const int64_t depth = Product(window_dims_) * kernel_features;
    const int64_t bytes = input_.element_bytes();
    const int64_t positions = Product(output_spatial_);
    const int64_t rows = output_.dim(0) * positions;
    const int64_t block =
        std::max<int64_t>(4, kBlockBytes / std::max<int64_t>(1, depth * bytes));
    std::vector<char> patches(std::min(block, rows) * depth * bytes);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t row = 0; row < rows; row += block) {
        const int64_t count = std::min(block, rows - row);
        for (int64_t i = 0; i < count; ++i) {
          Gather(g, (row + i) / positions, (row + i) % positions,
                 kernel_features, patches.data() + i * depth * bytes);
        }
        Gemm(input_.type(), count, group_outputs, depth,
             {patches.data(), depth},
             {kernel_.raw() + g * group_outputs * bytes, output_features},
             {output_.mutable_raw() +
                  (row * output_features + g * group_outputs) * bytes,
              output_features});
      }
    }
    return std::move(output_);
  }

 private:
  // The patch that the output at `position` of `batch` reads for group `g`;
  // zeros where the window covers padding or holes of the base dilation.
  void Gather(int64_t g, int64_t batch, int64_t position, int64_t features,
              char* patch) const {
    const int64_t rank = static_cast<int64_t>(axes_.size());
    const int64_t bytes = input_.element_bytes();
    const DimensionVector strides = RowMajorStrides(input_.dims());
    const int64_t batch_group = batch_groups_ > 1 ? g : 0;
    const int64_t feature_group = feature_groups_ > 1 ? g : 0;
    const char* base =
        input_.raw() + ((batch_group * output_.dim(0) + batch) * strides[0] +
                        feature_group * features) *
                           bytes;
    const DimensionVector at =
        ToMixedRadix<DimensionVector>(position, output_spatial_);
    Odometer window(window_dims_);
    do {
      int64_t offset = 0;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t in = axes_[d].Input(at[d], window[d]);
        if (in < 0) {
          offset = -1;
          break;
        }
        offset += in * strides[d + 1];
      }
      if (offset < 0) {
        std::memset(patch, 0, features * bytes);
      } else {
        std::memcpy(patch, base + offset * bytes, features * bytes);
      }
      patch += features * bytes;
    } while (window.Next());
  }

  Value input_;
  Value kernel_;
  WindowAxes axes_;
  Value output_;
  int64_t feature_groups_;
  int64_t batch_groups_;
  DimensionVector window_dims_;
  DimensionVector output_spatial_;
};

template <typename Spatial>
DimensionVector Order(int64_t first, const Spatial& spatial, int64_t last) {
  DimensionVector order = {first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

// Each of 0 ... rank - 1 once.
absl::Status CheckOrder(absl::Span<const int64_t> order, int64_t rank) {
  DimensionVector sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  for (int64_t d = 0; d < static_cast<int64_t>(sorted.size()); ++d) {
    if (sorted[d] != d) return InvalidArgument("dim_labels do not fit");
  }
  if (static_cast<int64_t>(sorted.size()) != rank) {
    return InvalidArgument("dim_labels of %d dimensions for rank %d",
                           sorted.size(), rank);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> EvaluateConvolution(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  if (operands.size() != 2 || instruction->sparsity_config().has_lhs() ||
      instruction->sparsity_config().has_rhs()) {
    return Unimplemented("a sparse convolution");
  }
  const ConvolutionKind kind =
      Cast<HloConvolutionInstruction>(instruction)->convolution_kind();
  if (kind == CONVOLUTION_KIND_DGRAD || kind == CONVOLUTION_KIND_WGRAD) {
    return Unimplemented("a convolution of a backward kind");
  }
  const ConvolutionDimensionNumbers& dims =
      instruction->convolution_dimension_numbers();
  const DimensionVector input_order =
      Order(dims.input_batch_dimension(), dims.input_spatial_dimensions(),
            dims.input_feature_dimension());
  DimensionVector kernel_order(dims.kernel_spatial_dimensions().begin(),
                               dims.kernel_spatial_dimensions().end());
  kernel_order.push_back(dims.kernel_input_feature_dimension());
  kernel_order.push_back(dims.kernel_output_feature_dimension());
  const DimensionVector output_order =
      Order(dims.output_batch_dimension(), dims.output_spatial_dimensions(),
            dims.output_feature_dimension());
  TF_RETURN_IF_ERROR(CheckOrder(input_order, operands[0].rank()));
  TF_RETURN_IF_ERROR(CheckOrder(kernel_order, operands[1].rank()));
  TF_RETURN_IF_ERROR(CheckOrder(output_order, operands[0].rank()));

  const Shape& shape = instruction->shape();
  const PrimitiveType type =
      SumType(operands[0].type(), operands[1].type(), shape.element_type());
  const auto algorithm = instruction->precision_config().algorithm();
  TF_ASSIGN_OR_RETURN(
      Value input, PrepareFactor(operands[0], algorithm, type, context.budget));
  TF_ASSIGN_OR_RETURN(input,
                      PermutedDimensions(input, input_order, context.budget));
  TF_ASSIGN_OR_RETURN(Value kernel, PrepareFactor(operands[1], algorithm, type,
                                                  context.budget));
  TF_ASSIGN_OR_RETURN(kernel,
                      PermutedDimensions(kernel, kernel_order, context.budget));

  const int64_t feature_groups = instruction->feature_group_count();
  const int64_t batch_groups = instruction->batch_group_count();
  const int64_t output_features = kernel.dims().back();
  if (feature_groups < 1 || batch_groups < 1 ||
      (feature_groups > 1 && batch_groups > 1) ||
      kernel.dim(kernel.rank() - 2) * feature_groups != input.dims().back() ||
      output_features % std::max(feature_groups, batch_groups) != 0 ||
      input.dim(0) % batch_groups != 0) {
    return InvalidArgument(
        "%d feature groups and %d batch groups do not divide the operands",
        feature_groups, batch_groups);
  }
  TF_ASSIGN_OR_RETURN(
      WindowAxes axes,
      MakeWindowAxes(
          instruction->window(),
          absl::MakeConstSpan(input.dims()).subspan(1, input.rank() - 2)));
  DimensionVector output_dims = {input.dim(0) / batch_groups};
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].size != kernel.dim(d)) {
      return InvalidArgument("the window has not the size of the kernel");
    }
    output_dims.push_back(axes[d].outputs);
  }
  output_dims.push_back(output_features);
  TF_ASSIGN_OR_RETURN(Value output,
                      Value::Make(type, output_dims, context.budget));
  if (output.count() > 0) {
    output = Convolver(std::move(input), std::move(kernel), std::move(axes),
                       std::move(output), feature_groups, batch_groups)
                 .Run();
  }
  // Dimension output_order[i] of the result is dimension i here.
  DimensionVector back(output_order.size());
  for (size_t i = 0; i < back.size(); ++i) back[output_order[i]] = i;
  TF_ASSIGN_OR_RETURN(output, PermutedDimensions(output, back, context.budget));
  return ConvertValue(std::move(output), shape.element_type(), context.budget);
}

}  // namespace evaluator
}  // namespace xla
