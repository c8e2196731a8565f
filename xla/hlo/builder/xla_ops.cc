#include "xla/hlo/builder/xla_ops.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/builder/xla_ops_internal.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla {

using xla_builder_internal::AddMade;
using xla_builder_internal::AddWith;
using xla_builder_internal::Made;
using xla_builder_internal::Operands;

namespace {

PrecisionConfig PrecisionOf(const PrecisionConfig* config, int operands) {
  if (config != nullptr) return *config;
  PrecisionConfig result;
  result.mutable_operand_precision()->Resize(operands,
                                             PrecisionConfig::DEFAULT);
  return result;
}

absl::Span<const int64_t> Spatial(
    const google::protobuf::RepeatedField<int64_t>& dims) {
  return absl::MakeConstSpan(dims.data(), dims.size());
}

// `op` with the sizes of `to`: its dimensions are those of `to` in
// `broadcast_dimensions`, and those of size 1 are repeated.
absl::StatusOr<XlaOp> BroadcastTo(
    XlaBuilder* builder, XlaOp op, const Shape& to,
    absl::Span<const int64_t> broadcast_dimensions) {
  TF_ASSIGN_OR_RETURN(HloInstruction * inst, builder->Instruction(op));
  Shape shape = ShapeUtil::ChangeElementType(to, inst->shape().element_type());
  if (ShapeUtil::SameDimensions(inst->shape(), shape)) return op;
  if (inst->shape().dimensions().size() < shape.dimensions().size()) {
    Shape wide = shape;
    for (size_t i = 0; i < broadcast_dimensions.size(); ++i) {
      wide.set_dimensions(broadcast_dimensions[i], inst->shape().dimensions(i));
    }
    op = builder->Add(
        HloInstruction::CreateBroadcast(wide, inst, broadcast_dimensions));
    TF_ASSIGN_OR_RETURN(inst, builder->Instruction(op));
    if (ShapeUtil::SameDimensions(inst->shape(), shape)) return op;
  }
  auto root = HloInstruction::CreateBroadcastSequence(
      shape, inst, [&](std::unique_ptr<HloInstruction> added) {
        return *builder->Instruction(builder->Add(std::move(added)));
      });
  return builder->Add(std::move(root));
}

// The operands of a binary operation with equal sizes.
struct Pair {
  Shape shape;  // of the result
  XlaOp lhs;
  XlaOp rhs;
};

absl::StatusOr<Pair> Broadcasted(XlaBuilder* builder, HloOpcode opcode,
                                 XlaOp lhs, XlaOp rhs,
                                 absl::Span<const int64_t> dimensions) {
  TF_ASSIGN_OR_RETURN(const HloInstruction* left, builder->Instruction(lhs));
  TF_ASSIGN_OR_RETURN(const HloInstruction* right, builder->Instruction(rhs));
  Pair pair = {Shape(), lhs, rhs};
  TF_ASSIGN_OR_RETURN(pair.shape,
                      ShapeInference::InferBinaryOpShape(
                          opcode, left->shape(), right->shape(), dimensions));
  TF_ASSIGN_OR_RETURN(pair.lhs,
                      BroadcastTo(builder, lhs, pair.shape, dimensions));
  TF_ASSIGN_OR_RETURN(pair.rhs,
                      BroadcastTo(builder, rhs, pair.shape, dimensions));
  return pair;
}

XlaOp AddBinary(HloOpcode opcode, XlaOp lhs, XlaOp rhs,
                absl::Span<const int64_t> dimensions) {
  XlaBuilder* builder = lhs.builder();
  return AddMade(builder, [&]() -> Made {
    TF_ASSIGN_OR_RETURN(Pair pair,
                        Broadcasted(builder, opcode, lhs, rhs, dimensions));
    TF_ASSIGN_OR_RETURN(Operands operands,
                        builder->Instructions({pair.lhs, pair.rhs}));
    return HloInstruction::CreateBinary(pair.shape, opcode, operands[0],
                                        operands[1]);
  });
}

XlaOp AddUnary(HloOpcode opcode, XlaOp operand) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        Shape shape = operands[0]->shape();
        if (opcode != HloOpcode::kOptimizationBarrier) {
          TF_ASSIGN_OR_RETURN(shape,
                              ShapeInference::InferUnaryOpShape(opcode, shape));
        }
        return HloInstruction::CreateUnary(shape, opcode, operands[0]);
      });
}

