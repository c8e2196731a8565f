// Subclasses of HloInstruction out of protos: everything but kernels, calls
// and communication.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "google/protobuf/unknown_field_set.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/literal.h"
#include "xla/permutation_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_proto_internal {

using Result = ProtoReader::Result;

Result ProtoReader::ReadConstant() const {
  // The elements are those of a size that is known.
  TF_RETURN_IF_ERROR(
      Check(!shape.is_dynamic() &&
                (!proto.has_literal() ||
                 (proto.literal().dynamic_sizes().empty() &&
                  !absl::c_linear_search(
                      proto.literal().shape().is_dynamic_dimension(), true))),
            "a constant has no dynamic dimensions"));
  if (!proto.has_literal()) {
    return std::make_unique<HloConstantInstruction>(
        Literal::CreateElided(shape), shape);
  }
  // A tuple may hold elements that are not known beside others that are.
  const bool prohibit_empty = prohibit_empty_literal && !shape.IsTuple();
  TF_ASSIGN_OR_RETURN(Literal literal, Literal::CreateFromProto(
                                           proto.literal(), prohibit_empty));
  TF_RETURN_IF_ERROR(
      Check(ShapeUtil::Compatible(literal.shape(), shape), "literal has shape ",
            ShapeUtil::HumanString(literal.shape()), ", the instruction ",
            ShapeUtil::HumanString(shape)));
  return std::make_unique<HloConstantInstruction>(std::move(literal), shape);
}

namespace {

// Versions later than this schema write the order of floats into a field of its
// own and leave comparison_type out: without it TOTAL would read as PARTIAL.
bool HasTotalOrder(const HloInstructionProto& proto) {
  constexpr int kComparisonOrder = 102;
  const google::protobuf::UnknownFieldSet& later =
      proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < later.field_count(); ++i) {
    const google::protobuf::UnknownField& field = later.field(i);
    if (field.number() == kComparisonOrder &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        field.length_delimited() == "TOTAL") {
      return true;
    }
  }
  return false;
}

}  // namespace

Result ProtoReader::ReadCompare() const {
  TF_ASSIGN_OR_RETURN(
      ComparisonDirection direction,
      StringToComparisonDirection(proto.comparison_direction()));
  std::optional<Comparison::Type> type;
  if (!proto.comparison_type().empty()) {
    TF_ASSIGN_OR_RETURN(type, StringToComparisonType(proto.comparison_type()));
  }
  TF_RETURN_IF_ERROR(
      Check(operands[0]->shape().IsArray(), "operands are not arrays"));
  if (!type.has_value() && ShapeUtil::ElementIsFloating(operands[0]->shape()) &&
      HasTotalOrder(proto)) {
    type = Comparison::Type::kFloatTotalOrder;
  }
  return HloInstruction::CreateCompare(shape, operands[0], operands[1],
                                       direction, type);
}

Result ProtoReader::ReadSlice() const {
  std::vector<int64_t> starts, limits, strides;
  for (const HloInstructionProto::SliceDimensions& slice :
       proto.slice_dimensions()) {
    starts.push_back(slice.start());
    limits.push_back(slice.limit());
    strides.push_back(slice.stride());
  }
  return HloInstruction::CreateSlice(shape, operands[0], starts, limits,
                                     strides);
}

Result ProtoReader::ReadDynamicIndex() const {
  const size_t first_index = opcode == HloOpcode::kDynamicSlice ? 1 : 2;
  TF_RETURN_IF_ERROR(Check(operands.size() >= first_index, "expected at least ",
                           first_index, " operands"));
  TF_RETURN_IF_ERROR(
      Check(operands[0]->shape().IsArray(), "operand 0 is not an array"));
  const auto indices = absl::MakeConstSpan(operands).subspan(first_index);
  const int64_t rank = operands[0]->shape().dimensions().size();
  const bool is_vector = indices.size() == 1 && indices[0]->shape().IsArray() &&
                         indices[0]->shape().dimensions().size() == 1;
  TF_RETURN_IF_ERROR(
      Check(is_vector || static_cast<int64_t>(indices.size()) == rank,
            "expected ", rank, " start indices, got ", indices.size()));
  if (opcode == HloOpcode::kDynamicSlice) {
    return HloInstruction::CreateDynamicSlice(
        shape, operands[0], indices, ToVector(proto.dynamic_slice_sizes()));
  }
  return HloInstruction::CreateDynamicUpdateSlice(shape, operands[0],
                                                  operands[1], indices);
}

