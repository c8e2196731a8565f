#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_TILED_FUSIONS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_TILED_FUSIONS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/hlo/utils/hlo_traversal.h"

namespace xla::gpu {

struct TiledFusionOptions {
  // Also makes fusions of a tiling compiler if neither of a pair is one.
  bool heroless = false;
  // A producer with other readers may be fused into the one consumer that can
  // take it, and stays a result.
  bool multi_output = false;
  KernelTarget kernels_for = KernelTarget::kXla;
};

// Whether the usual code generators or a tiling compiler ("__triton") generate
// the kernel of a pair, and how long kernels of both kinds take.
//
//   before: a = negate(p)                 after: t = fusion(p), kind=kCustom,
//           t = fusion(a), "__triton"              backend_config={… tiles …}
//           ROOT b = exponential(t)
//
// If one of a pair is a fusion of either kind, so is the pair. A pair of a
// tiling compiler must have a tiling that fits into registers.
class TiledFusions {
 public:
  // All must outlive this.
  TiledFusions(const stream_executor::DeviceDescription& device,
               const absl::flat_hash_set<std::string>& banned,
               TiledFusionOptions options, GpuPerformanceModel* model)
      : options_(options),
        banned_(banned),
        emitted_(*model),
        tiled_(device, options.kernels_for) {}

  const TiledFusionOptions& options() const { return options_; }

  // A fusion that can take in others: of kind __triton, and free to change.
  bool IsTiled(const HloInstruction& kernel) const;
  // Whether the kernel of both would be a tiling compiler's: one of them is, or
  // both may be and a tiling exists.
  bool IsTiledPair(const HloInstruction& producer,
                   const HloInstruction& consumer);

  // For a pair that is to be tiled. `keep_output`: the producer stays a result.
  FusionDecision CanTile(const HloInstruction& producer,
                         const HloInstruction& consumer, bool keep_output);

  EstimateRunTimeData EstimateRunTime(const HloInstruction& kernel);
  // The time of a pair that may be fused.
  EstimateRunTimeData EstimateFusedTime(const HloInstruction& producer,
                                        const HloInstruction& consumer);
  // The time of a pair that passes CanTile.
  EstimateRunTimeData EstimateTiledTime(const HloInstruction& producer,
                                        const HloInstruction& consumer,
                                        bool keep_output);

  // The best tiling of a pair that passes CanTile; before it is fused.
  absl::StatusOr<TiledRunTimeData> TilingOfPair(const HloInstruction& producer,
                                                const HloInstruction& consumer,
                                                bool keep_output);
  // Turns a fusion into a tiling compiler's. `tiling`: of the pair that it was;
  // the fusion may order the same values differently, which may need more
  // registers.
  absl::Status Tile(const TiledRunTimeData& tiling, HloInstruction* fusion);

  // Call after the kernel has changed or before it is removed.
  void Invalidate(const HloInstruction& kernel);

 private:
  struct Pair {
    const HloInstruction* producer = nullptr;
    const HloInstruction* consumer = nullptr;
    bool keep_output = false;
    std::unique_ptr<HloFusionAdaptor> fusion;
    absl::Status possible;
    // The best tiling, searched for on demand.
    std::optional<absl::StatusOr<TiledRunTimeData>> best;
  };
  Pair& OfPair(const HloInstruction& producer, const HloInstruction& consumer,
               bool keep_output);

  const TiledFusionOptions options_;
  const absl::flat_hash_set<std::string>& banned_;
  GpuPerformanceModel& emitted_;
  TiledPerformanceModel tiled_;
  absl::node_hash_map<const HloInstruction*, EstimateRunTimeData> times_;
  // Pairs are asked about several times in a row.
  std::optional<Pair> last_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_TILED_FUSIONS_H_
