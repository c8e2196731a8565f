#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_BUILDER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_BUILDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/replica_group.h"

namespace xla::spmd {

// Collects the instructions of a partitioned computation. While an instruction
// of the original is visited, added instructions take over its metadata and
// frontend attributes (never its sharding) and are listed as derived from it.
class SpmdBuilder : public HloComputation::Builder {
 public:
  SpmdBuilder(absl::string_view name, HloInstruction* hlo)
      : HloComputation::Builder(name) {
    set_visiting_hlo(hlo);
  }

  using HloComputation::Builder::AddInstruction;
  HloInstruction* AddInstruction(
      std::unique_ptr<HloInstruction> instruction) override;

  // Empty for an instruction that was visited without adding any; CHECK-fails
  // for one that was not visited.
  const std::vector<HloInstruction*>& derived_instructions(
      HloInstruction* hlo) const {
    return instructions_.at(hlo);
  }

  // Null after the last one.
  void set_visiting_hlo(HloInstruction* hlo) {
    visiting_hlo_ = hlo;
    if (hlo != nullptr) instructions_[hlo];
  }
  HloInstruction* visiting_hlo() const { return visiting_hlo_; }

  // Dimensions along which all elements of a created instruction are equal;
  // nullopt if that is not known.
  std::optional<const absl::flat_hash_set<int64_t>*> BroadcastDimsForCreatedHlo(
      const HloInstruction* hlo) const {
    auto it = broadcast_dims_.find(hlo);
    if (it == broadcast_dims_.end()) return std::nullopt;
    return &it->second;
  }
  // The first error that could not be expressed in instructions, for the
  // visitor: helpers that build instructions continue with an arbitrary value.
  const absl::Status& status() const { return status_; }
  void Fail(const absl::Status& status) { status_.Update(status); }

  // For values that repeat a different element on different devices.
  void ForgetBroadcastDims(const HloInstruction* hlo) {
    broadcast_dims_.erase(hlo);
  }

 private:
  void SetBroadcastDims(const HloInstruction* hlo);

  absl::Status status_;
  HloInstruction* visiting_hlo_ = nullptr;
  absl::flat_hash_map<HloInstruction*, std::vector<HloInstruction*>>
      instructions_;
  absl::flat_hash_map<const HloInstruction*, absl::flat_hash_set<int64_t>>
      broadcast_dims_;
};

// Creates the collectives of a partitioned module. Groups and pairs are of
// partition ids; a creator for a module of several replicas repeats them for
// each replica. A null create_all_gather or create_reduce_scatter means that
// this collective is unavailable: all-reduces replace it.
struct SPMDCollectiveOpsCreator {
  std::function<HloInstruction*(SpmdBuilder*)> create_partition_id;

  // Without groups: all partitions.
  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand, HloComputation* reduction,
      const CollectiveDeviceListBase& partition_subgroups, int64_t channel_id)>
      create_all_reduce;

  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand,
      std::vector<std::pair<int64_t, int64_t>>& src_dst_pairs,
      int64_t next_channel_id)>
      create_collective_permute;

  // Without a split dimension: one operand per member of a group.
  std::function<HloInstruction*(
      SpmdBuilder*, absl::Span<HloInstruction* const> operands,
      const CollectiveDeviceListBase& partition_subgroups, int64_t channel_id,
      std::optional<int64_t> split_dimension)>
      create_all_to_all;

  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand, const Shape& ag_shape,
      const CollectiveDeviceListBase& partition_subgroups, int64_t channel_id,
      int64_t all_gather_dimension)>
      create_all_gather;

  std::function<HloInstruction*(
      SpmdBuilder*, HloInstruction* operand, HloComputation* reduction,
      const Shape& rs_shape,
      const CollectiveDeviceListBase& partition_subgroups, int64_t channel_id,
      int64_t scatter_dimension)>
      create_reduce_scatter;

  // Whether create_all_reduce takes groups. If not, shards are gathered even
  // where adding up those that have elements would send less.
  bool all_reduces_groups = true;
};

// All-reduces, all-gathers and reduce-scatters name devices by flattened id
// (replica * num_partitions + partition), the others by partition id.
SPMDCollectiveOpsCreator GetDefaultCollectiveOpsCreator(int64_t num_partitions,
                                                        int64_t num_replicas);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_BUILDER_H_
