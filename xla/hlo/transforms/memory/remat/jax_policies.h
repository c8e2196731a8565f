#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_

#include <string>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Translates the plan of a rewritten module to the JAX program that the module
// came from, as Python to paste: what to name with checkpoint_name, and for
// each layer a policy for jax.checkpoint that saves those values and recomputes
// the rest.
//
//   forward:   d = dot(x, w); h = tanh(d)             (of layer block_0/mlp)
//   backward:  h.remat = tanh(d); g = multiply(h.remat, dy)
//   → LAYERS = {"block_0/mlp": save_only_these_names("mlp_dot_general_12")}
//
// Layers are scopes of op_name (ParseOpName()): flax modules, jax.named_scope.
// Listed are the layers of whose forward pass something is recomputed in the
// backward pass, according to rematerialization's marks. Saved are the values
// that clones or the backward pass of the same layer read, directly or from the
// stacks of a loop; values read by other layers are their arguments, which
// jax.checkpoint saves in any case. Layers that differ only in numbers and save
// the same values become one entry, if it covers all of them. A name ends with
// the source line of the value, if it is known.
//
// Deterministic; linear in the module and the readers of its values. If nothing
// is recomputed for a gradient, returns Python that says so.
std::string JaxPolicies(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_
