#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

// Asynchronous chains have two spellings. async-start names the computation
// that it runs; the short form, dot-start(x, y), leaves it out, and the parser
// makes a computation of that one operation.
//
// A start may bind some of the operands and show a part of the result, and
// leave the others to updates. Then neither the shapes of the operation's
// operands nor that of its result are known before the rest of the chain has
// been read. Such a start gets an empty computation (ReserveWrapper) and keeps
// its draft, from which the operation is made once all of the enclosing
// computation is there (FinishLateWrappers).

namespace xla::hlo_text {

using A = Attribute;

namespace {

// The name of the computation that a short form stands for.
constexpr absl::string_view kWrapperName = "async_wrapped";

// ((operands), results, context...)
bool IsChainShape(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes_size() >= 2 &&
         shape.tuple_shapes(0).IsTuple();
}

// The callee of a call or fusion with sugar; null for all others.
const HloComputation* CalleeOf(const AttributeValues& values,
                               HloOpcode opcode) {
  if (opcode == HloOpcode::kCall) return values.Computation(A::kToApply);
  if (opcode == HloOpcode::kFusion) return values.Computation(A::kCalls);
  return nullptr;
}

// Whether a start binds all operands and shows all of the output: later links
// have nothing to add. That cannot be told of operations with any number of
// operands, nor of tuples, which may be parts.
bool KnowsAllOfTheCall(const AttributeValues& values, HloOpcode opcode,
                       int64_t operands, const Shape& output) {
  if (output.IsTuple()) return false;
  if (const HloComputation* callee = CalleeOf(values, opcode)) {
    return operands == callee->num_parameters();
  }
  return HloOpcodeArity(opcode) == operands ||
         (opcode == HloOpcode::kDot && operands == 2);
}

}  // namespace

// async-start, -update, -done; or op-start, -update, -done, where op-start
// makes a computation of one op for the chain.
std::unique_ptr<HloInstruction> ModuleParser::BuildAsync(Draft* draft) {
  const bool starts = draft->sugar == AsyncSugar::kStart ||
                      (draft->sugar == AsyncSugar::kNone &&
                       draft->opcode == HloOpcode::kAsyncStart);
  return starts ? BuildAsyncStart(draft) : BuildAsyncLink(*draft);
}

bool ModuleParser::CheckAsyncShape(const Draft& draft, const Shape& shape) {
  return IsChainShape(shape) ||
         Error(draft.opcode_loc,
               "the shape of asynchronous operations is ((operands), results, "
               "context...)");
}

std::unique_ptr<HloInstruction> ModuleParser::BuildAsyncStart(Draft* draft) {
  const AttributeValues& values = draft->values;
  if (!CheckAsyncShape(*draft, *draft->shape)) return nullptr;
  const bool has_thread = values.Has(A::kAsyncExecutionThread);
  std::string thread = values.String(A::kAsyncExecutionThread);
  if (thread.empty()) thread = HloInstruction::kMainExecutionThread;
  HloComputation* computation;
  if (draft->sugar == AsyncSugar::kStart) {
    draft->wraps_late =
        !KnowsAllOfTheCall(values, draft->opcode, draft->operands.size(),
                           draft->shape->tuple_shapes(1));
    computation =
        draft->wraps_late ? ReserveWrapper(*draft) : WrapInComputation(draft);
    if (computation == nullptr) return nullptr;
  } else {
    computation = values.Computation(A::kCalls);
    // The computation may say where it runs; the two must agree.
    if (!has_thread) {
      thread = std::string(computation->execution_thread());
    } else if (!computation->IsMainThread() &&
               computation->execution_thread() != thread) {
      Error(draft->opcode_loc, absl::StrCat("the computation runs on thread '",
                                            computation->execution_thread(),
                                            "', not '", thread, "'"));
      return nullptr;
    }
    if (computation->num_parameters() <
        static_cast<int64_t>(draft->operands.size())) {
      Error(draft->opcode_loc,
            absl::StrCat("the computation has ", computation->num_parameters(),
                         " parameters, async-start ", draft->operands.size(),
                         " operands"));
      return nullptr;
    }
  }
  std::unique_ptr<HloInstruction> start = HloInstruction::CreateAsyncStart(
      *draft->shape, draft->operands, computation, thread);
  // With sugar, aliasing belongs to the wrapped operation if that can have it.
  const bool wrapped_has_aliasing =
      draft->sugar == AsyncSugar::kStart &&
      RulesFor(draft->opcode).allowed.Has(A::kOutputToOperandAliasing);
  if (values.Has(A::kOutputToOperandAliasing) && !wrapped_has_aliasing) {
    Cast<HloAsyncStartInstruction>(start.get())
        ->set_output_to_operand_aliasing(values.aliases);
  }
  return start;
}

// Makes a computation whose root is the operation without `-start`, with the
// attributes of the draft.
HloComputation* ModuleParser::WrapInComputation(Draft* draft) {
  std::vector<const Shape*> operand_shapes;
  for (const HloInstruction* operand : draft->operands) {
    operand_shapes.push_back(&operand->shape());
  }
  std::unique_ptr<HloComputation> computation =
      Wrap(draft, operand_shapes, draft->shape->tuple_shapes(1));
  if (computation == nullptr) return nullptr;
  HloInstruction* wrapped = computation->root_instruction();
  const AttributeValues& values = draft->values;
  if (values.Has(A::kMetadata)) wrapped->set_metadata_ptr(values.metadata);
  if (values.Has(A::kFrontendAttributes)) {
    wrapped->set_frontend_attributes(values.frontend_attributes);
  }
  if (values.Has(A::kBackendConfig)) {
    wrapped->set_raw_backend_config_string(values.backend_config);
  }
  if (values.Has(A::kStatistics)) {
    wrapped->set_statistics_viz(values.statistics);
  }
  computations_.push_back({std::move(computation), draft->loc});
  return computations_.back().computation.get();
}

// The same draft, seen as the operation itself.
std::unique_ptr<HloComputation> ModuleParser::Wrap(
    Draft* draft, absl::Span<const Shape* const> operand_shapes,
    const Shape& result) {
  HloComputation::Builder builder(kWrapperName);
  absl::InlinedVector<HloInstruction*, 8> parameters;
  for (const Shape* shape : operand_shapes) {
    const int64_t number = parameters.size();
    parameters.push_back(builder.AddInstruction(
        HloInstruction::CreateParameter(number, *shape, "async_param")));
  }
  const Shape* chain_shape = draft->shape;
  draft->operands.swap(parameters);
  draft->shape = &result;
  draft->sugar = AsyncSugar::kNone;
  std::unique_ptr<HloInstruction> wrapped;
  if (CheckOperandCount(*draft)) wrapped = BuildOpcode(*draft);
  draft->sugar = AsyncSugar::kStart;
  draft->shape = chain_shape;
  draft->operands.swap(parameters);
  if (wrapped == nullptr) return nullptr;
  HloInstruction* root = builder.AddInstruction(std::move(wrapped),
                                                HloOpcodeString(draft->opcode));
  return builder.Build(root);
}

// The computation of a start until that of the operation takes its place.
HloComputation* ModuleParser::ReserveWrapper(const Draft& draft) {
  HloComputation::Builder builder(kWrapperName);
  builder.AddInstruction(HloInstruction::CreateTuple({}));
  computations_.push_back({builder.Build(), draft.loc});
  HloComputation* computation = computations_.back().computation.get();
  late_opcodes_[computation] = draft.opcode;
  return computation;
}

// Takes the draft away from those that are reused.
void ModuleParser::KeepLateWrapper(Scope* scope, Draft* draft,
                                   HloInstruction* start) {
  if (!draft->wraps_late) return;
  std::unique_ptr<Draft>& slot = drafts_[drafts_in_use_ - 1];
  scope->late_wrappers.push_back({std::move(slot), start});
  slot = std::make_unique<Draft>();
}

bool ModuleParser::FinishLateWrappers(Scope* scope) {
  for (LateWrapper& late : scope->late_wrappers) {
    if (!FinishLateWrapper(late.draft.get(), late.start)) return false;
  }
  scope->late_wrappers.clear();
  return true;
}

// The operands are those that the last link has bound, and at least those that
// the callee takes; the result is that of the done.
bool ModuleParser::FinishLateWrapper(Draft* draft, HloInstruction* start) {
  const Shape* state = &start->shape();
  const Shape* result = nullptr;
  const HloInstruction* done = nullptr;
  for (const HloAsyncInstruction* link :
       Cast<HloAsyncInstruction>(start)->GetAsyncChain()) {
    if (link->opcode() == HloOpcode::kAsyncDone) {
      done = link;
    } else {
      state = &link->shape();
    }
  }
  const HloComputation* callee = CalleeOf(draft->values, draft->opcode);
  const Shape& shown = state->tuple_shapes(1);
  if (done != nullptr) {
    result = &done->shape();
  } else if (callee != nullptr && ShapeUtil::IsEmptyTuple(shown)) {
    result = &callee->root_instruction()->shape();
  } else {
    result = &shown;
  }
  std::vector<const Shape*> operand_shapes;
  for (const Shape& shape : state->tuple_shapes(0).tuple_shapes()) {
    operand_shapes.push_back(&shape);
  }
  if (callee != nullptr) {
    for (int64_t i = operand_shapes.size(); i < callee->num_parameters(); ++i) {
      operand_shapes.push_back(&callee->parameter_instruction(i)->shape());
    }
  }
  // No chain need bind all; what is never bound has no shape.
  const Shape unbound = ShapeUtil::MakeShape(F32, {});
  const int64_t arity = draft->opcode == HloOpcode::kDot
                            ? 2
                            : HloOpcodeArity(draft->opcode).value_or(0);
  while (static_cast<int64_t>(operand_shapes.size()) < arity) {
    operand_shapes.push_back(&unbound);
  }
  std::unique_ptr<HloComputation> computation =
      Wrap(draft, operand_shapes, *result);
  if (computation == nullptr) return false;
  HloInstruction* wrapped = computation->root_instruction();
  wrapped->set_metadata_ptr(start->metadata_ptr());
  if (start->has_frontend_attributes()) {
    wrapped->set_frontend_attributes(start->frontend_attributes());
  }
  if (start->has_backend_config()) {
    wrapped->set_raw_backend_config_string(start->raw_backend_config_string());
  }
  if (start->has_statistics()) {
    wrapped->set_statistics_viz(start->statistics_viz());
  }
  if (done != nullptr && done->original_value() != nullptr) {
    wrapped->set_original_value(done->original_value());
  }
  HloComputation* reserved = start->called_computations()[0];
  HloComputation* owned = computation.get();
  start->ReplaceCalledComputations([&](HloComputation*) { return owned; });
  start->set_async_execution_thread(
      std::string(start->async_execution_thread()));
  late_opcodes_.erase(reserved);
  for (FinishedComputation& slot : computations_) {
    if (slot.computation.get() == reserved) {
      slot.computation = std::move(computation);
    }
  }
  return true;
}

// Checks an update or a done against the chain that it continues.
bool ModuleParser::CheckChain(const Draft& draft,
                              const HloInstruction* previous,
                              std::optional<HloOpcode> wrapped) {
  if (previous->opcode() == HloOpcode::kAsyncDone) {
    return Error(draft.opcode_loc,
                 "an asynchronous chain ends with its async-done");
  }
  if (!IsChainShape(previous->shape())) {
    return Error(draft.opcode_loc,
                 "the first operand must be an async-start or async-update, or "
                 "a value that came from one");
  }
  if (!previous->IsAsynchronous()) return true;
  const HloComputation* computation = previous->async_wrapped_computation();
  if (computation != nullptr && draft.values.Has(A::kCalls) &&
      computation != draft.values.Computation(A::kCalls) &&
      *computation != *draft.values.Computation(A::kCalls)) {
    return Error(draft.opcode_loc,
                 "calls= names another computation than the async-start");
  }
  const auto late = late_opcodes_.find(computation);
  const HloOpcode started = late != late_opcodes_.end()
                                ? late->second
                                : previous->async_wrapped_opcode();
  if (wrapped.has_value() && started != *wrapped) {
    return Error(
        draft.opcode_loc,
        absl::StrCat("the chain was started with ", HloOpcodeString(started),
                     ", not ", HloOpcodeString(*wrapped)));
  }
  if (draft.values.Has(A::kAsyncExecutionThread) &&
      previous->async_execution_thread() !=
          draft.values.String(A::kAsyncExecutionThread)) {
    return Error(
        draft.opcode_loc,
        absl::StrCat("the chain was started on thread '",
                     previous->async_execution_thread(), "', not '",
                     draft.values.String(A::kAsyncExecutionThread), "'"));
  }
  return true;
}

std::unique_ptr<HloInstruction> ModuleParser::BuildAsyncLink(
    const Draft& draft) {
  const bool is_sugar = draft.sugar != AsyncSugar::kNone;
  const bool is_done = is_sugar ? draft.sugar == AsyncSugar::kDone
                                : draft.opcode == HloOpcode::kAsyncDone;
  if (draft.operands.empty() || (is_done && draft.operands.size() != 1)) {
    Error(draft.opcode_loc,
          absl::StrCat(is_done ? "async-done takes exactly"
                               : "async-update takes at least",
                       " one operand, found ", draft.operands.size()));
    return nullptr;
  }
  std::optional<HloOpcode> wrapped;
  if (is_sugar) wrapped = draft.opcode;
  HloInstruction* previous = draft.operands[0];
  if (!CheckChain(draft, previous, wrapped)) return nullptr;
  if (!is_done && !CheckAsyncShape(draft, *draft.shape)) return nullptr;

  HloComputation* computation = draft.values.Computation(A::kCalls);
  if (computation != nullptr) {
    wrapped = computation->root_instruction()->opcode();
  }
  if (!wrapped.has_value() && AsyncStateProducer(previous) == nullptr) {
    Error(draft.opcode_loc,
          "calls= is needed where the async-start cannot be reached");
    return nullptr;
  }
  if (is_done) {
    if (is_sugar && draft.values.Has(A::kOrigin)) {
      // The value of the chain is that of the operation.
      const HloInstruction* link = AsyncStateProducer(previous);
      HloInstruction* op =
          link == nullptr ? nullptr : link->async_wrapped_instruction();
      if (op != nullptr) op->set_original_value(draft.values.origin);
    }
    return HloInstruction::CreateAsyncDone(*draft.shape, previous, wrapped,
                                           computation);
  }
  std::unique_ptr<HloInstruction> update = HloInstruction::CreateAsyncUpdate(
      *draft.shape, draft.operands, wrapped, computation);
  if (draft.values.Has(A::kOutputToOperandAliasing)) {
    Cast<HloAsyncUpdateInstruction>(update.get())
        ->set_output_to_operand_aliasing(draft.values.aliases);
  }
  return update;
}

}  // namespace xla::hlo_text
