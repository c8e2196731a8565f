#ifndef XLA_HLO_IR_HLO_TEST_MODULES_H_
#define XLA_HLO_IR_HLO_TEST_MODULES_H_

#include <memory>

#include "xla/hlo/ir/hlo_module.h"

// Modules built by hand, for tests of printing and of protos.

namespace xla {

// One instruction of each family of attributes, named by its opcode, in one
// entry computation. Not meant to compute anything.
std::unique_ptr<HloModule> MakeModuleOfAllFamilies();

// Adds everything that any module may have (schedule, aliasing, stack frames,
// ...), and to its entry's root everything that any instruction may have.
void Decorate(HloModule* module);

// add(a, b) of two f32[4] parameters, and a scalar reduction `sum`.
std::unique_ptr<HloModule> MakeSmallModule();

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_TEST_MODULES_H_
