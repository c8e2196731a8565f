// Factories of instructions with attributes, other than calls and collectives.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

using HloPtr = std::unique_ptr<HloInstruction>;

HloPtr HloInstruction::CreateParameter(int64_t parameter_number,
                                       const Shape& shape,
                                       absl::string_view name) {
  return std::make_unique<HloParameterInstruction>(parameter_number, shape,
                                                   name);
}

HloPtr HloInstruction::CreateIota(const Shape& shape, int64_t iota_dimension) {
  return std::make_unique<HloIotaInstruction>(shape, iota_dimension);
}

HloPtr HloInstruction::CreateTopK(const Shape& shape, HloInstruction* input,
                                  int64_t k, bool largest, bool is_stable) {
  return std::make_unique<HloTopKInstruction>(shape, input, k, largest,
                                              is_stable);
}

HloPtr HloInstruction::CreateRng(const Shape& shape,
                                 RandomDistribution distribution,
                                 absl::Span<HloInstruction* const> parameters) {
  return std::make_unique<HloRngInstruction>(shape, distribution, parameters);
}

HloPtr HloInstruction::CreateRngBitGenerator(const Shape& shape,
                                             HloInstruction* state,
                                             RandomAlgorithm algorithm) {
  return std::make_unique<HloRngBitGeneratorInstruction>(shape, state,
                                                         algorithm);
}

HloPtr HloInstruction::CreateRngGetAndUpdateState(const Shape& shape,
                                                  int64_t delta) {
  return std::make_unique<HloRngGetAndUpdateStateInstruction>(shape, delta);
}

HloPtr HloInstruction::CreateMap(const Shape& shape,
                                 absl::Span<HloInstruction* const> operands,
                                 HloComputation* map_computation) {
  return std::make_unique<HloMapInstruction>(shape, operands, map_computation);
}

HloPtr HloInstruction::CreateFft(const Shape& shape, HloInstruction* operand,
                                 FftType fft_type,
                                 absl::Span<const int64_t> fft_length) {
  return std::make_unique<HloFftInstruction>(shape, operand, fft_type,
                                             fft_length);
}

HloPtr HloInstruction::CreateCopyStart(
    const Shape& shape, HloInstruction* operand,
    std::optional<int> cross_program_prefetch_index) {
  return std::make_unique<HloCopyStartInstruction>(
      shape, operand, cross_program_prefetch_index);
}

HloPtr HloInstruction::CreateCompare(const Shape& shape, HloInstruction* lhs,
                                     HloInstruction* rhs,
                                     Comparison::Direction direction,
                                     std::optional<Comparison::Type> type) {
  return std::make_unique<HloCompareInstruction>(shape, lhs, rhs, direction,
                                                 type);
}

HloPtr HloInstruction::CreateTriangularSolve(
    const Shape& shape, HloInstruction* a, HloInstruction* b,
    const TriangularSolveOptions& options) {
  return std::make_unique<HloTriangularSolveInstruction>(shape, a, b, options);
}

HloPtr HloInstruction::CreateCholesky(const Shape& shape, HloInstruction* a,
                                      const CholeskyOptions& options) {
  return std::make_unique<HloCholeskyInstruction>(shape, a, options);
}

HloPtr HloInstruction::CreateDot(const Shape& shape, HloInstruction* lhs,
                                 HloInstruction* rhs,
                                 const DotDimensionNumbers& dimension_numbers,
                                 const PrecisionConfig& precision_config) {
  return std::make_unique<HloDotInstruction>(shape, lhs, rhs, dimension_numbers,
                                             precision_config);
}

HloPtr HloInstruction::CreateRaggedDot(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    HloInstruction* group_sizes,
    const RaggedDotDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config) {
  return std::make_unique<HloRaggedDotInstruction>(
      shape, lhs, rhs, group_sizes, dimension_numbers, precision_config);
}

HloPtr HloInstruction::CreateScaledDot(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    HloInstruction* lhs_scale, HloInstruction* rhs_scale,
    const DotDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config) {
  return std::make_unique<HloScaledDotInstruction>(shape, lhs, rhs, lhs_scale,
                                                   rhs_scale, dimension_numbers,
                                                   precision_config);
}

HloPtr HloInstruction::CreateReducePrecision(const Shape& shape,
                                             HloInstruction* operand,
                                             int exponent_bits,
                                             int mantissa_bits) {
  return std::make_unique<HloReducePrecisionInstruction>(
      shape, operand, exponent_bits, mantissa_bits);
}

