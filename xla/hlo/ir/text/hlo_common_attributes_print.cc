// Attributes that any opcode may have, called computations, and how
// asynchronous instructions print.

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/text/hlo_attribute_printer.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_print_internal {
namespace {

// Bodies nested deeper than this print as names.
constexpr int kMaxIndentOfBodies = 200;

bool HasNativeAsyncForm(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
             HloOpcode::kAllGather, HloOpcode::kAllGatherStart,
             HloOpcode::kAllGatherDone, HloOpcode::kAllReduce,
             HloOpcode::kAllReduceStart, HloOpcode::kAllReduceDone,
             HloOpcode::kCollectivePermute, HloOpcode::kCollectivePermuteStart,
             HloOpcode::kCollectivePermuteDone, HloOpcode::kCopy,
             HloOpcode::kCopyStart, HloOpcode::kCopyDone, HloOpcode::kSend,
             HloOpcode::kSendDone, HloOpcode::kRecv, HloOpcode::kRecvDone>(
             opcode) ||
         HloOpcodeIsAsync(opcode);
}

// `key=` and the computation, by name or with its body.
class ComputationAttribute {
 public:
  ComputationAttribute(AttributePrinter& attributes,
                       const HloPrintOptions& options, CanonicalNameMap* names,
                       bool with_body)
      : attributes_(attributes),
        options_(options),
        names_(names),
        with_body_(with_body && options.indent_amount() < kMaxIndentOfBodies) {}

  bool with_body() const { return with_body_; }

  void One(absl::string_view key, const HloComputation* computation) {
    attributes_.Next([&](Printer* p) {
      p->Append(key);
      if (with_body_) p->Append("=\n");
      if (!with_body_) p->Append("=");
      Print(p, computation);
    });
  }

  void List(absl::string_view key,
            absl::Span<HloComputation* const> computations) {
    attributes_.Next([&](Printer* p) {
      AppendCat(p, key, "={");
      absl::string_view separator = with_body_ ? "\n" : "";
      for (const HloComputation* computation : computations) {
        p->Append(separator);
        separator = with_body_ ? ",\n" : ", ";
        Print(p, computation);
      }
      p->Append(with_body_ ? "\n}" : "}");
    });
  }

 private:
  void Print(Printer* p, const HloComputation* computation) {
    if (computation == nullptr) {
      p->Append("null");
    } else if (with_body_) {
      HloPrintOptions inline_options = options_;
      inline_options.set_is_in_nested_computation(true);
      computation->Print(p, inline_options);
    } else {
      PrintComputationName(p, options_, *computation, names_);
    }
  }

  AttributePrinter& attributes_;
  const HloPrintOptions& options_;
  CanonicalNameMap* names_;
  bool with_body_;
};

// The computation that a link names: that it calls, unless it follows right
// after another, and that of its chain if it is read before the start.
const HloComputation* NamedByAsyncLink(const HloInstruction& inst) {
  const bool has_state = inst.opcode() != HloOpcode::kAsyncStart &&
                         inst.operand_count() > 0 && inst.operand(0) != nullptr;
  if (has_state && inst.operand(0)->IsAsyncProducer()) return nullptr;
  if (!inst.called_computations().empty()) {
    return inst.called_computations()[0];
  }
  return !has_state || async_segments::First(&inst)->opcode() ==
                           HloOpcode::kAsyncStart
             ? nullptr
             : inst.async_wrapped_computation();
}

// Bodies are behind calls= but for those that OpenXLA has behind to_apply=.
bool AppliesItsBody(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAllReduce, HloOpcode::kAllReduceStart,
                          HloOpcode::kCall, HloOpcode::kMap, HloOpcode::kReduce,
                          HloOpcode::kReduceWindow, HloOpcode::kScatter,
                          HloOpcode::kSort>(opcode);
}

void PrintCalledComputations(const HloInstruction& inst,
                             AttributePrinter& attributes,
                             const HloPrintOptions& options,
                             CanonicalNameMap* names) {
  using Mode = HloPrintOptions::PrintSubcomputationMode;
  const Mode mode = options.print_subcomputation_mode();
  if (mode == Mode::kOff ||
      (!inst.has_called_computations() && !inst.IsAsynchronous())) {
    return;
  }
  const HloOpcode opcode = inst.opcode();
  const bool sequential = opcode == HloOpcode::kWhile ||
                          opcode == HloOpcode::kConditional ||
                          opcode == HloOpcode::kCall;
  ComputationAttribute computations(
      attributes, options, names,
      mode == Mode::kFullBodies ||
          (mode == Mode::kNonSequentialBodies && !sequential));
  const auto& called = inst.called_computations();
  switch (opcode) {
    case HloOpcode::kWhile:
      computations.One("condition", inst.while_condition());
      computations.One("body", inst.while_body());
      return;
    case HloOpcode::kSelectAndScatter:
      computations.One("select", inst.select());
      computations.One("scatter", inst.scatter());
      return;
    case HloOpcode::kConditional:
      if (inst.operand_count() > 0 && inst.operand(0) != nullptr &&
          called.size() == 2 &&
          inst.operand(0)->shape().element_type() == PRED) {
        computations.One("true_computation", called[0]);
        computations.One("false_computation", called[1]);
      } else {
        computations.List("branch_computations", called);
      }
      return;
    case HloOpcode::kFusion:
      return computations.One("calls", called[0]);
    case HloOpcode::kCustomCall:
      return computations.List("called_computations", called);
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      if (const HloComputation* wrapped = NamedByAsyncLink(inst);
          wrapped != nullptr && !PrintsAsAsyncSugar(inst, options)) {
        computations.One("calls", wrapped);
      }
      return;
    default:  // to_apply= for one computation, calls= for several.
      if (called.size() == 1 && !AppliesItsBody(opcode) &&
          computations.with_body()) {
        computations.One("calls", called[0]);
      } else if (called.size() == 1) {
        computations.One("to_apply", called[0]);
      } else {
        computations.List("calls", called);
      }
      if (opcode == HloOpcode::kCall && inst.is_composite()) {
        attributes.Next([](Printer* p) { p->Append("is_composite=true"); });
      }
  }
}

// The opcode's own attributes and the computations it calls.
void PrintOwnAttributes(const HloInstruction& inst,
                        AttributePrinter& attributes,
                        const HloPrintOptions& options,
                        CanonicalNameMap* names) {
  if (options.print_extra_attributes()) {
    HloInstructionPrinter::PrintOpcodeAttributes(inst, attributes, options);
  }
  if (options.print_extra_attributes() && inst.has_result_accuracy()) {
    attributes.Next([&](Printer* p) {
      p->Append("result_accuracy=");
      PrintResultAccuracy(p, inst.result_accuracy());
    });
  }
  PrintCalledComputations(inst, attributes, options, names);
}

void PrintControlPredecessors(const HloInstruction& inst,
                              AttributePrinter& attributes,
                              const HloPrintOptions& options) {
  if (!options.print_control_dependencies() ||
      inst.control_predecessors().empty()) {
    return;
  }
  attributes.Next([&](Printer* p) {
    p->Append("control-predecessors={");
    absl::string_view separator = "";
    for (const HloInstruction* predecessor : inst.control_predecessors()) {
      p->Append(separator);
      separator = ", ";
      PrintInstructionName(p, options, predecessor->name());
    }
    p->Append("}");
  });
}

// Whether text without the computation lets a reader build it again: its
// parameters are what the start binds, or where later links bind the rest, what
// the chain has bound at its end; its result is that of the chain.
bool ChainTellsComputation(const HloInstruction& start,
                           const HloComputation& computation) {
  if (start.operand_count() == computation.num_parameters()) return true;
  const auto is_state = [](const Shape& shape) {
    return shape.IsTuple() && shape.tuple_shapes_size() >= 2 &&
           shape.tuple_shapes(0).IsTuple();
  };
  const Shape* state = &start.shape();
  if (!is_state(*state)) return false;
  const Shape* result = &state->tuple_shapes(1);
  const HloInstruction* last = async_segments::Last(&start);
  if (last->opcode() == HloOpcode::kAsyncDone) {
    // Each link asks, and only the end of the chain matters.
    result = &last->shape();
    state = &async_segments::Previous(last)->shape();
    if (!is_state(*state)) return false;
  } else {
    for (const HloAsyncInstruction* link :
         Cast<HloAsyncInstruction>(&start)->GetAsyncChain()) {
      if (link->parent() != start.parent()) return false;
      if (link->opcode() == HloOpcode::kAsyncDone) {
        result = &link->shape();
      } else {
        state = &link->shape();
        if (!is_state(*state)) return false;
        result = &state->tuple_shapes(1);
      }
    }
  }
  const std::vector<Shape>& bound = state->tuple_shapes(0).tuple_shapes();
  return *result == computation.root_instruction()->shape() &&
         absl::c_equal(bound, computation.parameter_instructions(),
                       [](const Shape& shape, const HloInstruction* parameter) {
                         return shape == parameter->shape();
                       });
}

}  // namespace

bool PrintsAsAsyncSugar(const HloInstruction& inst,
                        const HloPrintOptions& options) {
  if (!inst.IsAsynchronous()) return false;
  // A link that reaches neither start nor computation has no other way to tell
  // what it waits for.
  if (inst.async_wrapped_computation() == nullptr) {
    return !HloOpcodeIsAsync(inst.async_wrapped_opcode());
  }
  if (!options.syntax_sugar_async_ops()) return false;
  const HloInstruction* start = inst.async_chain_start();
  if (start == nullptr || start->called_computations().empty()) return false;
  const HloComputation* computation = start->called_computations()[0];
  const HloInstruction* wrapped = computation->root_instruction();
  // output_to_operand_aliasing on the line would be taken for that of the
  // wrapped operation.
  if (HloCallableInstruction::ClassOf(wrapped) &&
      !start->output_operand_aliasing().empty()) {
    return false;
  }
  return computation->CanExpandIntoSingleInstruction() &&
         !HasNativeAsyncForm(wrapped->opcode()) &&
         ChainTellsComputation(*start, *computation);
}

bool IsHiddenBySugar(const HloComputation& computation,
                     const HloPrintOptions& options) {
  if (!options.syntax_sugar_async_ops()) return false;
  const auto callers = computation.caller_instructions();
  if (callers.empty()) return false;
  for (const HloInstruction* caller : callers) {
    if (!PrintsAsAsyncSugar(*caller, options)) return false;
  }
  return true;
}

void PrintAttributes(const HloInstruction& inst, AttributePrinter& attributes,
                     const HloPrintOptions& options, CanonicalNameMap* names) {
  PrintOwnAttributes(inst, attributes, options, names);
  if (inst.opcode() == HloOpcode::kAsyncStart &&
      options.print_extra_attributes() && PrintsAsAsyncSugar(inst, options)) {
    PrintOwnAttributes(*inst.async_wrapped_instruction(), attributes, options,
                       names);
    PrintAliasing(attributes, inst.output_operand_aliasing());
  }
  if (inst.has_sharding()) {
    attributes.Next([&](Printer* p) {
      p->Append("sharding=");
      inst.sharding().Print(p, options.print_metadata());
    });
  }
  if (options.print_frontend_attributes() && inst.has_frontend_attributes()) {
    attributes.Next([&](Printer* p) {
      p->Append("frontend_attributes=");
      PrintFrontendAttributes(p, inst.frontend_attributes());
    });
  }
  PrintControlPredecessors(inst, attributes, options);
  if (inst.has_statistics()) {
    attributes.Next([&](Printer* p) {
      p->Append("statistics=");
      PrintStatisticsViz(p, inst.statistics_viz());
    });
  }
}

}  // namespace hlo_print_internal
}  // namespace xla