Result ProtoReader::ReadDomain() const {
  std::shared_ptr<const HloSharding> entry, exit;
  if (proto.has_domain_entry_sharding()) {
    TF_ASSIGN_OR_RETURN(HloSharding sharding,
                        HloSharding::FromProto(proto.domain_entry_sharding()));
    entry = std::make_shared<const HloSharding>(std::move(sharding));
  }
  if (proto.has_domain_exit_sharding()) {
    TF_ASSIGN_OR_RETURN(HloSharding sharding,
                        HloSharding::FromProto(proto.domain_exit_sharding()));
    exit = std::make_shared<const HloSharding>(std::move(sharding));
  }
  return HloInstruction::CreateDomain(
      shape, operands[0], std::make_unique<ShardingMetadata>(std::move(entry)),
      std::make_unique<ShardingMetadata>(std::move(exit)));
}

Result ProtoReader::ReadOther() const {
  switch (opcode) {
    case HloOpcode::kParameter: {
      TF_RETURN_IF_ERROR(
          Check(proto.parameter_number() >= 0, "negative parameter number"));
      auto parameter = HloInstruction::CreateParameter(proto.parameter_number(),
                                                       shape, proto.name());
      const auto& leaves =
          proto.parameter_replication().replicated_at_leaf_buffers();
      if (proto.has_parameter_replication()) {
        TF_RETURN_IF_ERROR(
            Check(leaves.size() == ShapeUtil::GetLeafCount(shape),
                  "parameter_replication has ", leaves.size(), " flags for ",
                  ShapeUtil::GetLeafCount(shape), " leaves"));
        parameter->set_parameter_replicated_at_leaf_buffers(
            std::vector<bool>(leaves.begin(), leaves.end()));
      }
      return parameter;
    }
    case HloOpcode::kConstant:
      return ReadConstant();
    case HloOpcode::kTuple:
      TF_RETURN_IF_ERROR(Check(
          shape.IsTuple() && static_cast<size_t>(ShapeUtil::TupleElementCount(
                                 shape)) == operands.size(),
          "the shape is not a tuple of ", operands.size(), " elements"));
      return HloInstruction::CreateVariadic(shape, opcode, operands);
    case HloOpcode::kGetTupleElement:
      TF_RETURN_IF_ERROR(
          Check(operands[0]->shape().IsTuple() && proto.tuple_index() >= 0 &&
                    proto.tuple_index() <
                        ShapeUtil::TupleElementCount(operands[0]->shape()),
                "no element ", proto.tuple_index(), " in the operand of shape ",
                ShapeUtil::HumanString(operands[0]->shape())));
      return HloInstruction::CreateGetTupleElement(shape, operands[0],
                                                   proto.tuple_index());
    case HloOpcode::kCompare:
      return ReadCompare();
    case HloOpcode::kSlice:
      return ReadSlice();
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
      return ReadDynamicIndex();
    case HloOpcode::kPad:
      return HloInstruction::CreatePad(shape, operands[0], operands[1],
                                       proto.padding_config());
    case HloOpcode::kGather:
      return HloInstruction::CreateGather(
          shape, operands[0], operands[1], proto.gather_dimension_numbers(),
          ToVector(proto.gather_slice_sizes()), proto.indices_are_sorted());
    case HloOpcode::kScatter: {
      TF_RETURN_IF_ERROR(CheckComputations(1));
      TF_RETURN_IF_ERROR(Check(operands.size() % 2 == 1 && operands.size() >= 3,
                               "expected n arrays, indices and n updates"));
      const size_t count = operands.size() / 2;
      const auto all = absl::MakeConstSpan(operands);
      return HloInstruction::CreateScatter(
          shape, all.first(count), operands[count], all.subspan(count + 1),
          computations[0], proto.scatter_dimension_numbers(),
          proto.indices_are_sorted(), proto.unique_indices());
    }
    case HloOpcode::kReducePrecision:
      return HloInstruction::CreateReducePrecision(
          shape, operands[0], proto.exponent_bits(), proto.mantissa_bits());
    case HloOpcode::kCopyStart: {
      std::optional<int> index;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      if (proto.optional_cross_program_prefetch_index_case() ==
          HloInstructionProto::kCrossProgramPrefetchIndex) {
        index = proto.cross_program_prefetch_index();
      } else if (proto.is_cross_program_prefetch()) {
        index = 0;
      }
#pragma GCC diagnostic pop
      return HloInstruction::CreateCopyStart(shape, operands[0], index);
    }
    case HloOpcode::kDomain:
      return ReadDomain();
    case HloOpcode::kRng:
      return HloInstruction::CreateRng(shape, proto.distribution(), operands);
    case HloOpcode::kRngBitGenerator:
      return HloInstruction::CreateRngBitGenerator(shape, operands[0],
                                                   proto.rng_algorithm());
    case HloOpcode::kRngGetAndUpdateState:
      return HloInstruction::CreateRngGetAndUpdateState(shape, proto.delta());
    default:  // Read elsewhere.
      return nullptr;
  }
}

