// Rewrites of a finished random module into legal ones that programs rarely
// are.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

std::vector<HloComputation*> Unfused(const ModuleState& state) {
  std::vector<HloComputation*> computations;
  for (HloComputation* computation : state.module->MakeComputationPostOrder()) {
    // Those that are applied to scalars stay simple, too.
    const bool has_control =
        computation->IsEntryComputation() ||
        absl::c_any_of(computation->caller_instructions(),
                       [](const HloInstruction* caller) {
                         return caller->opcode() == HloOpcode::kCall ||
                                caller->opcode() == HloOpcode::kConditional ||
                                caller->opcode() == HloOpcode::kWhile;
                       });
    if (has_control) computations.push_back(computation);
  }
  return computations;
}

// call(x, f), …   →   call(x, f), call(x, f), …: one of the readers moves over.
void CallTwice(ModuleState& state, HloComputation* computation) {
  for (HloInstruction* call : computation->MakeInstructionPostOrder()) {
    const HloOpcode opcode = call->opcode();
    if (opcode != HloOpcode::kCall && opcode != HloOpcode::kConditional &&
        opcode != HloOpcode::kWhile) {
      continue;
    }
    if (call->users().empty() || !state.OneIn(3)) continue;
    HloInstruction* reader = call->users()[state.Below(call->user_count())];
    HloInstruction* again = computation->AddInstruction(
        call->CloneWithNewOperands(call->shape(), call->operands()));
    CHECK_OK(call->ReplaceUseWith(reader, again));
  }
}

// The tuple's readers read a copy of it.
void CopyTuples(ModuleState& state, HloComputation* computation) {
  for (HloInstruction* tuple : computation->MakeInstructionPostOrder()) {
    if (HloPredicateIsNotOp<HloOpcode::kCall, HloOpcode::kConditional,
                            HloOpcode::kParameter, HloOpcode::kTuple,
                            HloOpcode::kWhile>(tuple)) {
      continue;
    }
    if (!tuple->shape().IsTuple() || tuple->IsRoot() || !state.OneIn(4)) {
      continue;
    }
    HloInstruction* copy = computation->AddInstruction(
        HloInstruction::CreateUnary(tuple->shape(), HloOpcode::kCopy, tuple));
    const std::vector<HloInstruction*> readers(tuple->users().begin(),
                                               tuple->users().end());
    for (HloInstruction* reader : readers) {
      if (reader != copy) CHECK_OK(tuple->ReplaceUseWith(reader, copy));
    }
  }
}

// Edges along one order: no cycle.
void AddControlDependencies(ModuleState& state, HloComputation* computation) {
  const std::vector<HloInstruction*> order =
      computation->MakeInstructionPostOrder();
  const int64_t size = order.size();
  for (int64_t n = state.Below(4); n > 0 && size > 1; --n) {
    const int64_t first = state.Below(size - 1);
    const int64_t second = state.Between(first + 1, size - 1);
    CHECK_OK(order[first]->AddControlDependencyTo(order[second]));
  }
}

// Arrays of other layouts, where nothing takes the bytes as they lie.
void ChangeLayouts(ModuleState& state, HloComputation* computation) {
  for (HloInstruction* inst : computation->instructions()) {
    if (HloPredicateIsOp<HloOpcode::kBitcast, HloOpcode::kConstant,
                         HloOpcode::kParameter>(inst)) {
      continue;
    }
    const bool fixed =
        absl::c_any_of(inst->users(), [](const HloInstruction* user) {
          // The parts of an all-to-all have one layout.
          return user->opcode() == HloOpcode::kAllToAll ||
                 user->opcode() == HloOpcode::kAsyncStart ||
                 user->opcode() == HloOpcode::kBitcast ||
                 user->opcode() == HloOpcode::kCopyStart;
        });
    if (!inst->shape().IsArray() || inst->IsRoot() || fixed ||
        inst->shape().dimensions().size() < 2 || !state.OneIn(6)) {
      continue;
    }
    std::vector<int64_t> minor_to_major(inst->shape().dimensions().size());
    absl::c_iota(minor_to_major, 0);
    absl::c_shuffle(minor_to_major, state.rng);
    *inst->mutable_shape()->mutable_layout() =
        LayoutUtil::MakeLayout(minor_to_major);
  }
}

// Parameters whose memory becomes that of a result of the same shape.
void AliasParameters(ModuleState& state) {
  HloComputation* entry = state.module->entry_computation();
  const Shape& result = entry->root_instruction()->shape();
  HloInputOutputAliasConfig config(result);
  ShapeUtil::ForEachSubshape(result, [&](const Shape& part,
                                         const ShapeIndex& index) {
    if (!part.IsArray()) return;
    for (const HloInstruction* parameter : entry->parameter_instructions()) {
      const int64_t number = parameter->parameter_number();
      if (ShapeUtil::Equal(parameter->shape(), part) && state.OneIn(2) &&
          !config.ParameterHasAlias(number, {}) &&
          !config.OutputHasAlias(index)) {
        CHECK_OK(config.SetUpAlias(
            index, number, {},
            state.OneIn(2) ? HloInputOutputAliasConfig::kMayAlias
                           : HloInputOutputAliasConfig::kMustAlias));
      }
    }
  });
  state.module->set_input_output_alias_config(std::move(config));
}

