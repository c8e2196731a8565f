#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_PRIORITY_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_PRIORITY_FUSION_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/backends/gpu/model/cost/gpu_hlo_cost_analysis.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace mlir {
class MLIRContext;
}  // namespace mlir
namespace tsl::thread {
class ThreadPool;
}  // namespace tsl::thread

namespace xla::gpu {

struct PriorityFusionOptions {
  std::string device = "h100";
  std::string memory_limit;
  KernelTarget kernels_for = KernelTarget::kXla;
  bool xla_prices = false;
  bool dots = true;
  bool convolutions = true;
  bool triton_heroless = false;
  bool triton_multi_output = false;
  ScheduleAlgorithm schedule = ScheduleAlgorithm::kBest;
  int64_t schedule_effort = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("memory-limit", memory_limit,
          "bytes (16GiB), a share of the unfused peak (100%) or a device "
          "(h100); empty for no limit");
    visit("kernels-for", kernels_for,
          "whose code generators compile the kernels: xla's or own");
    visit("xla-prices", xla_prices,
          "count operations and reads as XLA does, which takes functions for "
          "many times dearer than they are");
    visit("dots", dots,
          "turn dots without a contraction into loops, and matrix-vector "
          "products into reductions where that saves reading the matrix");
    visit("convolutions", convolutions,
          "turn depthwise convolutions into loops and their filter gradients "
          "into reductions, so that they fuse with producers and consumers");
    visit("triton-heroless", triton_heroless,
          "form Triton fusions wherever a tiling exists, even without a dot or "
          "reduction");
    visit("triton-multi-output", triton_multi_output,
          "fuse a producer with several users into the one consumer whose "
          "tiling can compute it, and keep it as an output");
    visit("schedule", schedule, "schedule whose peak memory-limit bounds");
    visit("schedule-effort", schedule_effort, "search effort of schedule=best");
  }
};

// Fuses producers into all of their consumers, the most time saved first.
//
//   before: e = exponential(p)      after: n = fusion(p), calls={negate(exp)}
//           n = negate(e)                  l = fusion(p), calls={log(exp)}
//           l = log(e)
//
// A queue holds the producers that can be fused into all of their consumers,
// ordered by the time saved according to GpuPerformanceModel (ties: the newest
// first). The first one is fused; only its consumers and their operands are
// repriced, from cached costs of pairs (fusion_queue.h). Bitcasts go first; a
// consumer that is a bitcast keeps the producer alive for itself. Constants of
// one element come last, into whatever can hold them.
//
// Dots and convolutions that do not need a matrix unit become fusions first
// (dot_kernels.h, convolution_kernels.h). Fusions of a tiling compiler
// ("__triton") take in what they can be tiled with, and get the best tiling
// (tiled_fusions.h). What may be fused into what, and why not: fusion_rules.h.
// A producer that one consumer cannot take stays as it is: its result is in
// memory anyway. Near-linear: O(log n) for the queue, O(operands) for a price,
// and each instruction is cloned into the kernels that compute it.
//
// With memory-limit: the peak of the scheduled module stays at or below the
// limit or the unfused peak, whichever is greater; fusions that hold too much
// are not made (fusion_memory_limit.h).
//
// Leaves alone: roots, custom fusions of other kinds and those that update an
// operand in place, multi-output fusions as producers, large constants, control
// dependencies, computations that do not run as kernels (reducers, comparators,
// called ones). Drops the module's schedule. Errors: an unknown or malformed
// device, an invalid limit, and under a limit those of scheduling.
class PriorityFusion : public HloModulePass, public ExplainingPass {
 public:
  explicit PriorityFusion(PriorityFusionOptions options = {})
      : options_(std::move(options)) {}
  // `alias_info`, which says what is updated in place, must outlive the pass;
  // null: GpuAliasInfo.
  explicit PriorityFusion(const stream_executor::DeviceDescription& device,
                          const AliasInfo* alias_info = nullptr)
      : device_(device), alias_info_(alias_info) {}

  // OpenXLA's signature. Costs are computed in one thread, with repeated reads
  // counted, and dots and convolutions stay what they are: only the device and
  // `alias_info` matter.
  PriorityFusion(tsl::thread::ThreadPool* thread_pool,
                 const stream_executor::DeviceDescription& device,
                 const AliasInfo* alias_info,
                 GpuHloCostAnalysis::Options cost_analysis_options,
                 mlir::MLIRContext* mlir_context)
      : PriorityFusion(device, alias_info) {
    options_.dots = false;
    options_.convolutions = false;
  }

  absl::string_view name() const override { return "priority-fusion"; }
  void set_explanation(FusionExplanation* explanation) override {
    explanation_ = explanation;
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::StatusOr<bool> Fuse(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      const absl::flat_hash_set<std::string>& banned,
      FusionExplanation* explanation, std::vector<FusionGroup>* groups) const;

  PriorityFusionOptions options_;
  std::optional<stream_executor::DeviceDescription> device_;
  const AliasInfo* alias_info_ = nullptr;
  FusionExplanation* explanation_ = nullptr;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_PRIORITY_FUSION_H_