HloPtr HloInstruction::CreateInfeed(const Shape& infeed_shape,
                                    HloInstruction* token_operand,
                                    const std::string& config) {
  return std::make_unique<HloInfeedInstruction>(infeed_shape, token_operand,
                                                config);
}

HloPtr HloInstruction::CreateOutfeed(const Shape& outfeed_shape,
                                     HloInstruction* operand,
                                     HloInstruction* token_operand,
                                     absl::string_view outfeed_config) {
  return std::make_unique<HloOutfeedInstruction>(outfeed_shape, operand,
                                                 token_operand, outfeed_config);
}

HloPtr HloInstruction::CreateSend(HloInstruction* operand,
                                  HloInstruction* token,
                                  std::optional<int64_t> channel_id,
                                  bool is_host_transfer) {
  return std::make_unique<HloSendInstruction>(operand, token, channel_id,
                                              is_host_transfer);
}

HloPtr HloInstruction::CreateRecv(const Shape& shape, HloInstruction* token,
                                  std::optional<int64_t> channel_id,
                                  bool is_host_transfer) {
  return std::make_unique<HloRecvInstruction>(shape, token, channel_id,
                                              is_host_transfer);
}

HloPtr HloInstruction::CreateSlice(const Shape& shape, HloInstruction* operand,
                                   absl::Span<const int64_t> start_indices,
                                   absl::Span<const int64_t> limit_indices,
                                   absl::Span<const int64_t> strides) {
  return std::make_unique<HloSliceInstruction>(shape, operand, start_indices,
                                               limit_indices, strides);
}

HloPtr HloInstruction::CreateDynamicSlice(
    const Shape& shape, HloInstruction* operand,
    absl::Span<HloInstruction* const> start_indices,
    absl::Span<const int64_t> slice_sizes) {
  return std::make_unique<HloDynamicSliceInstruction>(
      shape, operand, start_indices, slice_sizes);
}

HloPtr HloInstruction::CreateDynamicUpdateSlice(
    const Shape& shape, HloInstruction* operand, HloInstruction* update,
    absl::Span<HloInstruction* const> start_indices) {
  return std::make_unique<HloDynamicUpdateSliceInstruction>(
      shape, operand, update, start_indices);
}

HloPtr HloInstruction::CreateConcatenate(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    int64_t dimension) {
  return std::make_unique<HloConcatenateInstruction>(shape, operands,
                                                     dimension);
}

HloPtr HloInstruction::CreateReduceWindow(const Shape& shape,
                                          HloInstruction* operand,
                                          HloInstruction* init_value,
                                          const Window& window,
                                          HloComputation* reduce_computation) {
  return std::make_unique<HloReduceWindowInstruction>(
      shape, operand, init_value, window, reduce_computation);
}

HloPtr HloInstruction::CreateReduceWindow(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::Span<HloInstruction* const> init_values, const Window& window,
    HloComputation* reduce_computation) {
  return std::make_unique<HloReduceWindowInstruction>(
      shape, operands, init_values, window, reduce_computation);
}

HloPtr HloInstruction::CreateScan(const Shape& shape,
                                  absl::Span<HloInstruction* const> inputs,
                                  absl::Span<HloInstruction* const> inits,
                                  HloComputation* to_apply,
                                  int64_t scan_dimension, bool is_reverse,
                                  TriState is_associative) {
  return std::make_unique<HloScanInstruction>(shape, inputs, inits, to_apply,
                                              scan_dimension, is_reverse,
                                              is_associative);
}

HloPtr HloInstruction::CreateBatchNormTraining(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* offset, float epsilon, int64_t feature_index) {
  return std::make_unique<HloBatchNormTrainingInstruction>(
      shape, operand, scale, offset, epsilon, feature_index);
}

HloPtr HloInstruction::CreateBatchNormInference(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* offset, HloInstruction* mean, HloInstruction* variance,
    float epsilon, int64_t feature_index) {
  return std::make_unique<HloBatchNormInferenceInstruction>(
      shape, operand, scale, offset, mean, variance, epsilon, feature_index);
}

HloPtr HloInstruction::CreateBatchNormGrad(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* mean, HloInstruction* variance, HloInstruction* grad_output,
    float epsilon, int64_t feature_index) {
  return std::make_unique<HloBatchNormGradInstruction>(
      shape, operand, scale, mean, variance, grad_output, epsilon,
      feature_index);
}

