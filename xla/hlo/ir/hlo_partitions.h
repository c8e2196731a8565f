#ifndef XLA_HLO_IR_HLO_PARTITIONS_H_
#define XLA_HLO_IR_HLO_PARTITIONS_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// A partitioner made the module: it is that of one device of several. Such
// modules record the shardings of their results, or the name of their entry
// ends in "_spmd".
bool IsPartitioned(const HloModule& module);

// Something says how the module is cut: an instruction has a sharding, or the
// module has meshes of Shardy. O(instructions).
bool HasShardings(const HloModule& module);

// The most devices that a sharding of an instruction is over; 1 if none is over
// several. O(instructions).
int64_t DevicesOfShardings(const HloModule& module);

// The module counts several partitions, says how something is cut, and no
// partitioner was there yet: each of its devices is given the whole arguments.
bool IsToBePartitioned(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_PARTITIONS_H_
