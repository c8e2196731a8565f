#ifndef XLA_HLO_IR_HLO_PARTITIONS_H_
#define XLA_HLO_IR_HLO_PARTITIONS_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// A partitioner made the module, so it is the program of one device of several.
// Such modules record the shardings of their results, or the name of their
// entry ends in "_spmd".
bool IsPartitioned(const HloModule& module);

// Some instruction has a sharding, or the module has meshes of Shardy.
// O(instructions).
bool HasShardings(const HloModule& module);

// The largest number of devices in a sharding of an instruction; at least 1.
// O(instructions).
int64_t DevicesOfShardings(const HloModule& module);

// The module has several partitions and shardings but has not been partitioned:
// each device still gets the whole arguments.
bool IsToBePartitioned(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_PARTITIONS_H_
