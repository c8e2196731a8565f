#ifndef XLA_HLO_IR_INSTRUCTION_SOURCE_H_
#define XLA_HLO_IR_INSTRUCTION_SOURCE_H_

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Where in the user's code the instruction comes from, as "file:line": the
// innermost frame of its stack trace that names a file, else the source file of
// its metadata (without ":line" where none is known). Empty if neither is
// there. Safe on modules that were not verified: of traces that never end the
// first 256 frames count.
std::string InstructionSource(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_IR_INSTRUCTION_SOURCE_H_
