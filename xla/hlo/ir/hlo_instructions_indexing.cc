// Subclasses that move elements, and random numbers.

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_instructions_internal.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;
using google::protobuf::util::MessageDifferencer;

// --- Reshape, map, slice, pad, iota
// -------------------------------------------

HloDynamicReshapeInstruction::HloDynamicReshapeInstruction(
    const Shape& shape, HloInstruction* data_operand, Operands dim_sizes)
    : HloInstruction(HloOpcode::kDynamicReshape, shape) {
  AppendOperand(data_operand);
  AppendOperands(dim_sizes);
}

HloPtr HloDynamicReshapeInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_GE(new_operands.size(), 1);
  return std::make_unique<HloDynamicReshapeInstruction>(
      shape, new_operands[0], new_operands.subspan(1));
}

HloReshapeInstruction::HloReshapeInstruction(const Shape& shape,
                                             HloInstruction* operand,
                                             int64_t inferred_dimension)
    : HloInstruction(HloOpcode::kReshape, shape),
      inferred_dimension_(inferred_dimension) {
  AppendOperand(operand);
}

bool HloReshapeInstruction::IdenticalSlowPath(const HloInstruction& other,
                                              EqComputations eq) const {
  return inferred_dimension() ==
         As<HloReshapeInstruction>(other).inferred_dimension();
}

HloPtr HloReshapeInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                       Operands new_operands,
                                                       HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloReshapeInstruction>(shape, new_operands[0],
                                                 inferred_dimension());
}

HloMapInstruction::HloMapInstruction(const Shape& shape, Operands operands,
                                     HloComputation* map_computation)
    : HloInstruction(HloOpcode::kMap, shape),
      dimensions_(shape.dimensions().size()) {
  AppendOperands(operands);
  AppendComputation(map_computation);
  std::iota(dimensions_.begin(), dimensions_.end(), 0);
}

bool HloMapInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  if (dimensions_.size() != shape().dimensions().size()) {
    return dimensions_.empty();
  }
  for (int64_t i = 0; i < static_cast<int64_t>(dimensions_.size()); ++i) {
    if (dimensions_[i] != i) return false;
  }
  return true;
}

bool HloMapInstruction::IdenticalSlowPath(const HloInstruction& other,
                                          EqComputations eq) const {
  return dimensions() == other.dimensions() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloMapInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                   Operands new_operands,
                                                   HloCloneContext*) const {
  return std::make_unique<HloMapInstruction>(shape, new_operands, to_apply());
}

HloSliceInstruction::HloSliceInstruction(
    const Shape& shape, HloInstruction* operand,
    absl::Span<const int64_t> start_indices,
    absl::Span<const int64_t> limit_indices, absl::Span<const int64_t> strides)
    : HloInstruction(HloOpcode::kSlice, shape),
      slice_starts_(start_indices.begin(), start_indices.end()),
      slice_limits_(limit_indices.begin(), limit_indices.end()),
      slice_strides_(strides.begin(), strides.end()) {
  AppendOperand(operand);
  // Everywhere 1, where none are given.
  if (slice_strides_.empty()) slice_strides_.resize(slice_starts_.size(), 1);
}

bool HloSliceInstruction::IdenticalSlowPath(const HloInstruction& other,
                                            EqComputations eq) const {
  const auto& that = As<HloSliceInstruction>(other);
  return slice_starts_ == that.slice_starts_ &&
         slice_limits_ == that.slice_limits_ &&
         slice_strides_ == that.slice_strides_;
}

void HloSliceInstruction::HashAdditionalAttributes(absl::HashState h) const {
  absl::HashState::combine(std::move(h), slice_starts_, slice_limits_,
                           slice_strides_);
}

HloPtr HloSliceInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                     Operands new_operands,
                                                     HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloSliceInstruction>(
      shape, new_operands[0], slice_starts_, slice_limits_, slice_strides_);
}

HloPadInstruction::HloPadInstruction(const Shape& shape,
                                     HloInstruction* operand,
                                     HloInstruction* padding_value,
                                     const PaddingConfig& padding_config)
    : HloInstruction(HloOpcode::kPad, shape), padding_config_(padding_config) {
  AppendOperands({operand, padding_value});
}

