#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::hlo_text {

using A = Attribute;
using Ptr = std::unique_ptr<HloInstruction>;

std::unique_ptr<HloInstruction> ModuleParser::Build(Draft* draft) {
  const bool is_chain =
      draft->sugar != AsyncSugar::kNone || HloOpcodeIsAsync(draft->opcode);
  if (!is_chain && !CheckOperandCount(*draft)) return nullptr;
  if (draft->shape == nullptr) {
    if (is_chain) {
      Error(draft->opcode_loc, "asynchronous operations need a shape");
      return nullptr;
    }
    if (!InferShape(draft)) return nullptr;
  }
  return is_chain ? BuildAsync(draft) : BuildOpcode(*draft);
}

bool ModuleParser::CheckOperandCount(const Draft& draft) {
  std::optional<int8_t> arity = HloOpcodeArity(draft.opcode);
  const int64_t count = draft.operands.size();
  if (!arity.has_value() || *arity == count) return true;
  if (draft.opcode == HloOpcode::kConvolution &&
      draft.values.Has(A::kSparsityConfig)) {
    // Behind both sides, which elements of the sparse ones are stored.
    const SparsityConfig& sparsity = draft.values.sparsity;
    const int64_t most = 2 + sparsity.has_lhs() + sparsity.has_rhs();
    if (count >= 2 && count <= most) return true;
  }
  // Send and outfeed may once have gone without a token; fusions of a constant
  // have no operands. All else is a mistake.
  return Error(draft.opcode_loc,
               absl::StrCat(HloOpcodeString(draft.opcode), " takes ",
                            static_cast<int>(*arity), " operand",
                            *arity == 1 ? "" : "s", ", found ", count));
}

// For rules about operands and shapes: reports `rule` unless `ok`.
bool ModuleParser::ExpectOperands(const Draft& draft, bool ok,
                                  absl::string_view rule) {
  return ok || Error(draft.opcode_loc,
                     absl::StrCat(HloOpcodeString(draft.opcode), ": ", rule));
}

std::unique_ptr<HloInstruction> ModuleParser::BuildOpcode(const Draft& draft) {
  const Shape& shape = *draft.shape;
  const auto& operands = draft.operands;
  switch (draft.opcode) {
    case HloOpcode::kParameter: {
      Ptr parameter = HloInstruction::CreateParameter(draft.parameter_number,
                                                      shape, draft.name);
      if (draft.values.Has(A::kParameterReplication)) {
        const std::vector<bool>& leaves = draft.values.parameter_replication;
        if (!ExpectOperands(draft,
                            static_cast<int64_t>(leaves.size()) ==
                                ShapeUtil::GetLeafCount(shape),
                            "parameter_replication has not one flag per leaf "
                            "of the shape")) {
          return nullptr;
        }
        parameter->set_parameter_replicated_at_leaf_buffers(leaves);
      }
      return parameter;
    }
    case HloOpcode::kConstant: {
      Ptr constant = HloInstruction::CreateConstant(
          std::move(const_cast<Draft&>(draft).constant));
      // Dynamic sizes, tiles and memory spaces are the instruction's alone.
      if (constant->shape() != shape) *constant->mutable_shape() = shape;
      return constant;
    }
    case HloOpcode::kGetTupleElement:
      return HloInstruction::CreateGetTupleElement(shape, operands[0],
                                                   draft.values.Int(A::kIndex));
    case HloOpcode::kTuple:
      if (!ExpectOperands(
              draft,
              shape.IsTuple() && shape.tuple_shapes_size() == operands.size(),
              "the shape is not a tuple with one element per "
              "operand")) {
        return nullptr;
      }
      return HloInstruction::CreateVariadic(shape, draft.opcode, operands);
    case HloOpcode::kCompare: {
      if (!ExpectOperands(
              draft,
              operands[0]->shape().IsArray() && operands[1]->shape().IsArray(),
              "the operands are not arrays")) {
        return nullptr;
      }
      std::optional<Comparison::Type> type;
      if (draft.values.Has(A::kType)) {
        type = draft.values.As<Comparison::Type>(A::kType);
      }
      // Who prints order= may leave out type=.
      if (draft.values.Has(A::kOrder)) {
        const bool total = draft.values.As<Comparison::Order>(A::kOrder) ==
                           Comparison::Order::kTotal;
        const bool floats =
            ShapeUtil::ElementIsFloating(operands[0]->shape()) ||
            ShapeUtil::ElementIsComplex(operands[0]->shape());
        const auto ordered = total ? Comparison::Type::kFloatTotalOrder
                                   : Comparison::Type::kFloat;
        if (!ExpectOperands(draft,
                            floats ? type.value_or(ordered) == ordered : total,
                            "order= is not that of the operands' type, or of "
                            "type=")) {
          return nullptr;
        }
        if (floats) type = ordered;
      }
      return HloInstruction::CreateCompare(
          shape, operands[0], operands[1],
          draft.values.As<ComparisonDirection>(A::kDirection), type);
    }
    default:  // Operands and shape are all that it has.
      return BuildRest(draft);
  }
}