XlaOp AddTernary(HloOpcode opcode, XlaOp a, XlaOp b, XlaOp c) {
  XlaBuilder* builder = a.builder();
  return AddMade(builder, [&]() -> Made {
    TF_ASSIGN_OR_RETURN(Operands operands, builder->Instructions({a, b, c}));
    TF_ASSIGN_OR_RETURN(Shape shape,
                        ShapeInference::InferTernaryOpShape(
                            opcode, operands[0], operands[1], operands[2]));
    XlaOp wide[3] = {a, b, c};
    for (int i = 0; i < 3 && shape.IsArray(); ++i) {
      TF_ASSIGN_OR_RETURN(wide[i], BroadcastTo(builder, wide[i], shape, {}));
    }
    TF_ASSIGN_OR_RETURN(operands, builder->Instructions(wide));
    return HloInstruction::CreateTernary(shape, opcode, operands[0],
                                         operands[1], operands[2]);
  });
}

}  // namespace

// --- Values from nothing.

XlaOp Parameter(XlaBuilder* builder, int64_t parameter_number,
                const Shape& shape, const std::string& name) {
  return AddMade(builder, [&]() -> Made {
    if (parameter_number < 0) {
      return InvalidArgument("parameter number %d is negative",
                             parameter_number);
    }
    TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(shape));
    return HloInstruction::CreateParameter(parameter_number, shape, name);
  });
}

XlaOp ConstantLiteral(XlaBuilder* builder, const LiteralSlice& literal) {
  return AddMade(builder, [&]() -> Made {
    return HloInstruction::CreateConstant(literal.Clone());
  });
}

XlaOp Iota(XlaBuilder* builder, const Shape& shape, int64_t iota_dimension) {
  return AddMade(builder, [&]() -> Made {
    if (!shape.IsArray() || iota_dimension < 0 ||
        iota_dimension >= static_cast<int64_t>(shape.dimensions().size())) {
      return InvalidArgument("iota: %s has no dimension %d",
                             ShapeUtil::HumanString(shape), iota_dimension);
    }
    return HloInstruction::CreateIota(shape, iota_dimension);
  });
}

XlaOp Iota(XlaBuilder* builder, PrimitiveType type, int64_t size) {
  return Iota(builder, ShapeUtil::MakeShape(type, {size}), 0);
}

XlaOp CreateToken(XlaBuilder* builder) {
  return AddMade(builder,
                 []() -> Made { return HloInstruction::CreateToken(); });
}

namespace {

XlaOp AddRng(RandomDistribution distribution, XlaOp a, XlaOp b,
             const Shape& shape) {
  return AddWith(a.builder(), {a, b}, [&](const Operands& operands) -> Made {
    return HloInstruction::CreateRng(shape, distribution, operands);
  });
}

}  // namespace

XlaOp RngUniform(XlaOp a, XlaOp b, const Shape& shape) {
  return AddRng(RNG_UNIFORM, a, b, shape);
}

XlaOp RngNormal(XlaOp mu, XlaOp sigma, const Shape& shape) {
  return AddRng(RNG_NORMAL, mu, sigma, shape);
}

XlaOp ReplicaId(XlaBuilder* builder) {
  return AddMade(builder,
                 []() -> Made { return HloInstruction::CreateReplicaId(); });
}

// --- Element by element.

#define XLA_BUILDER_DEFINE(name, opcode)                                 \
  XlaOp name(XlaOp lhs, XlaOp rhs,                                       \
             absl::Span<const int64_t> broadcast_dimensions) {           \
    return AddBinary(HloOpcode::opcode, lhs, rhs, broadcast_dimensions); \
  }
XLA_BUILDER_BINARY_OPS(XLA_BUILDER_DEFINE)
#undef XLA_BUILDER_DEFINE

