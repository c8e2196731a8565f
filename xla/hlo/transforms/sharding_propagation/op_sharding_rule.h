#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_OP_SHARDING_RULE_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_OP_SHARDING_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla {

// Which dimensions of an instruction's operands and results are the same loop.
//
//   dot([i,k], [k,j]) → [i,j]        i=8 j=16 k=4, k is a reduction
//   reshape([ij,k]) → [i,jk]         a dimension may hold several factors
//
// If a tensor is cut along a factor, the instruction can be computed on pieces
// cut along the same factor of the others, without moving data (except, for a
// reduction, for summing the pieces).
struct OpShardingRule {
  enum class Kind {
    kPassThrough,
    // Operands only; the result is the sum over it.
    kReduction,
    // Sizes differ between tensors (slice, pad, windows): data may move between
    // neighbors. Only axes that divide `size` may cut it.
    kPermutation,
    // Each device needs all of it.
    kNeedReplication,
  };
  struct Factor {
    int64_t size;
    Kind kind;
    // Axes do not spread along it.
    bool blocked = false;
  };
  // Factors per dimension, major first; propagation never cuts dimensions
  // without factors.
  struct Tensor {
    std::vector<std::vector<int>> dims;
  };

  std::vector<Factor> factors;
  // Leaf arrays of the operands, in order, then of the result.
  std::vector<Tensor> tensors;
  int num_operands = 0;

  // `([i,k],[k,j])->([i,j]) {i=8,j=16,k=4} reduction={k}`
  std::string ToString() const;
};

// The rule of an instruction whose operands and result are arrays (the result
// of a variadic reduce, sort or scatter may be a tuple of arrays). nullopt for
// those that have none: sources, side effects, control flow, tuples, and
// opcodes whose dimensions do not correspond. `calls`: for tracing indices that
// come from outside of a computation; may be null. O(rank).
std::optional<OpShardingRule> GetOpShardingRule(
    const HloInstruction& inst, const CallGraph* calls = nullptr);

// One factor per dimension of `shape`, on all of `num_tensors` tensors.
OpShardingRule IdentityRule(const Shape& shape, int num_tensors,
                            int num_operands);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_OP_SHARDING_RULE_H_