HloPtr HloInstruction::CreateSelectAndScatter(
    const Shape& shape, HloInstruction* operand, HloComputation* select,
    const Window& window, HloInstruction* source, HloInstruction* init_value,
    HloComputation* scatter) {
  return std::make_unique<HloSelectAndScatterInstruction>(
      shape, operand, select, window, source, init_value, scatter);
}

HloPtr HloInstruction::CreateBroadcast(
    const Shape& shape, HloInstruction* operand,
    absl::Span<const int64_t> broadcast_dimensions) {
  return std::make_unique<HloBroadcastInstruction>(shape, operand,
                                                   broadcast_dimensions);
}

HloPtr HloInstruction::CreatePad(const Shape& shape, HloInstruction* operand,
                                 HloInstruction* padding_value,
                                 const PaddingConfig& padding_config) {
  return std::make_unique<HloPadInstruction>(shape, operand, padding_value,
                                             padding_config);
}

HloPtr HloInstruction::CreateReshape(const Shape& shape,
                                     HloInstruction* operand,
                                     int64_t inferred_dimension) {
  return std::make_unique<HloReshapeInstruction>(shape, operand,
                                                 inferred_dimension);
}

HloPtr HloInstruction::CreateDynamicReshape(
    const Shape& shape, HloInstruction* data_operand,
    absl::Span<HloInstruction* const> dim_sizes) {
  return std::make_unique<HloDynamicReshapeInstruction>(shape, data_operand,
                                                        dim_sizes);
}

HloPtr HloInstruction::CreateTranspose(const Shape& shape,
                                       HloInstruction* operand,
                                       absl::Span<const int64_t> dimensions) {
  return std::make_unique<HloTransposeInstruction>(shape, operand, dimensions);
}

HloPtr HloInstruction::CreateSort(const Shape& shape, int64_t dimension,
                                  absl::Span<HloInstruction* const> operands,
                                  HloComputation* compare, bool is_stable) {
  return std::make_unique<HloSortInstruction>(shape, dimension, operands,
                                              compare, is_stable);
}

HloPtr HloInstruction::CreateGather(
    const Shape& shape, HloInstruction* operand, HloInstruction* start_indices,
    const GatherDimensionNumbers& gather_dim_numbers,
    absl::Span<const int64_t> slice_sizes, bool indices_are_sorted) {
  return std::make_unique<HloGatherInstruction>(shape, operand, start_indices,
                                                gather_dim_numbers, slice_sizes,
                                                indices_are_sorted);
}

HloPtr HloInstruction::CreateDomain(
    const Shape& shape, HloInstruction* operand,
    std::unique_ptr<DomainMetadata> operand_side_metadata,
    std::unique_ptr<DomainMetadata> user_side_metadata) {
  return std::make_unique<HloDomainInstruction>(
      shape, operand, std::move(operand_side_metadata),
      std::move(user_side_metadata));
}

HloPtr HloInstruction::CreateReverse(const Shape& shape,
                                     HloInstruction* operand,
                                     absl::Span<const int64_t> dimensions) {
  return std::make_unique<HloReverseInstruction>(shape, operand, dimensions);
}

HloPtr HloInstruction::CreateGetDimensionSize(const Shape& shape,
                                              HloInstruction* operand,
                                              int64_t dimension) {
  return std::make_unique<HloGetDimensionSizeInstruction>(shape, operand,
                                                          dimension);
}

HloPtr HloInstruction::CreateSetDimensionSize(const Shape& shape,
                                              HloInstruction* operand,
                                              HloInstruction* val,
                                              int64_t dimension) {
  return std::make_unique<HloSetDimensionSizeInstruction>(shape, operand, val,
                                                          dimension);
}

HloPtr HloInstruction::CreateSendDone(HloInstruction* operand,
                                      std::optional<int64_t> channel_id,
                                      bool is_host_transfer) {
  return std::make_unique<HloSendDoneInstruction>(operand, channel_id,
                                                  is_host_transfer);
}

HloPtr HloInstruction::CreateRecvDone(HloInstruction* operand,
                                      std::optional<int64_t> channel_id,
                                      bool is_host_transfer) {
  return std::make_unique<HloRecvDoneInstruction>(operand, channel_id,
                                                  is_host_transfer);
}

