#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {
namespace {

bool IsTupleOf(const Shape& shape, int64_t size) {
  return shape.IsTuple() && shape.tuple_shapes_size() == size;
}

absl::Status Wrong(const Context& context, Invariant invariant,
                   const HloInstruction& inst, absl::string_view expected,
                   const Shape& found) {
  return Broken(
      invariant, inst,
      absl::StrCat("expected ", expected, ", found ", context.Str(found)));
}

// (data, context u32[], token) of send and recv.
bool IsTransfer(const Shape& shape) {
  return IsTupleOf(shape, 3) && IsScalarOf(shape.tuple_shapes(1), U32) &&
         shape.tuple_shapes(2).IsToken();
}

// ((operands), results, context...) of async-start and async-update.
bool IsAsyncState(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes_size() >= 2 &&
         shape.tuple_shapes(0).IsTuple();
}

}  // namespace

absl::Status CheckInfeed(const Context& context, const HloInstruction& inst) {
  if (!inst.operand(0)->shape().IsToken()) {
    return Wrong(context, Invariant::V130, inst, "a token as operand",
                 inst.operand(0)->shape());
  }
  if (!IsTupleOf(inst.shape(), 2) || !inst.shape().tuple_shapes(1).IsToken()) {
    return Wrong(context, Invariant::V130, inst, "(data, token[])",
                 inst.shape());
  }
  return absl::OkStatus();
}

absl::Status CheckOutfeed(const Context& context, const HloInstruction& inst) {
  if (!inst.operand(1)->shape().IsToken()) {
    return Wrong(context, Invariant::V131, inst, "a token as operand 1",
                 inst.operand(1)->shape());
  }
  if (!inst.shape().IsToken()) {
    return Wrong(context, Invariant::V131, inst, "token[]", inst.shape());
  }
  // The layout of what goes out may be another one.
  const Shape& declared = Cast<HloOutfeedInstruction>(&inst)->outfeed_shape();
  return context.Expect(Invariant::V131, inst, "outfeed_shape", declared,
                        inst.operand(0)->shape(), Match::kLoose);
}

absl::Status CheckSend(const Context& context, const HloInstruction& inst) {
  if (!inst.operand(1)->shape().IsToken()) {
    return Wrong(context, Invariant::V132, inst, "a token as operand 1",
                 inst.operand(1)->shape());
  }
  if (!IsTransfer(inst.shape())) {
    return Wrong(context, Invariant::V132, inst, "(data, u32[], token[])",
                 inst.shape());
  }
  return context.Expect(Invariant::V132, inst, "data",
                        inst.shape().tuple_shapes(0), inst.operand(0)->shape(),
                        Match::kSame);
}

absl::Status CheckRecv(const Context& context, const HloInstruction& inst) {
  if (!inst.operand(0)->shape().IsToken()) {
    return Wrong(context, Invariant::V132, inst, "a token as operand",
                 inst.operand(0)->shape());
  }
  if (!IsTransfer(inst.shape())) {
    return Wrong(context, Invariant::V132, inst, "(data, u32[], token[])",
                 inst.shape());
  }
  return absl::OkStatus();
}

absl::Status CheckSendDone(const Context& context, const HloInstruction& inst) {
  if (!IsTransfer(inst.operand(0)->shape())) {
    return Wrong(context, Invariant::V133, inst,
                 "(data, u32[], token[]) as operand", inst.operand(0)->shape());
  }
  if (!inst.shape().IsToken()) {
    return Wrong(context, Invariant::V133, inst, "token[]", inst.shape());
  }
  return absl::OkStatus();
}

absl::Status CheckRecvDone(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (!IsTransfer(operand)) {
    return Wrong(context, Invariant::V133, inst,
                 "(data, u32[], token[]) as operand", operand);
  }
  if (!IsTupleOf(inst.shape(), 2) || !inst.shape().tuple_shapes(1).IsToken()) {
    return Wrong(context, Invariant::V133, inst, "(data, token[])",
                 inst.shape());
  }
  return context.Expect(Invariant::V133, inst, "data",
                        inst.shape().tuple_shapes(0), operand.tuple_shapes(0),
                        Match::kSame);
}

