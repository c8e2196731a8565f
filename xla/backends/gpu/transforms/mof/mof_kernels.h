#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_KERNELS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/contracted_dag.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla::gpu {

// The context of multi-output fusion, for the run of the pass.
struct MofContext {
  const se::DeviceDescription* device;
  const GpuAliasInfo* alias_info;
  GpuPerformanceModel* model;
  FusionInfoCache* cache;
  // HeroesRunAlike, of siblings.
  bool rows_join_tiles;
  KernelTarget kernels_for;
  // Names of instructions that stay as they are.
  const absl::flat_hash_set<std::string>* banned;
  // Null: not reported.
  FusionExplanation* explanation;
};

// Outputs of a kernel that not all code generators write together.
struct OutputKinds {
  // A reduction's result in other dimensions, reshape(reduce(x)), or computed
  // with other values, divide(reduce(x), y).
  bool reshaped_reduction = false;
  // An output computed neither by a reduction nor by a tiled transpose.
  bool loop = false;
};
OutputKinds KindsOfOutputs(const HloInstruction& kernel,
                           const se::DeviceDescription& device);
FusionDecision CanWriteTogether(const OutputKinds& a, const OutputKinds& b,
                                KernelTarget target);

// The kernels of one computation while they are fused: which may be, and the
// rewriting. Dependencies are kept in a ContractedDag, in which
// get-tuple-elements are represented by their fusions, unless control
// dependencies pin them.
class MofKernels {
 public:
  using Node = ContractedDag::Node;

  MofKernels(HloComputation* computation, const MofContext& context);

  HloComputation* computation() const { return computation_; }
  const MofContext& context() const { return context_; }
  // The instructions as they were, operands first.
  const std::vector<HloInstruction*>& post_order() const { return order_; }

  // The node of an instruction, or of what it has been fused into.
  Node NodeOf(const HloInstruction* instruction) const;
  // The instruction that stands for a node now.
  HloInstruction* KernelOf(Node node) const {
    return kernels_[dag_.Find(node)];
  }
  // Whether it has become part of a fusion.
  bool IsGone(const HloInstruction* instruction) const {
    return computation_->IsMarkedAsDead(instruction);
  }
  // The earliest place of a kernel, in steps of the post order.
  int64_t Position(Node node) const { return positions_[dag_.Find(node)]; }

  // Whether it may become a root: eligible, with readers, all of them
  // get-tuple-elements if it has several results; not banned.
  FusionDecision CanBeRoot(const HloInstruction* instruction) const;
  FusionDecision CanBeProducer(const HloInstruction* instruction) const;

  // Two readers of `parent` (null: of any value) in one kernel.
  FusionDecision CanFuseSiblings(const HloInstruction* parent,
                                 const HloInstruction* a,
                                 const HloInstruction* b);
  // `producer` computed in `consumer`, a reader of it, and still an output.
  // A refusal here is permanent, whatever else is fused into the two.
  FusionDecision CanFuseProducer(const HloInstruction* producer,
                                 const HloInstruction* consumer);
  // The same for a producer with several outputs. Those that the consumer reads
  // must be loops of their kernel, in memory order but for rows, and read
  // element by element, so that the consumer finds them in a register, or by a
  // transpose with tiles or of rows.
  FusionDecision CanFuseOutputs(const HloInstruction* producer,
                                const HloInstruction* consumer);
  // The fusion is not slower, and either the producer has other readers or the
  // consumer has several outputs anyway.
  FusionDecision IsWorthFusing(const HloInstruction* producer,
                               const HloInstruction* consumer);

  // There is no room for another output.
  bool IsFull(const HloInstruction* kernel) const;

  // The number of elements that a kernel runs over: pairs with different ones
  // are never compatible.
  int64_t LoopElements(const HloInstruction* kernel) {
    return LoopOf(kernel).elements;
  }

  // The one of two kernels whose result, or an output of which, the other one
  // reads; null if there is none.
  static const HloInstruction* ProducerOf(const HloInstruction& a,
                                          const HloInstruction& b);

  // Rewrites. They return the fusion that has both. A producer may have several
  // outputs; those that nothing else reads are removed.
  HloInstruction* FuseSiblings(HloInstruction* into, HloInstruction* sibling);
  HloInstruction* FuseProducer(HloInstruction* producer,
                               HloInstruction* consumer);

  // The fusions made so far that are still there, by place.
  std::vector<FusionGroup> Groups() const;

 private:
  // The part of CanBeRoot that no other kernel changes.
  FusionDecision IsEligible(const HloInstruction* instruction) const;
  // rows_join_tiles of HeroesRunAlike for two kernels.
  bool RowsMayJoinTiles(const HloInstruction& a, const HloInstruction& b) const;
  // The reason why a path forbids the merge; Allow() if there is none.
  FusionDecision CheckCycle(const HloInstruction* a, const HloInstruction* b,
                            bool allow_direct) const;
  // A fusion of `plain` alone in its place.
  HloInstruction* Wrap(HloInstruction* plain, HloInstruction::FusionKind kind);
  // `gone`, which must have no readers left, becomes part of `fusion`.
  void Absorb(HloInstruction* fusion, Node fusion_node, Node gone_node);
  void Forget(const HloInstruction* kernel);
  // The iteration space of a kernel, by its outputs.
  struct Loop {
    const HloInstruction* hero = nullptr;  // null: not known
    // The hero makes the kernel: a reduction or a transpose.
    bool is_real = false;
    bool has_update_as_root = false;
    int64_t elements = 0;
    OutputKinds outputs;
  };
  // Cached from one fusion of siblings to the next, since looking at all
  // outputs for each pair would be quadratic.
  Loop LoopOf(const HloInstruction* kernel);
  Loop FindLoop(const HloInstruction& kernel) const;
  // The estimate for the fusion of two before it is made.
  struct Facts {
    KernelCostWithOperands cost;
    int64_t shared_memory;
    int64_t unnested_reductions;
  };
  Facts FactsOf(const HloInstruction& a, const HloInstruction& b);
  void Remember(const HloInstruction* fusion, Facts facts);

  HloComputation* computation_;
  MofContext context_;
  std::vector<HloInstruction*> order_;
  ContractedDag dag_;
  std::vector<Node> node_of_;  // by local id; kNone: not in the graph
  // By node, valid for those that stand for themselves.
  std::vector<HloInstruction*> kernels_;
  std::vector<int64_t> positions_;
  std::vector<std::vector<std::string>> members_;
  std::vector<Loop> loops_;
  // Nodes that are known to be eligible; merging keeps them so.
  mutable std::vector<bool> eligible_;
};

// The only slice through which a kernel reads an operand; null if it reads it
// in another way, too.
const HloInstruction* OnlySliceOf(const HloInstruction& kernel,
                                  const HloInstruction& operand);
// Each of the kernels reads `parent` through one slice only, and the slices
// have no index in common (ignoring strides).
bool ReadDisjointSlices(const HloInstruction& parent, const HloInstruction& a,
                        const HloInstruction& b);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_KERNELS_H_
