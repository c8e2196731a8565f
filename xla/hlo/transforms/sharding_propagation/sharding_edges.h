#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_EDGES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_EDGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/border_edges.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"

// Derives the sharding of an instruction from that of a neighbor, for
// ShardingPropagation. Shardings are seen leaf by leaf, in the order of
// ShapeUtil::FlattenTupleShape.

namespace xla::sharding_edges {

// The sharding of a leaf, or null.
using LeafReader =
    absl::FunctionRef<const HloSharding*(const HloInstruction*, int64_t leaf)>;

struct LeafSharding {
  int64_t leaf;
  HloSharding sharding;
};

// Whether what it says may go on: that a value is on one device may not, except
// out of tuples.
inline bool MaySpread(const HloSharding& sharding) {
  return !sharding.IsSingleDeviceLeaf();
}

// What each element of a tuple asks of all of it, found once for each tuple, of
// a module that does not change.
class TupleIndex {
 public:
  // The first leaf of each element of a tuple, and the number of leaves.
  const std::vector<int64_t>& FirstLeaves(const HloInstruction& tuple);
  // Which operands of `user` are `operand`.
  absl::InlinedVector<int64_t, 2> Uses(const HloInstruction& user,
                                       const HloInstruction& operand);

 private:
  absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>>
      first_leaves_;
  // The position of each operand in users that have many of them.
  absl::flat_hash_map<const HloInstruction*,
                      absl::flat_hash_map<const HloInstruction*,
                                          absl::InlinedVector<int64_t, 2>>>
      uses_;
};

struct Context {
  // See ShardingPropagation.
  int64_t level = 0;
  bool is_spmd = false;
  // May be null.
  const CustomCallShardingHelper* helper = nullptr;
  std::shared_ptr<TupleIndex> tuples = std::make_shared<TupleIndex>();
  // Borders of manual regions through which shardings spread.
  absl::flat_hash_map<const HloInstruction*, OpenBorder> borders;

  // The sharding on the other side of a border, from its operand's or, going
  // back, from its own.
  std::optional<HloSharding> Across(const HloInstruction& border,
                                    const HloSharding* sharding,
                                    bool back) const;
};

// Reads what the instructions themselves carry. Null for instructions without
// a sharding and leaves that are {unknown}.
const HloSharding* ReadInstruction(const HloInstruction* inst, int64_t leaf);

int64_t NumLeaves(const Shape& shape);
// Whether the shape can have that leaf sharding.
bool Fits(const HloSharding& sharding, const Shape& shape);

// Custom calls whose result is an operand of theirs.
bool IsPassThroughCustomCall(const HloInstruction& inst);

// The first level at which shardings go from operands to this instruction, and
// from it to its operands.
int64_t ForwardLevel(const HloInstruction& inst, const Context& context);
int64_t BackwardLevel(const HloInstruction& inst, const Context& context);

// Shardings of the instruction derived from its operands, the more important
// first. Several may speak of one leaf.
std::vector<LeafSharding> FromOperands(const HloInstruction& inst,
                                       const Context& context,
                                       LeafReader reader);

// The sharding that `user` suggests for its operand `inst`.
std::vector<LeafSharding> FromUser(const HloInstruction& inst,
                                   const HloInstruction& user,
                                   const Context& context, LeafReader reader);

}  // namespace xla::sharding_edges

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_EDGES_H_
