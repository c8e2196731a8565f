#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_RULE_BUILDER_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_RULE_BUILDER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"
#include "xla/shape.h"

namespace xla {

// Builds the rule of an instruction factor by factor; dimensions start without
// factors.
class RuleBuilder {
 public:
  explicit RuleBuilder(const HloInstruction& inst);

  int AddFactor(int64_t size,
                OpShardingRule::Kind kind = OpShardingRule::Kind::kPassThrough);
  void Map(int tensor, int64_t dim, int factor) {
    rule_.tensors[tensor].dims[dim].push_back(factor);
  }
  // One factor on dimension `dims[i]` of tensor i; -1: not on that tensor. If
  // sizes differ, as for slices and pads, the factor has the greatest common
  // divisor of all sizes, and is a permutation factor instead of a pass-through
  // one, since shards do not line up.
  void MapAll(absl::Span<const int64_t> dims,
              OpShardingRule::Kind kind = OpShardingRule::Kind::kPassThrough);

  bool HasFactor(int tensor, int64_t dim) const {
    return !rule_.tensors[tensor].dims[dim].empty();
  }
  int num_tensors() const { return static_cast<int>(rule_.tensors.size()); }
  // The first tensor of the result.
  int result() const { return rule_.num_operands; }
  const Shape& shape(int tensor) const { return *shapes_[tensor]; }
  int64_t rank(int tensor) const { return shape(tensor).dimensions().size(); }
  OpShardingRule Build() const { return rule_; }

 private:
  void AddTensors(const Shape& shape);

  OpShardingRule rule_;
  std::vector<const Shape*> shapes_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_RULE_BUILDER_H_
