#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_PASSES_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_PASSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/fueled_pass.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

class FusionRules;
class GpuPerformanceModel;

struct KernelReplacementOptions {
  std::string device = "h100";

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
  }
};

// Replaces library calls with fusions that compute the same.
//
//   before: d = f32[m,n] dot(x, y)        x: f32[m,1], y: f32[1,n]
//   after:  d = f32[m,n] fusion(x, y)     multiply(broadcast, broadcast)
//
// PriorityFusion does this before it fuses; these are only its first steps.
// Runs on computations that run as kernels do (not reducers, comparators, fused
// ones). The module's schedule is dropped if anything changed. Errors: an
// unknown or malformed device.
//
// A rewrite, for fuel, is one library call.
class KernelReplacementPass : public HloModulePass,
                              public ExplainingPass,
                              public FueledPass {
 public:
  explicit KernelReplacementPass(KernelReplacementOptions options = {})
      : options_(std::move(options)) {}

  void set_explanation(FusionExplanation* explanation) override {
    explanation_ = explanation;
  }
  void SetRewriteFuel(std::shared_ptr<int64_t> fuel) override {
    fuel_ = std::move(fuel);
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // Returns the number of calls replaced; null fuel is unlimited.
  virtual absl::StatusOr<int64_t> Replace(HloComputation* computation,
                                          GpuPerformanceModel* model,
                                          FusionRules* rules,
                                          FusionExplanation* explanation,
                                          int64_t* fuel) = 0;

  KernelReplacementOptions options_;
  FusionExplanation* explanation_ = nullptr;
  // Null: unlimited.
  std::shared_ptr<int64_t> fuel_;
};

// Dots that need no matrix unit: dot_kernels.h.
class DotKernels : public KernelReplacementPass {
 public:
  using KernelReplacementPass::KernelReplacementPass;
  absl::string_view name() const override { return "dot-kernels"; }

 private:
  absl::StatusOr<int64_t> Replace(HloComputation* computation,
                                  GpuPerformanceModel* model,
                                  FusionRules* rules,
                                  FusionExplanation* explanation,
                                  int64_t* fuel) override;
};

// Depthwise convolutions and gradients of their windows: convolution_kernels.h.
class ConvolutionKernels : public KernelReplacementPass {
 public:
  using KernelReplacementPass::KernelReplacementPass;
  absl::string_view name() const override { return "convolution-kernels"; }

 private:
  absl::StatusOr<int64_t> Replace(HloComputation* computation,
                                  GpuPerformanceModel* model,
                                  FusionRules* rules,
                                  FusionExplanation* explanation,
                                  int64_t* fuel) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_PASSES_H_