#define XLA_BUILDER_DEFINE(name, opcode) \
  XlaOp name(XlaOp operand) { return AddUnary(HloOpcode::opcode, operand); }
XLA_BUILDER_UNARY_OPS(XLA_BUILDER_DEFINE)
#undef XLA_BUILDER_DEFINE

XlaOp Compare(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims,
              ComparisonDirection direction) {
  XlaBuilder* builder = lhs.builder();
  return AddMade(builder, [&]() -> Made {
    TF_ASSIGN_OR_RETURN(Pair pair, Broadcasted(builder, HloOpcode::kCompare,
                                               lhs, rhs, broadcast_dims));
    TF_ASSIGN_OR_RETURN(Operands operands,
                        builder->Instructions({pair.lhs, pair.rhs}));
    return HloInstruction::CreateCompare(pair.shape, operands[0], operands[1],
                                         direction);
  });
}

XlaOp Compare(XlaOp lhs, XlaOp rhs, ComparisonDirection direction) {
  return Compare(lhs, rhs, {}, direction);
}

#define XLA_BUILDER_DEFINE(name)                                               \
  XlaOp name(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims) { \
    return Compare(lhs, rhs, broadcast_dims, ComparisonDirection::k##name);    \
  }
XLA_BUILDER_DEFINE(Eq)
XLA_BUILDER_DEFINE(Ne)
XLA_BUILDER_DEFINE(Ge)
XLA_BUILDER_DEFINE(Gt)
XLA_BUILDER_DEFINE(Le)
XLA_BUILDER_DEFINE(Lt)
#undef XLA_BUILDER_DEFINE

XlaOp Select(XlaOp pred, XlaOp on_true, XlaOp on_false) {
  return AddTernary(HloOpcode::kSelect, pred, on_true, on_false);
}

XlaOp Clamp(XlaOp min, XlaOp operand, XlaOp max) {
  return AddTernary(HloOpcode::kClamp, min, operand, max);
}

XlaOp ConvertElementType(XlaOp operand, PrimitiveType new_element_type) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(
            Shape shape, ShapeInference::InferConvertShape(operands[0]->shape(),
                                                           new_element_type));
        return HloInstruction::CreateConvert(shape, operands[0]);
      });
}

XlaOp BitcastConvertType(XlaOp operand, PrimitiveType new_element_type) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferBitcastConvertShape(
                                operands[0]->shape(), new_element_type));
        return HloInstruction::CreateBitcastConvert(shape, operands[0]);
      });
}

XlaOp ReducePrecision(XlaOp operand, int exponent_bits, int mantissa_bits) {
  return AddWith(operand.builder(), {operand},
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape,
                       ShapeInference::InferReducePrecisionShape(
                           operands[0]->shape(), exponent_bits, mantissa_bits));
                   return HloInstruction::CreateReducePrecision(
                       shape, operands[0], exponent_bits, mantissa_bits);
                 });
}

// --- Products.

XlaOp Dot(XlaOp lhs, XlaOp rhs, const PrecisionConfig* precision_config,
          std::optional<PrimitiveType> preferred_element_type) {
  XlaBuilder* builder = lhs.builder();
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const Shape shape, builder->GetShape(lhs));
    DotDimensionNumbers dims;
    dims.add_lhs_contracting_dimensions(shape.dimensions().size() == 1 ? 0 : 1);
    dims.add_rhs_contracting_dimensions(0);
    return DotGeneral(lhs, rhs, dims, precision_config, preferred_element_type);
  });
}

XlaOp DotGeneral(XlaOp lhs, XlaOp rhs,
                 const DotDimensionNumbers& dimension_numbers,
                 const PrecisionConfig* precision_config,
                 std::optional<PrimitiveType> preferred_element_type) {
  return AddWith(
      lhs.builder(), {lhs, rhs}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferDotOpShape(
                                operands[0]->shape(), operands[1]->shape(),
                                dimension_numbers, preferred_element_type));
        return HloInstruction::CreateDot(shape, operands[0], operands[1],
                                         dimension_numbers,
                                         PrecisionOf(precision_config, 2));
      });
}

