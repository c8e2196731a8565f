#ifndef XLA_HLO_IR_SHAPE_INFERENCE_H_
#define XLA_HLO_IR_SHAPE_INFERENCE_H_

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloInstruction;

// The result shape of each opcode, from operand shapes and attributes.
//
// Every function checks its arguments completely and returns InvalidArgument
// that names the rule and the shapes; none CHECK-fails on bad input. Opcodes
// whose result does not follow from these (parameter, constant, iota, fusion,
// custom-call, send, recv, infeed, rng, bitcast, copy-start, scan) have no
// function here.
//
// Layouts. A result with the dimensions of an operand takes its layout,
// transpose permutes it, all others get the descending one.
//
// Dynamic dimensions. <=n is a bounded, ? an unbounded dynamic size. Sizes that
// must be equal are compared by bound, and ? agrees with everything; the result
// of two that agree is the more specific one (? and n: n) and dynamic if it is
// so in either. A result computed from a dynamic size is dynamic.
//
// Element types. Where types must agree, floating-point types of different
// precision do, and the result has the higher precision; whether mixing is
// allowed is for the verifier to say.
class ShapeInference {
  template <typename I>
  using EnableIfInstruction =
      std::enable_if_t<std::is_same_v<std::remove_const_t<I>, HloInstruction>>;

 public:
  // --- Element-wise.

  static absl::StatusOr<Shape> InferUnaryOpShape(HloOpcode opcode,
                                                 const Shape& shape);
  // Operands of the same rank must have the same sizes, or 1 in one of them.
  // `broadcast_dimensions` maps the dimensions of the operand of lower rank to
  // those of the other; a scalar needs none.
  static absl::StatusOr<Shape> InferBinaryOpShape(
      HloOpcode opcode, const Shape& lhs, const Shape& rhs,
      absl::Span<const int64_t> broadcast_dimensions);
  // clamp and select.
  static absl::StatusOr<Shape> InferTernaryOpShape(HloOpcode opcode,
                                                   const Shape& lhs,
                                                   const Shape& rhs,
                                                   const Shape& ehs);
  // tuple, sort and after-all.
  static absl::StatusOr<Shape> InferVariadicOpShape(
      HloOpcode opcode, absl::Span<const Shape* const> operand_shapes);
  // The same for operands of an instruction. Templates, so that this library
  // need not know instructions.
  template <typename I, typename = EnableIfInstruction<I>>
  static absl::StatusOr<Shape> InferUnaryOpShape(HloOpcode opcode,
                                                 const I* operand) {
    return InferUnaryOpShape(opcode, operand->shape());
  }
  template <typename I, typename = EnableIfInstruction<I>>
  static absl::StatusOr<Shape> InferBinaryOpShape(HloOpcode opcode,
                                                  const I* lhs, const I* rhs) {
    return InferBinaryOpShape(opcode, lhs->shape(), rhs->shape(), {});
  }
  template <typename I, typename = EnableIfInstruction<I>>
  static absl::StatusOr<Shape> InferTernaryOpShape(HloOpcode opcode,
                                                   const I* lhs, const I* rhs,
                                                   const I* ehs) {
    return InferTernaryOpShape(opcode, lhs->shape(), rhs->shape(),
                               ehs->shape());
  }
  template <typename I, typename = EnableIfInstruction<I>>
  static absl::StatusOr<Shape> InferVariadicOpShape(
      HloOpcode opcode, absl::Span<const I* const> operands) {
    std::vector<const Shape*> shapes;
    shapes.reserve(operands.size());
    for (const I* operand : operands) shapes.push_back(&operand->shape());
    return InferVariadicOpShape(opcode, shapes);
  }

  // The common shape of all non-scalars; nullopt if no shape is a scalar or all
  // are. InvalidArgument if two non-scalars differ.
  static absl::StatusOr<std::optional<Shape>> InferScalarBroadcastShape(
      absl::Span<const Shape> shapes);

