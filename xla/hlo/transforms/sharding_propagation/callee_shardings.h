#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Gives the state of a loop one sharding: parameters of condition and body and
// the body's root have that of the loop; roots of branches that of their
// conditional. Propagation ties these, but where annotations contradict each
// other, they may end up different; the verifier (V175) wants them equal.
//
//   before: w = while(x), body=b, sharding={devices=[2]<=[2]}
//           b { p = parameter(0), sharding={replicated} ... }
//   after:  b { p = parameter(0), sharding={devices=[2]<=[2]} ... }
//
// Taken is what the caller has, else what any of the others has; a computation
// that several instructions call keeps what the first of them gave it, and the
// later ones take that. Instructions without a sharding stay without unless
// `give_to_all`: then what is said of one is said of all. Returns whether
// anything changed.
bool UnifyCalleeShardings(HloModule* module, bool give_to_all);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_
