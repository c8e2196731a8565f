#ifndef XLA_HLO_EVALUATOR_RUN_INIT_VALUES_H_
#define XLA_HLO_EVALUATOR_RUN_INIT_VALUES_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether the init values of a reduce or reduce-window may be met any number of
// times, as when parts are reduced first: they are constants, and combined with
// themselves they are themselves (a sum from 0, a maximum from anything). False
// where finding out would take long, as with a loop that may not end.
bool InitMayRepeat(const HloInstruction& reduction);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_INIT_VALUES_H_