  static absl::StatusOr<Shape> InferMapShape(
      absl::Span<const Shape* const> arg_shapes, const ProgramShape& to_apply,
      absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> InferConvertShape(
      const Shape& operand_shape, PrimitiveType new_element_type);
  // A change of bit width adds or removes a last dimension.
  static absl::StatusOr<Shape> InferBitcastConvertShape(
      const Shape& operand_shape, PrimitiveType new_element_type);
  static absl::StatusOr<Shape> InferStochasticConvertShape(
      const Shape& operand_shape, const Shape& random_shape,
      PrimitiveType new_element_type);
  static absl::StatusOr<Shape> InferReducePrecisionShape(
      const Shape& operand_shape, int exponent_bits, int mantissa_bits);

  // --- Normalization, linear algebra.

  static absl::StatusOr<Shape> InferBatchNormTrainingShape(
      const Shape& operand_shape, const Shape& scale_shape,
      const Shape& offset_shape, int64_t feature_index);
  static absl::StatusOr<Shape> InferBatchNormInferenceShape(
      const Shape& operand_shape, const Shape& scale_shape,
      const Shape& offset_shape, const Shape& mean_shape,
      const Shape& variance_shape, int64_t feature_index);
  static absl::StatusOr<Shape> InferBatchNormGradShape(
      const Shape& operand_shape, const Shape& scale_shape,
      const Shape& mean_shape, const Shape& var_shape,
      const Shape& output_grad_shape, int64_t feature_index);
  // Unimplemented for the backward kinds, whose window is that of the forward
  // convolution and does not determine the result.
  static absl::StatusOr<Shape> InferConvolveShape(
      const Shape& lhs, const Shape& rhs, int64_t feature_group_count,
      int64_t batch_group_count, const Window& window,
      const ConvolutionDimensionNumbers& dimension_numbers,
      const SparsityConfig& sparsity_config,
      std::optional<PrimitiveType> preferred_element_type,
      ConvolutionKind convolution_kind = CONVOLUTION_KIND_UNSET);
  static absl::StatusOr<Shape> InferConvolveShape(
      const Shape& lhs, const Shape& rhs, int64_t feature_group_count,
      int64_t batch_group_count, const Window& window,
      const ConvolutionDimensionNumbers& dimension_numbers,
      std::optional<PrimitiveType> preferred_element_type) {
    return InferConvolveShape(lhs, rhs, feature_group_count, batch_group_count,
                              window, dimension_numbers, SparsityConfig(),
                              preferred_element_type);
  }
  // Result dimensions: batch, free of lhs, free of rhs.
  static absl::StatusOr<Shape> InferDotOpShape(
      const Shape& lhs, const Shape& rhs,
      const DotDimensionNumbers& dimension_numbers,
      std::optional<PrimitiveType> preferred_element_type);
  // The ragged dimension of lhs is free ([m,k] x [g,k,n] -> [m,n]), contracting
  // ([m,k] x [k,n] -> [g,m,n]) or batch ([b,m,k] x [b,k,n] -> [b,m,n]).
  static absl::StatusOr<Shape> InferRaggedDotOpShape(
      const Shape& lhs, const Shape& rhs, const Shape& group_sizes,
      const RaggedDotDimensionNumbers& ragged_dot_dim_nums,
      std::optional<PrimitiveType> preferred_element_type);
  static absl::StatusOr<Shape> InferFftShape(
      const Shape& in, FftType fft_type, absl::Span<const int64_t> fft_length);
  static absl::StatusOr<Shape> InferTriangularSolveShape(
      const Shape& a, const Shape& b, const TriangularSolveOptions& options);
  static absl::StatusOr<Shape> InferCholeskyShape(const Shape& a);

  // --- Collectives. Several operands give a tuple.

  static absl::StatusOr<Shape> InferAllGatherShape(
      absl::Span<const Shape* const> operand_shapes,
      int64_t all_gather_dimension, int64_t shard_count);
  // (operands, results).
  static absl::StatusOr<Shape> InferAllGatherStartShape(
      absl::Span<const Shape* const> operand_shapes,
      int64_t all_gather_dimension, int64_t shard_count);
  static absl::StatusOr<Shape> InferAllGatherDoneShape(
      const Shape& all_gather_start_shape);
  static absl::StatusOr<Shape> InferAllReduceShape(
      absl::Span<const Shape* const> operand_shapes);
  static absl::StatusOr<Shape> InferReduceScatterShape(
      absl::Span<const Shape* const> operand_shapes, int64_t scatter_dimension,
      int64_t shard_count);
  static absl::StatusOr<Shape> InferAllReduceStartShape(
      absl::Span<const Shape* const> operand_shapes);
  static absl::StatusOr<Shape> InferAllReduceDoneShape(
      const Shape& operand_shape);
  static absl::StatusOr<Shape> InferAllToAllShape(const Shape& shape,
                                                  int64_t split_dimension,
                                                  int64_t concat_dimension,
                                                  int64_t split_count);
  static absl::StatusOr<Shape> InferAllToAllTupleShape(
      absl::Span<const Shape* const> operand_shapes);
  // Operands: input, output, then four vectors of offsets and sizes.
  static absl::StatusOr<Shape> InferRaggedAllToAllShape(
      absl::Span<const Shape* const> operand_shapes);
  // With a dynamic root, its number is the last operand.
  static absl::StatusOr<Shape> InferCollectiveBroadcastShape(
      absl::Span<const Shape* const> operand_shapes,
      bool has_dynamic_root = false);
  // In place: input, output, input offsets, output offsets.
  static absl::StatusOr<Shape> InferCollectivePermuteShape(
      absl::Span<const Shape* const> operand_shapes, bool inplace);
  // (operands, results, contexts...).
  static absl::StatusOr<Shape> InferCollectivePermuteStartShape(
      absl::Span<const Shape* const> operand_shapes,
      absl::Span<const Shape> context_shapes, bool inplace);
  static absl::StatusOr<Shape> InferCollectivePermuteDoneShape(
      const Shape& operand_shape);

  // --- Reductions and windows.

  // Arguments: the inputs, then one initial value for each.
  static absl::StatusOr<Shape> InferReduceShape(
      absl::Span<const Shape* const> arg_shapes,
      absl::Span<const int64_t> dimensions_to_reduce,
      const ProgramShape& to_apply);
  static absl::StatusOr<Shape> InferReduceWindowShape(
      const Shape& operand_shape, const Shape& init_value, const Window& window,
      const ProgramShape& to_apply_shape);
  static absl::StatusOr<Shape> InferReduceWindowShape(
      const Shape& operand_shape, const Shape& init_value,
      const Window& window);
  static absl::StatusOr<Shape> InferReduceWindowShape(
      absl::Span<const Shape* const> operands,
      absl::Span<const Shape* const> init_values, const Window& window,
      const ProgramShape& to_apply_shape);
  static absl::StatusOr<Shape> InferReduceWindowShape(
      absl::Span<const Shape*> operands, absl::Span<const Shape*> init_values,
      const Window& window);
  static absl::StatusOr<Shape> InferSelectAndScatterShape(
      const Shape& operand_shape, const ProgramShape& select_shape,
      const Window& window, const Shape& source_shape,
      const Shape& init_value_shape, const ProgramShape& scatter_shape);
  // A window from its parts; empty lists mean 1 (strides, dilations), 0
  // (padding) and false (reversal).
  static absl::StatusOr<Window> InferWindowFromDimensions(
      absl::Span<const int64_t> window_dimensions,
      absl::Span<const int64_t> window_strides,
      absl::Span<const std::pair<int64_t, int64_t>> padding,
      absl::Span<const int64_t> lhs_dilation,
      absl::Span<const int64_t> rhs_dilation,
      std::optional<std::vector<bool>> window_reversal = std::nullopt);

  // --- Moving elements.

  static absl::StatusOr<Shape> InferReverseShape(
      const Shape& operand_shape, absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> InferSliceShape(
      const Shape& arg, absl::Span<const int64_t> starts,
      absl::Span<const int64_t> limits, absl::Span<const int64_t> strides);
  // Start indices are one scalar per dimension; one vector where
  // `allow_scalar_indices` is false or the only index has rank 1.
  static absl::StatusOr<Shape> InferDynamicSliceShape(
      const Shape& operand_shape, absl::Span<const Shape> start_index_shapes,
      absl::Span<const int64_t> slice_sizes, bool allow_scalar_indices = true);
  static absl::StatusOr<Shape> InferDynamicUpdateSliceShape(
      const Shape& operand_shape, const Shape& update_shape,
      absl::Span<const Shape> start_index_shapes,
      bool allow_scalar_indices = true);
  // Adds dimensions in front.
  static absl::StatusOr<Shape> InferBroadcastShape(
      const Shape& operand, absl::Span<const int64_t> broadcast_sizes);
  // Operand dimension i is output dimension broadcast_dimensions[i].
  static absl::StatusOr<Shape> InferBroadcastShape(
      const Shape& operand_shape, const Shape& output_shape,
      absl::Span<const int64_t> broadcast_dimensions);
  // Where one dynamic dimension becomes several, `inferred_dimension` (-1: the
  // major one that is not 1) is the dynamic one.
  static absl::StatusOr<Shape> InferReshapeShape(
      const Shape& operand, absl::Span<const int64_t> dimensions,
      int64_t inferred_dimension = -1);
  static absl::StatusOr<Shape> InferDynamicReshapeShape(
      const Shape& operand, absl::Span<const Shape* const> dim_size_shapes,
      absl::Span<const int64_t> new_size_bounds,
      const std::vector<bool>& dims_are_dynamic);
  static absl::StatusOr<Shape> InferTransposeShape(
      const Shape& operand, absl::Span<const int64_t> dimensions);
  static absl::StatusOr<Shape> InferConcatOpShape(
      absl::Span<const Shape* const> arg_shapes, int64_t dimension);
  static absl::StatusOr<Shape> InferPadShape(
      const Shape& operand_shape, const Shape& padding_value_shape,
      const PaddingConfig& padding_config);
  static absl::StatusOr<Shape> InferGatherShape(
      const Shape& input_shape, const Shape& start_indices_shape,
      const GatherDimensionNumbers& gather_dim_numbers,
      absl::Span<const int64_t> slice_sizes);
  // Arguments: n operands, indices, n updates.
  static absl::StatusOr<Shape> InferScatterShape(
      absl::Span<const Shape* const> arg_shapes,
      const ProgramShape& to_apply_shape,
      const ScatterDimensionNumbers& scatter_dim_numbers);
  static absl::StatusOr<Shape> InferGetDimensionSizeShape(const Shape& shape,
                                                          int64_t dimension);
  static absl::StatusOr<Shape> InferSetDimensionSizeShape(
      const Shape& operand_shape, const Shape& val_shape, int64_t dimension);
  // (values, s32 indices) of the k largest or smallest along the last
  // dimension.
  static absl::StatusOr<Shape> InferTopKShape(const Shape& operand_shape,
                                              int64_t k);

  // --- Control flow.

  static absl::StatusOr<Shape> InferGetTupleElementShape(const Shape& arg,
                                                         int64_t index);
  static absl::StatusOr<Shape> InferWhileShape(const ProgramShape& condition,
                                               const ProgramShape& body,
                                               const Shape& init);
  static absl::StatusOr<Shape> InferConditionalShape(
      const Shape& branch_index,
      absl::Span<const ProgramShape> branch_computations,
      absl::Span<const Shape> branch_operands);
  static absl::StatusOr<Shape> InferCallShape(
      absl::Span<const Shape* const> arg_shapes, const ProgramShape& to_apply);

  ShapeInference() = delete;
};

}  // namespace xla

#endif  // XLA_HLO_IR_SHAPE_INFERENCE_H_