ConvolutionDimensionNumbers CreateDefaultConvDimensionNumbers(
    int num_spatial_dims) {
  ConvolutionDimensionNumbers dims;
  dims.set_input_batch_dimension(0);
  dims.set_input_feature_dimension(1);
  dims.set_output_batch_dimension(0);
  dims.set_output_feature_dimension(1);
  dims.set_kernel_output_feature_dimension(0);
  dims.set_kernel_input_feature_dimension(1);
  for (int i = 0; i < num_spatial_dims; ++i) {
    dims.add_input_spatial_dimensions(i + 2);
    dims.add_kernel_spatial_dimensions(i + 2);
    dims.add_output_spatial_dimensions(i + 2);
  }
  return dims;
}

XlaOp Conv(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
           Padding padding, int64_t feature_group_count,
           int64_t batch_group_count, const PrecisionConfig* precision_config) {
  return ConvWithGeneralDimensions(
      lhs, rhs, window_strides, padding,
      CreateDefaultConvDimensionNumbers(window_strides.size()),
      feature_group_count, batch_group_count, precision_config);
}

XlaOp ConvWithGeneralPadding(
    XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
    absl::Span<const std::pair<int64_t, int64_t>> padding,
    int64_t feature_group_count, int64_t batch_group_count,
    const PrecisionConfig* precision_config) {
  return ConvGeneral(lhs, rhs, window_strides, padding,
                     CreateDefaultConvDimensionNumbers(window_strides.size()),
                     feature_group_count, batch_group_count, precision_config);
}

XlaOp ConvWithGeneralDimensions(
    XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
    Padding padding, const ConvolutionDimensionNumbers& dimension_numbers,
    int64_t feature_group_count, int64_t batch_group_count,
    const PrecisionConfig* precision_config) {
  XlaBuilder* builder = lhs.builder();
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const Shape input, builder->GetShape(lhs));
    TF_ASSIGN_OR_RETURN(const Shape kernel, builder->GetShape(rhs));
    // Sizes of dimensions that may not be there: inference says so below.
    const auto sizes = [](const Shape& shape, absl::Span<const int64_t> dims) {
      std::vector<int64_t> result;
      for (int64_t d : dims) {
        const bool is_there =
            d >= 0 && d < static_cast<int64_t>(shape.dimensions().size());
        result.push_back(is_there ? shape.dimensions(d) : 0);
      }
      return result;
    };
    const std::vector<int64_t> spatial =
        sizes(input, Spatial(dimension_numbers.input_spatial_dimensions()));
    const std::vector<int64_t> window =
        sizes(kernel, Spatial(dimension_numbers.kernel_spatial_dimensions()));
    TF_RETURN_IF_ERROR(ValidatePaddingValues(spatial, window, window_strides));
    return ConvGeneral(lhs, rhs, window_strides,
                       MakePadding(spatial, window, window_strides, padding),
                       dimension_numbers, feature_group_count,
                       batch_group_count, precision_config);
  });
}

XlaOp ConvGeneral(XlaOp lhs, XlaOp rhs,
                  absl::Span<const int64_t> window_strides,
                  absl::Span<const std::pair<int64_t, int64_t>> padding,
                  const ConvolutionDimensionNumbers& dimension_numbers,
                  int64_t feature_group_count, int64_t batch_group_count,
                  const PrecisionConfig* precision_config) {
  return ConvGeneralDilated(lhs, rhs, window_strides, padding,
                            /*lhs_dilation=*/{}, /*rhs_dilation=*/{},
                            dimension_numbers, feature_group_count,
                            batch_group_count, precision_config);
}

