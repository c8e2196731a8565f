// Factories of instructions, other than collectives.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/literal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
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

// A fusion stands for what its root stands for.
HloPtr HloInstruction::CreateFusion(const Shape& shape, FusionKind fusion_kind,
                                    HloInstruction* fused_root,
                                    absl::string_view prefix) {
  HloPtr fusion = std::make_unique<HloFusionInstruction>(shape, fusion_kind,
                                                         fused_root, prefix);
  fusion->CopyOriginalValue(fused_root);
  return fusion;
}

HloPtr HloInstruction::CreateFusion(const Shape& shape, FusionKind fusion_kind,
                                    absl::Span<HloInstruction* const> operands,
                                    HloComputation* fusion_computation,
                                    absl::string_view prefix) {
  HloPtr fusion = std::make_unique<HloFusionInstruction>(
      shape, fusion_kind, operands, fusion_computation, prefix);
  fusion->CopyOriginalValue(fusion_computation->root_instruction());
  return fusion;
}

HloPtr HloInstruction::CreateCall(const Shape& shape,
                                  HloInstruction* called_computation_root) {
  return std::make_unique<HloCallInstruction>(shape, called_computation_root);
}

HloPtr HloInstruction::CreateCall(const Shape& shape,
                                  absl::Span<HloInstruction* const> operands,
                                  HloComputation* computation) {
  return std::make_unique<HloCallInstruction>(shape, operands, computation);
}

HloPtr HloInstruction::CreateCompositeCall(const Shape& shape,
                                           HloInstruction* decomposition_root,
                                           const std::string& name,
                                           const std::string& attributes,
                                           int64_t version) {
  return std::make_unique<HloCallInstruction>(shape, decomposition_root, name,
                                              attributes, version);
}

