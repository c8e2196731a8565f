// Factories of instructions without attributes.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/memory/memory.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

using HloPtr = std::unique_ptr<HloInstruction>;

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
