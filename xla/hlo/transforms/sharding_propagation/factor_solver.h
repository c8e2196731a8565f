#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_SOLVER_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_SOLVER_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/transforms/sharding_propagation/axis_mesh.h"
#include "xla/hlo/transforms/sharding_propagation/propagation_graph.h"

namespace xla {

// Spreads axes over the tensors of a graph to a fixed point; the algorithm of
// FactorPropagation.
class FactorSolver {
 public:
  struct TensorState {
    TensorSharding sharding;
    // Not expressible in axes, or not to be touched: takes no part.
    bool blocked = false;
    // Per axis, the tensor that it came from; -1: given here.
    std::vector<int> origin;
  };

  // `states` are those of graph.tensors(). Neither is copied.
  FactorSolver(const PropagationGraph& graph, const AxisMesh& mesh,
               std::vector<TensorState>* states)
      : graph_(graph), mesh_(mesh), states_(*states) {}

  void Solve();

  // Two tensors of a rule whose axes on one factor diverge, as positions in
  // RuleInstance::tensors.
  struct Divergence {
    int rule;
    int first;
    int second;
  };
  std::vector<Divergence> Divergences() const;

 private:
  // Rounds of FactorPropagation, the last one for constants.
  enum Round {
    kFlowOneUse,
    kFlow,
    kPassThrough,
    kAllFactors,
    kAll,
    kConstants
  };

  struct Direction {
    bool forward = false;
    bool backward = false;
  };
  Direction DirectionOf(const RuleInstance& rule, int factor,
                        Round round) const;

  // Whether the rule could do anything in this round: some tensor has axes, and
  // some other may take them. Most have nothing to do most of the time.
  bool MayApply(const RuleInstance& rule, Round round) const;

  // The axes on each factor of each tensor of the rule.
  using FactorAxes = std::vector<std::vector<AxisList>>;
  FactorAxes Project(const RuleInstance& rule) const;
  bool IsSource(int tensor, Round round) const;
  bool IsTarget(const RuleInstance& rule, int position, int factor,
                Round round) const;

  // Whether `axis` may follow the `taken` axes of the factor on the tensor.
  bool Accepts(const RuleInstance& rule, int position, int factor,
               const AxisList& taken, int axis) const;
  // Whether a tensor of the rule has the axis on another factor.
  bool OnOtherFactor(const FactorAxes& axes, int factor, int axis) const;
  // Makes the axes of the factor on the tensor `wanted`, which begins with what
  // they are.
  void Extend(const RuleInstance& rule, int position, int factor,
              const AxisList& current, const AxisList& wanted, int source);

  bool ApplyAgreed(const RuleInstance& rule, Round round);
  bool ApplyWanted(const RuleInstance& rule, Round round);
  // To the fixed point of one of the two; whether anything changed.
  bool RunToFixedPoint(Round round, bool wanted);
  void MarkRulesOf(int tensor);

  const PropagationGraph& graph_;
  const AxisMesh& mesh_;
  std::vector<TensorState>& states_;
  std::vector<bool> dirty_;
  // For the current rule: its axes by factor, and the tensors it changed.
  FactorAxes projected_;
  std::vector<int> changed_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_SOLVER_H_
