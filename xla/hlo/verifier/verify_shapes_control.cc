#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {

absl::Status CheckTuple(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (!shape.IsTuple() || shape.tuple_shapes_size() != inst.operand_count()) {
    return Broken(Invariant::V110, inst,
                  absl::StrCat("expected a tuple of ", inst.operand_count(),
                               ", found ", context.Str(shape)));
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& element = shape.tuple_shapes(i);
    const Shape& operand = inst.operand(i)->shape();
    if (!context.Matches(element, operand, Match::kSame)) {
      return Broken(
          Invariant::V110, inst,
          absl::StrCat(context.Difference(element, operand, Match::kSame),
                       " as element ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGetTupleElement(const Context& context,
                                  const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const int64_t index = inst.tuple_index();
  if (!operand.IsTuple() || index < 0 || index >= operand.tuple_shapes_size()) {
    return Broken(
        Invariant::V111, inst,
        absl::StrCat("no element ", index, " in ", context.Str(operand)));
  }
  return context.Expect(Invariant::V111, inst, operand.tuple_shapes(index),
                        Match::kSame);
}

absl::Status CheckWhile(const Context& context, const HloInstruction& inst) {
  const HloComputation& condition = *inst.while_condition();
  const HloComputation& body = *inst.while_body();
  absl::Status status = CheckCallOperands(context, Invariant::V112, inst,
                                          condition, Match::kSame);
  if (!status.ok()) return status;
  status =
      CheckCallOperands(context, Invariant::V112, inst, body, Match::kSame);
  if (!status.ok()) return status;
  const Shape& decision = condition.root_instruction()->shape();
  if (!IsScalarOf(decision, PRED)) {
    return Broken(
        Invariant::V112, inst,
        absl::StrCat("expected pred[] as the result of %", condition.name(),
                     ", found ", context.Str(decision)));
  }
  const Shape& init = inst.operand(0)->shape();
  status = context.Expect(Invariant::V112, inst, "result of the body",
                          body.root_instruction()->shape(), init, Match::kSame);
  if (!status.ok()) return status;
  status = context.Expect(Invariant::V112, inst, init, Match::kSame);
  return status.ok() ? CheckCalleeShardings(inst) : status;
}

absl::Status CheckConditional(const Context& context,
                              const HloInstruction& inst) {
  const int64_t branches = inst.called_computations().size();
  const Shape& selector = inst.operand(0)->shape();
  const bool by_pred = IsScalarOf(selector, PRED);
  if (!by_pred && !IsScalarOf(selector, S32)) {
    return Broken(Invariant::V113, inst,
                  absl::StrCat("expected pred[] or s32[] to choose by, found ",
                               context.Str(selector)));
  }
  if (by_pred && branches != 2) {
    return Broken(
        Invariant::V113, inst,
        absl::StrCat("pred chooses between 2 branches, found ", branches));
  }
  for (int64_t i = 0; i < branches; ++i) {
    const HloComputation& branch = *inst.called_computations()[i];
    if (branch.num_parameters() != 1) {
      return Broken(
          Invariant::V113, inst,
          absl::StrCat("%", branch.name(), " takes ", branch.num_parameters(),
                       " operands, found 1"));
    }
    const Shape& parameter = branch.parameter_instruction(0)->shape();
    const Shape& operand = inst.operand(i + 1)->shape();
    if (!context.Matches(operand, parameter, Match::kSame)) {
      return Broken(
          Invariant::V113, inst,
          absl::StrCat(context.Difference(operand, parameter, Match::kSame),
                       " for branch ", i));
    }
    const Shape& result = branch.root_instruction()->shape();
    if (!context.Matches(inst.shape(), result, Match::kSame)) {
      return Broken(
          Invariant::V113, inst,
          absl::StrCat(context.Difference(inst.shape(), result, Match::kSame),
                       ", against the result of branch ", i));
    }
  }
  return CheckCalleeShardings(inst);
}

namespace {

// Who takes a composite as a whole knows it by its name; a composite without
// attributes or a version has none, and version 0.
absl::Status CheckComposite(const HloInstruction& inst) {
  const auto& map = inst.frontend_attributes().map();
  const auto name = map.find("composite.name");
  if (name == map.end() || name->second.empty()) {
    return Broken(Invariant::V122, inst, "there is no composite.name");
  }
  const auto attributes = map.find("composite.attributes");
  if (attributes != map.end() && attributes->second.empty()) {
    return Broken(Invariant::V122, inst,
                  "expected attributes, {} for none, found nothing");
  }
  const auto version = map.find("composite.version");
  if (version == map.end()) return absl::OkStatus();
  int64_t number = 0;
  if (absl::SimpleAtoi(version->second, &number) && number >= 0) {
    return absl::OkStatus();
  }
  return Broken(
      Invariant::V122, inst,
      absl::StrCat("expected a version from 0 on, found ", version->second));
}

}  // namespace

absl::Status CheckCall(const Context& context, const HloInstruction& inst) {
  if (!inst.output_operand_aliasing().empty()) {
    return Broken(Invariant::V121, inst, "calls have no aliased outputs");
  }
  if (inst.is_composite()) {
    absl::Status composite = CheckComposite(inst);
    if (!composite.ok()) return composite;
  }
  const HloComputation& callee = *inst.called_computations()[0];
  absl::Status status =
      CheckCallOperands(context, Invariant::V114, inst, callee, Match::kSame);
  if (!status.ok()) return status;
  return context.Expect(Invariant::V114, inst,
                        callee.root_instruction()->shape(), Match::kSame);
}

absl::Status CheckCustomCall(const Context& context,
                             const HloInstruction& inst) {
  const auto* call = Cast<HloCustomCallInstruction>(&inst);
  if (call->custom_call_target() == "GetRngSeed" &&
      (inst.operand_count() != 0 || !inst.shape().IsArray() ||
       inst.shape().element_type() != U64)) {
    return WithCode(
        absl::StatusCode::kInternal,
        Broken(Invariant::V123, inst,
               absl::StrCat("found ", inst.operand_count(), " operands and ",
                            context.Str(inst.shape()))));
  }
  if (call->layout_constrained()) {
    const std::vector<Shape>& constraints = call->operand_shapes_with_layout();
    if (static_cast<int64_t>(constraints.size()) != inst.operand_count()) {
      return Broken(Invariant::V120, inst,
                    absl::StrCat("expected ", inst.operand_count(), ", found ",
                                 constraints.size()));
    }
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Shape& operand = inst.operand(i)->shape();
      if (!context.Matches(operand, constraints[i], Match::kSameOrder)) {
        return Broken(
            Invariant::V120, inst,
            absl::StrCat("expected ", context.Str(constraints[i]),
                         " as operand ", i, ", found ", context.Str(operand)));
      }
    }
  }
  return CheckOutputAliasing(context, inst);
}

absl::Status CheckAfterAll(const Context& context, const HloInstruction& inst) {
  // Its operands may be of any shape: it comes after they are there.
  if (inst.shape().IsToken()) return absl::OkStatus();
  return Broken(
      Invariant::V117, inst,
      absl::StrCat("expected token[], found ", context.Str(inst.shape())));
}

absl::Status CheckAddDependency(const Context& context,
                                const HloInstruction& inst) {
  if (!inst.operand(1)->shape().IsToken()) {
    return Broken(Invariant::V117, inst,
                  absl::StrCat("expected a token, found ",
                               context.Str(inst.operand(1)->shape())));
  }
  return context.Expect(Invariant::V117, inst, inst.operand(0)->shape(),
                        Match::kSame);
}

absl::Status CheckPassThrough(const Context& context,
                              const HloInstruction& inst) {
  return context.Expect(Invariant::V117, inst, inst.operand(0)->shape(),
                        Match::kSame);
}

}  // namespace xla::verifier