HloPtr HloInstruction::CreateConstant(Literal literal) {
  return std::make_unique<HloConstantInstruction>(std::move(literal));
}

HloPtr HloInstruction::CreateGetTupleElement(const Shape& shape,
                                             HloInstruction* operand,
                                             int64_t index) {
  return std::make_unique<HloGetTupleElementInstruction>(shape, operand, index);
}

HloPtr HloInstruction::CreateGetTupleElement(HloInstruction* operand,
                                             int64_t index) {
  return std::make_unique<HloGetTupleElementInstruction>(
      operand->shape().tuple_shapes(index), operand, index);
}

HloPtr HloInstruction::CreateConvolve(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    int64_t feature_group_count, int64_t batch_group_count,
    const Window& window, const ConvolutionDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config,
    const SparsityConfig& sparsity_config, ConvolutionKind convolution_kind) {
  return std::make_unique<HloConvolutionInstruction>(
      shape, operands, feature_group_count, batch_group_count, window,
      dimension_numbers, precision_config, sparsity_config, convolution_kind);
}

HloPtr HloInstruction::CreateConvolve(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    int64_t feature_group_count, int64_t batch_group_count,
    const Window& window, const ConvolutionDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config) {
  HloInstruction* operands[] = {lhs, rhs};
  return CreateConvolve(shape, operands, feature_group_count, batch_group_count,
                        window, dimension_numbers, precision_config);
}

HloPtr HloInstruction::CreateReduce(
    const Shape& shape, HloInstruction* operand, HloInstruction* init_value,
    absl::Span<const int64_t> dimensions_to_reduce,
    HloComputation* reduce_computation) {
  HloInstruction* args[] = {operand, init_value};
  return std::make_unique<HloReduceInstruction>(
      shape, args, dimensions_to_reduce, reduce_computation);
}

HloPtr HloInstruction::CreateReduce(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::Span<HloInstruction* const> init_values,
    absl::Span<const int64_t> dimensions_to_reduce,
    HloComputation* reduce_computation) {
  CHECK_EQ(operands.size(), init_values.size());
  InstructionVector args(operands.begin(), operands.end());
  args.insert(args.end(), init_values.begin(), init_values.end());
  return std::make_unique<HloReduceInstruction>(
      shape, args, dimensions_to_reduce, reduce_computation);
}

HloPtr HloInstruction::CreateReduce(
    const Shape& shape, HloInstruction* tuple_of_instructions,
    absl::Span<HloInstruction* const> init_values,
    absl::Span<const int64_t> dimensions_to_reduce,
    HloComputation* reduce_computation) {
  if (!tuple_of_instructions->shape().IsTuple()) {
    CHECK_EQ(init_values.size(), 1);
    return CreateReduce(shape, tuple_of_instructions, init_values[0],
                        dimensions_to_reduce, reduce_computation);
  }
  InstructionVector inputs;
  const int64_t count = tuple_of_instructions->shape().tuple_shapes().size();
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back(tuple_of_instructions->AddInstruction(
        CreateGetTupleElement(tuple_of_instructions, i)));
  }
  return CreateReduce(shape, inputs, init_values, dimensions_to_reduce,
                      reduce_computation);
}

HloPtr HloInstruction::CreateScatter(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloInstruction* scatter_indices, absl::Span<HloInstruction* const> updates,
    HloComputation* update_computation,
    const ScatterDimensionNumbers& scatter_dim_numbers, bool indices_are_sorted,
    bool unique_indices) {
  InstructionVector args(operands.begin(), operands.end());
  args.push_back(scatter_indices);
  args.insert(args.end(), updates.begin(), updates.end());
  return std::make_unique<HloScatterInstruction>(
      shape, args, update_computation, scatter_dim_numbers, indices_are_sorted,
      unique_indices);
}

HloPtr HloInstruction::CreateScatter(
    const Shape& shape, HloInstruction* operand,
    HloInstruction* scatter_indices, HloInstruction* updates,
    HloComputation* update_computation,
    const ScatterDimensionNumbers& scatter_dim_numbers, bool indices_are_sorted,
    bool unique_indices) {
  HloInstruction* args[] = {operand, scatter_indices, updates};
  return std::make_unique<HloScatterInstruction>(
      shape, args, update_computation, scatter_dim_numbers, indices_are_sorted,
      unique_indices);
}

}  // namespace xla
