#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_LAYOUT_ASSIGNMENT_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_LAYOUT_ASSIGNMENT_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/verifier/visitors/layout_change.h"

namespace xla {

// What verifiers ask of OpenXLA's pass of this name. The pass itself is not
// here: it is no HloModulePass, and code that runs it does not compile.
class LayoutAssignment {
 public:
  static bool InstructionCanChangeLayout(const HloInstruction* instruction) {
    return xla::InstructionCanChangeLayout(instruction);
  }
};

}  // namespace xla

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_LAYOUT_ASSIGNMENT_H_
