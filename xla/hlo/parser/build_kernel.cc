#include <cstdint>
#include <memory>
#include <utility>

#include "absl/log/log.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/dimension_numbers.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

using A = Attribute;

// Linear algebra, reductions, random numbers and other numeric kernels.
std::unique_ptr<HloInstruction> ModuleParser::BuildKernel(const Draft& draft,
                                                          bool* handled) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  switch (draft.opcode) {
    case HloOpcode::kDot:
      if (!ExpectOperands(draft, operands.size() == 2,
                          "two operands are needed")) {
        return nullptr;
      }
      return HloInstruction::CreateDot(shape, operands[0], operands[1],
                                       DotDims(values), PrecisionOf(draft, 2));
    case HloOpcode::kScaledDot:
      return HloInstruction::CreateScaledDot(
          shape, operands[0], operands[1], operands[2], operands[3],
          DotDims(values), PrecisionOf(draft, 4));
    case HloOpcode::kRaggedDot:
      return HloInstruction::CreateRaggedDot(shape, operands[0], operands[1],
                                             operands[2], RaggedDotDims(values),
                                             PrecisionOf(draft, 2));
    case HloOpcode::kConvolution:
      return BuildConvolution(draft);
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScan:
    case HloOpcode::kSort:
    case HloOpcode::kMap:
    case HloOpcode::kSelectAndScatter:
      return BuildReduction(draft);
    case HloOpcode::kBatchNormTraining:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormGrad:
      return BuildBatchNorm(draft);
    case HloOpcode::kTopK:
      return HloInstruction::CreateTopK(
          shape, operands[0], values.Int(A::kK),
          values.Flag(A::kLargest, /*otherwise=*/true),
          values.Flag(A::kIsStable, /*otherwise=*/true));
    case HloOpcode::kFft:
      return HloInstruction::CreateFft(shape, operands[0],
                                       values.As<FftType>(A::kFftType),
                                       values.Ints(A::kFftLength));
    case HloOpcode::kTriangularSolve:
      return HloInstruction::CreateTriangularSolve(
          shape, operands[0], operands[1], SolveOptions(values));
    case HloOpcode::kCholesky: {
      CholeskyOptions options;
      options.set_lower(values.Flag(A::kLower));
      return HloInstruction::CreateCholesky(shape, operands[0], options);
    }
    case HloOpcode::kRng:
      return HloInstruction::CreateRng(
          shape, values.As<RandomDistribution>(A::kDistribution), operands);
    case HloOpcode::kRngBitGenerator:
      return HloInstruction::CreateRngBitGenerator(
          shape, operands[0], values.As<RandomAlgorithm>(A::kAlgorithm));
    case HloOpcode::kRngGetAndUpdateState:
      return HloInstruction::CreateRngGetAndUpdateState(shape,
                                                        values.Int(A::kDelta));
    case HloOpcode::kReducePrecision: {
      const int64_t exponent = values.Int(A::kExponentBits);
      const int64_t mantissa = values.Int(A::kMantissaBits);
      if (!ExpectOperands(draft,
                          exponent == static_cast<int>(exponent) &&
                              mantissa == static_cast<int>(mantissa),
                          "numbers of bits must fit in 32 bits")) {
        return nullptr;
      }
      return HloInstruction::CreateReducePrecision(shape, operands[0],
                                                   static_cast<int>(exponent),
                                                   static_cast<int>(mantissa));
    }
    default:  // Built elsewhere.
      *handled = false;
      return nullptr;
  }
}

