#include "xla/hlo/utils/hlo_query.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/side_effect_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_query {
namespace {

bool IsParameter(const HloInstruction* instr) {
  return instr->opcode() == HloOpcode::kParameter;
}
bool IsParameterOrConstant(const HloInstruction* instr) {
  return IsParameter(instr) || instr->IsConstant();
}

template <typename Predicate>
HloInstruction* FirstInstruction(const HloComputation& computation,
                                 Predicate predicate) {
  for (HloInstruction* instr : computation.instructions()) {
    if (predicate(instr)) return instr;
  }
  return nullptr;
}

// Some instruction of the module.
template <typename Predicate>
bool AnyInstruction(const HloModule& module, Predicate predicate) {
  return absl::c_any_of(
      module.computations(), [&](const HloComputation* computation) {
        return FirstInstruction(*computation, predicate) != nullptr;
      });
}

}  // namespace

bool IsCollectiveCommunicationOp(HloOpcode op) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAllGather, HloOpcode::kAllGatherStart, HloOpcode::kAllReduce,
      HloOpcode::kAllReduceStart, HloOpcode::kAllToAll,
      HloOpcode::kCollectiveBroadcast, HloOpcode::kCollectivePermute,
      HloOpcode::kCollectivePermuteStart, HloOpcode::kRaggedAllToAll,
      HloOpcode::kReduceScatter>(op);
}

bool IsAsyncCollectiveStartOp(const HloInstruction* instruction,
                              bool include_send_recv) {
  switch (instruction->opcode()) {
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCollectivePermuteStart:
      return true;
    case HloOpcode::kAsyncStart:
      return IsCollectiveCommunicationOp(instruction->async_wrapped_opcode());
    case HloOpcode::kRecv:
    case HloOpcode::kSend:
      return include_send_recv;
    default:  // No start.
      return false;
  }
}

bool IsAsyncCollectiveDoneOp(const HloInstruction* instruction,
                             bool include_send_recv) {
  switch (instruction->opcode()) {
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kCollectivePermuteDone:
      return true;
    case HloOpcode::kAsyncDone:
      return IsCollectiveCommunicationOp(instruction->async_wrapped_opcode());
    case HloOpcode::kRecvDone:
    case HloOpcode::kSendDone:
      return include_send_recv;
    default:  // No done.
      return false;
  }
}

bool ContainsLayoutConstrainedCollective(const HloModule& module,
                                         HloOpcode op) {
  return AnyInstruction(module, [&](const HloInstruction* instr) {
    if (instr->opcode() != op) return false;
    const auto* collective = DynCast<HloCollectiveInstruction>(instr);
    return collective != nullptr && collective->constrain_layout();
  });
}

bool ContainsLayoutConstrainedAllReduce(const HloModule& module) {
  return ContainsLayoutConstrainedCollective(module, HloOpcode::kAllReduce);
}

int64_t NextChannelId(const HloModule& module) {
  return module.NextChannelId();
}

bool HasX64TransformedHostTransfer(const HloModule& module) {
  return AnyInstruction(module, [](const HloInstruction* instr) {
    const auto* transfer = DynCast<HloSendRecvInstruction>(instr);
    return transfer != nullptr && transfer->is_host_transfer() &&
           instr->get_frontend_attribute(kXlaHostTransferIsLowerBitsAttr)
               .has_value();
  });
}

bool IsConstantR0F32(HloInstruction* instruction, float* out) {
  if (!ShapeUtil::IsScalarWithElementType(instruction->shape(), F32)) {
    return false;
  }
  const auto* constant = DynCast<HloConstantInstruction>(instruction);
  if (constant == nullptr || !constant->HasLiteral() ||
      !constant->literal().IsKnown()) {
    return false;
  }
  *out = constant->literal().GetFirstElement<float>();
  return true;
}

bool IsScalarConstant(const HloInstruction* instruction) {
  return instruction->IsConstant() && ShapeUtil::IsScalar(instruction->shape());
}

bool IsAllConstant(const HloInstruction* inst, int8_t value) {
  while (inst->opcode() == HloOpcode::kBroadcast ||
         inst->opcode() == HloOpcode::kReshape) {
    inst = inst->operand(0);
  }
  return inst->opcode() == HloOpcode::kConstant && inst->shape().IsArray() &&
         !inst->literal().is_elided() && inst->literal().IsAll(value);
}

bool IsBroadcastedConstantOrScalar(const HloInstruction& instr) {
  auto is_source = [](const HloInstruction& source) {
    return source.IsConstant() || ShapeUtil::IsScalar(source.shape());
  };
  return is_source(instr) || (instr.opcode() == HloOpcode::kBroadcast &&
                              is_source(*instr.operand(0)));
}

bool IsBroadcastOfScalarConstant(const HloInstruction& instr) {
  return instr.opcode() == HloOpcode::kBroadcast &&
         IsScalarConstant(instr.operand(0));
}

bool IsBroadcastOfParameter(const HloInstruction& instr) {
  return instr.opcode() == HloOpcode::kBroadcast &&
         IsParameter(instr.operand(0));
}

bool IsEffectiveParameter(const HloInstruction& instr) {
  const HloInstruction* source = &instr;
  while (source->opcode() == HloOpcode::kBitcast ||
         source->opcode() == HloOpcode::kGetTupleElement) {
    source = source->operand(0);
  }
  return IsParameter(source);
}

bool AllOperandsAreParametersOrConstants(const HloInstruction& instruction) {
  return absl::c_all_of(instruction.operands(), IsParameterOrConstant);
}

