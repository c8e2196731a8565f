#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
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
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Convolution as matrix products: what each output reads is gathered into the
// row of a matrix (im2col), a block of rows at a time. The backward kinds are
// written as convolutions of the same sort:
//
//   dgrad: lhs is the gradient of the output. The window slides over it as it
//   says, and the kernel leads from its output to its input features.
//
//   wgrad: rhs is the gradient of the output, the window that of the forward
//   convolution. Batches are summed over, so they are features here, and the
//   input's features batches. The gradient is the kernel, whose steps are the
//   stride; what was a step inside the window is the stride.

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
    // At most one of the two counts is above 1.
    const int64_t groups = std::max(feature_groups_, batch_groups_);
    const int64_t group_outputs = output_features / groups;
    const int64_t depth = Product(window_dims_) * kernel_features;
    const int64_t bytes = input_.element_bytes();
    const int64_t positions = Product(output_spatial_);
    const int64_t rows = output_.dim(0) * positions;
    const int64_t block =
        std::max<int64_t>(4, kBlockBytes / std::max<int64_t>(1, depth * bytes));
    const bool may_be_infinite = !IsFinite(kernel_);
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
        if (!may_be_infinite) continue;
        for (int64_t i = 0; i < count; ++i) {
          MultiplyInside(g, row + i, patches.data() + i * depth * bytes);
        }
      }
    }
    return std::move(output_);
  }

 private:
  // The patch that the output at `position` of `batch` reads for group `g`;
  // zeros where the window covers padding or holes of the base dilation.
  void Gather(int64_t g, int64_t batch, int64_t position, int64_t features,
              char* patch) const {
    const int64_t bytes = input_.element_bytes();
    const int64_t batch_group = batch_groups_ > 1 ? g : 0;
    const int64_t feature_group = feature_groups_ > 1 ? g : 0;
    const char* base =
        input_.raw() + ((batch_group * output_.dim(0) + batch) * strides_[0] +
                        feature_group * features) *
                           bytes;
    const DimensionVector at =
        ToMixedRadix<DimensionVector>(position, output_spatial_);
    Odometer window(window_dims_);
    do {
      const int64_t offset = Offset(at, window);
      if (offset < 0) {
        std::memset(patch, 0, features * bytes);
      } else {
        std::memcpy(patch, base + offset * bytes, features * bytes);
      }
      patch += features * bytes;
    } while (window.Next());
  }

  // The offset of the element that the output at `at` reads; -1 for padding.
  int64_t Offset(const DimensionVector& at, const Odometer& window) const {
    int64_t offset = 0;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const int64_t in = axes_[d].Input(at[d], window[d]);
      if (in < 0) return -1;
      offset += in * strides_[d + 1];
    }
    return offset;
  }

  // Multiplies one row again, if its window covers padding: without what is
  // multiplied by that, since nothing times infinity would not be nothing.
  void MultiplyInside(int64_t g, int64_t row, const char* patch) {
    const int64_t positions = Product(output_spatial_);
    const int64_t features = kernel_.dim(kernel_.rank() - 2);
    const int64_t output_features = kernel_.dims().back();
    const int64_t group_outputs =
        output_features / std::max(feature_groups_, batch_groups_);
    const int64_t bytes = input_.element_bytes();
    const DimensionVector at =
        ToMixedRadix<DimensionVector>(row % positions, output_spatial_);
    std::vector<char> lhs, rhs;
    bool is_padded = false;
    const char* factors = kernel_.raw() + g * group_outputs * bytes;
    Odometer window(window_dims_);
    do {
      if (Offset(at, window) < 0) {
        is_padded = true;
      } else {
        lhs.insert(lhs.end(), patch, patch + features * bytes);
        for (int64_t f = 0; f < features; ++f) {
          const char* from = factors + f * output_features * bytes;
          rhs.insert(rhs.end(), from, from + group_outputs * bytes);
        }
      }
      patch += features * bytes;
      factors += features * output_features * bytes;
    } while (window.Next());
    if (!is_padded) return;
    char* result = output_.mutable_raw() +
                   (row * output_features + g * group_outputs) * bytes;
    const int64_t depth = static_cast<int64_t>(lhs.size()) / bytes;
    if (depth == 0) {
      std::memset(result, 0, group_outputs * bytes);
      return;
    }
    Gemm(input_.type(), 1, group_outputs, depth, {lhs.data(), depth},
         {rhs.data(), group_outputs}, {result, output_features});
  }

  // Takes the types in which sums are kept.
  static bool IsFinite(const Value& value) {
    const auto all = [&](auto zero, int64_t count) {
      const auto* numbers =
          reinterpret_cast<const decltype(zero)*>(value.raw());
      return std::all_of(numbers, numbers + count,
                         [](auto x) { return std::isfinite(x); });
    };
    switch (value.type()) {
      case F32:
        return all(0.0f, value.count());
      case F64:
        return all(0.0, value.count());
      case C64:
        return all(0.0f, 2 * value.count());
      case C128:
        return all(0.0, 2 * value.count());
      default:  // Integers.
        return true;
    }
  }

  Value input_;
  const DimensionVector strides_ = RowMajorStrides(input_.dims());
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
    if (sorted[d] != d)
      return InvalidArgument("dim_labels do not match the operands");
  }
  if (static_cast<int64_t>(sorted.size()) != rank) {
    return InvalidArgument("dim_labels name %d dimensions, but the rank is %d",
                           sorted.size(), rank);
  }
  return absl::OkStatus();
}

