#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {

absl::Status CheckFusion(const Context& context, const HloInstruction& inst) {
  const HloComputation& fused = *inst.called_computations()[0];
  const int64_t callers =
      static_cast<int64_t>(fused.caller_instructions().size());
  if (callers != 1) {
    return Broken(
        Invariant::V116, inst,
        absl::StrCat("%", fused.name(), " is called ", callers, " times"));
  }
  absl::Status status =
      CheckCallOperands(context, Invariant::V115, inst, fused, Match::kSame);
  if (!status.ok()) return status;
  status = context.Expect(Invariant::V115, inst,
                          fused.root_instruction()->shape(), Match::kSame);
  if (!status.ok()) return status;
  return CheckOutputAliasing(context, inst);
}

absl::Status CheckOutputAliasing(const Context& context,
                                 const HloInstruction& inst) {
  for (const auto& [output_index, source] : inst.output_operand_aliasing()) {
    const auto& [operand, operand_index] = source;
    if (operand < 0 || operand >= inst.operand_count()) {
      return Broken(Invariant::V121, inst,
                    absl::StrCat("there is no operand ", operand));
    }
    const Shape& from = inst.operand(operand)->shape();
    if (!ShapeUtil::IndexIsValid(from, operand_index)) {
      return Broken(Invariant::V121, inst,
                    absl::StrCat("operand ", operand, " has no part ",
                                 operand_index.ToString()));
    }
    if (!ShapeUtil::IndexIsValid(inst.shape(), output_index)) {
      return Broken(
          Invariant::V121, inst,
          absl::StrCat("the result has no part ", output_index.ToString()));
    }
    const Shape& input = ShapeUtil::GetSubshape(from, operand_index);
    const Shape& output = ShapeUtil::GetSubshape(inst.shape(), output_index);
    // A custom call may move what it aliases to another memory. Pin and Unpin
    // are V125's.
    const bool matches =
        inst.IsCustomCall({"Pin", "Unpin"}) ||
        (inst.opcode() == HloOpcode::kCustomCall &&
                 context.opts().layout_sensitive
             ? Shape::Equal().IgnoreMemorySpaceInLayout()(output, input)
             : context.Matches(output, input, Match::kSame));
    if (!matches) {
      return Broken(Invariant::V121, inst,
                    absl::StrCat("expected ", context.Str(input), " at ",
                                 output_index.ToString(), ", found ",
                                 context.Str(output)));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier
