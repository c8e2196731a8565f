#ifndef XLA_HLO_IR_HLO_TEST_MODULES_H_
#define XLA_HLO_IR_HLO_TEST_MODULES_H_

#include <memory>

#include "xla/hlo/ir/hlo_module.h"

// Modules built by hand, for tests of printing and of protos.

namespace xla {

// An instruction of each family of attributes, in one entry computation; their
// names are those of their opcodes. Not a program that computes anything.
std::unique_ptr<HloModule> MakeModuleOfAllFamilies();

// Gives the module what may go with any module (schedule, aliasing, stack
// frames, ...), and its entry's root what may go with any instruction.
void Decorate(HloModule* module);

// add(a, b) of two f32[4] parameters, with a scalar reduction `sum` besides.
std::unique_ptr<HloModule> MakeSmallModule();

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_TEST_MODULES_H_
