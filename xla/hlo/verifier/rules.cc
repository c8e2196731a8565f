#include "xla/hlo/verifier/rules.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {

bool Context::MatchesSlow(const Shape& found, const Shape& expected,
                          Match match) const {
  if (match == Match::kLoose) {
    return opts_.allow_mixed_precision
               ? ShapeUtil::CompatibleIgnoringFpPrecision(found, expected)
               : ShapeUtil::Compatible(found, expected);
  }
  if (!opts_.layout_sensitive) return ShapeUtil::Compatible(found, expected);
  return match == Match::kSame
             ? Shape::Equal()(found, expected)
             : Shape::Equal().MinorToMajorOnlyInLayout()(found, expected);
}

std::string Context::Str(const Shape& shape) const {
  return opts_.layout_sensitive ? ShapeUtil::HumanStringWithLayout(shape)
                                : ShapeUtil::HumanString(shape);
}

std::string Context::Difference(const Shape& found, const Shape& expected,
                                Match match) const {
  const Shape* one = &found;
  const Shape* other = &expected;
  ShapeIndex index;
  while (one->IsTuple() && other->IsTuple() &&
         one->tuple_shapes_size() == other->tuple_shapes_size()) {
    int i = 0;
    while (i < one->tuple_shapes_size() &&
           Matches(one->tuple_shapes(i), other->tuple_shapes(i), match)) {
      ++i;
    }
    if (i == one->tuple_shapes_size()) break;
    one = &one->tuple_shapes(i);
    other = &other->tuple_shapes(i);
    index.push_back(i);
  }
  std::string text =
      absl::StrCat("expected ", Str(*other), ", found ", Str(*one));
  if (!index.empty()) absl::StrAppend(&text, " at ", index.ToString());
  return text;
}

absl::Status Context::Mismatch(Invariant invariant, const HloInstruction& inst,
                               absl::string_view what, const Shape& found,
                               const Shape& expected, Match match) const {
  return Broken(invariant, inst,
                absl::StrCat(Difference(found, expected, match),
                             what.empty() ? "" : " as ", what));
}

absl::Status Context::Expect(Invariant invariant, const HloInstruction& inst,
                             const absl::StatusOr<Shape>& inferred,
                             Match match) const {
  if (!inferred.ok()) {
    return Broken(invariant, inst, inferred.status().message());
  }
  return Expect(invariant, inst, *inferred, match);
}

// --- Counts
// --------------------------------------------------------------------

namespace {

struct Range {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();
  bool Has(int64_t n) const { return low <= n && n <= high; }
  std::string ToString() const {
    if (low == high) return absl::StrCat(low);
    if (high == std::numeric_limits<int64_t>::max()) {
      return absl::StrCat("at least ", low);
    }
    return absl::StrCat(low, " to ", high);
  }
};

// The range for opcodes whose operand count varies.
Range OperandRange(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAllToAll:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kMap:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kSort:
      return {1};
    case HloOpcode::kDot:
      return {2, 2};
    case HloOpcode::kConditional:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      return {2};
    case HloOpcode::kRng:
      return {2, 2};
    case HloOpcode::kScatter:
      return {3};
    case HloOpcode::kRaggedAllToAll:
      return {6, 6};
    case HloOpcode::kScan:
      return {Cast<HloScanInstruction>(&inst)->num_carries()};
    default:  // Any number of operands.
      return {};
  }
}

Range CalleeRange(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScan:
    case HloOpcode::kScatter:
    case HloOpcode::kSort:
      return {1, 1};
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kWhile:
      return {2, 2};
    case HloOpcode::kConditional:
      // An operand each, after the one that chooses.
      return {inst.operand_count() - 1, inst.operand_count() - 1};
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      return {0, 1};
    case HloOpcode::kCustomCall:
      return {};
    default:  // Calls nothing: a new caller fails until it is above.
      return {0, 0};
  }
}

}  // namespace

