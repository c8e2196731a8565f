#ifndef XLA_HLO_BUILDER_XLA_OPS_H_
#define XLA_HLO_BUILDER_XLA_OPS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array2d.h"
#include "xla/array4d.h"
#include "xla/comparison_util.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// The operations of XlaBuilder. Each adds to the builder of its operands an
// instruction of the HLO opcode that it is named after, with the shape that
// ShapeInference gives; what that refuses is the builder's error.

namespace xla {

// --- Values from nothing.

XlaOp Parameter(XlaBuilder* builder, int64_t parameter_number,
                const Shape& shape, const std::string& name);
XlaOp ConstantLiteral(XlaBuilder* builder, const LiteralSlice& literal);
template <typename NativeT>
XlaOp ConstantR0(XlaBuilder* builder, NativeT value) {
  return ConstantLiteral(builder, LiteralUtil::CreateR0<NativeT>(value));
}
template <typename NativeT>
XlaOp ConstantR1(XlaBuilder* builder, absl::Span<const NativeT> values) {
  return ConstantLiteral(builder, LiteralUtil::CreateR1<NativeT>(values));
}
template <typename NativeT>
XlaOp ConstantR1(XlaBuilder* builder, std::initializer_list<NativeT> values) {
  return ConstantLiteral(builder, LiteralUtil::CreateR1<NativeT>(values));
}
template <typename NativeT>
XlaOp ConstantR2(XlaBuilder* builder,
                 std::initializer_list<std::initializer_list<NativeT>> values) {
  return ConstantLiteral(builder, LiteralUtil::CreateR2<NativeT>(values));
}
template <typename NativeT>
XlaOp ConstantR2FromArray2D(XlaBuilder* builder,
                            const Array2D<NativeT>& values) {
  return ConstantLiteral(builder,
                         LiteralUtil::CreateR2FromArray2D<NativeT>(values));
}
template <typename NativeT>
XlaOp ConstantR4FromArray4D(XlaBuilder* builder,
                            const Array4D<NativeT>& values) {
  return ConstantLiteral(builder,
                         LiteralUtil::CreateR4FromArray4D<NativeT>(values));
}
XlaOp Iota(XlaBuilder* builder, const Shape& shape, int64_t iota_dimension);
XlaOp Iota(XlaBuilder* builder, PrimitiveType type, int64_t size);
XlaOp CreateToken(XlaBuilder* builder);
XlaOp RngUniform(XlaOp a, XlaOp b, const Shape& shape);
XlaOp RngNormal(XlaOp mu, XlaOp sigma, const Shape& shape);
XlaOp ReplicaId(XlaBuilder* builder);

// --- Element by element.

// Operands of equal sizes, or one is a scalar, or of a lower rank with
// `broadcast_dimensions` saying which dimensions of the other its own are.
#define XLA_BUILDER_BINARY_OPS(V)                \
  V(Add, kAdd)                                   \
  V(Sub, kSubtract)                              \
  V(Mul, kMultiply)                              \
  V(Div, kDivide)                                \
  V(Rem, kRemainder)                             \
  V(Max, kMaximum)                               \
  V(Min, kMinimum)                               \
  V(And, kAnd)                                   \
  V(Or, kOr)                                     \
  V(Xor, kXor)                                   \
  V(Pow, kPower)                                 \
  V(Atan2, kAtan2)                               \
  V(Complex, kComplex)                           \
  V(ShiftLeft, kShiftLeft)                       \
  V(ShiftRightArithmetic, kShiftRightArithmetic) \
  V(ShiftRightLogical, kShiftRightLogical)
#define XLA_BUILDER_DECLARE(name, opcode) \
  XlaOp name(XlaOp lhs, XlaOp rhs,        \
             absl::Span<const int64_t> broadcast_dimensions = {});
XLA_BUILDER_BINARY_OPS(XLA_BUILDER_DECLARE)
#undef XLA_BUILDER_DECLARE

#define XLA_BUILDER_UNARY_OPS(V)               \
  V(Abs, kAbs)                                 \
  V(Cbrt, kCbrt)                               \
  V(Ceil, kCeil)                               \
  V(Clz, kClz)                                 \
  V(Copy, kCopy)                               \
  V(Cos, kCos)                                 \
  V(Erf, kErf)                                 \
  V(Exp, kExp)                                 \
  V(Expm1, kExpm1)                             \
  V(Floor, kFloor)                             \
  V(Imag, kImag)                               \
  V(IsFinite, kIsFinite)                       \
  V(Log, kLog)                                 \
  V(Log1p, kLog1p)                             \
  V(Logistic, kLogistic)                       \
  V(Neg, kNegate)                              \
  V(Not, kNot)                                 \
  V(OptimizationBarrier, kOptimizationBarrier) \
  V(PopulationCount, kPopulationCount)         \
  V(Real, kReal)                               \
  V(Round, kRoundNearestAfz)                   \
  V(RoundNearestEven, kRoundNearestEven)       \
  V(Rsqrt, kRsqrt)                             \
  V(Sign, kSign)                               \
  V(Sin, kSin)                                 \
  V(Sqrt, kSqrt)                               \
  V(Tan, kTan)                                 \
  V(Tanh, kTanh)
#define XLA_BUILDER_DECLARE(name, opcode) XlaOp name(XlaOp operand);
XLA_BUILDER_UNARY_OPS(XLA_BUILDER_DECLARE)
#undef XLA_BUILDER_DECLARE

XlaOp Compare(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims,
              ComparisonDirection direction);
XlaOp Compare(XlaOp lhs, XlaOp rhs, ComparisonDirection direction);
XlaOp Eq(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});
XlaOp Ne(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});
XlaOp Ge(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});
XlaOp Gt(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});
XlaOp Le(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});
XlaOp Lt(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> broadcast_dims = {});

