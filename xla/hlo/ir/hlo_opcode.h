#ifndef XLA_HLO_IR_HLO_OPCODE_H_
#define XLA_HLO_IR_HLO_OPCODE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.def"

namespace xla {

// The operation of an instruction. The table in hlo_opcode.def is the only
// list.
enum class HloOpcode : uint8_t {
#define XLA_DECLARE_ENUM(enumerator, ...) enumerator,
  HLO_OPCODE_LIST(XLA_DECLARE_ENUM)
#undef XLA_DECLARE_ENUM
};

// Arity of opcodes that take any number of operands, in HLO_OPCODE_LIST.
enum { kHloOpcodeIsVariadic = -1 };

// The text of an opcode in HLO ("get-tuple-element"); lives forever.
absl::string_view HloOpcodeString(HloOpcode opcode);

// The opcode whose text is `opcode_name`; InvalidArgument if there is none.
// Neither allocates nor hashes on success.
absl::StatusOr<HloOpcode> StringToHloOpcode(absl::string_view opcode_name);

// The same, but nullopt if there is no such opcode.
std::optional<HloOpcode> TryStringToHloOpcode(absl::string_view opcode_name);

inline std::ostream& operator<<(std::ostream& os, HloOpcode opcode) {
  return os << HloOpcodeString(opcode);
}

template <typename Sink>
void AbslStringify(Sink& sink, HloOpcode opcode) {
  sink.Append(HloOpcodeString(opcode));
}

// Whether `opcode` is one of `opcodes`. For instructions, HloPredicateIsOp().
template <HloOpcode... opcodes>
constexpr bool HloOpcodeIsOneOf(HloOpcode opcode) {
  return ((opcode == opcodes) || ...);
}

// True for compare alone.
inline bool HloOpcodeIsComparison(HloOpcode opcode) {
  return opcode == HloOpcode::kCompare;
}

// Number of operands; nullopt for opcodes that take any number of them.
std::optional<int8_t> HloOpcodeArity(HloOpcode opcode);
bool HloOpcodeIsVariadic(HloOpcode opcode);

// True for async-start, async-update and async-done (not for native pairs such
// as all-reduce-start and all-reduce-done).
bool HloOpcodeIsAsync(HloOpcode opcode);

// True if swapping the two operands never changes the value.
bool HloOpcodeIsBinaryCommutative(HloOpcode opcode);

// One result element per element of every operand, at the same index. Some
// opcodes depend on the instruction too: see HloInstruction.
bool HloOpcodeIsElementwiseUnary(HloOpcode opcode);
bool HloOpcodeIsElementwiseBinary(HloOpcode opcode);
bool HloOpcodeIsElementwise(HloOpcode opcode);

// Computes a transcendental or algebraic function, expensive on every device.
bool HloOpcodeIsTranscendental(HloOpcode opcode);

// Has a side effect regardless of its attributes.
bool HloOpcodeAlwaysHasSideEffect(HloOpcode opcode);

inline constexpr uint32_t HloOpcodeCount() {
#define XLA_COUNT_ONE(...) +1
  return HLO_OPCODE_LIST(XLA_COUNT_ONE);
#undef XLA_COUNT_ONE
}
static_assert(HloOpcodeCount() == 133 && HloOpcodeCount() < 256,
              "HloOpcode is held in one byte");

// How an instruction calls its computations: per element or as part of its own
// operation (embedded), or as steps of the program (control flow).
enum class CallContext {
  kEmbedded,
  kControlFlow,
  kBoth,
  kNone,
};

std::string CallContextToString(CallContext context);
std::ostream& operator<<(std::ostream& out, const CallContext& context);

// kNone for opcodes that call nothing.
CallContext GetInstructionCallContext(HloOpcode opcode);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_OPCODE_H_