bool AllOperandsAreParametersOrConstantsWithSingleUser(
    const HloInstruction& instruction) {
  return absl::c_all_of(
      instruction.operands(), [](const HloInstruction* operand) {
        return IsParameterOrConstant(operand) && operand->user_count() == 1;
      });
}

bool AllOperandsAreParameters(const HloInstruction& instruction) {
  return absl::c_all_of(instruction.operands(), IsParameter);
}

bool AllOperandsAreConstants(const HloInstruction& instruction) {
  return absl::c_all_of(
      instruction.operands(),
      [](const HloInstruction* operand) { return operand->IsConstant(); });
}

const HloInstruction* StripCastLike(const HloInstruction* instr) {
  while (instr->opcode() == HloOpcode::kBitcast ||
         instr->opcode() == HloOpcode::kBitcastConvert ||
         instr->opcode() == HloOpcode::kConvert) {
    instr = instr->operand(0);
  }
  return instr;
}

HloInstruction* GetFirstInstructionWithOpcode(const HloComputation& computation,
                                              HloOpcode opcode) {
  return FirstInstruction(computation, [&](const HloInstruction* instr) {
    return instr->opcode() == opcode;
  });
}

HloInstruction* GetFirstInstructionWithOpcode(
    const HloComputation& computation, absl::Span<const HloOpcode> opcodes) {
  return FirstInstruction(computation, [&](const HloInstruction* instr) {
    return absl::c_linear_search(opcodes, instr->opcode());
  });
}

HloInstruction* FindInstruction(const HloComputation* computation,
                                absl::string_view name) {
  return FirstInstruction(*computation, [&](const HloInstruction* instr) {
    return instr->name() == name;
  });
}

HloInstruction* FindInstruction(const HloComputation* computation,
                                HloOpcode opcode) {
  return GetFirstInstructionWithOpcode(*computation, opcode);
}

HloComputation* FindComputation(HloModule* module, absl::string_view name) {
  return module->GetComputationWithName(name);
}

bool ContainsInstrWithOpcode(const HloComputation* comp,
                             const absl::flat_hash_set<HloOpcode>& opcodes) {
  return FirstInstruction(*comp, [&](const HloInstruction* instr) {
           return opcodes.contains(instr->opcode());
         }) != nullptr;
}

HloInstruction* GetMatchingOperand(const HloPredicate& matcher,
                                   HloInstruction* instruction) {
  for (HloInstruction* operand : instruction->operands()) {
    if (matcher(operand)) return operand;
  }
  return nullptr;
}

bool MatchBinaryInstructionOperand(const HloPredicate& matcher,
                                   HloInstruction* instruction,
                                   HloInstruction** matching_operand,
                                   HloInstruction** other_operand) {
  if (instruction->operand_count() != 2) return false;
  for (int64_t i = 0; i < 2; ++i) {
    if (matcher(instruction->operand(i))) {
      *matching_operand = instruction->mutable_operand(i);
      *other_operand = instruction->mutable_operand(1 - i);
      return true;
    }
  }
  return false;
}

bool MatchBinaryInstructionOperandOpcode(HloOpcode opcode,
                                         HloInstruction* instruction,
                                         HloInstruction** matching_operand,
                                         HloInstruction** other_operand) {
  return MatchBinaryInstructionOperand(
      [opcode](const HloInstruction* instr) {
        return instr->opcode() == opcode;
      },
      instruction, matching_operand, other_operand);
}

HloInstruction* GetUniqueGteInstruction(const HloInstruction* operand,
                                        int64_t index) {
  HloInstruction* found = nullptr;
  for (HloInstruction* user : operand->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement ||
        user->tuple_index() != index) {
      continue;
    }
    if (found != nullptr) return nullptr;
    found = user;
  }
  return found;
}

int64_t CountGteInstructionsWithIndex(const HloComputation* computation,
                                      int64_t index) {
  return absl::c_count_if(
      computation->instructions(), [&](const HloInstruction* instr) {
        return instr->opcode() == HloOpcode::kGetTupleElement &&
               instr->tuple_index() == index;
      });
}

bool IsChangeTilingCopyFusion(const HloInstruction* instr) {
  if (instr->opcode() != HloOpcode::kFusion) return false;
  const HloInstruction* root = instr->fused_expression_root();
  if (root->opcode() != HloOpcode::kCopy || !IsParameter(root->operand(0))) {
    return false;
  }
  const Shape& to = root->shape();
  const Shape& from = root->operand(0)->shape();
  return Shape::Equal().IgnoreTilesInLayout()(to, from) &&
         !Shape::Equal()(to, from);
}

bool IsStandardAssociativeScan(const HloInstruction* instruction) {
  const auto* scan = DynCast<HloScanInstruction>(instruction);
  if (scan == nullptr || scan->is_associative() != TRI_STATE_TRUE ||
      scan->inputs().size() != 1 || scan->num_carries() != 1) {
    return false;
  }
  const HloInstruction* root = scan->to_apply()->root_instruction();
  if (root->opcode() != HloOpcode::kTuple || root->operand_count() != 2 ||
      root->operand(0) != root->operand(1)) {
    return false;
  }
  const HloInstruction* step = root->operand(0);
  return HloOpcodeIsBinaryCommutative(step->opcode()) &&
         step->opcode() != HloOpcode::kMulhi &&
         AllOperandsAreParameters(*step) &&
         step->operand(0) != step->operand(1);
}

bool HoldsBuffer(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsBuffer();
  return absl::c_any_of(shape.tuple_shapes(), HoldsBuffer);
}

}  // namespace hlo_query
}  // namespace xla
