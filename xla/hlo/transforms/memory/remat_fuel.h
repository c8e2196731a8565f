#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_FUEL_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_FUEL_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Names of all instructions.
absl::flat_hash_set<std::string> InstructionNames(const HloModule& module);

// Keeps the first `*fuel` clones that rematerialization made, callees first and
// in execution order, and undoes the others:
//
//   fuel 1: x = f(a); …; x.remat = f(a); g(x.remat); …; x.remat2 = f(a);
//           h(x.remat2)
//   →       x = f(a); …; x.remat = f(a); g(x.remat); …; h(x)
//
// A clone is an instruction that is not among `names_before`, is called
// NAME.remat…, and is identical to the first scheduled one of that name, up to
// operands that are clones themselves: its readers may then read either. Clones
// with control dependencies stay. Removes what is no longer read. Subtracts the
// clones kept from `*fuel`; returns how many it undid.
//
// The other rewrites of rematerialization (orders, fusions with readers,
// residuals of loops, transfers) stay as they are. O(instructions).
absl::StatusOr<int64_t> KeepFirstRematClones(
    const absl::flat_hash_set<std::string>& names_before, HloModule* module,
    int64_t* fuel);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_FUEL_H_