XlaOp ConvGeneralDilated(XlaOp lhs, XlaOp rhs,
                         absl::Span<const int64_t> window_strides,
                         absl::Span<const std::pair<int64_t, int64_t>> padding,
                         absl::Span<const int64_t> lhs_dilation,
                         absl::Span<const int64_t> rhs_dilation,
                         const ConvolutionDimensionNumbers& dimension_numbers,
                         int64_t feature_group_count, int64_t batch_group_count,
                         const PrecisionConfig* precision_config,
                         std::optional<PrimitiveType> preferred_element_type,
                         std::optional<std::vector<bool>> window_reversal) {
  return AddWith(
      lhs.builder(), {lhs, rhs}, [&](const Operands& operands) -> Made {
        std::vector<int64_t> sizes;
        for (int64_t d : dimension_numbers.kernel_spatial_dimensions()) {
          const Shape& kernel = operands[1]->shape();
          if (d < 0 || d >= static_cast<int64_t>(kernel.dimensions().size())) {
            return InvalidArgument("kernel %s has no dimension %d",
                                   ShapeUtil::HumanString(kernel), d);
          }
          sizes.push_back(kernel.dimensions(d));
        }
        TF_ASSIGN_OR_RETURN(Window window,
                            ShapeInference::InferWindowFromDimensions(
                                sizes, window_strides, padding, lhs_dilation,
                                rhs_dilation, window_reversal));
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferConvolveShape(
                                operands[0]->shape(), operands[1]->shape(),
                                feature_group_count, batch_group_count, window,
                                dimension_numbers, preferred_element_type));
        return HloInstruction::CreateConvolve(
            shape, operands[0], operands[1], feature_group_count,
            batch_group_count, window, dimension_numbers,
            PrecisionOf(precision_config, 2));
      });
}

XlaOp Fft(XlaOp operand, FftType fft_type,
          absl::Span<const int64_t> fft_length) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(
            Shape shape, ShapeInference::InferFftShape(operands[0]->shape(),
                                                       fft_type, fft_length));
        return HloInstruction::CreateFft(shape, operands[0], fft_type,
                                         fft_length);
      });
}

XlaOp Cholesky(XlaOp a, bool lower) {
  return AddWith(a.builder(), {a}, [&](const Operands& operands) -> Made {
    TF_ASSIGN_OR_RETURN(
        Shape shape, ShapeInference::InferCholeskyShape(operands[0]->shape()));
    CholeskyOptions options;
    options.set_lower(lower);
    return HloInstruction::CreateCholesky(shape, operands[0], options);
  });
}

XlaOp BatchNormTraining(XlaOp operand, XlaOp scale, XlaOp offset, float epsilon,
                        int64_t feature_index) {
  return AddWith(operand.builder(), {operand, scale, offset},
                 [&](const Operands& in) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape, ShapeInference::InferBatchNormTrainingShape(
                                        in[0]->shape(), in[1]->shape(),
                                        in[2]->shape(), feature_index));
                   return HloInstruction::CreateBatchNormTraining(
                       shape, in[0], in[1], in[2], epsilon, feature_index);
                 });
}

XlaOp BatchNormInference(XlaOp operand, XlaOp scale, XlaOp offset, XlaOp mean,
                         XlaOp variance, float epsilon, int64_t feature_index) {
  return AddWith(
      operand.builder(), {operand, scale, offset, mean, variance},
      [&](const Operands& in) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferBatchNormInferenceShape(
                                in[0]->shape(), in[1]->shape(), in[2]->shape(),
                                in[3]->shape(), in[4]->shape(), feature_index));
        return HloInstruction::CreateBatchNormInference(
            shape, in[0], in[1], in[2], in[3], in[4], epsilon, feature_index);
      });
}

XlaOp BatchNormGrad(XlaOp operand, XlaOp scale, XlaOp batch_mean,
                    XlaOp batch_var, XlaOp grad_output, float epsilon,
                    int64_t feature_index) {
  return AddWith(
      operand.builder(), {operand, scale, batch_mean, batch_var, grad_output},
      [&](const Operands& in) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferBatchNormGradShape(
                                in[0]->shape(), in[1]->shape(), in[2]->shape(),
                                in[3]->shape(), in[4]->shape(), feature_index));
        return HloInstruction::CreateBatchNormGrad(
            shape, in[0], in[1], in[2], in[3], in[4], epsilon, feature_index);
      });
}

}  // namespace xla