HloPtr HloInstruction::CreateCompositeCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* decomposition, const std::string& name,
    const std::string& attributes, int64_t version) {
  return std::make_unique<HloCallInstruction>(shape, operands, decomposition,
                                              name, attributes, version);
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

// --- Instructions without attributes
// ------------------------------------------

HloPtr HloInstruction::CreateNary(const Shape& shape, HloOpcode opcode,
                                  absl::Span<HloInstruction* const> operands) {
  auto instruction = absl::WrapUnique(new HloInstruction(opcode, shape));
  instruction->AppendOperands(operands);
  return instruction;
}

HloPtr HloInstruction::CreateUnary(
    const Shape& shape, HloOpcode opcode, HloInstruction* operand,
    std::optional<ResultAccuracy> result_accuracy) {
  CHECK(HloOpcodeArity(opcode) == 1 || HloOpcodeIsVariadic(opcode))
      << opcode << " is not unary";
  HloPtr instruction = CreateNary(shape, opcode, {operand});
  if (result_accuracy.has_value()) {
    CHECK(IsUnaryOpWithResultAccuracy(opcode))
        << opcode << " has no result accuracy";
    CHECK(IsValidResultAccuracy(*result_accuracy))
        << "invalid accuracy: " << result_accuracy->ShortDebugString();
    instruction->set_result_accuracy(*std::move(result_accuracy));
  }
  return instruction;
}

HloPtr HloInstruction::CreateBinary(const Shape& shape, HloOpcode opcode,
                                    HloInstruction* lhs, HloInstruction* rhs) {
  CHECK_EQ(HloOpcodeArity(opcode).value_or(2), 2) << opcode << " is not binary";
  return CreateNary(shape, opcode, {lhs, rhs});
}

HloPtr HloInstruction::CreateTernary(const Shape& shape, HloOpcode opcode,
                                     HloInstruction* lhs, HloInstruction* rhs,
                                     HloInstruction* ehs) {
  CHECK_EQ(HloOpcodeArity(opcode).value_or(3), 3)
      << opcode << " is not ternary";
  return CreateNary(shape, opcode, {lhs, rhs, ehs});
}

HloPtr HloInstruction::CreateVariadic(
    const Shape& shape, HloOpcode opcode,
    absl::Span<HloInstruction* const> operands) {
  CHECK(HloOpcodeIsVariadic(opcode)) << opcode << " is not variadic";
  return CreateNary(shape, opcode, operands);
}

HloPtr HloInstruction::CreateReplicaId(const Shape& shape) {
  return CreateNary(shape, HloOpcode::kReplicaId, {});
}

HloPtr HloInstruction::CreatePartitionId(const Shape& shape) {
  return CreateNary(shape, HloOpcode::kPartitionId, {});
}

HloPtr HloInstruction::CreateConvert(const Shape& shape,
                                     HloInstruction* operand) {
  return CreateNary(shape, HloOpcode::kConvert, {operand});
}

HloPtr HloInstruction::CreateBitcast(const Shape& shape,
                                     HloInstruction* operand) {
  return CreateNary(shape, HloOpcode::kBitcast, {operand});
}

HloPtr HloInstruction::CreateBitcastConvert(const Shape& shape,
                                            HloInstruction* operand) {
  return CreateNary(shape, HloOpcode::kBitcastConvert, {operand});
}

HloPtr HloInstruction::CreateStochasticConvert(const Shape& shape,
                                               HloInstruction* operand,
                                               HloInstruction* random) {
  return CreateNary(shape, HloOpcode::kStochasticConvert, {operand, random});
}

HloPtr HloInstruction::CreateTuple(absl::Span<HloInstruction* const> elements) {
  std::vector<const Shape*> shapes;
  shapes.reserve(elements.size());
  for (const HloInstruction* element : elements)
    shapes.push_back(&element->shape());
  return CreateNary(ShapeUtil::MakeTupleShapeWithPtrs(shapes),
                    HloOpcode::kTuple, elements);
}

HloPtr HloInstruction::CreateAfterAll(
    absl::Span<HloInstruction* const> operands) {
  CHECK(!operands.empty());
  return CreateNary(ShapeUtil::MakeTokenShape(), HloOpcode::kAfterAll,
                    operands);
}

HloPtr HloInstruction::CreateToken() {
  return CreateNary(ShapeUtil::MakeTokenShape(), HloOpcode::kAfterAll, {});
}

HloPtr HloInstruction::CreateAddDependency(HloInstruction* data_operand,
                                           HloInstruction* token_operand) {
  return CreateNary(data_operand->shape(), HloOpcode::kAddDependency,
                    {data_operand, token_operand});
}

HloPtr HloInstruction::CreateWhile(const Shape& shape,
                                   HloComputation* condition,
                                   HloComputation* body, HloInstruction* init) {
  HloPtr instruction = CreateNary(shape, HloOpcode::kWhile, {init});
  // In the order of kBodyComputationIndex and kConditionComputationIndex.
  instruction->AppendComputation(body);
  instruction->AppendComputation(condition);
  return instruction;
}

HloPtr HloInstruction::CreateConditional(const Shape& shape,
                                         HloInstruction* pred,
                                         HloInstruction* true_computation_arg,
                                         HloComputation* true_computation,
                                         HloInstruction* false_computation_arg,
                                         HloComputation* false_computation) {
  return CreateConditional(shape, pred, {true_computation, false_computation},
                           {true_computation_arg, false_computation_arg});
}

HloPtr HloInstruction::CreateConditional(
    const Shape& shape, HloInstruction* branch_index,
    absl::Span<HloComputation* const> branch_computations,
    absl::Span<HloInstruction* const> branch_computation_args) {
  CHECK_EQ(branch_computations.size(), branch_computation_args.size());
  HloPtr instruction =
      CreateNary(shape, HloOpcode::kConditional, {branch_index});
  instruction->AppendOperands(branch_computation_args);
  for (HloComputation* computation : branch_computations) {
    instruction->AppendComputation(computation);
  }
  return instruction;
}

// --- Instructions with attributes, from other arguments
// -----------------------

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

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, custom_call_target, std::move(opaque), api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* to_apply, absl::string_view custom_call_target,
    std::string opaque, CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, to_apply, custom_call_target, std::move(opaque),
      api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::Span<HloComputation* const> called_computations,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, called_computations, custom_call_target,
      std::move(opaque), api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    absl::string_view custom_call_target,
    absl::Span<const Shape> operand_shapes_with_layout, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, custom_call_target, std::move(opaque),
      operand_shapes_with_layout, api_version);
}

HloPtr HloInstruction::CreateCustomCall(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* to_apply, absl::string_view custom_call_target,
    absl::Span<const Shape> operand_shapes_with_layout, std::string opaque,
    CustomCallApiVersion api_version) {
  return std::make_unique<HloCustomCallInstruction>(
      shape, operands, to_apply, custom_call_target, std::move(opaque),
      operand_shapes_with_layout, api_version);
}