// Factors with their dimensions in Convolver's order.
struct Problem {
  Value input;
  Value kernel;
  WindowAxes axes;
  int64_t feature_groups;
  int64_t batch_groups;
};

absl::StatusOr<Value> Solve(Problem problem, PrimitiveType type,
                            MemoryBudget* budget) {
  const int64_t output_features = problem.kernel.dims().back();
  const int64_t groups = std::max(problem.feature_groups, problem.batch_groups);
  if (problem.kernel.dim(problem.kernel.rank() - 2) * problem.feature_groups !=
          problem.input.dims().back() ||
      output_features % groups != 0 ||
      problem.input.dim(0) % problem.batch_groups != 0) {
    return InvalidArgument(
        "%d feature groups and %d batch groups do not divide the operands",
        problem.feature_groups, problem.batch_groups);
  }
  DimensionVector output_dims = {problem.input.dim(0) / problem.batch_groups};
  for (size_t d = 0; d < problem.axes.size(); ++d) {
    if (problem.axes[d].size != problem.kernel.dim(d)) {
      return InvalidArgument("the window and the kernel have different sizes");
    }
    output_dims.push_back(problem.axes[d].outputs);
  }
  output_dims.push_back(output_features);
  TF_ASSIGN_OR_RETURN(Value output, Value::Make(type, output_dims, budget));
  if (output.count() == 0) return output;
  return Convolver(std::move(problem.input), std::move(problem.kernel),
                   std::move(problem.axes), std::move(output),
                   problem.feature_groups, problem.batch_groups)
      .Run();
}

// The axes of the window over the spatial dimensions of a factor in Convolver's
// order.
absl::StatusOr<WindowAxes> SpatialAxes(const Window& window,
                                       const Value& input) {
  return MakeWindowAxes(
      window, absl::MakeConstSpan(input.dims()).subspan(1, input.rank() - 2));
}

// Splits the last dimension of a kernel [..., a, g * b] into groups and moves
// those to the dimension before: [..., b, g * a] with the last two exchanged.
absl::StatusOr<Value> TransposedInGroups(const Value& kernel, int64_t groups,
                                         MemoryBudget* budget) {
  DimensionVector dims(kernel.dims().begin(), kernel.dims().end());
  const int64_t rank = kernel.rank();
  const int64_t in = dims[rank - 2];
  const int64_t out = dims[rank - 1];
  if (groups < 1 || out % groups != 0) {
    return InvalidArgument("%d groups do not divide the kernel", groups);
  }
  dims[rank - 1] = groups;
  dims.push_back(out / groups);
  DimensionVector order(rank + 1);
  std::iota(order.begin(), order.end(), 0);
  // [..., in, groups, out] -> [..., out, groups, in]
  std::swap(order[rank - 2], order[rank]);
  TF_ASSIGN_OR_RETURN(Value result,
                      PermutedDimensions(kernel.Reshaped(dims), order, budget));
  dims.resize(rank);
  dims[rank - 2] = out / groups;
  dims[rank - 1] = groups * in;
  return result.Reshaped(dims);
}