bool HloPadInstruction::IdenticalSlowPath(const HloInstruction& other,
                                          EqComputations eq) const {
  return MessageDifferencer::Equals(
      padding_config_, As<HloPadInstruction>(other).padding_config_);
}

HloPtr HloPadInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                   Operands new_operands,
                                                   HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloPadInstruction>(shape, new_operands[0],
                                             new_operands[1], padding_config_);
}

HloIotaInstruction::HloIotaInstruction(const Shape& shape,
                                       int64_t iota_dimension)
    : HloInstruction(HloOpcode::kIota, shape),
      iota_dimension_(iota_dimension) {}

bool HloIotaInstruction::IdenticalSlowPath(const HloInstruction& other,
                                           EqComputations eq) const {
  return iota_dimension() == As<HloIotaInstruction>(other).iota_dimension();
}

void HloIotaInstruction::HashAdditionalAttributes(absl::HashState h) const {
  absl::HashState::combine(std::move(h), iota_dimension_);
}

HloPtr HloIotaInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  CHECK(new_operands.empty());
  return std::make_unique<HloIotaInstruction>(shape, iota_dimension());
}

// --- Dynamic slices and sizes
// -------------------------------------------------

std::vector<Shape> HloDynamicIndexInstruction::index_shapes() const {
  std::vector<Shape> shapes;
  for (const HloInstruction* index : index_operands()) {
    shapes.push_back(index->shape());
  }
  return shapes;
}

HloDynamicSliceInstruction::HloDynamicSliceInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* start_indices,
    absl::Span<const int64_t> slice_sizes)
    : HloDynamicSliceInstruction(
          shape, operand, absl::MakeConstSpan(&start_indices, 1), slice_sizes) {
}

HloDynamicSliceInstruction::HloDynamicSliceInstruction(
    const Shape& shape, HloInstruction* operand, Operands start_indices,
    absl::Span<const int64_t> slice_sizes)
    : HloDynamicIndexInstruction(HloOpcode::kDynamicSlice, shape),
      dynamic_slice_sizes_(slice_sizes.begin(), slice_sizes.end()) {
  AppendOperand(operand);
  AppendOperands(start_indices);
}

bool HloDynamicSliceInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                   EqComputations eq) const {
  return dynamic_slice_sizes_ ==
         As<HloDynamicSliceInstruction>(other).dynamic_slice_sizes_;
}

HloPtr HloDynamicSliceInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_GE(new_operands.size(), 1);
  return std::make_unique<HloDynamicSliceInstruction>(
      shape, new_operands[0], new_operands.subspan(1), dynamic_slice_sizes_);
}

HloDynamicUpdateSliceInstruction::HloDynamicUpdateSliceInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* update,
    HloInstruction* start_indices)
    : HloDynamicUpdateSliceInstruction(
          shape, operand, update, absl::MakeConstSpan(&start_indices, 1)) {}

HloDynamicUpdateSliceInstruction::HloDynamicUpdateSliceInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* update,
    Operands start_indices)
    : HloDynamicIndexInstruction(HloOpcode::kDynamicUpdateSlice, shape) {
  AppendOperands({operand, update});
  AppendOperands(start_indices);
}

bool HloDynamicUpdateSliceInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  return operand_idx == 0;
}

HloPtr HloDynamicUpdateSliceInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_GE(new_operands.size(), 2);
  return std::make_unique<HloDynamicUpdateSliceInstruction>(
      shape, new_operands[0], new_operands[1], new_operands.subspan(2));
}

HloGetDimensionSizeInstruction::HloGetDimensionSizeInstruction(
    const Shape& shape, HloInstruction* operand, int64_t dimension)
    : HloInstruction(HloOpcode::kGetDimensionSize, shape),
      dimension_(dimension) {
  AppendOperand(operand);
}

bool HloGetDimensionSizeInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return dimension_ == As<HloGetDimensionSizeInstruction>(other).dimension_;
}

void HloGetDimensionSizeInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), dimension_);
}