// Scalars among the operands are broadcast.
XlaOp Select(XlaOp pred, XlaOp on_true, XlaOp on_false);
XlaOp Clamp(XlaOp min, XlaOp operand, XlaOp max);
XlaOp ConvertElementType(XlaOp operand, PrimitiveType new_element_type);
XlaOp BitcastConvertType(XlaOp operand, PrimitiveType new_element_type);
XlaOp ReducePrecision(XlaOp operand, int exponent_bits, int mantissa_bits);

// --- Elements that move.

// New dimensions in front.
XlaOp Broadcast(XlaOp operand, absl::Span<const int64_t> broadcast_sizes);
XlaOp BroadcastInDim(XlaOp operand, absl::Span<const int64_t> out_dim_size,
                     absl::Span<const int64_t> broadcast_dimensions);
XlaOp Reshape(XlaOp operand, absl::Span<const int64_t> dimensions);
XlaOp Transpose(XlaOp operand, absl::Span<const int64_t> permutation);
XlaOp Rev(XlaOp operand, absl::Span<const int64_t> dimensions);
XlaOp Pad(XlaOp operand, XlaOp padding_value,
          const PaddingConfig& padding_config);
XlaOp Slice(XlaOp operand, absl::Span<const int64_t> start_indices,
            absl::Span<const int64_t> limit_indices,
            absl::Span<const int64_t> strides);
XlaOp SliceInDim(XlaOp operand, int64_t start_index, int64_t limit_index,
                 int64_t stride, int64_t dimno);
XlaOp DynamicSlice(XlaOp operand, absl::Span<const XlaOp> start_indices,
                   absl::Span<const int64_t> slice_sizes);
XlaOp DynamicUpdateSlice(XlaOp operand, XlaOp update,
                         absl::Span<const XlaOp> start_indices);
XlaOp ConcatInDim(XlaBuilder* builder, absl::Span<const XlaOp> operands,
                  int64_t dimension);
XlaOp Gather(XlaOp input, XlaOp start_indices,
             const GatherDimensionNumbers& dimension_numbers,
             absl::Span<const int64_t> slice_sizes,
             bool indices_are_sorted = false);
