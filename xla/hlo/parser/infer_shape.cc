#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/dimension_numbers.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

using A = Attribute;

// The shape of an instruction that the text leaves out.
bool ModuleParser::InferShape(Draft* draft) {
  absl::StatusOr<Shape> shape = InferredShape(*draft);
  if (!shape.ok()) return Error(draft->opcode_loc, shape.status().message());
  draft->inferred_shape = *std::move(shape);
  if (options_.fill_missing_layouts()) {
    ShapeUtil::ForEachMutableSubshape(
        &draft->inferred_shape, [](Shape* subshape, const ShapeIndex&) {
          if (subshape->IsArray() && !subshape->has_layout()) {
            LayoutUtil::SetToDefaultLayout(subshape);
          }
        });
  }
  draft->shape = &draft->inferred_shape;
  return true;
}

absl::StatusOr<Shape> ModuleParser::InferredShape(const Draft& draft) {
  const AttributeValues& values = draft.values;
  const auto& operands = draft.operands;
  std::vector<const Shape*> shapes;
  shapes.reserve(operands.size());
  for (const HloInstruction* operand : operands) {
    shapes.push_back(&operand->shape());
  }
  switch (draft.opcode) {
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
      return ShapeUtil::MakeShape(U32, {});
    case HloOpcode::kGetTupleElement:
      return ShapeInference::InferGetTupleElementShape(*shapes[0],
                                                       values.Int(A::kIndex));
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kDomain:
    case HloOpcode::kAddDependency:
      return *shapes[0];
    case HloOpcode::kAfterAll:
      return ShapeUtil::MakeTokenShape();
    case HloOpcode::kTuple:
    case HloOpcode::kSort:
      return ShapeInference::InferVariadicOpShape(draft.opcode, shapes);
    case HloOpcode::kConcatenate: {
      absl::Span<const int64_t> dims = values.Ints(A::kDimensions);
      if (dims.size() != 1) {
        return absl::InvalidArgumentError("dimensions= needs one entry");
      }
      return ShapeInference::InferConcatOpShape(shapes, dims[0]);
    }
    case HloOpcode::kWhile:
      return ShapeInference::InferWhileShape(
          values.Computation(A::kCondition)->ComputeProgramShape(),
          values.Computation(A::kBody)->ComputeProgramShape(), *shapes[0]);
    case HloOpcode::kCall:
      return ShapeInference::InferCallShape(
          shapes, values.Computation(A::kToApply)->ComputeProgramShape());
    case HloOpcode::kConditional: {
      std::vector<ProgramShape> branches;
      auto add = [&](const HloComputation* computation) {
        if (computation != nullptr) {
          branches.push_back(computation->ComputeProgramShape());
        }
      };
      if (values.Has(A::kBranchComputations)) {
        for (const HloComputation* branch : values.branch_computations) {
          add(branch);
        }
      }
      add(values.Computation(A::kTrueComputation));
      add(values.Computation(A::kFalseComputation));
      if (branches.empty() || operands.size() != branches.size() + 1) {
        return absl::InvalidArgumentError(
            "one operand per branch is needed besides the index");
      }
      std::vector<Shape> arguments;
      for (size_t i = 1; i < shapes.size(); ++i)
        arguments.push_back(*shapes[i]);
      return ShapeInference::InferConditionalShape(*shapes[0], branches,
                                                   arguments);
    }
    default:  // Has attributes, or shape inference by opcode.
      return InferredKernelShape(draft);
  }
}

