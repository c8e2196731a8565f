#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PROPAGATION_GRAPH_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PROPAGATION_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"
#include "xla/shape.h"

namespace xla {

// When a rule takes part in propagation; see FactorPropagation.
enum class RuleClass {
  kDataFlow,     // tuples, loops, branches, calls: the same value
  kElementwise,  // and reshape, transpose
  kDynamicSlice,
  kBroadcast,
  kOther,
};

// An instruction's rule with the tensors that it applies to.
struct RuleInstance {
  const HloInstruction* inst;
  OpShardingRule rule;
  // Numbers of tensors, as in rule.tensors.
  std::vector<int> tensors;
  RuleClass rule_class;
  // No operand except scalars has other users.
  bool operands_used_once;
  // Barriers let axes through one way only, or not at all.
  bool goes_forward = true;
  bool goes_backward = true;
};

// The arrays of a module, one tensor per leaf of each instruction, and the
// rules between them. Covers the entry and everything that loops, branches and
// calls run; not fusions, and not the computations that reductions and the like
// apply to elements. Rules given by instructions (sdy_sharding_rule.h) take
// precedence over those of their opcodes.
class PropagationGraph {
 public:
  explicit PropagationGraph(const HloModule* module);

  struct Tensor {
    const HloInstruction* inst;
    const Shape* shape;
    // Computed from constants alone.
    bool constant;
  };

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<RuleInstance>& rules() const { return rules_; }
  // The numbers of the rules that apply to a tensor, ascending.
  const std::vector<int>& rules_of(int tensor) const {
    return rules_of_[tensor];
  }
  // The tensor of the instruction's first leaf; the others follow.
  int FirstTensor(const HloInstruction* inst) const { return first_.at(inst); }
  bool Contains(const HloInstruction* inst) const {
    return first_.contains(inst);
  }
  // Callees first, instructions in post order.
  const std::vector<HloInstruction*>& instructions() const {
    return instructions_;
  }

 private:
  void AddTensors(HloInstruction* inst);
  int FirstTensorOfElement(const HloInstruction* tuple, int64_t element);
  void AddRules(const HloInstruction* inst, const CallGraph& calls);
  // Members of a sharding group are one value.
  void AddGroups();
  void AddIdentity(const HloInstruction* inst, std::vector<int> tensors,
                   int num_operands, bool operands_used_once);
  // Ties all leaves of several instructions of one shape.
  void TieAll(const HloInstruction* inst,
              const std::vector<const HloInstruction*>& values,
              int num_operands);

  std::vector<Tensor> tensors_;
  std::vector<RuleInstance> rules_;
  std::vector<std::vector<int>> rules_of_;
  std::vector<HloInstruction*> instructions_;
  absl::flat_hash_map<const HloInstruction*, int> first_;
  // First nodes of tuples' elements, while rules are added.
  absl::flat_hash_map<const HloInstruction*, std::vector<int>>
      first_of_elements_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PROPAGATION_GRAPH_H_
