#ifndef XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_
#define XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd {

// A module in which a way to partition an instruction is tried: arguments of
// the function that does it, with parameters in the place of shards, and this
// module's visitor, builder and module in the place of the real ones.
class PartitionTrial {
 public:
  explicit PartitionTrial(const SpmdPartitioningVisitor& visitor);

  template <typename T>
  std::decay_t<T> Argument(T&& arg) {
    using D = std::decay_t<T>;
    if constexpr (std::is_same_v<D, PartitionedHlo>) {
      return Shard(arg);
    } else if constexpr (std::is_same_v<D, std::vector<PartitionedHlo>>) {
      std::vector<PartitionedHlo> shards;
      for (const PartitionedHlo& phlo : arg) shards.push_back(Shard(phlo));
      return shards;
    } else if constexpr (std::is_same_v<D, SpmdPartitioningVisitor*>) {
      return visitor_.get();
    } else if constexpr (std::is_same_v<D, SpmdBuilder*>) {
      return visitor_->builder();
    } else if constexpr (std::is_same_v<D, HloModule*>) {
      return module_.get();
    } else {
      return std::forward<T>(arg);
    }
  }

  // Bytes of memory and of communication of all that was added, by the
  // partitioner's MemoryCostInBytes and CommunicationCostInBytes.
  std::pair<int64_t, int64_t> Cost(HloInstruction* root);

 private:
  PartitionedHlo Shard(const PartitionedHlo& phlo);

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<SpmdPartitioningVisitor> visitor_;
  int64_t parameters_ = 0;
};

template <typename T>
SpmdPartitioningVisitor* VisitorAmong(T&& arg) {
  if constexpr (std::is_same_v<std::decay_t<T>, SpmdPartitioningVisitor*>) {
    return arg;
  } else {
    return nullptr;
  }
}

// What `partition_method(args...)`, which returns an instruction, its status,
// or null, would add: bytes of memory and of communication. The largest numbers
// where it returns null; InvalidArgument without a visitor among the arguments.
//
//   EvaluatePartitionCost(hlo, GatherThenDot, hlo, lhs, rhs, visitor)
template <typename F, typename... Args>
absl::StatusOr<std::pair<int64_t, int64_t>> EvaluatePartitionCost(
    const HloInstruction* original_hlo, F partition_method, Args&&... args) {
  SpmdPartitioningVisitor* visitor = nullptr;
  ((visitor = visitor != nullptr ? visitor : VisitorAmong(args)), ...);
  if (visitor == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cost of partitioning ", original_hlo->name(),
                     " needs a SpmdPartitioningVisitor among the arguments"));
  }
  PartitionTrial trial(*visitor);
  absl::StatusOr<HloInstruction*> root =
      partition_method(trial.Argument(std::forward<Args>(args))...);
  if (!root.ok()) return root.status();
  if (*root == nullptr) {
    return std::make_pair(std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::max());
  }
  return trial.Cost(*root);
}

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_
