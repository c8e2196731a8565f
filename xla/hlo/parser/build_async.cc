#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"

namespace xla::hlo_text {

using A = Attribute;

namespace {

// ((operands), results, context...)
bool IsChainShape(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes_size() >= 2 &&
         shape.tuple_shapes(0).IsTuple();
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
    computation = WrapInComputation(draft);
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
  HloComputation::Builder builder(absl::StrCat(draft->name, "_computation"));
  absl::InlinedVector<HloInstruction*, 8> parameters;
  for (const HloInstruction* operand : draft->operands) {
    const int64_t number = parameters.size();
    parameters.push_back(builder.AddInstruction(HloInstruction::CreateParameter(
        number, operand->shape(), absl::StrCat("param_", number))));
  }
  // The same draft, seen as the operation itself.
  const Shape* chain_shape = draft->shape;
  draft->operands.swap(parameters);
  draft->shape = &chain_shape->tuple_shapes(1);
  draft->sugar = AsyncSugar::kNone;
  std::unique_ptr<HloInstruction> wrapped;
  if (CheckOperandCount(*draft)) wrapped = BuildOpcode(*draft);
  draft->sugar = AsyncSugar::kStart;
  draft->shape = chain_shape;
  draft->operands.swap(parameters);
  if (wrapped == nullptr) return nullptr;

  const AttributeValues& values = draft->values;
  if (values.Has(A::kMetadata)) wrapped->set_metadata_ptr(values.metadata);
  if (values.Has(A::kFrontendAttributes)) {
    wrapped->set_frontend_attributes(values.frontend_attributes);
  }
  if (values.Has(A::kBackendConfig)) {
    wrapped->set_raw_backend_config_string(values.backend_config);
  }
  HloInstruction* root = builder.AddInstruction(std::move(wrapped),
                                                HloOpcodeString(draft->opcode));
  computations_.push_back(builder.Build(root));
  unnamed_computations_.insert(computations_.back().get());
  return computations_.back().get();
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
      computation != draft.values.Computation(A::kCalls)) {
    return Error(draft.opcode_loc,
                 "calls= names another computation than the async-start");
  }
  if (wrapped.has_value() && previous->async_wrapped_opcode() != *wrapped) {
    return Error(draft.opcode_loc,
                 absl::StrCat("the chain was started with ",
                              HloOpcodeString(previous->async_wrapped_opcode()),
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
  if (!wrapped.has_value() && !previous->IsAsynchronous()) {
    Error(draft.opcode_loc,
          "calls= is needed where the async-start cannot be reached");
    return nullptr;
  }
  if (is_done) {
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
