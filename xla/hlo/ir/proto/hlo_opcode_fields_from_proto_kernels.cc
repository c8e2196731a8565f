// Out of protos: linear algebra, windows, calls, control flow, and what has no
// attributes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/literal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_proto_internal {

using Result = ProtoReader::Result;

Result ProtoReader::ReadConvolution() const {
  TF_RETURN_IF_ERROR(Check(operands.size() >= 2, "expected two operands"));
  TF_RETURN_IF_ERROR(
      Check(proto.has_convolution_dimension_numbers(), "no dimension numbers"));
  // Absent counts are 1.
  return HloInstruction::CreateConvolve(
      shape, operands, std::max<int64_t>(proto.feature_group_count(), 1),
      std::max<int64_t>(proto.batch_group_count(), 1), proto.window(),
      proto.convolution_dimension_numbers(), proto.precision_config(),
      proto.sparsity_config(), proto.conv_kind());
}

Result ProtoReader::ReadWindowed() const {
  if (opcode == HloOpcode::kSelectAndScatter) {
    TF_RETURN_IF_ERROR(CheckComputations(2));
    return HloInstruction::CreateSelectAndScatter(
        shape, operands[0], computations[0], proto.window(), operands[1],
        operands[2], computations[1]);
  }
  TF_RETURN_IF_ERROR(CheckComputations(1));
  TF_RETURN_IF_ERROR(Check(operands.size() % 2 == 0 && operands.size() >= 2,
                           "expected as many inputs as init values"));
  const auto all = absl::MakeConstSpan(operands);
  const size_t count = operands.size() / 2;
  return HloInstruction::CreateReduceWindow(shape, all.first(count),
                                            all.subspan(count), proto.window(),
                                            computations[0]);
}

Result ProtoReader::ReadKernel() const {
  switch (opcode) {
    case HloOpcode::kBatchNormTraining:
      return HloInstruction::CreateBatchNormTraining(
          shape, operands[0], operands[1], operands[2], proto.epsilon(),
          proto.feature_index());
    case HloOpcode::kBatchNormInference:
      return HloInstruction::CreateBatchNormInference(
          shape, operands[0], operands[1], operands[2], operands[3],
          operands[4], proto.epsilon(), proto.feature_index());
    case HloOpcode::kBatchNormGrad:
      return HloInstruction::CreateBatchNormGrad(
          shape, operands[0], operands[1], operands[2], operands[3],
          operands[4], proto.epsilon(), proto.feature_index());
    case HloOpcode::kFft:
      return HloInstruction::CreateFft(shape, operands[0], proto.fft_type(),
                                       ToVector(proto.fft_length()));
    case HloOpcode::kTriangularSolve:
      return HloInstruction::CreateTriangularSolve(
          shape, operands[0], operands[1], proto.triangular_solve_options());
    case HloOpcode::kCholesky:
      return HloInstruction::CreateCholesky(shape, operands[0],
                                            proto.cholesky_options());
    case HloOpcode::kDot:
      TF_RETURN_IF_ERROR(Check(operands.size() == 2, "expected two operands"));
      TF_RETURN_IF_ERROR(
          Check(proto.has_dot_dimension_numbers(), "no dimension numbers"));
      return HloInstruction::CreateDot(shape, operands[0], operands[1],
                                       proto.dot_dimension_numbers(),
                                       proto.precision_config());
    case HloOpcode::kScaledDot:
      TF_RETURN_IF_ERROR(
          Check(proto.has_dot_dimension_numbers(), "no dimension numbers"));
      return HloInstruction::CreateScaledDot(
          shape, operands[0], operands[1], operands[2], operands[3],
          proto.dot_dimension_numbers(), proto.precision_config());
    case HloOpcode::kRaggedDot:
      TF_RETURN_IF_ERROR(Check(proto.has_ragged_dot_dimension_numbers(),
                               "no dimension numbers"));
      return HloInstruction::CreateRaggedDot(
          shape, operands[0], operands[1], operands[2],
          proto.ragged_dot_dimension_numbers(), proto.precision_config());
    case HloOpcode::kConvolution:
      return ReadConvolution();
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      return ReadWindowed();
    default:  // Read elsewhere.
      return nullptr;
  }
}

// Convolutions have the verifier, which knows their shapes. Of a custom call
// nothing is known but that dim_labels= must be able to say the numbers.
absl::Status ProtoReader::CheckDimensionNumbers() const {
  const ConvolutionDimensionNumbers& dnums =
      proto.convolution_dimension_numbers();
  // A side of at most ten spatial dimensions, a digit each; without a batch or
  // feature dimension (-1) there is one without a role.
  auto can_be_labels = [&](int64_t first, int64_t second,
                           absl::Span<const int64_t> spatial) {
    constexpr int64_t kMostDimensions = 1000;
    std::vector<int64_t> dims(spatial.begin(), spatial.end());
    for (int64_t dim : {first, second}) {
      if (dim != -1) dims.push_back(dim);
    }
    absl::c_sort(dims);
    return spatial.size() <= 10 &&
           spatial.size() ==
               static_cast<size_t>(dnums.input_spatial_dimensions_size()) &&
           absl::c_adjacent_find(dims) == dims.end() &&
           (dims.empty() ||
            (dims.front() >= 0 && dims.back() < kMostDimensions));
  };
  return Check(can_be_labels(dnums.input_batch_dimension(),
                             dnums.input_feature_dimension(),
                             dnums.input_spatial_dimensions()) &&
                   can_be_labels(dnums.kernel_input_feature_dimension(),
                                 dnums.kernel_output_feature_dimension(),
                                 dnums.kernel_spatial_dimensions()) &&
                   can_be_labels(dnums.output_batch_dimension(),
                                 dnums.output_feature_dimension(),
                                 dnums.output_spatial_dimensions()),
               "a dimension number is repeated, missing or out of range");
}

