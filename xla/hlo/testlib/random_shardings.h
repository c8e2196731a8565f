#ifndef XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_
#define XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Gives three values out of four, and every entry parameter, a sharding over
// `devices` devices: replicated, on one device, tiled and partially tiled, with
// devices in order, backwards or in any order. Equal seeds, equal shardings.
void AnnotateWithRandomShardings(uint64_t seed, int64_t devices,
                                 HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_RANDOM_SHARDINGS_H_
