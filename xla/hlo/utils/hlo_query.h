#ifndef XLA_HLO_UTILS_HLO_QUERY_H_
#define XLA_HLO_UTILS_HLO_QUERY_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla {

// Small questions about instructions, computations and modules. Those that walk
// are linear in what they walk and do not enter called computations.
namespace hlo_query {

// --- Communication
// ------------------------------------------------------------

// Collectives and the start halves of asynchronous ones.
bool IsCollectiveCommunicationOp(HloOpcode op);

// The start (done) half of an asynchronous collective: all-reduce-start and the
// like, or an async-start (async-done) that wraps a collective. With
// `include_send_recv` also send and recv (send-done and recv-done).
bool IsAsyncCollectiveStartOp(const HloInstruction* instruction,
                              bool include_send_recv = false);
bool IsAsyncCollectiveDoneOp(const HloInstruction* instruction,
                             bool include_send_recv = false);

// Some instruction `op`, an opcode of a collective, has constrain_layout=true.
bool ContainsLayoutConstrainedCollective(const HloModule& module, HloOpcode op);
bool ContainsLayoutConstrainedAllReduce(const HloModule& module);

// A channel id greater than all in use, at least 1.
int64_t NextChannelId(const HloModule& module);

// Some transfer to or from the host is half of a 64-bit value.
bool HasX64TransformedHostTransfer(const HloModule& module);

// --- Constants and parameters
// -------------------------------------------------

// An f32[] constant; its value goes to `out`.
bool IsConstantR0F32(HloInstruction* instruction, float* out);

// A constant of shape [].
bool IsScalarConstant(const HloInstruction* instruction);
// Whether every element is known to be `value`: a constant, or a broadcast or
// reshape of one.
bool IsAllConstant(const HloInstruction* inst, int8_t value);
// A constant or scalar, or a broadcast of one.
bool IsBroadcastedConstantOrScalar(const HloInstruction& instr);
bool IsBroadcastOfScalarConstant(const HloInstruction& instr);
bool IsBroadcastOfParameter(const HloInstruction& instr);
// A parameter, seen through bitcasts and get-tuple-elements.
bool IsEffectiveParameter(const HloInstruction& instr);

// True also if there are no operands.
bool AllOperandsAreParametersOrConstants(const HloInstruction& instruction);
bool AllOperandsAreParametersOrConstantsWithSingleUser(
    const HloInstruction& instruction);
bool AllOperandsAreParameters(const HloInstruction& instruction);
bool AllOperandsAreConstants(const HloInstruction& instruction);

// The first instruction at or above `instr` that is not a bitcast,
// bitcast-convert or convert.
const HloInstruction* StripCastLike(const HloInstruction* instr);

// --- Search
// -------------------------------------------------------------------

// The first in the order of instructions(), or null.
HloInstruction* GetFirstInstructionWithOpcode(const HloComputation& computation,
                                              HloOpcode opcode);
HloInstruction* GetFirstInstructionWithOpcode(
    const HloComputation& computation, absl::Span<const HloOpcode> opcodes);
HloInstruction* FindInstruction(const HloComputation* computation,
                                absl::string_view name);
HloInstruction* FindInstruction(const HloComputation* computation,
                                HloOpcode opcode);
HloComputation* FindComputation(HloModule* module, absl::string_view name);

bool ContainsInstrWithOpcode(const HloComputation* comp,
                             const absl::flat_hash_set<HloOpcode>& opcodes);

// Calls fn(HloInstruction*) for each instruction that passes. `fn` may remove
// the instruction and add others.
template <typename Fn>
void ForEachInstructionWithPred(const HloComputation& computation,
                                HloPredicate pred, Fn&& fn) {
  for (HloInstruction* instr : computation.instructions()) {
    if (pred(instr)) fn(instr);
  }
}
template <typename Fn>
void ForEachInstructionWithPred(const HloModule& module, HloPredicate pred,
                                Fn&& fn) {
  for (HloComputation* computation : module.computations()) {
    ForEachInstructionWithPred(*computation, pred, fn);
  }
}
template <typename Fn>
void ForEachInstructionWithOpcode(const HloComputation& computation,
                                  HloOpcode opcode, Fn&& fn) {
  for (HloInstruction* instr : computation.instructions()) {
    if (instr->opcode() == opcode) fn(instr);
  }
}
template <typename Fn>
void ForEachInstructionWithOpcode(const HloModule& module, HloOpcode opcode,
                                  Fn&& fn) {
  for (HloComputation* computation : module.computations()) {
    ForEachInstructionWithOpcode(*computation, opcode, fn);
  }
}

// --- Operands and users
// -------------------------------------------------------

// The first operand that passes, or null.
HloInstruction* GetMatchingOperand(const HloPredicate& matcher,
                                   HloInstruction* instruction);
// For a binary instruction: the first operand that passes, and the other one.
// False, with both unchanged, if neither passes.
bool MatchBinaryInstructionOperand(const HloPredicate& matcher,
                                   HloInstruction* instruction,
                                   HloInstruction** matching_operand,
                                   HloInstruction** other_operand);
bool MatchBinaryInstructionOperandOpcode(HloOpcode opcode,
                                         HloInstruction* instruction,
                                         HloInstruction** matching_operand,
                                         HloInstruction** other_operand);

// The get-tuple-element of `operand` at `index`; null if there is none or more
// than one.
HloInstruction* GetUniqueGteInstruction(const HloInstruction* operand,
                                        int64_t index);
// How many get-tuple-elements of that index the computation has.
int64_t CountGteInstructionsWithIndex(const HloComputation* computation,
                                      int64_t index);

// --- Special forms
// ------------------------------------------------------------

// A fusion that is a copy of its parameter and changes nothing but tiles.
bool IsChangeTilingCopyFusion(const HloInstruction* instr);

// A prefix sum, product, minimum, ...: a scan, marked associative, of one input
// and one carry, each step of which is one commutative opcode of the two, and
// which yields every carry:
//   add = add(carry, x)   ROOT tuple(add, add)
bool IsStandardAssociativeScan(const HloInstruction* instruction);

// Whether a value is or holds a buffer (`b(f32[4])`), which has one owner at a
// time.
bool HoldsBuffer(const Shape& shape);

}  // namespace hlo_query
}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_QUERY_H_
