#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_

#include <string>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The plan of a rewritten module for the JAX program that the module came from,
// as Python to paste: what to name with checkpoint_name, and for each layer a
// policy for jax.checkpoint that keeps those values and computes the rest
// again.
//
//   forward:   d = dot(x, w); h = tanh(d)             (of layer block_0/mlp)
//   backward:  h.remat = tanh(d); g = multiply(h.remat, dy)
//   → LAYERS = {"block_0/mlp": save_only_these_names("mlp_dot_general_12")}
//
// Layers are scopes of op_name (ParseOpName()): flax modules, jax.named_scope.
// Those named are the ones of whose forward pass something is computed again in
// the backward pass, told by rematerialization's marks. Kept of them is what
// clones or the backward pass of the same layer read, directly or from the
// stacks of a loop; what other layers read are their arguments, which
// jax.checkpoint keeps in any case. Layers that differ only in numbers and keep
// the same are one entry, if nothing is left out of it. A name ends with the
// line where the value is made, if that is known.
//
// Deterministic; linear in the module and the readers of its values. Where
// nothing is computed again for a gradient, Python that says so.
std::string JaxPolicies(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_JAX_POLICIES_H_
