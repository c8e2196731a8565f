#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement_passes.h"

#include <cstdint>
#include <string>

#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/priority_fusion/convolution_kernels.h"
#include "xla/backends/gpu/transforms/priority_fusion/dot_kernels.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/backends/gpu/transforms/priority_fusion/tiled_fusions.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::StatusOr<bool> KernelReplacementPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const stream_executor::DeviceDescription device,
                      LoadGpuDevice(options_.device));
  const GpuAliasInfo alias_info;
  const absl::flat_hash_set<std::string> banned;
  int64_t replaced = 0;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    GpuPerformanceModel model(device);
    TiledFusions tiled(device, banned, {}, &model);
    FusionRules rules(device, alias_info, banned, &model, &tiled);
    TF_ASSIGN_OR_RETURN(
        const int64_t in_computation,
        Replace(computation, &model, &rules, explanation_, fuel_.get()));
    replaced += in_computation;
  }
  if (replaced > 0 && module->has_schedule()) module->clear_schedule();
  return replaced > 0;
}

absl::StatusOr<int64_t> DotKernels::Replace(HloComputation* computation,
                                            GpuPerformanceModel* model,
                                            FusionRules* rules,
                                            FusionExplanation* explanation,
                                            int64_t* fuel) {
  return MakeDotsFusible(computation, model->device(), /*banned=*/{}, rules,
                         explanation, fuel);
}

absl::StatusOr<int64_t> ConvolutionKernels::Replace(
    HloComputation* computation, GpuPerformanceModel* model, FusionRules* rules,
    FusionExplanation* explanation, int64_t* fuel) {
  return MakeConvolutionsFusible(computation, model, /*banned=*/{}, rules,
                                 explanation, fuel);
}

}  // namespace xla::gpu
