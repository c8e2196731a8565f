#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"

namespace xla::verifier {

absl::Status CheckGather(const Context& context, const HloInstruction& inst) {
  return context.Expect(
      Invariant::V83, inst,
      ShapeInference::InferGatherShape(
          inst.operand(0)->shape(), inst.operand(1)->shape(),
          inst.gather_dimension_numbers(), inst.gather_slice_sizes()));
}

absl::Status CheckScatter(const Context& context, const HloInstruction& inst) {
  if (inst.operand_count() % 2 == 0) {
    return Broken(Invariant::V84, inst,
                  "expected as many updates as operands around the indices");
  }
  return context.Expect(
      Invariant::V84, inst,
      ShapeInference::InferScatterShape(
          OperandShapes(inst), SignatureOf(*inst.called_computations()[0]),
          inst.scatter_dimension_numbers()));
}

absl::Status CheckTopK(const Context& context, const HloInstruction& inst) {
  return context.Expect(
      Invariant::V86, inst,
      ShapeInference::InferTopKShape(inst.operand(0)->shape(),
                                     Cast<HloTopKInstruction>(&inst)->k()));
}

}  // namespace xla::verifier