Result ProtoReader::ReadCustomCall() const {
  std::vector<Shape> operand_shapes;
  for (const ShapeProto& shape_proto : proto.operand_shapes_with_layout()) {
    TF_ASSIGN_OR_RETURN(Shape operand_shape, Shape::FromProto(shape_proto));
    TF_RETURN_IF_ERROR(
        ShapeUtil::ValidateShapeWithOptionalLayout(operand_shape));
    operand_shapes.push_back(std::move(operand_shape));
  }
  auto call = std::make_unique<HloCustomCallInstruction>(
      shape, operands, absl::MakeConstSpan(computations),
      proto.custom_call_target(), /*opaque=*/"",
      proto.custom_call_api_version() == API_VERSION_UNSPECIFIED
          ? API_VERSION_ORIGINAL
          : proto.custom_call_api_version());
  if (proto.constrain_layout()) {
    TF_RETURN_IF_ERROR(Check(
        operand_shapes.size() == operands.size(), "expected ", operands.size(),
        " operand shapes with layouts, got ", operand_shapes.size()));
    call->set_operand_shapes_with_layout(std::move(operand_shapes));
  }
  if (proto.has_window()) call->set_window(proto.window());
  // An empty message says no more than none.
  if (proto.convolution_dimension_numbers().ByteSizeLong() > 0) {
    TF_RETURN_IF_ERROR(CheckDimensionNumbers());
    call->set_convolution_dimension_numbers(
        proto.convolution_dimension_numbers());
  }
  call->set_feature_group_count(
      std::max<int64_t>(proto.feature_group_count(), 1));
  call->set_batch_group_count(std::max<int64_t>(proto.batch_group_count(), 1));
  *call->mutable_precision_config() = proto.precision_config();
  call->set_padding_type(proto.padding_type());
  call->set_custom_call_has_side_effect(proto.custom_call_has_side_effect());
  if (proto.has_literal()) {
    TF_ASSIGN_OR_RETURN(Literal literal, Literal::CreateFromProto(
                                             proto.literal(),
                                             /*prohibit_empty_literal=*/false));
    call->set_literal(std::move(literal));
  }
  call->HloAliasible::set_output_to_operand_aliasing(Aliasing());
  call->set_custom_call_schedule(proto.custom_call_schedule());
  return call;
}

Result ProtoReader::ReadFusion() const {
  TF_RETURN_IF_ERROR(CheckComputations(1));
  TF_ASSIGN_OR_RETURN(HloInstruction::FusionKind kind,
                      StringToFusionKind(proto.fusion_kind()));
  const int64_t operand_count = operands.size();
  TF_RETURN_IF_ERROR(
      Check(computations[0]->num_parameters() == operand_count,
            "the computation has ", computations[0]->num_parameters(),
            " parameters, the fusion ", operand_count, " operands"));
  std::unique_ptr<HloInstruction> fusion =
      HloInstruction::CreateFusion(shape, kind, operands, computations[0]);
  fusion->set_output_to_operand_aliasing(Aliasing());
  return fusion;
}

Result ProtoReader::ReadConditional() const {
  TF_RETURN_IF_ERROR(Check(!operands.empty(), "no operands"));
  TF_RETURN_IF_ERROR(Check(!computations.empty(), "no branches"));
  TF_RETURN_IF_ERROR(
      Check(operands.size() == computations.size() + 1,
            "expected an index and one operand per branch; branches: ",
            computations.size(), ", operands: ", operands.size()));
  TF_RETURN_IF_ERROR(
      Check(operands[0]->shape().IsArray(), "operand 0 is not an array"));
  if (operands[0]->shape().element_type() == PRED) {
    TF_RETURN_IF_ERROR(CheckComputations(2));
    return HloInstruction::CreateConditional(shape, operands[0], operands[1],
                                             computations[0], operands[2],
                                             computations[1]);
  }
  return HloInstruction::CreateConditional(
      shape, operands[0], computations,
      absl::MakeConstSpan(operands).subspan(1));
}

Result ProtoReader::ReadCall() const {
  switch (opcode) {
    case HloOpcode::kFusion:
      return ReadFusion();
    case HloOpcode::kCall: {
      TF_RETURN_IF_ERROR(CheckComputations(1));
      std::unique_ptr<HloInstruction> call =
          HloInstruction::CreateCall(shape, operands, computations[0]);
      call->set_output_to_operand_aliasing(Aliasing());
      return call;
    }
    case HloOpcode::kCustomCall:
      return ReadCustomCall();
    case HloOpcode::kWhile:
      // The body comes first.
      TF_RETURN_IF_ERROR(CheckComputations(2));
      return HloInstruction::CreateWhile(shape, computations[1],
                                         computations[0], operands[0]);
    case HloOpcode::kConditional:
      return ReadConditional();
    default:  // Read elsewhere.
      return nullptr;
  }
}

}  // namespace hlo_proto_internal
}  // namespace xla