HloPtr HloGetDimensionSizeInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloGetDimensionSizeInstruction>(
      shape, new_operands[0], dimension_);
}

HloSetDimensionSizeInstruction::HloSetDimensionSizeInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* val,
    int64_t dimension)
    : HloInstruction(HloOpcode::kSetDimensionSize, shape),
      dimension_(dimension) {
  AppendOperands({operand, val});
}

bool HloSetDimensionSizeInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return dimension_ == As<HloSetDimensionSizeInstruction>(other).dimension_;
}

void HloSetDimensionSizeInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), dimension_);
}

HloPtr HloSetDimensionSizeInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloSetDimensionSizeInstruction>(
      shape, new_operands[0], new_operands[1], dimension_);
}

// --- Gather and scatter
// -------------------------------------------------------

HloGatherInstruction::HloGatherInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* start_indices,
    const GatherDimensionNumbers& gather_dim_numbers,
    absl::Span<const int64_t> slice_sizes, bool indices_are_sorted)
    : HloInstruction(HloOpcode::kGather, shape),
      gather_dimension_numbers_(gather_dim_numbers),
      gather_slice_sizes_(slice_sizes.begin(), slice_sizes.end()),
      indices_are_sorted_(indices_are_sorted) {
  AppendOperands({operand, start_indices});
}

GatherDimensionNumbers HloGatherInstruction::MakeGatherDimNumbers(
    absl::Span<const int64_t> offset_dims,
    absl::Span<const int64_t> collapsed_slice_dims,
    absl::Span<const int64_t> start_index_map, int64_t index_vector_dim,
    absl::Span<const int64_t> operand_batching_dims,
    absl::Span<const int64_t> start_indices_batching_dims) {
  GatherDimensionNumbers dnums;
  dnums.mutable_offset_dims()->Add(offset_dims.begin(), offset_dims.end());
  dnums.mutable_collapsed_slice_dims()->Add(collapsed_slice_dims.begin(),
                                            collapsed_slice_dims.end());
  dnums.mutable_start_index_map()->Add(start_index_map.begin(),
                                       start_index_map.end());
  dnums.mutable_operand_batching_dims()->Add(operand_batching_dims.begin(),
                                             operand_batching_dims.end());
  dnums.mutable_start_indices_batching_dims()->Add(
      start_indices_batching_dims.begin(), start_indices_batching_dims.end());
  dnums.set_index_vector_dim(index_vector_dim);
  return dnums;
}

bool HloGatherInstruction::IdenticalSlowPath(const HloInstruction& other,
                                             EqComputations eq) const {
  const auto& that = As<HloGatherInstruction>(other);
  return gather_slice_sizes_ == that.gather_slice_sizes_ &&
         indices_are_sorted_ == that.indices_are_sorted_ &&
         MessageDifferencer::Equals(gather_dimension_numbers_,
                                    that.gather_dimension_numbers_);
}

HloPtr HloGatherInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                      Operands new_operands,
                                                      HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloGatherInstruction>(
      shape, new_operands[0], new_operands[1], gather_dimension_numbers_,
      gather_slice_sizes_, indices_are_sorted_);
}

HloScatterInstruction::HloScatterInstruction(
    const Shape& shape, Operands args, HloComputation* update_computation,
    const ScatterDimensionNumbers& scatter_dim_numbers, bool indices_are_sorted,
    bool unique_indices)
    : HloInstruction(HloOpcode::kScatter, shape),
      scatter_dimension_numbers_(scatter_dim_numbers),
      indices_are_sorted_(indices_are_sorted),
      unique_indices_(unique_indices) {
  AppendOperands(args);
  AppendComputation(update_computation);
}