XlaOp Scatter(XlaOp input, XlaOp scatter_indices, XlaOp updates,
              const XlaComputation& update_computation,
              const ScatterDimensionNumbers& dimension_numbers,
              bool indices_are_sorted = false, bool unique_indices = false);
XlaOp Tuple(XlaBuilder* builder, absl::Span<const XlaOp> elements);
XlaOp GetTupleElement(XlaOp tuple_data, int64_t index);
XlaOp GetDimensionSize(XlaOp operand, int64_t dimension);
XlaOp SetDimensionSize(XlaOp operand, XlaOp val, int64_t dimension);
XlaOp AfterAll(XlaBuilder* builder, absl::Span<const XlaOp> tokens);

// --- Products.

// Multiplies vectors and matrices: contracts the last dimension of lhs with the
// first of rhs.
XlaOp Dot(XlaOp lhs, XlaOp rhs,
          const PrecisionConfig* precision_config = nullptr,
          std::optional<PrimitiveType> preferred_element_type = std::nullopt);
XlaOp DotGeneral(
    XlaOp lhs, XlaOp rhs, const DotDimensionNumbers& dimension_numbers,
    const PrecisionConfig* precision_config = nullptr,
    std::optional<PrimitiveType> preferred_element_type = std::nullopt);

// Batch, features, space; kernels: output features, input features, space.
ConvolutionDimensionNumbers CreateDefaultConvDimensionNumbers(
    int num_spatial_dims = 2);
XlaOp Conv(XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
           Padding padding, int64_t feature_group_count = 1,
           int64_t batch_group_count = 1,
           const PrecisionConfig* precision_config = nullptr);
XlaOp ConvWithGeneralPadding(
    XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
    absl::Span<const std::pair<int64_t, int64_t>> padding,
    int64_t feature_group_count = 1, int64_t batch_group_count = 1,
    const PrecisionConfig* precision_config = nullptr);
XlaOp ConvWithGeneralDimensions(
    XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
    Padding padding, const ConvolutionDimensionNumbers& dimension_numbers,
    int64_t feature_group_count = 1, int64_t batch_group_count = 1,
    const PrecisionConfig* precision_config = nullptr);
XlaOp ConvGeneral(XlaOp lhs, XlaOp rhs,
                  absl::Span<const int64_t> window_strides,
                  absl::Span<const std::pair<int64_t, int64_t>> padding,
                  const ConvolutionDimensionNumbers& dimension_numbers,
                  int64_t feature_group_count = 1,
                  int64_t batch_group_count = 1,
                  const PrecisionConfig* precision_config = nullptr);
XlaOp ConvGeneralDilated(
    XlaOp lhs, XlaOp rhs, absl::Span<const int64_t> window_strides,
    absl::Span<const std::pair<int64_t, int64_t>> padding,
    absl::Span<const int64_t> lhs_dilation,
    absl::Span<const int64_t> rhs_dilation,
    const ConvolutionDimensionNumbers& dimension_numbers,
    int64_t feature_group_count = 1, int64_t batch_group_count = 1,
    const PrecisionConfig* precision_config = nullptr,
    std::optional<PrimitiveType> preferred_element_type = std::nullopt,
    std::optional<std::vector<bool>> window_reversal = std::nullopt);
XlaOp Fft(XlaOp operand, FftType fft_type,
          absl::Span<const int64_t> fft_length);
XlaOp Cholesky(XlaOp a, bool lower);
XlaOp BatchNormTraining(XlaOp operand, XlaOp scale, XlaOp offset, float epsilon,
                        int64_t feature_index);
XlaOp BatchNormInference(XlaOp operand, XlaOp scale, XlaOp offset, XlaOp mean,
                         XlaOp variance, float epsilon, int64_t feature_index);
XlaOp BatchNormGrad(XlaOp operand, XlaOp scale, XlaOp batch_mean,
                    XlaOp batch_var, XlaOp grad_output, float epsilon,
                    int64_t feature_index);

