#ifndef XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_
#define XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla::spmd {

// Gives the parameters of what call, while and conditional call the shardings
// of the arguments. `roots` says what shardings roots shall have: the entry its
// own, bodies those of their whiles, conditions none (all devices must take the
// same decision), branches and callees those of their callers.
//
//   before: w = while(init), body=b, sharding={devices=[2]<=[2]}
//           b: p = parameter(0)
//   after:  b: p = parameter(0), sharding={devices=[2]<=[2]}
//           roots[b] = {devices=[2]<=[2]}
//
// Every instruction has a sharding, and every call site a computation of its
// own.
absl::Status ShareShardingsWithCallees(
    HloModule* module,
    absl::flat_hash_map<const HloComputation*, HloSharding>* roots);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_
