#ifndef XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_HORIZONTAL_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_HORIZONTAL_FUSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct HorizontalFusionOptions {
  // A GPU by name, or the path of a description.
  std::string device = "h100";
  // Largest number of bytes that a kernel reads and writes: below, launching it
  // takes longer than running it.
  int64_t max_bytes = 1 << 20;
  // Largest number of kernels that are merged into one.
  int64_t max_kernels = 16;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("max-bytes", max_bytes,
          "merge only kernels that read and write at most this many bytes");
    visit("max-kernels", max_kernels,
          "maximum number of kernels merged into one");
  }
};

// Merges small independent kernels that run over the same shape, such as those
// of an optimizer's updates.
//
//   before: u = f32[8] fusion(p, g), kind=kLoop, calls={subtract}
//           v = f32[8] fusion(q, h), kind=kLoop, calls={subtract}
//   after:  t = (f32[8], f32[8]) fusion(p, g, q, h), kind=kLoop,
//               calls={tuple(subtract, subtract)}
//           u = get-tuple-element(t), index=0, v = …, index=1
//
// multi-output-fusion has already merged kernels that read the same values;
// this pass saves launches, not bytes. Legal where none of the kernels depends
// on another, and where multi-output fusion may merge them (gpu_fusible.h):
// alike heroes, one shape, few parameters. Considers the kernels of one kind
// and shape that follow each other in a post order, 32 at a time, so that
// results do not wait for far ones. Leaves alone: custom kernels, updates in
// place, control dependencies. O(instructions) per merged kernel.
class HorizontalFusion : public HloModulePass {
 protected:
  HorizontalFusion(HloInstruction::FusionKind kind,
                   const HorizontalFusionOptions& options)
      : kind_(kind), options_(options) {}
  HorizontalFusion(HloInstruction::FusionKind kind,
                   se::DeviceDescription device)
      : kind_(kind), device_(std::move(device)) {}

  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloInstruction::FusionKind kind_;
  HorizontalFusionOptions options_;
  std::optional<se::DeviceDescription> device_;  // instead of options_.device
};

// Loops.
class HorizontalLoopFusion : public HorizontalFusion {
 public:
  explicit HorizontalLoopFusion(const HorizontalFusionOptions& options = {})
      : HorizontalFusion(HloInstruction::FusionKind::kLoop, options) {}
  explicit HorizontalLoopFusion(se::DeviceDescription device)
      : HorizontalFusion(HloInstruction::FusionKind::kLoop, std::move(device)) {
  }
  absl::string_view name() const override {
    return "gpu-horizontal-loop-fusion";
  }
};

// Reductions.
class HorizontalInputFusion : public HorizontalFusion {
 public:
  explicit HorizontalInputFusion(const HorizontalFusionOptions& options = {})
      : HorizontalFusion(HloInstruction::FusionKind::kInput, options) {}
  explicit HorizontalInputFusion(se::DeviceDescription device)
      : HorizontalFusion(HloInstruction::FusionKind::kInput,
                         std::move(device)) {}
  absl::string_view name() const override {
    return "gpu-horizontal-input-fusion";
  }
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_HORIZONTAL_HORIZONTAL_FUSION_H_
