// Fields that subclasses of HloInstruction write into the proto: everything but
// communication.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/literal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_proto_internal {

void AddAliasing(const OutputToOperandAliasing& aliasing,
                 HloInstructionProto* proto) {
  for (const auto& [output, operand] : aliasing) {
    OutputOperandAliasing* entry = proto->add_output_operand_aliasing();
    for (int64_t i : output) entry->add_output_shape_index(i);
    entry->set_operand_index(operand.first);
    for (int64_t i : operand.second) entry->add_operand_shape_index(i);
  }
}

}  // namespace hlo_proto_internal

using hlo_proto_internal::AddAliasing;
using hlo_proto_internal::AddInts;

// --- Dimensions
// ----------------------------------------------------------------

void HloDimensionsInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  AddInts(dimensions(), proto->mutable_dimensions());
}

void HloSortInstruction::ToProto(HloInstructionProto* proto) const {
  HloDimensionsInstruction::ToProto(proto);
  proto->set_is_stable(is_stable());
}

void HloScanInstruction::ToProto(HloInstructionProto* proto) const {
  HloDimensionsInstruction::ToProto(proto);
  proto->set_is_reverse(is_reverse());
  proto->set_is_associative(is_associative());
  proto->set_num_carries(num_carries());
}

void HloMapInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  AddInts(dimensions(), proto->mutable_dimensions());
}

void HloIotaInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->add_dimensions(iota_dimension());
}

void HloReshapeInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  if (inferred_dimension() != -1) proto->add_dimensions(inferred_dimension());
}

void HloGetDimensionSizeInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->add_dimensions(dimension());
}

void HloSetDimensionSizeInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->add_dimensions(dimension());
}

void HloTopKInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_k(k());
  proto->set_largest(largest());
  proto->set_is_stable(is_stable());
}

// --- Slices, gathers, padding
// --------------------------------------------------

void HloSliceInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  for (size_t i = 0; i < slice_starts().size(); ++i) {
    HloInstructionProto::SliceDimensions* slice = proto->add_slice_dimensions();
    slice->set_start(slice_starts(i));
    slice->set_limit(slice_limits(i));
    slice->set_stride(slice_strides(i));
  }
}

void HloDynamicSliceInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  AddInts(dynamic_slice_sizes(), proto->mutable_dynamic_slice_sizes());
}

void HloPadInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_padding_config() = padding_config();
}

void HloGatherInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_gather_dimension_numbers() = gather_dimension_numbers();
  AddInts(gather_slice_sizes(), proto->mutable_gather_slice_sizes());
  proto->set_indices_are_sorted(indices_are_sorted());
}

void HloScatterInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_scatter_dimension_numbers() = scatter_dimension_numbers();
  proto->set_indices_are_sorted(indices_are_sorted());
  proto->set_unique_indices(unique_indices());
}

// --- Single values
// -------------------------------------------------------------

void HloConstantInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  // A constant whose elements are not known has no literal in the proto either.
  if (HasLiteral() && !literal().is_elided()) {
    *proto->mutable_literal() = literal().ToProto();
  }
}

void HloParameterInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_parameter_number(parameter_number());
  if (!parameter_replicated_at_leaf_buffers().has_value()) return;
  ParameterReplication* replication = proto->mutable_parameter_replication();
  for (bool leaf : *parameter_replicated_at_leaf_buffers()) {
    replication->add_replicated_at_leaf_buffers(leaf);
  }
}

void HloGetTupleElementInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_tuple_index(tuple_index());
}

void HloCompareInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_comparison_direction(ComparisonDirectionToString(direction()));
  proto->set_comparison_type(ComparisonTypeToString(type()));
}

void HloReducePrecisionInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_exponent_bits(exponent_bits());
  proto->set_mantissa_bits(mantissa_bits());
}

void HloCopyStartInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  if (cross_program_prefetch_index().has_value()) {
    proto->set_cross_program_prefetch_index(*cross_program_prefetch_index());
  }
}

void HloDomainInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  auto sharding_of = [](const DomainMetadata& metadata) -> const HloSharding* {
    absl::StatusOr<const ShardingMetadata*> sharding =
        ShardingMetadata::ToShardingMetadata(&metadata);
    return sharding.ok() ? (*sharding)->sharding() : nullptr;
  };
  if (const HloSharding* entry = sharding_of(operand_side_metadata())) {
    *proto->mutable_domain_entry_sharding() = entry->ToProto();
  }
  if (const HloSharding* exit = sharding_of(user_side_metadata())) {
    *proto->mutable_domain_exit_sharding() = exit->ToProto();
  }
}

// --- Random numbers
// --------------------------------------------------------------

void HloRngInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_distribution(random_distribution());
}

void HloRngGetAndUpdateStateInstruction::ToProto(
    HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_delta(delta());
}

void HloRngBitGeneratorInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_rng_algorithm(algorithm());
}

// --- Linear algebra and windows
// ----------------------------------------------------

void HloBatchNormInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_epsilon(epsilon());
  proto->set_feature_index(feature_index());
}

void HloFftInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_fft_type(fft_type());
  AddInts(fft_length(), proto->mutable_fft_length());
}

void HloTriangularSolveInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_triangular_solve_options() = triangular_solve_options();
}

void HloCholeskyInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_cholesky_options() = cholesky_options();
}

void HloDotInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_dot_dimension_numbers() = dot_dimension_numbers();
  *proto->mutable_precision_config() = precision_config();
}

void HloScaledDotInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_dot_dimension_numbers() = dot_dimension_numbers();
  *proto->mutable_precision_config() = precision_config();
}

void HloRaggedDotInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_ragged_dot_dimension_numbers() =
      ragged_dot_dimension_numbers();
  *proto->mutable_precision_config() = precision_config();
}

void HloConvolutionInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_window() = window();
  *proto->mutable_convolution_dimension_numbers() =
      convolution_dimension_numbers();
  proto->set_feature_group_count(feature_group_count());
  proto->set_batch_group_count(batch_group_count());
  *proto->mutable_precision_config() = precision_config();
  if (sparsity_config().has_lhs() || sparsity_config().has_rhs()) {
    *proto->mutable_sparsity_config() = sparsity_config();
  }
  proto->set_conv_kind(convolution_kind());
}

void HloReduceWindowInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_window() = window();
}

void HloSelectAndScatterInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  *proto->mutable_window() = window();
}

// --- Calls
// -----------------------------------------------------------------------

void HloFusionInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  proto->set_fusion_kind(std::string(xla::ToString(fusion_kind())));
  AddAliasing(output_to_operand_aliasing(), proto);
}

void HloCallInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  AddAliasing(output_to_operand_aliasing(), proto);
}

void HloCustomCallInstruction::ToProto(HloInstructionProto* proto) const {
  HloInstruction::ToProto(proto);
  if (has_window()) *proto->mutable_window() = window();
  if (has_convolution_dimension_numbers()) {
    *proto->mutable_convolution_dimension_numbers() =
        convolution_dimension_numbers();
  }
  proto->set_custom_call_target(custom_call_target());
  proto->set_feature_group_count(feature_group_count());
  proto->set_batch_group_count(batch_group_count());
  *proto->mutable_precision_config() = precision_config();
  proto->set_padding_type(padding_type());
  if (layout_constrained()) {
    proto->set_constrain_layout(true);
    for (const Shape& shape : operand_shapes_with_layout()) {
      shape.ToProto(*proto->add_operand_shapes_with_layout());
    }
  }
  proto->set_custom_call_has_side_effect(custom_call_has_side_effect());
  if (HasLiteral()) *proto->mutable_literal() = literal().ToProto();
  AddAliasing(output_to_operand_aliasing(), proto);
  proto->set_custom_call_schedule(custom_call_schedule());
  proto->set_custom_call_api_version(api_version());
}

}  // namespace xla