ScatterDimensionNumbers HloScatterInstruction::MakeScatterDimNumbers(
    absl::Span<const int64_t> update_window_dims,
    absl::Span<const int64_t> inserted_window_dims,
    absl::Span<const int64_t> scatter_dims_to_operand_dims,
    int64_t index_vector_dim, absl::Span<const int64_t> input_batching_dims,
    absl::Span<const int64_t> scatter_indices_batching_dims) {
  ScatterDimensionNumbers dnums;
  dnums.mutable_update_window_dims()->Add(update_window_dims.begin(),
                                          update_window_dims.end());
  dnums.mutable_inserted_window_dims()->Add(inserted_window_dims.begin(),
                                            inserted_window_dims.end());
  dnums.mutable_scatter_dims_to_operand_dims()->Add(
      scatter_dims_to_operand_dims.begin(), scatter_dims_to_operand_dims.end());
  dnums.mutable_input_batching_dims()->Add(input_batching_dims.begin(),
                                           input_batching_dims.end());
  dnums.mutable_scatter_indices_batching_dims()->Add(
      scatter_indices_batching_dims.begin(),
      scatter_indices_batching_dims.end());
  dnums.set_index_vector_dim(index_vector_dim);
  return dnums;
}

bool HloScatterInstruction::IdenticalSlowPath(const HloInstruction& other,
                                              EqComputations eq) const {
  const auto& that = As<HloScatterInstruction>(other);
  return indices_are_sorted_ == that.indices_are_sorted_ &&
         unique_indices_ == that.unique_indices_ &&
         MessageDifferencer::Equals(scatter_dimension_numbers_,
                                    that.scatter_dimension_numbers_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloScatterInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                       Operands new_operands,
                                                       HloCloneContext*) const {
  return std::make_unique<HloScatterInstruction>(
      shape, new_operands, to_apply(), scatter_dimension_numbers_,
      indices_are_sorted_, unique_indices_);
}

// --- Random numbers, reduce-precision
// -----------------------------------------

HloRngInstruction::HloRngInstruction(const Shape& shape,
                                     RandomDistribution distribution,
                                     Operands parameters)
    : HloInstruction(HloOpcode::kRng, shape), distribution_(distribution) {
  AppendOperands(parameters);
}

bool HloRngInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  return true;
}

bool HloRngInstruction::IdenticalSlowPath(const HloInstruction& other,
                                          EqComputations eq) const {
  return distribution_ == As<HloRngInstruction>(other).distribution_;
}

HloPtr HloRngInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                   Operands new_operands,
                                                   HloCloneContext*) const {
  return std::make_unique<HloRngInstruction>(shape, distribution_,
                                             new_operands);
}

HloRngGetAndUpdateStateInstruction::HloRngGetAndUpdateStateInstruction(
    const Shape& shape, int64_t delta)
    : HloInstruction(HloOpcode::kRngGetAndUpdateState, shape), delta_(delta) {}

bool HloRngGetAndUpdateStateInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return delta_ == As<HloRngGetAndUpdateStateInstruction>(other).delta_;
}

HloPtr HloRngGetAndUpdateStateInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK(new_operands.empty());
  return std::make_unique<HloRngGetAndUpdateStateInstruction>(shape, delta_);
}

HloRngBitGeneratorInstruction::HloRngBitGeneratorInstruction(
    const Shape& shape, HloInstruction* state, RandomAlgorithm algorithm)
    : HloInstruction(HloOpcode::kRngBitGenerator, shape),
      algorithm_(algorithm) {
  AppendOperand(state);
}

bool HloRngBitGeneratorInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return algorithm_ == As<HloRngBitGeneratorInstruction>(other).algorithm_;
}

HloPtr HloRngBitGeneratorInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloRngBitGeneratorInstruction>(shape, new_operands[0],
                                                         algorithm_);
}

HloReducePrecisionInstruction::HloReducePrecisionInstruction(
    const Shape& shape, HloInstruction* operand, int exponent_bits,
    int mantissa_bits)
    : HloInstruction(HloOpcode::kReducePrecision, shape),
      exponent_bits_(exponent_bits),
      mantissa_bits_(mantissa_bits) {
  AppendOperand(operand);
}

bool HloReducePrecisionInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  const auto& that = As<HloReducePrecisionInstruction>(other);
  return exponent_bits_ == that.exponent_bits_ &&
         mantissa_bits_ == that.mantissa_bits_;
}

HloPtr HloReducePrecisionInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloReducePrecisionInstruction>(
      shape, new_operands[0], exponent_bits_, mantissa_bits_);
}

}  // namespace xla
