#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
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

// Sends to the host may omit the context.
bool IsSent(const HloInstruction& inst, const Shape& shape) {
  return IsTransfer(shape) ||
         (Cast<HloSendRecvInstruction>(&inst)->is_host_transfer() &&
          IsTupleOf(shape, 2) && shape.tuple_shapes(1).IsToken());
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
  // The token may come first.
  const bool token_first = inst.operand(0)->shape().IsToken();
  if (!token_first && !inst.operand(1)->shape().IsToken()) {
    return Wrong(context, Invariant::V132, inst, "a token as operand 1",
                 inst.operand(1)->shape());
  }
  if (!IsSent(inst, inst.shape())) {
    return Wrong(context, Invariant::V132, inst, "(data, u32[], token[])",
                 inst.shape());
  }
  return context.Expect(
      Invariant::V132, inst, "data", inst.shape().tuple_shapes(0),
      inst.operand(token_first ? 1 : 0)->shape(), Match::kSame);
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
  const Shape& operand = inst.operand(0)->shape();
  if (!IsSent(inst, operand)) {
    return Wrong(context, Invariant::V133, inst,
                 "(data, u32[], token[]) as operand", operand);
  }
  if (inst.shape().IsToken()) return absl::OkStatus();
  if (!IsTupleOf(operand, 2) || !IsTupleOf(inst.shape(), 2) ||
      !inst.shape().tuple_shapes(1).IsToken()) {
    return Wrong(context, Invariant::V133, inst, "token[]", inst.shape());
  }
  return context.Expect(Invariant::V133, inst, "data",
                        inst.shape().tuple_shapes(0), operand.tuple_shapes(0),
                        Match::kSame);
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
      !IsScalarOf(inst.shape().tuple_shapes(2), U32)) {
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

namespace {

// Operands [first, …) of the link are elements [from, …) of its {0}.
absl::Status CheckBoundOperands(const Context& context, Invariant invariant,
                                const HloInstruction& link, int64_t first,
                                int64_t from) {
  const Shape& bound = link.shape().tuple_shapes(0);
  if (from + link.operand_count() - first != bound.tuple_shapes_size()) {
    return Broken(invariant, link,
                  absl::StrCat("expected ", bound.tuple_shapes_size() - from,
                               " operands for ", context.Str(bound), ", found ",
                               link.operand_count() - first));
  }
  for (int64_t i = first; i < link.operand_count(); ++i) {
    const Shape& operand = link.operand(i)->shape();
    const Shape& expected = bound.tuple_shapes(from + i - first);
    if (!context.Matches(operand, expected, Match::kSame)) {
      return Broken(
          invariant, link,
          absl::StrCat("expected ", context.Str(expected), " as operand ", i,
                       ", found ", context.Str(operand)));
    }
  }
  return absl::OkStatus();
}

bool IsPrefix(const Context& context, const Shape& part, const Shape& whole) {
  return IsAsyncPrefix(part, whole, [&](const Shape& a, const Shape& b) {
    return context.Matches(a, b, Match::kSame);
  });
}

// The elements of the state are parts of the parameters and results of
// `callee`.
absl::Status CheckShown(const Context& context, Invariant invariant,
                        const HloInstruction& inst, const Shape& state,
                        const HloComputation& callee) {
  const Shape& bound = state.tuple_shapes(0);
  if (bound.tuple_shapes_size() > callee.num_parameters()) {
    return Broken(
        invariant, inst,
        absl::StrCat("%", callee.name(), " takes ", callee.num_parameters(),
                     " operands, found ", context.Str(bound)));
  }
  for (int64_t i = 0; i < bound.tuple_shapes_size(); ++i) {
    const Shape& expected = callee.parameter_instruction(i)->shape();
    if (!context.Matches(bound.tuple_shapes(i), expected, Match::kSame)) {
      return Broken(
          invariant, inst,
          absl::StrCat("expected ", context.Str(expected), " as operand ", i,
                       ", found ", context.Str(bound.tuple_shapes(i))));
    }
  }
  const Shape& result = callee.root_instruction()->shape();
  if (IsPrefix(context, state.tuple_shapes(1), result)) {
    return absl::OkStatus();
  }
  return Broken(
      invariant, inst,
      absl::StrCat("expected ", context.Str(result), ", found ",
                   context.Str(state.tuple_shapes(1)), " as results"));
}

// The part of the call that an output index of a start speaks of: of what it
// takes, {0,i,…}, of what it gives, {1,…}, or of the state. Null: none.
const Shape* PartOfCall(const HloInstruction& start,
                        const HloComputation& callee, ShapeIndexView index) {
  const Shape* whole = &start.shape();
  if (index.size() >= 2 && index[0] == 0) {
    if (index[1] < 0 || index[1] >= callee.num_parameters()) return nullptr;
    whole = &callee.parameter_instruction(index[1])->shape();
    index = index.subspan(2);
  } else if (!index.empty() && index[0] == 1) {
    whole = &callee.root_instruction()->shape();
    index = index.subspan(1);
  }
  return ShapeUtil::IndexIsValid(*whole, index)
             ? &ShapeUtil::GetSubshape(*whole, index)
             : nullptr;
}

// Broken pairs of a chain are, like its shapes, an internal matter.
absl::Status BrokenPair(const HloInstruction& inst, absl::string_view detail) {
  return WithCode(absl::StatusCode::kInternal,
                  Broken(Invariant::V121, inst, detail));
}

absl::Status CheckAliasedPart(const Context& context,
                              const HloInstruction& inst, const Shape* output,
                              const ShapeIndex& output_index,
                              const Shape* operand, int64_t number,
                              const ShapeIndex& operand_index) {
  if (operand == nullptr) {
    return BrokenPair(
        inst, absl::StrCat("there is no operand ", number, " with a part ",
                           operand_index.ToString()));
  }
  if (output == nullptr) {
    return BrokenPair(
        inst, absl::StrCat("the result has no part ", output_index.ToString()));
  }
  if (context.Matches(*output, *operand, Match::kSame)) {
    return absl::OkStatus();
  }
  return BrokenPair(inst, absl::StrCat("expected ", context.Str(*operand),
                                       " at ", output_index.ToString(),
                                       ", found ", context.Str(*output)));
}

const Shape* SubshapeAt(const Shape& whole, const ShapeIndex& index) {
  return ShapeUtil::IndexIsValid(whole, index)
             ? &ShapeUtil::GetSubshape(whole, index)
             : nullptr;
}

// Pairs of a start number the operands of the whole call, some of which may be
// bound later.
absl::Status CheckStartAliasing(const Context& context,
                                const HloInstruction& inst,
                                const HloComputation& callee) {
  for (const auto& [output_index, source] : inst.output_operand_aliasing()) {
    const auto& [number, operand_index] = source;
    const Shape* operand =
        number < 0 || number >= callee.num_parameters()
            ? nullptr
            : SubshapeAt(callee.parameter_instruction(number)->shape(),
                         operand_index);
    TF_RETURN_IF_ERROR(
        CheckAliasedPart(context, inst, PartOfCall(inst, callee, output_index),
                         output_index, operand, number, operand_index));
  }
  return absl::OkStatus();
}

// Pairs of an update are between its state and the one before.
absl::Status CheckUpdateAliasing(const Context& context,
                                 const HloInstruction& inst) {
  for (const auto& [output_index, source] : inst.output_operand_aliasing()) {
    const auto& [number, operand_index] = source;
    const Shape* operand =
        number == 0 ? SubshapeAt(inst.operand(0)->shape(), operand_index)
                    : nullptr;
    TF_RETURN_IF_ERROR(
        CheckAliasedPart(context, inst, SubshapeAt(inst.shape(), output_index),
                         output_index, operand, number, operand_index));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAsyncStart(const Context& context,
                             const HloInstruction& inst) {
  if (!IsAsyncState(inst.shape())) {
    return Wrong(context, Invariant::V135, inst,
                 "((operands), results, context)", inst.shape());
  }
  const HloComputation& callee = *inst.called_computations()[0];
  TF_RETURN_IF_ERROR(CheckBoundOperands(context, Invariant::V135, inst,
                                        /*first=*/0,
                                        /*from=*/0));
  TF_RETURN_IF_ERROR(
      CheckShown(context, Invariant::V135, inst, inst.shape(), callee));
  return CheckStartAliasing(context, inst, callee);
}

absl::Status CheckAsyncUpdate(const Context& context,
                              const HloInstruction& inst) {
  const Shape& before = inst.operand(0)->shape();
  if (!IsAsyncState(before) || !IsAsyncState(inst.shape())) {
    return Wrong(context, Invariant::V136, inst,
                 "((operands), results, context) as operand and result",
                 IsAsyncState(before) ? inst.shape() : before);
  }
  // Earlier bindings stay; the ones made here are added.
  for (int i : {0, 1}) {
    if (!IsPrefix(context, before.tuple_shapes(i),
                  inst.shape().tuple_shapes(i))) {
      return context.Expect(
          Invariant::V136, inst, i == 0 ? "operands" : "results",
          inst.shape().tuple_shapes(i), before.tuple_shapes(i), Match::kSame);
    }
  }
  TF_RETURN_IF_ERROR(
      CheckBoundOperands(context, Invariant::V136, inst, /*first=*/1,
                         /*from=*/before.tuple_shapes(0).tuple_shapes_size()));
  if (const HloComputation* callee = inst.async_wrapped_computation()) {
    TF_RETURN_IF_ERROR(
        CheckShown(context, Invariant::V136, inst, inst.shape(), *callee));
  }
  return CheckUpdateAliasing(context, inst);
}

absl::Status CheckAsyncDone(const Context& context,
                            const HloInstruction& inst) {
  const Shape& state = inst.operand(0)->shape();
  if (!IsAsyncState(state)) {
    return Wrong(context, Invariant::V136, inst,
                 "((operands), results, context) as operand", state);
  }
  const HloComputation* callee = inst.async_wrapped_computation();
  if (callee == nullptr) {
    // Without it, all that counts is what the state shows.
    if (IsPrefix(context, state.tuple_shapes(1), inst.shape())) {
      return absl::OkStatus();
    }
    return context.Expect(Invariant::V136, inst, "", inst.shape(),
                          state.tuple_shapes(1), Match::kSame);
  }
  TF_RETURN_IF_ERROR(
      CheckShown(context, Invariant::V136, inst, state, *callee));
  const int64_t bound = state.tuple_shapes(0).tuple_shapes_size();
  if (bound != callee->num_parameters()) {
    return Broken(Invariant::V136, inst,
                  absl::StrCat("expected all ", callee->num_parameters(),
                               " operands of %", callee->name(),
                               " to be bound, found ", bound));
  }
  return context.Expect(Invariant::V136, inst,
                        callee->root_instruction()->shape(), Match::kSame);
}

}  // namespace xla::verifier
