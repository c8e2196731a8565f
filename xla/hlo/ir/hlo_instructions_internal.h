#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_INTERNAL_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_INTERNAL_H_

// Shared by the files of the instruction classes.

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// `other` as the class that its opcode says; the caller has compared opcodes.
template <typename T>
const T& As(const HloInstruction& other) {
  return static_cast<const T&>(other);
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_INTERNAL_H_