// Names of layers, as frameworks write them, and attributes of unknown meaning.
void Annotate(ModuleState& state, HloComputation* computation) {
  for (HloInstruction* inst : computation->instructions()) {
    if (!state.OneIn(5)) continue;
    OpMetadata metadata;
    metadata.set_op_name(absl::StrCat("jit(f)/layer_", state.Below(3)));
    inst->set_metadata(metadata);
    if (state.OneIn(3)) inst->set_frontend_attribute("of_nobody", "1");
  }
}

// Random numbers, messages to the host and calls into the unknown: the module
// is no function of its parameters any more. Channels are those of one place:
// two calls must not use one.
void AddSideEffects(ModuleState& state, HloComputation* computation,
                    bool with_channels) {
  HloInstruction* token =
      computation->AddInstruction(HloInstruction::CreateToken());
  const Shape shape = ShapeUtil::MakeShape(F32, {2, 3});
  HloInstruction* infeed = computation->AddInstruction(
      HloInstruction::CreateInfeed(shape, token, "odd"));
  HloInstruction* read = computation->AddInstruction(
      HloInstruction::CreateGetTupleElement(infeed, 0));
  token = computation->AddInstruction(
      HloInstruction::CreateGetTupleElement(infeed, 1));
  HloInstruction* bound = computation->AddInstruction(
      HloInstruction::CreateConstant(Literal(ShapeUtil::MakeShape(F32, {}))));
  HloInstruction* noise = computation->AddInstruction(
      HloInstruction::CreateRng(shape, RNG_UNIFORM, {bound, bound}));
  for (int i = 0; i < 2; ++i) {
    read = computation->AddInstruction(HloInstruction::CreateBinary(
        shape, HloOpcode::kAdd, i == 0 ? read : noise, noise));
  }
  HloInstruction* pure = computation->AddInstruction(
      HloInstruction::CreateCustomCall(shape, {read}, "pure_of_nobody"));
  HloInstruction* effect = computation->AddInstruction(
      HloInstruction::CreateCustomCall(shape, {pure, pure}, "of_nobody"));
  Cast<HloCustomCallInstruction>(effect)->set_custom_call_has_side_effect(true);
  token = computation->AddInstruction(
      HloInstruction::CreateOutfeed(shape, pure, token, "odd"));
  computation->AddInstruction(HloInstruction::CreateRngGetAndUpdateState(
      ShapeUtil::MakeShape(U64, {2}), /*delta=*/7));
  if (!with_channels) return;
  const int64_t channel = state.next_channel_id++;
  HloInstruction* send = computation->AddInstruction(HloInstruction::CreateSend(
      pure, token, channel, /*is_host_transfer=*/true));
  computation->AddInstruction(
      HloInstruction::CreateSendDone(send, channel, /*is_host_transfer=*/true));
  const int64_t back = state.next_channel_id++;
  HloInstruction* recv = computation->AddInstruction(HloInstruction::CreateRecv(
      shape, token, back, /*is_host_transfer=*/true));
  computation->AddInstruction(
      HloInstruction::CreateRecvDone(recv, back, /*is_host_transfer=*/true));
}

}  // namespace

void MakeOdd(ModuleState& state) {
  HloComputation* entry = state.module->entry_computation();
  // Most of the module may be dead, and the root read.
  if (state.OneIn(12)) {
    const std::vector<HloInstruction*> order =
        entry->MakeInstructionPostOrder();
    HloInstruction* root = order[state.Below(order.size())];
    if (root->shape().IsArray()) {
      entry->set_root_instruction(root, /*accept_different_shape=*/true);
      *state.module->mutable_entry_computation_layout() =
          ComputationLayout(entry->ComputeProgramShape());
    }
  }
  for (HloComputation* computation : Unfused(state)) {
    if (state.OneIn(2)) CallTwice(state, computation);
    if (state.OneIn(2)) CopyTuples(state, computation);
    if (state.OneIn(3)) AddRareOpcodes(state, computation);
    if (state.OneIn(computation == entry ? 8 : 16)) {
      AddSideEffects(state, computation,
                     /*with_channels=*/computation == entry);
    }
    if (state.OneIn(2)) WrapAlone(state, computation);
    if (state.OneIn(2)) AddControlDependencies(state, computation);
    if (state.OneIn(2)) ChangeLayouts(state, computation);
    if (state.OneIn(2)) Annotate(state, computation);
  }
  if (state.OneIn(3)) AliasParameters(state);
}

}  // namespace random_module_internal
}  // namespace xla
