#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_RULES_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_RULES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/priority_fusion/tiled_fusions.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla::gpu {

// A bitcast under any name, of elements of the same width: a kernel can read
// through it without fusing with it.
bool IsTransparentBitcast(const HloInstruction& instruction);

// Which producers may be fused into which consumers.
//
// Both must be of a fusible kind: elementwise, bitcasts that keep the width of
// elements, iota, data movement, reduce, reduce-window, scatter, fusions that
// are not custom; the consumer must not be a bitcast. For our own kernels, what
// they cannot compute does not fuse. A pair for a tiling compiler must have a
// tiling (tiled_fusions.h). Otherwise, in this order:
//  - a scatter's result stays, and so do the operand it updates in place and
//    what reads that one;
//  - of reductions of 16 elements or more, one does not feed another one;
//  - what follows a reduction must leave the kernel one for reductions;
//  - a concatenation does not feed a column reduction, whose threads would have
//    to find the piece for each element anew;
//  - budgets: operands and outputs, shared memory, reductions, size of code;
//  - a buffer that the consumer updates in place is read by it in one way only.
//
// O(operands of both); where reductions, transposes, concatenations or updates
// are involved, O(size of both).
class FusionRules {
 public:
  // All must outlive this.
  FusionRules(const stream_executor::DeviceDescription& device,
              const AliasInfo& alias_info,
              const absl::flat_hash_set<std::string>& banned,
              GpuPerformanceModel* model, TiledFusions* tiled)
      : device_(device),
        alias_info_(alias_info),
        banned_(banned),
        model_(*model),
        tiled_(*tiled),
        budget_cache_(device) {}

  // Whether it may be fused with anything, as producer / as consumer.
  FusionDecision CanBeProducer(const HloInstruction& producer);
  FusionDecision CanBeConsumer(const HloInstruction& consumer);

  // Whether the two may be fused. Both must have passed the checks above, and
  // the second reads the first.
  FusionDecision CanFuse(const HloInstruction& producer,
                         const HloInstruction& consumer);
  // The same if the producer stays a result: for tiling compilers only.
  FusionDecision CanFuseIntoMultiOutput(const HloInstruction& producer,
                                        const HloInstruction& consumer);

  // The kind of the fusion of both.
  HloInstruction::FusionKind ChooseKind(const HloInstruction& producer,
                                        const HloInstruction& consumer);

  // The contents of a kernel.
  struct Contents {
    bool reduce = false;
    // A reduction of 16 elements or more.
    bool long_reduce = false;
    // Instructions that get kernels of their own kind.
    bool transpose = false;
    bool concatenate = false;
    bool scatter = false;
    // Something that may be an update in place.
    bool updates = false;
    // Random numbers: they must be drawn once, since all readers see the same
    // ones.
    bool random = false;
    bool needs_analysis() const {
      return reduce || transpose || concatenate || scatter;
    }
  };
  Contents ContentsOfPair(const HloInstruction& producer,
                          const HloInstruction& consumer);
  // Spares the inspection of a fusion that has the contents of two.
  void Set(const HloInstruction& fusion, const Contents& contents) {
    contents_[&fusion] = contents;
  }
  // Call after the instruction has changed or before it is removed.
  void Invalidate(const HloInstruction& instruction);

 private:
  FusionDecision IsOfFusibleKind(const HloInstruction& hlo) const;
  static void Note(const HloInstruction& instruction, Contents* contents);
  const Contents& Get(const HloInstruction& kernel);

  const stream_executor::DeviceDescription& device_;
  const AliasInfo& alias_info_;
  // Names of instructions that stay as they are.
  const absl::flat_hash_set<std::string>& banned_;
  GpuPerformanceModel& model_;
  TiledFusions& tiled_;
  FusionInfoCache budget_cache_;
  absl::flat_hash_map<const HloInstruction*, Contents> contents_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_RULES_H_