// --- Computations that are applied or called.

XlaOp Map(XlaBuilder* builder, absl::Span<const XlaOp> operands,
          const XlaComputation& computation,
          absl::Span<const int64_t> dimensions);
XlaOp Reduce(XlaOp operand, XlaOp init_value, const XlaComputation& computation,
             absl::Span<const int64_t> dimensions_to_reduce);
XlaOp Reduce(XlaBuilder* builder, absl::Span<const XlaOp> operands,
             absl::Span<const XlaOp> init_values,
             const XlaComputation& computation,
             absl::Span<const int64_t> dimensions_to_reduce);
XlaOp ReduceAll(XlaOp operand, XlaOp init_value,
                const XlaComputation& computation);
XlaOp ReduceWindow(XlaOp operand, XlaOp init_value,
                   const XlaComputation& computation,
                   absl::Span<const int64_t> window_dimensions,
                   absl::Span<const int64_t> window_strides, Padding padding);
XlaOp ReduceWindowWithGeneralPadding(
    XlaOp operand, XlaOp init_value, const XlaComputation& computation,
    absl::Span<const int64_t> window_dimensions,
    absl::Span<const int64_t> window_strides,
    absl::Span<const int64_t> base_dilations,
    absl::Span<const int64_t> window_dilations,
    absl::Span<const std::pair<int64_t, int64_t>> padding);
XlaOp SelectAndScatter(XlaOp operand, const XlaComputation& select,
                       absl::Span<const int64_t> window_dimensions,
                       absl::Span<const int64_t> window_strides,
                       Padding padding, XlaOp source, XlaOp init_value,
                       const XlaComputation& scatter);
// The last dimension, where none is given.
XlaOp Sort(absl::Span<const XlaOp> operands, const XlaComputation& comparator,
           int64_t dimension = -1, bool is_stable = false);
XlaOp Call(XlaBuilder* builder, const XlaComputation& computation,
           absl::Span<const XlaOp> operands);
XlaOp While(const XlaComputation& condition, const XlaComputation& body,
            XlaOp init);
XlaOp Conditional(XlaOp predicate, XlaOp true_operand,
                  const XlaComputation& true_computation, XlaOp false_operand,
                  const XlaComputation& false_computation);
XlaOp Conditional(XlaOp branch_index,
                  absl::Span<const XlaComputation* const> branch_computations,
                  absl::Span<const XlaOp> branch_operands);
XlaOp CustomCall(XlaBuilder* builder, const std::string& call_target_name,
                 absl::Span<const XlaOp> operands, const Shape& shape,
                 const std::string& opaque = "");
XlaOp AllReduce(XlaOp operand, const XlaComputation& computation,
                absl::Span<const ReplicaGroup> replica_groups = {});

// --- Operators.

inline XlaOp operator-(XlaOp x) { return Neg(x); }
inline XlaOp operator~(XlaOp x) { return Not(x); }
inline XlaOp operator+(XlaOp x, XlaOp y) { return Add(x, y); }
inline XlaOp operator-(XlaOp x, XlaOp y) { return Sub(x, y); }
inline XlaOp operator*(XlaOp x, XlaOp y) { return Mul(x, y); }
inline XlaOp operator/(XlaOp x, XlaOp y) { return Div(x, y); }
inline XlaOp operator%(XlaOp x, XlaOp y) { return Rem(x, y); }
inline XlaOp operator&(XlaOp x, XlaOp y) { return And(x, y); }
inline XlaOp operator|(XlaOp x, XlaOp y) { return Or(x, y); }
inline XlaOp operator^(XlaOp x, XlaOp y) { return Xor(x, y); }
inline XlaOp operator<<(XlaOp x, XlaOp y) { return ShiftLeft(x, y); }
// Fills with the sign.
inline XlaOp operator>>(XlaOp x, XlaOp y) { return ShiftRightArithmetic(x, y); }

}  // namespace xla

#endif  // XLA_HLO_BUILDER_XLA_OPS_H_