// Opcodes that apply a computation to elements.
std::unique_ptr<HloInstruction> ModuleParser::BuildReduction(
    const Draft& draft) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  absl::Span<const int64_t> dims = values.Ints(A::kDimensions);
  HloComputation* to_apply = values.Computation(A::kToApply);
  auto expect = [&](bool ok, absl::string_view rule) {
    return ExpectOperands(draft, ok, rule);
  };
  const size_t half = operands.size() / 2;
  switch (draft.opcode) {
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      if (!expect(operands.size() >= 2 && operands.size() % 2 == 0,
                  "as many arrays as initial values are needed")) {
        return nullptr;
      }
      if (draft.opcode == HloOpcode::kReduceWindow) {
        return HloInstruction::CreateReduceWindow(
            shape, operands.first(half), operands.subspan(half),
            values.Has(A::kWindow) ? values.window : Window(), to_apply);
      }
      return HloInstruction::CreateReduce(
          shape, operands.first(half), operands.subspan(half), dims, to_apply);
    case HloOpcode::kScan: {
      const int64_t carries = values.Int(A::kNumCarries);
      if (!expect(dims.size() == 1, "dimensions= needs one entry") ||
          !expect(
              carries >= 0 && carries <= static_cast<int64_t>(operands.size()),
              "num_carries= is not between 0 and the number of "
              "operands")) {
        return nullptr;
      }
      const TriState associative =
          values.Flag(A::kIsAssociative) ? TRI_STATE_TRUE : TRI_STATE_FALSE;
      const size_t inputs = operands.size() - carries;
      return HloInstruction::CreateScan(
          shape, operands.first(inputs), operands.subspan(inputs), to_apply,
          dims[0], values.Flag(A::kIsReverse), associative);
    }
    case HloOpcode::kSort:
      if (!expect(!operands.empty(), "at least one operand is needed") ||
          !expect(dims.size() == 1, "dimensions= needs one entry")) {
        return nullptr;
      }
      return HloInstruction::CreateSort(shape, dims[0], operands, to_apply,
                                        values.Flag(A::kIsStable));
    case HloOpcode::kMap:
      if (!expect(!operands.empty(), "at least one operand is needed")) {
        return nullptr;
      }
      return HloInstruction::CreateMap(shape, operands, to_apply);
    case HloOpcode::kSelectAndScatter: {
      Window window;
      if (values.Has(A::kWindow)) window = values.window;
      return HloInstruction::CreateSelectAndScatter(
          shape, operands[0], values.Computation(A::kSelect), window,
          operands[1], operands[2], values.Computation(A::kScatter));
    }
    default:  // An error of the caller.
      LOG(FATAL) << "no reduction: " << draft.opcode;
  }
}

std::unique_ptr<HloInstruction> ModuleParser::BuildConvolution(
    const Draft& draft) {
  const AttributeValues& values = draft.values;
  // Without window=, one step of size 1 per spatial dimension.
  Window window;
  if (values.Has(A::kWindow)) window = values.window;
  if (!ExpectOperands(draft,
                      window.dimensions_size() ==
                          values.dim_labels.input_spatial_dimensions_size(),
                      "window= and dim_labels= have different numbers of "
                      "spatial dimensions")) {
    return nullptr;
  }
  SparsityConfig sparsity;
  if (values.Has(A::kSparsityConfig)) sparsity = values.sparsity;
  return HloInstruction::CreateConvolve(
      *draft.shape, draft.operands, values.Int(A::kFeatureGroupCount, 1),
      values.Int(A::kBatchGroupCount, 1), window, values.dim_labels,
      PrecisionOf(draft, 2), sparsity,
      values.As<ConvolutionKind>(A::kConvolutionKind));
}

std::unique_ptr<HloInstruction> ModuleParser::BuildBatchNorm(
    const Draft& draft) {
  const Shape& shape = *draft.shape;
  const auto& operands = draft.operands;
  const float epsilon = static_cast<float>(draft.values.epsilon);
  const int64_t feature = draft.values.Int(A::kFeatureIndex);
  switch (draft.opcode) {
    case HloOpcode::kBatchNormTraining:
      return HloInstruction::CreateBatchNormTraining(
          shape, operands[0], operands[1], operands[2], epsilon, feature);
    case HloOpcode::kBatchNormInference:
      return HloInstruction::CreateBatchNormInference(
          shape, operands[0], operands[1], operands[2], operands[3],
          operands[4], epsilon, feature);
    case HloOpcode::kBatchNormGrad:
      return HloInstruction::CreateBatchNormGrad(
          shape, operands[0], operands[1], operands[2], operands[3],
          operands[4], epsilon, feature);
    default:  // An error of the caller.
      LOG(FATAL) << "no batch norm: " << draft.opcode;
  }
}

}  // namespace xla::hlo_text
