#ifndef XLA_HLO_UTILS_HLO_DOT_H_
#define XLA_HLO_UTILS_HLO_DOT_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Returns the module as a Graphviz digraph: one cluster per computation, solid
// arrows from operands to users, dotted ones for control edges, dashed ones
// from an instruction to the computations it calls. Fusion bodies are clusters
// like any other. Deterministic.
std::string ModuleToDot(const HloModule& module);

// The same of some of the instructions, with the arrows between them.
std::string InstructionsToDot(
    const HloModule& module,
    const absl::flat_hash_set<const HloInstruction*>& shown);

// What is at most `radius` arrows of that graph away from `center`, either way,
// within its computation and what its control flow calls; and the body of
// `center` where it is a fusion. Other fusions are single boxes.
absl::flat_hash_set<const HloInstruction*> InstructionsAround(
    const HloInstruction& center, int64_t radius);

}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_DOT_H_