// Opcodes that have nothing but operands, after all others.
std::unique_ptr<HloInstruction> ModuleParser::BuildRest(const Draft& draft) {
  bool handled = true;
  Ptr result = BuildDataMovement(draft, &handled);
  if (handled) return result;
  handled = true;
  result = BuildKernel(draft, &handled);
  if (handled) return result;
  handled = true;
  result = BuildCall(draft, &handled);
  if (handled) return result;
  handled = true;
  result = BuildCommunication(draft, &handled);
  if (handled) return result;

  const auto& operands = draft.operands;
  switch (HloOpcodeArity(draft.opcode).value_or(-1)) {
    case 1: {
      std::optional<ResultAccuracy> accuracy;
      if (draft.values.Has(A::kResultAccuracy)) {
        accuracy = draft.values.result_accuracy;
      }
      return HloInstruction::CreateUnary(*draft.shape, draft.opcode,
                                         operands[0], std::move(accuracy));
    }
    case 2:
      return HloInstruction::CreateBinary(*draft.shape, draft.opcode,
                                          operands[0], operands[1]);
    case 3:
      return HloInstruction::CreateTernary(
          *draft.shape, draft.opcode, operands[0], operands[1], operands[2]);
    case -1:
      return HloInstruction::CreateVariadic(*draft.shape, draft.opcode,
                                            operands);
    default:
      Error(draft.opcode_loc, absl::StrCat(HloOpcodeString(draft.opcode),
                                           " cannot be made from text"));
      return nullptr;
  }
}

// The instruction is in its computation's builder by now.
bool ModuleParser::ApplyCommonAttributes(Draft* draft,
                                         HloInstruction* instruction) {
  AttributeValues& values = draft->values;
  if (values.Has(A::kMetadata)) {
    instruction->set_metadata_ptr(std::move(values.metadata));
  }
  if (values.Has(A::kFrontendAttributes)) {
    instruction->set_frontend_attributes(std::move(values.frontend_attributes));
  }
  if (values.Has(A::kBackendConfig)) {
    instruction->set_raw_backend_config_string(
        std::move(values.backend_config));
  }
  if (values.Has(A::kSharding)) {
    const Shape& shape = instruction->shape();
    // That of an outfeed is of what is fed.
    if (shape.IsTuple() == values.sharding->IsTuple() ||
        instruction->opcode() == HloOpcode::kOutfeed) {
      instruction->set_sharding(std::move(values.sharding));
    } else if (shape.IsTuple()) {
      // One sharding stands for that of every leaf.
      instruction->set_sharding(
          HloSharding::SingleTuple(shape, *values.sharding));
    } else {
      return Error(draft->loc, "an array cannot have a tuple sharding");
    }
  }
  if (values.Has(A::kOrigin)) {
    // A fusion shares the value of its root.
    if (instruction->opcode() == HloOpcode::kFusion) {
      std::shared_ptr<OriginalValue> of_root =
          instruction->fused_expression_root()->original_value();
      if (of_root != nullptr && *of_root == *values.origin) {
        values.origin = std::move(of_root);
      }
    }
    instruction->set_original_value(std::move(values.origin));
  } else if (instruction->opcode() == HloOpcode::kFusion) {
    instruction->set_original_value(nullptr);  // what the text says
  }
  if (values.Has(A::kStatistics)) {
    instruction->set_statistics_viz(std::move(values.statistics));
  }
  for (auto& [name, value] : values.unknown) {
    instruction->add_unknown_attribute(std::move(name), std::move(value));
  }
  if (values.Has(A::kControlPredecessors)) {
    for (HloInstruction* predecessor : values.control_predecessors) {
      absl::Status status = predecessor->AddControlDependencyTo(instruction);
      if (!status.ok()) return Error(draft->loc, status.message());
    }
  }
  return true;
}

// Without operand_precision, the default for each operand.
PrecisionConfig ModuleParser::PrecisionOf(const Draft& draft, int operands) {
  PrecisionConfig precision;
  if (draft.values.Has(A::kOperandPrecision)) {
    precision = draft.values.precision;
  } else {
    for (int i = 0; i < operands; ++i) {
      precision.add_operand_precision(PrecisionConfig::DEFAULT);
    }
  }
  precision.set_algorithm(
      draft.values.As<PrecisionConfig::Algorithm>(A::kAlgorithm));
  return precision;
}

}  // namespace xla::hlo_text