// The result of Solve for batch groups of dgrad, as [group * batch, spatial...,
// feature].
absl::StatusOr<Value> GroupsToBatch(const Value& output, int64_t groups,
                                    MemoryBudget* budget) {
  const int64_t rank = output.rank();
  DimensionVector dims(output.dims().begin(), output.dims().end());
  dims[rank - 1] = groups;
  dims.push_back(output.dims().back() / groups);
  DimensionVector order = {rank - 1};
  for (int64_t d = 0; d <= rank; ++d) {
    if (d != rank - 1) order.push_back(d);
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      PermutedDimensions(output.Reshaped(dims), order, budget));
  DimensionVector merged(result.dims().begin() + 1, result.dims().end());
  merged[0] *= groups;
  return result.Reshaped(merged);
}

// The axis on which the gradient slides over the input, where `axis` is that of
// the forward convolution.
WindowAxis AxisOfKernelGradient(WindowAxis axis) {
  std::swap(axis.size, axis.outputs);
  std::swap(axis.stride, axis.window_dilation);
  if (axis.reversed) {
    // The last of the outputs reads what the first one would.
    axis.padding_low -= (axis.outputs - 1) * axis.stride;
    axis.stride = -axis.stride;
    axis.reversed = false;
  }
  return axis;
}

// Dimension order[i] of a factor, or of the result, is dimension i of
// Convolver's.
struct Orders {
  DimensionVector input;
  DimensionVector kernel;
  DimensionVector output;
};

absl::StatusOr<Orders> MakeOrders(const ConvolutionDimensionNumbers& dims,
                                  bool is_wgrad, int64_t rank) {
  Orders orders;
  orders.input =
      Order(dims.input_batch_dimension(), dims.input_spatial_dimensions(),
            dims.input_feature_dimension());
  orders.output =
      Order(dims.output_batch_dimension(), dims.output_spatial_dimensions(),
            dims.output_feature_dimension());
  orders.kernel.assign(dims.kernel_spatial_dimensions().begin(),
                       dims.kernel_spatial_dimensions().end());
  orders.kernel.push_back(dims.kernel_input_feature_dimension());
  orders.kernel.push_back(dims.kernel_output_feature_dimension());
  for (const DimensionVector* order :
       {&orders.input, &orders.kernel, &orders.output}) {
    TF_RETURN_IF_ERROR(CheckOrder(*order, rank));
  }
  if (is_wgrad) {
    // [feature, spatial..., batch] and [spatial..., batch, feature].
    std::swap(orders.input.front(), orders.input.back());
    orders.kernel.assign(orders.output.begin() + 1, orders.output.end() - 1);
    orders.kernel.push_back(orders.output.front());
    orders.kernel.push_back(orders.output.back());
    orders.output = Order(dims.kernel_input_feature_dimension(),
                          dims.kernel_spatial_dimensions(),
                          dims.kernel_output_feature_dimension());
  }
  return orders;
}

