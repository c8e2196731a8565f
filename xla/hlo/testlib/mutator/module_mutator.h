#ifndef XLA_HLO_TESTLIB_MUTATOR_MODULE_MUTATOR_H_
#define XLA_HLO_TESTLIB_MUTATOR_MODULE_MUTATOR_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Adds to any module, at random places, what is legal and what programs hardly
// ever have there: control dependencies, dead instructions, attributes,
// shardings, operands that come twice, readers that reach a value through a
// tuple with tokens, a loop, a call, an asynchronous copy, …; dynamic and
// zero-sized values, calls with side effects that hold them alive, an entry
// result of several parts; a schedule, several devices.
//
// The module is not always legal afterwards (a fusion must not hold a token):
// verify it. Values keep their meaning but where random numbers, unknown calls
// or other operands come in. The same seed makes the same change of the same
// module. O(size of the module).
void MutateModule(uint64_t seed, HloModule* module);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_MUTATOR_MODULE_MUTATOR_H_
