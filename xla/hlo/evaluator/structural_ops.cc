#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

// Instructions that hand values on, and tuples.

namespace xla {
namespace evaluator {
namespace {

absl::StatusOr<Value> Element(Value& tuple, int64_t index) {
  if (!tuple.IsTuple() || index < 0 || index >= tuple.element_count()) {
    return InvalidArgument("the operand has no element %d", index);
  }
  return tuple.TakeElement(index);
}

}  // namespace

absl::StatusOr<Value> EvaluateAfterAll(const HloInstruction* instruction,
                                       absl::Span<Value> operands,
                                       KernelContext& context) {
  return Value::Token();
}

absl::StatusOr<Value> EvaluateCopyStart(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  std::vector<Value> state = {operands[0], operands[0]};
  for (int64_t i = 2; i < instruction->shape().tuple_shapes_size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        Value zeros, Value::ZerosOfShape(instruction->shape().tuple_shapes(i),
                                         context.budget));
    state.push_back(std::move(zeros));
  }
  return Value::Tuple(std::move(state));
}

absl::StatusOr<Value> EvaluateElementZero(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  return Element(operands[0], 0);
}

absl::StatusOr<Value> EvaluateElementOne(const HloInstruction* instruction,
                                         absl::Span<Value> operands,
                                         KernelContext& context) {
  return Element(operands[0], 1);
}

absl::StatusOr<Value> EvaluateGetTupleElement(const HloInstruction* instruction,
                                              absl::Span<Value> operands,
                                              KernelContext& context) {
  return Element(operands[0], instruction->tuple_index());
}

absl::StatusOr<Value> EvaluatePassThrough(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  return std::move(operands[0]);
}

absl::StatusOr<Value> EvaluateTuple(const HloInstruction* instruction,
                                    absl::Span<Value> operands,
                                    KernelContext& context) {
  return Value::Tuple(
      std::vector<Value>(std::make_move_iterator(operands.begin()),
                         std::make_move_iterator(operands.end())));
}

}  // namespace evaluator
}  // namespace xla