// Replaces a factor of which some elements of each block are stored by all of
// it.
absl::Status MakeDense(absl::Span<Value> operands, int64_t factor,
                       const SparsityConfig::TensorSparsityConfig& sparsity,
                       MemoryBudget* budget) {
  const int64_t places = sparsity.idx();
  if (places < 2 || places >= static_cast<int64_t>(operands.size())) {
    return InvalidArgument(
        "the indices of a sparse factor are operand %d of a convolution of %d",
        places, operands.size());
  }
  const Value& values = operands[factor];
  // The budget knows nothing of literals: this refuses what is too large.
  TF_ASSIGN_OR_RETURN(
      const Value room,
      Value::Make(
          values.type(),
          {values.count() / std::max<int64_t>(sparsity.num_non_zero(), 1),
           std::max<int64_t>(sparsity.block_size(), 1)},
          budget));
  TF_ASSIGN_OR_RETURN(const Literal stored,
                      values.ToLiteral(values.StaticShape()));
  TF_ASSIGN_OR_RETURN(
      const Literal indices,
      operands[places].ToLiteral(operands[places].StaticShape()));
  TF_ASSIGN_OR_RETURN(const Literal dense,
                      MaterializeSparseOperand(stored, indices, sparsity));
  TF_ASSIGN_OR_RETURN(operands[factor],
                      Value::FromLiteral(dense, budget, /*borrow=*/false));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> EvaluateConvolution(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  const SparsityConfig& sparsity = instruction->sparsity_config();
  if (sparsity.has_lhs()) {
    TF_RETURN_IF_ERROR(MakeDense(operands, 0, sparsity.lhs(), context.budget));
  }
  if (sparsity.has_rhs()) {
    TF_RETURN_IF_ERROR(MakeDense(operands, 1, sparsity.rhs(), context.budget));
  }
  const ConvolutionKind kind =
      Cast<HloConvolutionInstruction>(instruction)->convolution_kind();
  const bool is_wgrad = kind == CONVOLUTION_KIND_WGRAD;
  if (operands[0].rank() != operands[1].rank()) {
    return InvalidArgument("a convolution of ranks %d and %d",
                           operands[0].rank(), operands[1].rank());
  }
  TF_ASSIGN_OR_RETURN(const Orders orders,
                      MakeOrders(instruction->convolution_dimension_numbers(),
                                 is_wgrad, operands[0].rank()));
  MemoryBudget* budget = context.budget;
  const Shape& shape = instruction->shape();
  const PrimitiveType type =
      SumType(operands[0].type(), operands[1].type(), shape.element_type());
  const auto algorithm = instruction->precision_config().algorithm();
  TF_ASSIGN_OR_RETURN(Value input,
                      PrepareFactor(operands[0], algorithm, type, budget));
  TF_ASSIGN_OR_RETURN(input, PermutedDimensions(input, orders.input, budget));
  TF_ASSIGN_OR_RETURN(Value kernel,
                      PrepareFactor(operands[1], algorithm, type, budget));
  TF_ASSIGN_OR_RETURN(kernel,
                      PermutedDimensions(kernel, orders.kernel, budget));
  Problem problem = {std::move(input),
                     std::move(kernel),
                     {},
                     instruction->feature_group_count(),
                     instruction->batch_group_count()};
  if (problem.feature_groups < 1 || problem.batch_groups < 1 ||
      (problem.feature_groups > 1 && problem.batch_groups > 1)) {
    return InvalidArgument("%d feature groups and %d batch groups",
                           problem.feature_groups, problem.batch_groups);
  }
  int64_t result_batch_groups = 1;
  if (is_wgrad) {
    std::swap(problem.feature_groups, problem.batch_groups);
  } else if (kind == CONVOLUTION_KIND_DGRAD) {
    result_batch_groups = problem.batch_groups;
    problem.feature_groups *= std::exchange(problem.batch_groups, 1);
    TF_ASSIGN_OR_RETURN(
        problem.kernel,
        TransposedInGroups(problem.kernel, problem.feature_groups, budget));
  }
  TF_ASSIGN_OR_RETURN(problem.axes,
                      SpatialAxes(instruction->window(), problem.input));
  if (is_wgrad) {
    for (WindowAxis& axis : problem.axes) axis = AxisOfKernelGradient(axis);
  }
  TF_ASSIGN_OR_RETURN(Value output, Solve(std::move(problem), type, budget));
  if (result_batch_groups > 1) {
    TF_ASSIGN_OR_RETURN(output,
                        GroupsToBatch(output, result_batch_groups, budget));
  }
  DimensionVector back(orders.output.size());
  for (size_t i = 0; i < back.size(); ++i) back[orders.output[i]] = i;
  TF_ASSIGN_OR_RETURN(output, PermutedDimensions(output, back, budget));
  return ConvertValue(std::move(output), shape.element_type(), budget);
}

}  // namespace evaluator
}  // namespace xla
