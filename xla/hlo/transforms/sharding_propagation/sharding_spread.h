#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_SPREAD_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_SPREAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"

namespace xla {

// The fixed point of ShardingPropagation. Keeps the sharding of every leaf of
// every instruction outside of the module until Write.
class ShardingSpread {
 public:
  ShardingSpread(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      const sharding_edges::Context& context);

  // Fixes the sharding of this leaf.
  void Fix(const HloInstruction* inst, int64_t leaf);
  // Fixes all leaves that have a sharding.
  void FixGiven(const HloInstruction* inst);
  // Lets only these dimensions be cut further.
  void Open(const HloInstruction* inst, std::vector<int64_t> dims);
  // Arrays that share the shardings found for any of them.
  void AddGroup(const std::vector<HloInstruction*>& members);
  // Gives control flow and the values it stands for the sharding that any of
  // them has. Call once, before the first level.
  void Tie();

  // Runs a level to its fixed point.
  void RunLevel(int64_t level);
  // Sets all members to what they have in common.
  void MakeCommon(const std::vector<HloInstruction*>& members);
  // Writes the shardings into the module; returns whether it changed.
  bool Write();

 private:
  struct Node {
    HloInstruction* inst;
    int64_t first_leaf;
    int64_t num_leaves;
    int tie = -1;
    bool touched_forward = true;
    bool touched_backward = true;
    // Is among improved_.
    bool improved = false;
  };

  void AddNode(HloInstruction* inst);
  void AddTie(const std::vector<const HloInstruction*>& members);
  // Schedules a visit of everything that reads the sharding of `inst`; once for
  // all leaves that have been improved.
  void TouchAround(const HloInstruction* inst);
  void TouchImproved();
  enum class Offer {
    kAsIs,    // Taken or not.
    kMerged,  // Or what both have in common.
    kAlone,   // Also if no shard stays where it is, for a single user.
  };
  bool Improve(int node, int64_t leaf, const HloSharding& from, Offer offer);
  std::optional<HloSharding> Improved(int node, int64_t leaf,
                                      const HloSharding& from,
                                      Offer offer) const;
  bool Forward(int node);
  bool Backward(int node);
  bool ShareInGroups();
  const HloSharding* Read(const HloInstruction* inst, int64_t leaf) const;

  sharding_edges::Context context_;
  std::vector<Node> nodes_;
  // By computation, the number of nodes up to its last.
  std::vector<size_t> computation_ends_;
  std::vector<std::optional<HloSharding>> leaves_;
  std::vector<bool> fixed_;
  std::vector<int> improved_;
  std::vector<const Shape*> shapes_;
  std::vector<std::vector<int>> ties_;
  std::vector<std::vector<int>> groups_;
  absl::flat_hash_map<const HloInstruction*, int> node_of_;
  absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>> open_;
  // Parameters of calls and branches, with their operands.
  absl::flat_hash_map<const HloInstruction*, std::vector<const HloInstruction*>>
      arguments_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_SPREAD_H_