absl::StatusOr<Shape> ModuleParser::InferredKernelShape(const Draft& draft) {
  const AttributeValues& values = draft.values;
  const auto& operands = draft.operands;
  std::vector<const Shape*> shapes;
  for (const HloInstruction* operand : operands) {
    shapes.push_back(&operand->shape());
  }
  absl::Span<const Shape* const> all = shapes;
  absl::Span<const int64_t> dims = values.Ints(A::kDimensions);
  auto callee = [&](Attribute attribute) {
    return values.Computation(attribute)->ComputeProgramShape();
  };
  auto need = [&](size_t count) -> absl::Status {
    if (shapes.size() >= count) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("at least ", count, " operands are needed"));
  };
  switch (draft.opcode) {
    case HloOpcode::kMap:
      return ShapeInference::InferMapShape(shapes, callee(A::kToApply), dims);
    case HloOpcode::kReduce:
      return ShapeInference::InferReduceShape(shapes, dims,
                                              callee(A::kToApply));
    case HloOpcode::kReduceWindow:
      if (shapes.size() % 2 != 0 || shapes.empty()) {
        return absl::InvalidArgumentError(
            "as many arrays as initial values are needed");
      }
      return ShapeInference::InferReduceWindowShape(
          all.first(shapes.size() / 2), all.subspan(shapes.size() / 2),
          values.Has(A::kWindow) ? values.window : Window(),
          callee(A::kToApply));
    case HloOpcode::kSelectAndScatter:
      return ShapeInference::InferSelectAndScatterShape(
          *shapes[0], callee(A::kSelect), values.window, *shapes[1], *shapes[2],
          callee(A::kScatter));
    case HloOpcode::kReverse:
      return ShapeInference::InferReverseShape(*shapes[0], dims);
    case HloOpcode::kTranspose:
      return ShapeInference::InferTransposeShape(*shapes[0], dims);
    case HloOpcode::kPad:
      return ShapeInference::InferPadShape(*shapes[0], *shapes[1],
                                           values.padding);
    case HloOpcode::kGather:
      if (values.slice_sizes.size() != 1) {
        return absl::InvalidArgumentError("slice_sizes= is one list");
      }
      return ShapeInference::InferGatherShape(
          *shapes[0], *shapes[1], GatherDims(values), values.slice_sizes[0]);
    case HloOpcode::kScatter:
      return ShapeInference::InferScatterShape(shapes, callee(A::kToApply),
                                               ScatterDims(values));
    case HloOpcode::kDot:
    case HloOpcode::kScaledDot: {
      absl::Status status = need(2);
      if (!status.ok()) return status;
      return ShapeInference::InferDotOpShape(*shapes[0], *shapes[1],
                                             DotDims(values), std::nullopt);
    }
    case HloOpcode::kRaggedDot:
      return ShapeInference::InferRaggedDotOpShape(
          *shapes[0], *shapes[1], *shapes[2], RaggedDotDims(values),
          std::nullopt);
    case HloOpcode::kConvolution: {
      Window window;
      if (values.Has(A::kWindow)) window = values.window;
      SparsityConfig sparsity;
      if (values.Has(A::kSparsityConfig)) sparsity = values.sparsity;
      return ShapeInference::InferConvolveShape(
          *shapes[0], *shapes[1], values.Int(A::kFeatureGroupCount, 1),
          values.Int(A::kBatchGroupCount, 1), window, values.dim_labels,
          sparsity, std::nullopt,
          values.As<ConvolutionKind>(A::kConvolutionKind));
    }
    case HloOpcode::kFft:
      return ShapeInference::InferFftShape(*shapes[0],
                                           values.As<FftType>(A::kFftType),
                                           values.Ints(A::kFftLength));
    case HloOpcode::kTriangularSolve:
      return ShapeInference::InferTriangularSolveShape(*shapes[0], *shapes[1],
                                                       SolveOptions(values));
    case HloOpcode::kCholesky:
      return ShapeInference::InferCholeskyShape(*shapes[0]);
    case HloOpcode::kBatchNormTraining:
      return ShapeInference::InferBatchNormTrainingShape(
          *shapes[0], *shapes[1], *shapes[2], values.Int(A::kFeatureIndex));
    case HloOpcode::kBatchNormInference:
      return ShapeInference::InferBatchNormInferenceShape(
          *shapes[0], *shapes[1], *shapes[2], *shapes[3], *shapes[4],
          values.Int(A::kFeatureIndex));
    case HloOpcode::kBatchNormGrad:
      return ShapeInference::InferBatchNormGradShape(
          *shapes[0], *shapes[1], *shapes[2], *shapes[3], *shapes[4],
          values.Int(A::kFeatureIndex));
    case HloOpcode::kTopK:
      return ShapeInference::InferTopKShape(*shapes[0], values.Int(A::kK));
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
      if (dims.size() != 1) {
        return absl::InvalidArgumentError("dimensions= needs one entry");
      }
      return draft.opcode == HloOpcode::kGetDimensionSize
                 ? ShapeInference::InferGetDimensionSizeShape(*shapes[0],
                                                              dims[0])
                 : ShapeInference::InferSetDimensionSizeShape(
                       *shapes[0], *shapes[1], dims[0]);
    default:  // No attributes: by opcode, below.
      break;
  }
  // The remaining opcodes have no attributes; its shape follows from the
  // operands alone, or from nothing in the text.
  const bool follows = draft.opcode == HloOpcode::kClamp ||
                       draft.opcode == HloOpcode::kSelect ||
                       draft.opcode == HloOpcode::kCompare ||
                       HloOpcodeIsElementwiseUnary(draft.opcode) ||
                       HloOpcodeIsElementwiseBinary(draft.opcode);
  const bool needs_type = draft.opcode == HloOpcode::kConvert ||
                          draft.opcode == HloOpcode::kBitcastConvert ||
                          draft.opcode == HloOpcode::kReducePrecision ||
                          draft.opcode == HloOpcode::kStochasticConvert;
  if (!follows || needs_type) {
    return absl::InvalidArgumentError(
        absl::StrCat(HloOpcodeString(draft.opcode),
                     " needs a shape: it does not follow from the operands"));
  }
  switch (operands.size()) {
    case 1:
      return ShapeInference::InferUnaryOpShape(draft.opcode, operands[0]);
    case 2:
      return ShapeInference::InferBinaryOpShape(draft.opcode, operands[0],
                                                operands[1]);
    default:
      return ShapeInference::InferTernaryOpShape(draft.opcode, operands[0],
                                                 operands[1], operands[2]);
  }
}

}  // namespace xla::hlo_text
