#ifndef XLA_HLO_EVALUATOR_DEVICES_COLLECTIVE_GROUPS_H_
#define XLA_HLO_EVALUATOR_DEVICES_COLLECTIVE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// The devices of a run: replicas x partitions. Device (r, p) has the flattened
// id r * partitions + p.
struct DeviceGrid {
  int64_t replicas = 1;
  int64_t partitions = 1;

  int64_t size() const { return replicas * partitions; }
  int64_t replica(int64_t device) const { return device / partitions; }
  int64_t partition(int64_t device) const { return device % partitions; }
  int64_t device(int64_t replica, int64_t partition) const {
    return replica * partitions + partition;
  }
};

// How many ids there are in a group mode: replicas, partitions or devices.
int64_t IdCount(CollectiveOpGroupMode mode, const DeviceGrid& grid);

// Listed groups of ids of the mode as groups of flattened device ids; see the
// table below.
std::vector<std::vector<int64_t>> FlattenGroups(
    absl::Span<const std::vector<int64_t>> listed, CollectiveOpGroupMode mode,
    const DeviceGrid& grid);

// The mode that the attributes of a collective ask for.
absl::StatusOr<CollectiveOpGroupMode> GroupModeOf(
    const HloInstruction* instruction);

// The groups that work together in a collective, as flattened device ids in
// group order:
//
//   channel  use_global_device_ids  the listed ids are         a group holds
//   no       -                      replicas                   one partition's
//   yes      (opcode has none)      partitions                 one replica's
//   yes      no                     replicas                   all partitions
//   yes      yes                    flattened                  the listed ones
//
// No listed groups: one of all ids. InvalidArgument, naming the instruction,
// for ids out of range or listed twice, for all-gather, all-reduce and
// reduce-scatter also unless every device is in a group.
//
// For a collective-permute: the devices that the pairs connect, and each
// remaining device alone; InvalidArgument for a source or a target that appears
// twice.
absl::StatusOr<std::vector<std::vector<int64_t>>> CollectiveGroups(
    const HloInstruction* instruction, const DeviceGrid& grid);

// Where the value of each device comes from in a collective-permute, -1 for
// devices that are no target.
absl::StatusOr<std::vector<int64_t>> PermuteSources(
    const HloInstruction* instruction, const DeviceGrid& grid);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICES_COLLECTIVE_GROUPS_H_