Result ProtoReader::ReadScan() const {
  const int64_t operand_count = operands.size();
  TF_RETURN_IF_ERROR(CheckComputations(1));
  TF_RETURN_IF_ERROR(
      Check(proto.dimensions_size() == 1, "expected one dimension"));
  TF_RETURN_IF_ERROR(
      Check(proto.num_carries() >= 0 && proto.num_carries() <= operand_count,
            "num_carries is not between 0 and the number of operands"));
  const auto all = absl::MakeConstSpan(operands);
  const size_t input_count = operand_count - proto.num_carries();
  return HloInstruction::CreateScan(
      shape, all.first(input_count), all.subspan(input_count), computations[0],
      proto.dimensions(0), proto.is_reverse(), proto.is_associative());
}

Result ProtoReader::ReadDimensional() const {
  const std::vector<int64_t> dims = ToVector(proto.dimensions());
  auto check_dims = [&](size_t count) {
    return Check(dims.size() == count, "expected ", count, " dimensions, got ",
                 dims.size());
  };
  auto check_operands = [&](size_t least) {
    return Check(operands.size() >= least, "expected at least ", least,
                 " operands, got ", operands.size());
  };
  switch (opcode) {
    case HloOpcode::kBroadcast:
      TF_RETURN_IF_ERROR(
          Check(operands[0]->shape().IsArray(), "the operand is not an array"));
      TF_RETURN_IF_ERROR(check_dims(operands[0]->shape().dimensions().size()));
      return HloInstruction::CreateBroadcast(shape, operands[0], dims);
    case HloOpcode::kTranspose:
      TF_RETURN_IF_ERROR(Check(shape.IsArray(), "the result is not an array"));
      TF_RETURN_IF_ERROR(check_dims(shape.dimensions().size()));
      TF_RETURN_IF_ERROR(
          Check(IsPermutation(dims), "dimensions are not a permutation"));
      return HloInstruction::CreateTranspose(shape, operands[0], dims);
    case HloOpcode::kReverse:
      return HloInstruction::CreateReverse(shape, operands[0], dims);
    case HloOpcode::kConcatenate:
      TF_RETURN_IF_ERROR(check_dims(1));
      return HloInstruction::CreateConcatenate(shape, operands, dims[0]);
    case HloOpcode::kReduce: {
      TF_RETURN_IF_ERROR(CheckComputations(1));
      TF_RETURN_IF_ERROR(check_operands(2));
      TF_RETURN_IF_ERROR(Check(operands.size() % 2 == 0,
                               "expected as many inputs as init values"));
      const auto all = absl::MakeConstSpan(operands);
      const size_t count = operands.size() / 2;
      return HloInstruction::CreateReduce(
          shape, all.first(count), all.subspan(count), dims, computations[0]);
    }
    case HloOpcode::kSort:
      TF_RETURN_IF_ERROR(CheckComputations(1));
      TF_RETURN_IF_ERROR(check_dims(1));
      TF_RETURN_IF_ERROR(check_operands(1));
      return HloInstruction::CreateSort(shape, dims[0], operands,
                                        computations[0], proto.is_stable());
    case HloOpcode::kScan:
      return ReadScan();
    case HloOpcode::kMap:
      TF_RETURN_IF_ERROR(CheckComputations(1));
      return HloInstruction::CreateMap(shape, operands, computations[0]);
    case HloOpcode::kIota:
      TF_RETURN_IF_ERROR(Check(dims.size() <= 1, "expected one dimension"));
      return HloInstruction::CreateIota(shape, dims.empty() ? 0 : dims[0]);
    case HloOpcode::kReshape:
      TF_RETURN_IF_ERROR(
          Check(dims.size() <= 1, "expected at most one inferred dimension"));
      return HloInstruction::CreateReshape(shape, operands[0],
                                           dims.empty() ? -1 : dims[0]);
    case HloOpcode::kDynamicReshape:
      TF_RETURN_IF_ERROR(check_operands(1));
      TF_RETURN_IF_ERROR(Check(
          shape.IsArray() && shape.dimensions().size() == operands.size() - 1,
          "expected one size per dimension"));
      return HloInstruction::CreateDynamicReshape(
          shape, operands[0], absl::MakeConstSpan(operands).subspan(1));
    case HloOpcode::kGetDimensionSize:
      TF_RETURN_IF_ERROR(check_dims(1));
      return HloInstruction::CreateGetDimensionSize(shape, operands[0],
                                                    dims[0]);
    case HloOpcode::kSetDimensionSize:
      TF_RETURN_IF_ERROR(check_dims(1));
      return HloInstruction::CreateSetDimensionSize(shape, operands[0],
                                                    operands[1], dims[0]);
    case HloOpcode::kTopK:
      return HloInstruction::CreateTopK(shape, operands[0], proto.k(),
                                        proto.largest(), proto.is_stable());
    default:  // Read elsewhere.
      return nullptr;
  }
}

}  // namespace hlo_proto_internal
}  // namespace xla