// --- Async
// --------------------------------------------------------------------

namespace {

// Names a link of a chain as its sugar is: after the wrapped operation.
HloPtr NamedAfterWrapped(std::unique_ptr<HloAsyncInstruction> link) {
  absl::string_view step = HloOpcodeString(link->opcode());
  step.remove_prefix(absl::string_view("async").size());
  const HloInstruction* holder = link.get();
  if (holder->called_computations().empty() && holder->operand_count() > 0) {
    holder = holder->operand(0);
  }
  if (holder == nullptr || !holder->IsAsynchronous()) return link;
  if (!holder->called_computations().empty()) {
    const HloInstruction* root =
        holder->called_computations()[0]->root_instruction();
    link->SetAndSanitizeName(
        absl::StrCat(HloOpcodeString(root->opcode()), step));
    return link;
  }
  // Behind an update: chains are long, and its name says what it is of.
  const size_t end = holder->name().rfind("-update");
  if (end != absl::string_view::npos) {
    link->SetAndSanitizeName(absl::StrCat(holder->name().substr(0, end), step));
  }
  return link;
}

}  // namespace

HloPtr HloInstruction::CreateAsyncStart(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    HloComputation* async_computation,
    absl::string_view async_execution_thread) {
  return NamedAfterWrapped(std::make_unique<HloAsyncStartInstruction>(
      HloOpcode::kAsyncStart, shape, operands, async_computation,
      async_execution_thread));
}

HloPtr HloInstruction::CreateAsyncUpdate(
    const Shape& shape, HloInstruction* operand,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return CreateAsyncUpdate(shape, absl::MakeConstSpan(&operand, 1),
                           async_wrapped_opcode, async_computation);
}

HloPtr HloInstruction::CreateAsyncUpdate(
    const Shape& shape, absl::Span<HloInstruction* const> operands,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return NamedAfterWrapped(std::make_unique<HloAsyncUpdateInstruction>(
      shape, operands, async_wrapped_opcode, async_computation));
}

HloPtr HloInstruction::CreateAsyncDone(
    const Shape& shape, HloInstruction* operand,
    std::optional<HloOpcode> async_wrapped_opcode,
    HloComputation* async_computation) {
  return NamedAfterWrapped(std::make_unique<HloAsyncInstruction>(
      HloOpcode::kAsyncDone, shape, absl::MakeConstSpan(&operand, 1),
      async_wrapped_opcode, async_computation));
}

// --- Broadcast sequences
// ------------------------------------------------------

HloPtr HloInstruction::CreateBroadcastSequence(
    const Shape& output_shape, HloInstruction* operand,
    absl::FunctionRef<HloInstruction*(HloPtr)> adder) {
  const Shape& input = operand->shape();
  CHECK(ShapeUtil::IsScalar(input) ||
        input.dimensions().size() == output_shape.dimensions().size());
  Shape broadcast_shape =
      ShapeUtil::ChangeElementType(output_shape, input.element_type());
  auto derive = [&](HloPtr instruction) {
    operand->SetupDerivedInstruction(instruction.get());
    return instruction;
  };
  if (ShapeUtil::IsScalar(input)) {
    return derive(CreateBroadcast(broadcast_shape, operand, {}));
  }
  // f32[4,1] -> f32[4] -> f32[4,8], along dimension 0.
  std::vector<int64_t> dimensions;
  std::vector<int64_t> kept_sizes;
  for (int64_t i = 0; i < static_cast<int64_t>(input.dimensions().size());
       ++i) {
    if (input.dimensions(i) == output_shape.dimensions(i)) {
      dimensions.push_back(i);
      kept_sizes.push_back(input.dimensions(i));
    } else {
      CHECK_EQ(input.dimensions(i), 1);
    }
  }
  HloInstruction* kept = operand;
  if (dimensions.size() != input.dimensions().size()) {
    kept = adder(derive(CreateReshape(
        ShapeUtil::MakeShape(input.element_type(), kept_sizes), operand)));
  }
  return derive(CreateBroadcast(broadcast_shape, kept, dimensions));
}

}  // namespace xla