absl::Status CheckCounts(const HloInstruction& inst) {
  const int64_t operands = inst.operand_count();
  const std::optional<int8_t> arity = HloOpcodeArity(inst.opcode());
  Range range = arity.has_value() ? Range{*arity, *arity} : OperandRange(inst);
  if (inst.opcode() == HloOpcode::kConvolution) {
    // Behind both sides, which elements of the sparse ones are stored.
    const SparsityConfig& sparsity = inst.sparsity_config();
    range.high = 2 + sparsity.has_lhs() + sparsity.has_rhs();
  }
  if (!range.Has(operands)) {
    return Broken(
        Invariant::V10, inst,
        absl::StrCat("expected ", range.ToString(), ", found ", operands));
  }
  const int64_t callees = inst.called_computations().size();
  const Range callee_range = CalleeRange(inst);
  if (!callee_range.Has(callees)) {
    return Broken(Invariant::V19, inst,
                  absl::StrCat("expected ", callee_range.ToString(), ", found ",
                               callees));
  }
  return absl::OkStatus();
}

// --- Common parts
// ----------------------------------------------------------------

absl::Status CheckCallOperands(const Context& context, Invariant invariant,
                               const HloInstruction& inst,
                               const HloComputation& callee, Match match) {
  if (callee.num_parameters() != inst.operand_count()) {
    return Broken(invariant, inst,
                  absl::StrCat("computation %", callee.name(), " takes ",
                               callee.num_parameters(), " operands, found ",
                               inst.operand_count()));
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i)->shape();
    const Shape& parameter = callee.parameter_instruction(i)->shape();
    if (!context.Matches(operand, parameter, match)) {
      return Broken(invariant, inst,
                    absl::StrCat(context.Difference(operand, parameter, match),
                                 " for parameter ", i, " of %", callee.name()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReducer(const Context& context, const HloInstruction& inst,
                          const HloComputation& reducer) {
  if (reducer.num_parameters() != 2) {
    return Broken(Invariant::V105, inst,
                  absl::StrCat("%", reducer.name(), " takes ",
                               reducer.num_parameters(), " operands"));
  }
  const Shape& root = reducer.root_instruction()->shape();
  for (int64_t i = 0; i < 2; ++i) {
    const Shape& parameter = reducer.parameter_instruction(i)->shape();
    if (!ShapeUtil::IsScalar(parameter) ||
        !context.Matches(parameter, root, Match::kLoose)) {
      return Broken(Invariant::V105, inst,
                    absl::StrCat("parameter ", i, " of %", reducer.name(),
                                 " is ", context.Str(parameter), ", its root ",
                                 context.Str(root)));
    }
  }
  return absl::OkStatus();
}

ProgramShape SignatureOf(const HloComputation& computation) {
  ProgramShape signature;
  for (int64_t i = 0; i < computation.num_parameters(); ++i) {
    signature.AddParameter(computation.parameter_instruction(i)->shape(), "");
  }
  *signature.mutable_result() = computation.root_instruction()->shape();
  return signature;
}

absl::Status CheckAppliedTypes(const Context& context, Invariant invariant,
                               const HloInstruction& inst, int64_t count) {
  if (context.opts().allow_mixed_precision) return absl::OkStatus();
  const HloComputation& callee = *inst.called_computations()[0];
  count = std::min(count, callee.num_parameters());
  for (int64_t i = 0; i < count; ++i) {
    const Shape& operand = inst.operand(i)->shape();
    const Shape& parameter = callee.parameter_instruction(i)->shape();
    if (operand.element_type() != parameter.element_type()) {
      return Broken(invariant, inst,
                    absl::StrCat("operand ", i, " is ", context.Str(operand),
                                 ", parameter ", i, " of %", callee.name(),
                                 " is ", context.Str(parameter)));
    }
  }
  return absl::OkStatus();
}

ShapePtrs OperandShapes(const HloInstruction& inst, int64_t first) {
  ShapePtrs shapes;
  shapes.reserve(inst.operand_count() - first);
  for (int64_t i = first; i < inst.operand_count(); ++i) {
    shapes.push_back(&inst.operand(i)->shape());
  }
  return shapes;
}

}  // namespace xla::verifier
