#ifndef XLA_HLO_IR_INSTRUCTION_SOURCE_H_
#define XLA_HLO_IR_INSTRUCTION_SOURCE_H_

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Where in the user's code the instruction comes from, as "file:line": the
// innermost frame of its stack trace that names a file, else the source file of
// its metadata (without ":line" if unknown). Empty if it has neither. Safe on
// unverified modules: only the first 256 frames of a trace are considered.
std::string InstructionSource(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_IR_INSTRUCTION_SOURCE_H_
