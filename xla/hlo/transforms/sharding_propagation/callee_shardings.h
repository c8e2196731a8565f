#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Gives the state of a loop one sharding: parameters of condition and body and
// the body's root get that of the loop; roots of branches that of their
// conditional. Propagation ties these, but if annotations contradict each
// other, they may end up different; the verifier (V175) requires them to be
// equal.
//
//   before: w = while(x), body=b, sharding={devices=[2]<=[2]}
//           b { p = parameter(0), sharding={replicated} ... }
//   after:  b { p = parameter(0), sharding={devices=[2]<=[2]} ... }
//
// The caller's sharding is used, otherwise that of any of the others; a
// computation that several instructions call keeps what the first of them gave
// it, and the later ones take that. Instructions without a sharding stay
// without one unless `give_to_all`: then the sharding of one is given to all.
// Returns whether anything changed.
bool UnifyCalleeShardings(HloModule* module, bool give_to_all);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_CALLEE_SHARDINGS_H_