absl::Status CheckCopyStart(const Context& context,
                            const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (!IsTupleOf(inst.shape(), 3) ||
      !IsIntegralScalar(inst.shape().tuple_shapes(2))) {
    return Wrong(context, Invariant::V134, inst, "(destination, source, u32[])",
                 inst.shape());
  }
  absl::Status status =
      context.Expect(Invariant::V134, inst, "source",
                     inst.shape().tuple_shapes(1), operand, Match::kSame);
  if (!status.ok()) return status;
  // The copy may be in another memory space, with another layout.
  if (ShapeUtil::Compatible(inst.shape().tuple_shapes(0), operand)) {
    return absl::OkStatus();
  }
  return Broken(Invariant::V134, inst,
                absl::StrCat("expected ", context.Str(operand), ", found ",
                             context.Str(inst.shape().tuple_shapes(0)),
                             " as destination"));
}

absl::Status CheckCopyDone(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (!IsTupleOf(operand, 3)) {
    return Wrong(context, Invariant::V134, inst,
                 "(destination, source, u32[]) as operand", operand);
  }
  return context.Expect(Invariant::V134, inst, operand.tuple_shapes(0),
                        Match::kSame);
}

absl::Status CheckAsyncStart(const Context& context,
                             const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (!IsAsyncState(shape)) {
    return Wrong(context, Invariant::V135, inst,
                 "((operands), results, context)", shape);
  }
  const HloComputation& callee = *inst.called_computations()[0];
  const Shape& bound = shape.tuple_shapes(0);
  // Operands may be bound later in the chain, but not too many here.
  if (inst.operand_count() > callee.num_parameters() ||
      inst.operand_count() > bound.tuple_shapes_size()) {
    return Broken(
        Invariant::V135, inst,
        absl::StrCat("%", callee.name(), " takes ", callee.num_parameters(),
                     " operands and ", context.Str(bound),
                     " is their shape, found ", inst.operand_count()));
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i)->shape();
    for (const Shape* expected :
         {&callee.parameter_instruction(i)->shape(), &bound.tuple_shapes(i)}) {
      if (!context.Matches(operand, *expected, Match::kSame)) {
        return Broken(
            Invariant::V135, inst,
            absl::StrCat("expected ", context.Str(*expected), " as operand ", i,
                         ", found ", context.Str(operand)));
      }
    }
  }
  absl::Status status =
      context.Expect(Invariant::V135, inst, "results", shape.tuple_shapes(1),
                     callee.root_instruction()->shape(), Match::kSame);
  if (!status.ok()) return status;
  return CheckOutputAliasing(context, inst);
}

absl::Status CheckAsyncUpdate(const Context& context,
                              const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (!IsAsyncState(operand) || !IsAsyncState(inst.shape())) {
    return Wrong(context, Invariant::V136, inst,
                 "((operands), results, context) as operand and result",
                 IsAsyncState(operand) ? inst.shape() : operand);
  }
  // Operands that are bound here join the others.
  if (inst.operand_count() == 1) {
    return context.Expect(Invariant::V136, inst, operand, Match::kSame);
  }
  return context.Expect(Invariant::V136, inst, "results",
                        inst.shape().tuple_shapes(1), operand.tuple_shapes(1),
                        Match::kSame);
}

absl::Status CheckAsyncDone(const Context& context,
                            const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (!IsAsyncState(operand)) {
    return Wrong(context, Invariant::V136, inst,
                 "((operands), results, context) as operand", operand);
  }
  return context.Expect(Invariant::V136, inst, operand.tuple_shapes(1),
                        Match::kSame);
}

}  // namespace xla::verifier
