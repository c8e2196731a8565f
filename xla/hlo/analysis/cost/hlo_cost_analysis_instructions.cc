// Instructions that call nothing.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// A multiplication and an addition.
constexpr int64_t kFmaFlops = 2;

double Elements(const Shape& shape) {
  double elements = 0;
  ShapeUtil::ForEachSubshape(shape,
                             [&](const Shape& subshape, const ShapeIndex&) {
                               if (subshape.IsArray()) {
                                 elements += ShapeUtil::ElementsIn(subshape);
                               }
                             });
  return elements;
}

double Log2(double x) { return x <= 1 ? 0 : std::ceil(std::log2(x)); }

// Pairs of a result and a kernel position along one dimension at which the
// kernel meets an element of the input: no padding, and no hole that base
// dilation makes.
int64_t ValidPositions(int64_t input, int64_t output,
                       const WindowDimension& window) {
  const int64_t dilation = std::max<int64_t>(window.base_dilation(), 1);
  const int64_t stride = std::max<int64_t>(window.stride(), 1);
  const int64_t end = window_util::DilatedBound(input, dilation);
  // Results whose positions meet elements come in steps.
  const int64_t step = dilation / std::gcd(dilation, stride);
  int64_t valid = 0;
  for (int64_t k = 0; k < window.size(); ++k) {
    const int64_t offset = k * window.window_dilation() - window.padding_low();
    // Results with 0 <= result * stride + offset < end.
    int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t limit =
        end - offset <= 0
            ? 0
            : std::min(output, (end - offset + stride - 1) / stride);
    for (int64_t i = 0; i < step && first < limit; ++i, ++first) {
      if ((first * stride + offset) % dilation != 0) continue;
      valid += (limit - first + step - 1) / step;
      break;
    }
  }
  return valid;
}

// Only the first of the scalars that say where a dynamic slice starts counts in
// the total, as in OpenXLA.
void CountOneStartIndex(const HloInstruction& hlo, int64_t first,
                        HloCostProperties& properties) {
  for (int64_t i = first + 1; i < hlo.operand_count(); ++i) {
    properties.bytes_accessed -= properties.operand_bytes_accessed(i);
  }
}

}  // namespace

absl::Status HloCostAnalysis::MoveNothing(const HloInstruction* hlo) {
  current_properties_ = Properties();
  // Each operand is used once even so.
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    current_properties_.set_operand_utilization(i, 1);
  }
  return absl::OkStatus();
}

void HloCostAnalysis::CountEachRead(const HloInstruction* hlo, int64_t operand,
                                    double reads) {
  const Shape& shape = hlo->operand(operand)->shape();
  const double elements = Elements(shape);
  if (!options_.count_multiple_input_accesses || elements == 0) return;
  current_properties_.set_operand_bytes_accessed(
      operand, reads * (TotalBytes(shape) / elements));
  current_properties_.set_operand_utilization(operand, reads / elements);
}

absl::Status HloCostAnalysis::MovePart(const HloInstruction* hlo,
                                       int64_t operand, double read,
                                       double written) {
  current_properties_.set_operand_bytes_accessed(operand, read);
  const double whole = TotalBytes(hlo->operand(operand)->shape());
  current_properties_.set_operand_utilization(operand,
                                              whole > 0 ? read / whole : 0);
  current_properties_.set_output_bytes_accessed(written);
  double bytes = written;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    bytes += current_properties_.operand_bytes_accessed(i);
  }
  current_properties_.bytes_accessed = bytes;
  return absl::OkStatus();
}

// --- Elementwise
// ---------------------------------------------------------------

absl::Status HloCostAnalysis::HandleElementwiseOp(const HloInstruction* hlo) {
  const double elements = Elements(hlo->shape());
  if (HloOpcodeIsTranscendental(hlo->opcode())) {
    current_properties_.transcendentals = elements;
  } else {
    current_properties_.flops = elements;
  }
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleElementwiseUnary(
    const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleElementwiseBinary(
    const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleSelect(const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleClamp(const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleStochasticConvert(
    const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleReducePrecision(const HloInstruction* hlo) {
  return HandleElementwiseOp(hlo);
}
absl::Status HloCostAnalysis::HandleCopy(const HloInstruction*) {
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleBroadcast(const HloInstruction* hlo) {
  CountEachRead(hlo, 0, Elements(hlo->shape()));
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleTranspose(const HloInstruction* hlo) {
  return hlo->IsEffectiveBitcast() ? MoveNothing(hlo) : absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleTuple(const HloInstruction* hlo) {
  TF_RETURN_IF_ERROR(MoveNothing(hlo));
  const double table = GetShapeSize(hlo->shape());
  current_properties_.set_output_bytes_accessed(table);
  current_properties_.bytes_accessed = table;
  return absl::OkStatus();
}

// --- What moves nothing
// --------------------------------------------------------

#define XLA_MOVES_NOTHING(method)                                   \
  absl::Status HloCostAnalysis::method(const HloInstruction* hlo) { \
    return MoveNothing(hlo);                                        \
  }
XLA_MOVES_NOTHING(HandleConstant)
XLA_MOVES_NOTHING(HandleParameter)
XLA_MOVES_NOTHING(HandleGetTupleElement)
XLA_MOVES_NOTHING(HandleBitcast)
XLA_MOVES_NOTHING(HandleDomain)
XLA_MOVES_NOTHING(HandleOptimizationBarrier)
XLA_MOVES_NOTHING(HandleAddDependency)
XLA_MOVES_NOTHING(HandleAfterAll)
XLA_MOVES_NOTHING(HandleAllGatherDone)
XLA_MOVES_NOTHING(HandleAllReduceDone)
XLA_MOVES_NOTHING(HandleAsyncUpdate)
XLA_MOVES_NOTHING(HandleAsyncDone)
XLA_MOVES_NOTHING(HandleCollectivePermuteDone)
XLA_MOVES_NOTHING(HandleCopyDone)
XLA_MOVES_NOTHING(HandleSendDone)
XLA_MOVES_NOTHING(HandleRecvDone)
XLA_MOVES_NOTHING(HandleGetDimensionSize)
#undef XLA_MOVES_NOTHING

// --- Parts of operands
// ---------------------------------------------------------

absl::Status HloCostAnalysis::HandleSlice(const HloInstruction* hlo) {
  const double bytes = TotalBytes(hlo->shape());
  return MovePart(hlo, 0, bytes, bytes);
}
absl::Status HloCostAnalysis::HandleDynamicSlice(const HloInstruction* hlo) {
  TF_RETURN_IF_ERROR(HandleSlice(hlo));
  CountOneStartIndex(*hlo, 1, current_properties_);
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleGather(const HloInstruction* hlo) {
  return HandleSlice(hlo);
}
absl::Status HloCostAnalysis::HandleDynamicUpdateSlice(
    const HloInstruction* hlo) {
  const double update = TotalBytes(hlo->operand(1)->shape());
  const double whole = TotalBytes(hlo->operand(0)->shape());
  TF_RETURN_IF_ERROR(MovePart(hlo, 0, 0, update));
  // What is left alone is used, though nothing moves.
  current_properties_.set_operand_utilization(
      0, whole > 0 ? (whole - update) / whole : 0);
  CountOneStartIndex(*hlo, 2, current_properties_);
  return absl::OkStatus();
}

// --- Starts of asynchronous operations: all is done there
// ----------------------

absl::Status HloCostAnalysis::HandleCopyStart(const HloInstruction* hlo) {
  const double bytes = TotalBytes(hlo->operand(0)->shape());
  return MovePart(hlo, 0, bytes, bytes);
}
absl::Status HloCostAnalysis::HandleCollectivePermuteStart(
    const HloInstruction* hlo) {
  const double bytes = TotalBytes(hlo->operand(0)->shape());
  return MovePart(hlo, 0, bytes, bytes);
}
absl::Status HloCostAnalysis::HandleAllGatherStart(const HloInstruction* hlo) {
  // (operands, results)
  double read = 0;
  for (const HloInstruction* operand : hlo->operands()) {
    read += TotalBytes(operand->shape());
  }
  const double written = TotalBytes(hlo->shape()) - read;
  current_properties_.set_output_bytes_accessed(written);
  current_properties_.bytes_accessed = read + written;
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleSend(const HloInstruction* hlo) {
  return MovePart(hlo, 0, TotalBytes(hlo->operand(0)->shape()), 0);
}
absl::Status HloCostAnalysis::HandleRecv(const HloInstruction* hlo) {
  return MovePart(hlo, 0, 0, TotalBytes(hlo->shape().tuple_shapes(0)));
}
// What is fed may be a tuple of tuples: each of its arrays is counted where it
// is, too.
absl::Status HloCostAnalysis::HandleInfeed(const HloInstruction* hlo) {
  ShapeUtil::ForEachLeafShape(hlo->shape(), [&](const Shape& leaf,
                                                const ShapeIndex& index) {
    if (!leaf.IsArray()) return;
    current_properties_.set_output_bytes_accessed(index, GetShapeSize(leaf));
  });
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleOutfeed(const HloInstruction* hlo) {
  const Shape& data = hlo->operand(0)->shape();
  if (data.IsTuple()) {
    ShapeUtil::ForEachLeafShape(
        data, [&](const Shape& leaf, const ShapeIndex& index) {
          if (!leaf.IsArray()) return;
          current_properties_.set_operand_bytes_accessed(0, index,
                                                         GetShapeSize(leaf));
        });
  }
  return MovePart(hlo, 0, TotalBytes(data), 0);
}

// --- Collectives: each result element meets one other replica's
// ----------------

absl::Status HloCostAnalysis::HandleAllReduce(const HloInstruction* hlo) {
  current_properties_.flops = Elements(hlo->shape());
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleAllReduceStart(const HloInstruction* hlo) {
  return HandleAllReduce(hlo);
}
absl::Status HloCostAnalysis::HandleReduceScatter(const HloInstruction* hlo) {
  return HandleAllReduce(hlo);
}

// --- Random numbers, sorting
// ---------------------------------------------------

absl::Status HloCostAnalysis::HandleRng(const HloInstruction* hlo) {
  current_properties_.transcendentals = Elements(hlo->shape());
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleRngBitGenerator(const HloInstruction* hlo) {
  return HandleRng(hlo);
}
absl::Status HloCostAnalysis::HandleSort(const HloInstruction* hlo) {
  const double elements = Elements(hlo->operand(0)->shape());
  current_properties_.flops = elements * Log2(elements);
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleTopK(const HloInstruction* hlo) {
  // One comparison with a heap of k per element.
  const Shape& values = hlo->shape().tuple_shapes(0);
  const double k = values.dimensions().empty() ? 1 : values.dimensions().back();
  current_properties_.flops =
      Elements(hlo->operand(0)->shape()) * std::max(1.0, Log2(k));
  return absl::OkStatus();
}

// --- Linear algebra
// ------------------------------------------------------------

int64_t HloCostAnalysis::GetDotFlops(const Shape& lhs_shape,
                                     const Shape& result_shape,
                                     const DotDimensionNumbers& dnums) {
  int64_t contracted = 1;
  for (int64_t dimension : dnums.lhs_contracting_dimensions()) {
    contracted *= lhs_shape.dimensions(dimension);
  }
  return kFmaFlops * ShapeUtil::ElementsIn(result_shape) * contracted;
}

absl::Status HloCostAnalysis::HandleDot(const HloInstruction* hlo) {
  current_properties_.flops = GetDotFlops(
      hlo->operand(0)->shape(), hlo->shape(), hlo->dot_dimension_numbers());
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleScaledDot(const HloInstruction* hlo) {
  // Each input element is scaled first.
  current_properties_.flops =
      GetDotFlops(hlo->operand(0)->shape(), hlo->shape(),
                  hlo->dot_dimension_numbers()) +
      Elements(hlo->operand(0)->shape()) + Elements(hlo->operand(1)->shape());
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleRaggedDot(const HloInstruction* hlo) {
  // Each element of the left side meets one row of the group it belongs to.
  const RaggedDotDimensionNumbers& dnums = hlo->ragged_dot_dimension_numbers();
  const DotDimensionNumbers& dot = dnums.dot_dimension_numbers();
  const Shape& rhs = hlo->operand(1)->shape();
  double columns = 1;
  for (int64_t i = 0; i < rhs.dimensions_size(); ++i) {
    if (!absl::c_linear_search(dnums.rhs_group_dimensions(), i) &&
        !absl::c_linear_search(dot.rhs_contracting_dimensions(), i) &&
        !absl::c_linear_search(dot.rhs_batch_dimensions(), i)) {
      columns *= rhs.dimensions(i);
    }
  }
  current_properties_.flops =
      kFmaFlops * Elements(hlo->operand(0)->shape()) * columns;
  return absl::OkStatus();
}

int64_t HloCostAnalysis::GetConvolutionFlops(const HloInstruction* convolution,
                                             const Shape& lhs_shape,
                                             const Shape& rhs_shape,
                                             const Shape& result_shape) {
  const Window& window = convolution->window();
  const ConvolutionDimensionNumbers& dnums =
      convolution->convolution_dimension_numbers();
  int64_t count = result_shape.dimensions(dnums.output_batch_dimension()) *
                  result_shape.dimensions(dnums.output_feature_dimension()) *
                  rhs_shape.dimensions(dnums.kernel_input_feature_dimension());
  for (int i = 0; i < window.dimensions_size(); ++i) {
    count *= ValidPositions(
        lhs_shape.dimensions(dnums.input_spatial_dimensions(i)),
        result_shape.dimensions(dnums.output_spatial_dimensions(i)),
        window.dimensions(i));
  }
  return kFmaFlops * count;
}

int64_t HloCostAnalysis::GetConvolutionFlops(
    const HloInstruction* convolution) {
  const Shape& result = convolution->shape();
  return GetConvolutionFlops(
      convolution, convolution->operand(0)->shape(),
      convolution->operand(1)->shape(),
      result.IsTuple() ? result.tuple_shapes(0) : result);
}

absl::Status HloCostAnalysis::HandleConvolution(const HloInstruction* hlo) {
  current_properties_.flops = GetConvolutionFlops(hlo);
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleFft(const HloInstruction* hlo) {
  // OpenXLA's figure: for each element, the product of floor(log2 length) over
  // the transformed dimensions, in complex multiplications, each of four real
  // ones. It is 0 if one of the lengths is 1.
  double steps = 1;
  for (int64_t length : hlo->fft_length()) {
    steps *= std::floor(std::log2(std::max<double>(length, 1)));
  }
  current_properties_.flops =
      4 * kFmaFlops * steps * Elements(hlo->operand(0)->shape());
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleTriangularSolve(const HloInstruction* hlo) {
  // Each element of the solution takes a dot product with a row of a, of which
  // only a triangle is read.
  const Shape& a = hlo->operand(0)->shape();
  current_properties_.flops = kFmaFlops * Elements(hlo->shape()) *
                              static_cast<double>(a.dimensions().back());
  TF_RETURN_IF_ERROR(
      MovePart(hlo, 0, TotalBytes(a) / 2.0, TotalBytes(hlo->shape())));
  current_properties_.set_operand_utilization(0, 1);
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleCholesky(const HloInstruction* hlo) {
  // n^3 / 3 per matrix; a triangle is read, and one written.
  const Shape& a = hlo->operand(0)->shape();
  current_properties_.flops =
      std::floor(Elements(a) * static_cast<double>(a.dimensions().back()) / 3);
  const double triangle = TotalBytes(a) / 2.0;
  TF_RETURN_IF_ERROR(MovePart(hlo, 0, triangle, triangle));
  current_properties_.set_operand_utilization(0, 1);
  return absl::OkStatus();
}

// --- Batch normalization, by the operations of its formula
// ---------------------

absl::Status HloCostAnalysis::HandleBatchNormTraining(
    const HloInstruction* hlo) {
  // Sums of x and x * x, then (x - mean) * factor * scale + offset.
  current_properties_.flops = 7 * Elements(hlo->operand(0)->shape());
  current_properties_.transcendentals = Elements(hlo->operand(1)->shape());
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleBatchNormInference(
    const HloInstruction* hlo) {
  current_properties_.flops = 4 * Elements(hlo->operand(0)->shape());
  current_properties_.transcendentals = Elements(hlo->operand(1)->shape());
  return absl::OkStatus();
}
absl::Status HloCostAnalysis::HandleBatchNormGrad(const HloInstruction* hlo) {
  // Sums of dy and dy * (x - mean), then the gradient of x of both.
  current_properties_.flops = 9 * Elements(hlo->operand(0)->shape());
  current_properties_.transcendentals = Elements(hlo->operand(1)->shape());
  return absl::OkStatus();
}

}  // namespace xla
